/* options.c - options: what was recorded, by which clock, where each CPU's data is. */
#include <stdio.h>

#include "format/tracedat/private.h"

#define MAX_OPTION_SECTIONS 256
#define MAX_TEXT_BYTES      65536
#define MAX_SHIFT_SAMPLES   (1u << 20)

/* The option's text, without its last newline; it need not end in NUL. */
static const char *text_of(struct td_trace *t, const struct ww_span *s)
{
	size_t n = strnlen((const char *)s->p, WW_MIN(s->len, MAX_TEXT_BYTES));

	while (n && s->p[n - 1] == '\n')
		n--;
	return ww_arena_strndup(&t->mem, (const char *)s->p, n);
}

/* "local global [mono] boot" -> "mono". */
static const char *chosen_clock(struct td_trace *t, const char *s)
{
	const char *open = strchr(s, '['), *close = open ? strchr(open, ']') : NULL;

	return close ? ww_arena_strndup(&t->mem, open + 1, (size_t)(close - open - 1)) : ww_arena_strdup(&t->mem, s);
}

/* Lines of per_cpu/cpuN/stats. */
static void cpu_stat(struct td_trace *t, const char *s)
{
	static const char *const lost[] = {"overrun: ", "commit overrun: ", "dropped events: "};

	for (const char *line = s; line && *line; line = strchr(line, '\n')) {
		if (*line == '\n')
			line++;
		for (size_t i = 0; i < WW_ARRAY_SIZE(lost); i++)
			if (!strncmp(line, lost[i], strlen(lost[i])))
				t->file.stat_lost += strtoull(line + strlen(lost[i]), NULL, 10);
	}
	td_env(t, "cpustat", s);
}

static int by_time(const void *a, const void *b)
{
	const struct td_shift_sample *x = a, *y = b;
	return x->time < y->time ? -1 : x->time > y->time;
}

/* u64 peer, u32 flags, u32 CPUs; per CPU u32 n and n times, offsets, scalings; then, in newer files, per
 * CPU n fractions. */
static int time_shift(struct td_trace *t, struct ww_span s, struct ww_err *err, uint64_t off)
{
	struct td_file *f = &t->file;

	f->peer_id = ww_span_u64(&s);
	f->shift_flags = ww_span_u32(&s);
	uint32_t n = ww_span_u32(&s);
	if (s.bad)
		return 0; /* trace-cmd writes an empty one when it could not synchronise */
	if (n > TD_MAX_CPUS || n > ww_span_left(&s) / 4)
		return ww_err_set(err, WW_ELIMIT, f->path, off, "a time shift of %u CPUs", n);
	f->shift = WW_ARENA_ARRAY(&t->mem, struct td_shift_cpu, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		struct td_shift_cpu *c = &f->shift[i];
		uint32_t k = ww_span_u32(&s);
		if (s.bad || k > MAX_SHIFT_SAMPLES || k > ww_span_left(&s) / 24)
			return ww_err_set(err, WW_ECORRUPT, f->path, off, "a time shift of %u samples", k);
		c->n = k;
		c->v = WW_ARENA_ARRAY(&t->mem, struct td_shift_sample, k + 1);
		for (uint32_t j = 0; j < k; j++)
			c->v[j].time = (int64_t)ww_span_u64(&s);
		for (uint32_t j = 0; j < k; j++)
			c->v[j].offset = (int64_t)ww_span_u64(&s);
		for (uint32_t j = 0; j < k; j++)
			c->v[j].scaling = ww_span_u64(&s);
	}
	bool fraction = ww_span_left(&s) > 0;
	for (uint32_t i = 0; i < n; i++) {
		struct td_shift_cpu *c = &f->shift[i];
		for (uint32_t j = 0; fraction && j < c->n; j++)
			c->v[j].fraction = ww_span_u64(&s);
		if (c->n)
			qsort(c->v, c->n, sizeof(*c->v), by_time);
		uint32_t kept = 0;
		for (uint32_t j = 0; j < c->n; j++)
			if (!j || c->v[j].time != c->v[kept - 1].time)
				c->v[kept++] = c->v[j];
		c->n = kept;
	}
	if (s.bad)
		return ww_err_set(err, WW_ECORRUPT, f->path, off, "a time shift that is shorter than it says");
	f->shift_ncpus = n;
	td_env(t, "time_shift.peer", ww_arena_printf(&t->mem, "%016" PRIx64, f->peer_id));
	return 0;
}

/* string name, u64 trace id, u32 CPUs, per CPU u32 id, u32 pid of the host's task. */
static void guest(struct td_trace *t, struct ww_span s)
{
	const char *name = ww_span_cstr(&s);
	uint64_t id = ww_span_u64(&s);
	uint32_t n = ww_span_u32(&s);

	if (s.bad)
		return;
	td_env(t, ww_arena_printf(&t->mem, "guest.%016" PRIx64, id), ww_arena_strdup(&t->mem, name));
	for (uint32_t i = 0; i < n && i < TD_MAX_CPUS; i++) {
		uint32_t cpu = ww_span_u32(&s), pid = ww_span_u32(&s);
		if (s.bad)
			return;
		td_env(t, ww_arena_printf(&t->mem, "guest.%016" PRIx64 ".cpu%u", id, cpu),
		       ww_arena_printf(&t->mem, "%u", pid));
	}
}

/* u32 mult, u32 shift, u64 the counter at the beginning; trace-cmd does not subtract it, so neither do
 * we: the stamps of host and guest stay comparable. */
static void tsc2nsec(struct td_trace *t, struct ww_span s)
{
	struct td_file *f = &t->file;
	uint32_t mult = ww_span_u32(&s), shift = ww_span_u32(&s);
	uint64_t begin = ww_span_u64(&s);

	if (s.bad || !mult)
		return;
	f->tsc = true;
	f->tsc_mult = mult;
	f->tsc_shift = shift;
	td_env(t, "tsc2nsec", ww_arena_printf(&t->mem, "mult=%u shift=%u begin=%" PRIu64, mult, shift, begin));
}

/* The options that both versions have. */
static int common_option(struct td_trace *t, uint16_t id, struct ww_span s, uint64_t off, struct ww_err *err)
{
	struct td_file *f = &t->file;

	switch (id) {
	case TD_OPT_DATE: /* µs, or ns when trace-cmd says "ns"; in C's notation */
		f->date_ns = (int64_t)((uint64_t)strtoll(text_of(t, &s), NULL, 0) * 1000);
		f->have_date = true;
		break;
	case TD_OPT_OFFSET:
		f->offset_ns = strtoll(text_of(t, &s), NULL, 0);
		break;
	case TD_OPT_CPUSTAT:
		cpu_stat(t, text_of(t, &s));
		break;
	case TD_OPT_TRACECLOCK:
		f->trace_clock = chosen_clock(t, text_of(t, &s));
		break;
	case TD_OPT_UNAME:
		f->uname = text_of(t, &s);
		td_env(t, "uname", f->uname);
		break;
	case TD_OPT_VERSION:
		f->tracer = text_of(t, &s);
		break;
	case TD_OPT_CPUCOUNT:
		if (s.len == 4)
			f->cpu_count = WW_MIN(ww_span_u32(&s), TD_MAX_CPUS);
		break;
	case TD_OPT_TRACEID:
		f->trace_id = ww_span_u64(&s);
		f->have_trace_id = !s.bad;
		td_env(t, "trace_id", ww_arena_printf(&t->mem, "%016" PRIx64, f->trace_id));
		break;
	case TD_OPT_TIME_SHIFT:
		return time_shift(t, s, err, off);
	case TD_OPT_GUEST:
		guest(t, s);
		break;
	case TD_OPT_TSC2NSEC:
		tsc2nsec(t, s);
		break;
	default:
		break;
	}
	return 0;
}

static int add_cpu(struct td_trace *t, uint32_t buffer, uint32_t cpu, uint64_t offset, uint64_t size,
		   struct ww_err *err)
{
	struct td_file *f = &t->file;

	if (f->cpus.n >= TD_MAX_CPUS || cpu >= TD_MAX_CPUS)
		return ww_err_set(err, WW_ELIMIT, f->path, offset, "data of CPU %u", cpu);
	*ww_vec_push(&f->cpus) = (struct td_cpu_data){
		.buffer = buffer, .cpu = (int32_t)cpu, .offset = offset, .size = size};
	return 0;
}

/* Version 6, behind "flyrecord\0": per CPU u64 offset, u64 size. */
int td_cpu_table_v6(struct td_trace *t, struct ww_span *s, uint32_t buffer, struct ww_err *err)
{
	for (uint32_t i = 0; i < t->file.cpu_count; i++) {
		uint64_t offset = ww_span_u64(s), size = ww_span_u64(s);
		if (s->bad)
			return ww_err_set(err, WW_ETRUNC, t->file.path, s->len, "the file ends in its table of CPUs");
		int rc = add_cpu(t, buffer, i, offset, size, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* Version 6: "options  \0" or not, then "flyrecord\0". An instance's table stands where its BUFFER
 * option says. */
int td_options_v6(struct td_trace *t, struct ww_span *s, struct ww_err *err)
{
	struct td_file *f = &t->file;
	struct {
		uint64_t at;
		const char *name;
	} instances[64];
	uint32_t n = 0;
	int rc = 0;

	const char *kind = ww_span_bytes(s, 10);
	if (kind && !memcmp(kind, "options  ", 10)) {
		for (;;) {
			uint64_t off = s->pos;
			uint16_t id = ww_span_u16(s);
			if (s->bad || id == TD_OPT_DONE)
				break;
			uint32_t size = ww_span_u32(s);
			struct ww_span o = ww_span_sub(s, size);
			if (s->bad)
				break;
			if (id != TD_OPT_BUFFER) {
				rc = common_option(t, id, o, off, err);
				if (rc)
					return rc;
			} else if (n < WW_ARRAY_SIZE(instances)) {
				instances[n].at = ww_span_u64(&o);
				instances[n].name = ww_span_cstr(&o);
				n += !o.bad;
			}
		}
		kind = ww_span_bytes(s, 10);
	}
	if (!kind)
		return ww_err_set(err, WW_ETRUNC, f->path, s->len, "the file ends before its table of CPUs");
	if (!memcmp(kind, "latency  ", 10)) {
		ww_err_set(err, WW_EUNSUPPORTED, f->path, s->pos - 10, "a latency tracer's text, not events");
		return ww_err_hint(err, "it is for reading: trace-cmd report");
	}
	if (memcmp(kind, "flyrecord", 10))
		return ww_err_set(err, WW_ECORRUPT, f->path, s->pos - 10, "no table of CPUs");
	rc = td_cpu_table_v6(t, s, 0, err);
	for (uint32_t i = 0; i < n && !rc; i++) {
		struct ww_span at = *s;
		at.pos = WW_MIN(instances[i].at, at.len);
		const char *fly = ww_span_bytes(&at, 10);
		if (!fly || memcmp(fly, "flyrecord", 10)) {
			rc = td_damage(t, -1, instances[i].at, WW_ECORRUPT, err, "no table of CPUs of buffer %s",
				       instances[i].name);
			continue;
		}
		*ww_vec_push(&f->buffers) = (struct td_buffer){
			.name = ww_arena_strdup(&t->mem, instances[i].name),
			.clock = f->trace_clock ? f->trace_clock : "",
			.page_bytes = f->page_bytes,
		};
		rc = td_cpu_table_v6(t, &at, (uint32_t)f->buffers.n - 1, err);
	}
	return rc;
}

/* Version 7: u64 offset, string name, string clock, u32 page size, u32 CPUs, per CPU u32, u64, u64. */
static int buffer_option(struct td_trace *t, struct ww_span s, uint64_t off, struct ww_err *err)
{
	struct td_file *f = &t->file;
	uint64_t section = ww_span_u64(&s);
	const char *name = ww_span_cstr(&s), *clock = ww_span_cstr(&s);
	uint32_t page = ww_span_u32(&s), n = ww_span_u32(&s);

	if (s.bad)
		return ww_err_set(err, WW_ECORRUPT, f->path, off, "the description of a buffer is too short");
	if (page < 64 || page > TD_MAX_PAGE_BYTES)
		return ww_err_set(err, WW_ELIMIT, f->path, off, "a buffer with pages of %u bytes", page);
	struct ww_span head = ww_span_of(f->map, f->bytes);
	head.swap = f->swap;
	ww_span_skip(&head, WW_MIN(section, f->bytes));
	ww_span_u16(&head);
	uint16_t flags = ww_span_u16(&head);
	if (head.bad) { /* its CPUs say the same, and that they lost everything */
		int rc = td_damage(t, -1, off, WW_ETRUNC, err, "the data of buffer \"%s\" is behind the file's end",
				   name);
		if (rc)
			return rc;
	}
	*ww_vec_push(&f->buffers) = (struct td_buffer){
		.name = ww_arena_strdup(&t->mem, name),
		.clock = ww_arena_strdup(&t->mem, clock),
		.page_bytes = page,
		.compressed = flags & 1,
	};
	for (uint32_t i = 0; i < n; i++) {
		uint32_t cpu = ww_span_u32(&s);
		uint64_t offset = ww_span_u64(&s), size = ww_span_u64(&s);
		if (s.bad)
			return ww_err_set(err, WW_ECORRUPT, f->path, off, "a buffer of %u CPUs describes %u", n, i);
		int rc = add_cpu(t, (uint32_t)f->buffers.n - 1, cpu, offset, size, err);
		if (rc)
			return rc;
	}
	return 0;
}

struct sections {
	uint64_t at[TD_OPT_CMDLINES + 1];
	bool text;
};

/* One options section; *next is the offset of the following one, 0 at the end. */
static int options_section(struct td_trace *t, struct ww_span s, uint64_t off, struct sections *secs,
			   uint64_t *next, struct ww_err *err)
{
	*next = 0;
	for (;;) {
		uint64_t at = off + 16 + s.pos;
		uint16_t id = ww_span_u16(&s);
		uint32_t size = ww_span_u32(&s);
		struct ww_span o = ww_span_sub(&s, size);
		int rc = 0;
		if (s.bad)
			return ww_err_set(err, WW_ECORRUPT, t->file.path, at, "an option of %u bytes, %zu are left",
					  size, ww_span_left(&s));
		if (id == TD_OPT_DONE) {
			*next = ww_span_u64(&o);
			return 0;
		}
		if (id == TD_OPT_BUFFER)
			rc = buffer_option(t, o, at, err);
		else if (id == TD_OPT_BUFFER_TEXT)
			secs->text = true;
		else if (id >= TD_OPT_HEADER_INFO && id <= TD_OPT_CMDLINES)
			secs->at[id] = ww_span_u64(&o);
		else
			rc = common_option(t, id, o, at, err);
		if (rc)
			return rc;
	}
}

static int read_section(struct td_trace *t, const struct sections *secs, uint16_t id,
			int (*read)(struct td_trace *, struct ww_span *, struct ww_err *), struct ww_err *err)
{
	struct ww_span s;
	void *heap;

	if (!secs->at[id])
		return 0;
	int rc = td_section(&t->file, secs->at[id], id, &s, &heap, err);
	if (!rc)
		rc = read(t, &s, err);
	free(heap);
	return rc;
}

int td_options_v7(struct td_trace *t, uint64_t offset, struct ww_err *err)
{
	struct td_file *f = &t->file;
	struct sections secs = {0};
	uint64_t seen[MAX_OPTION_SECTIONS];
	int rc = 0;

	for (uint32_t i = 0; offset && !rc; i++) {
		struct ww_span s;
		void *heap;
		uint64_t next = 0;
		if (i >= MAX_OPTION_SECTIONS)
			return ww_err_set(err, WW_ELIMIT, f->path, offset, "over %d sections of options",
					  MAX_OPTION_SECTIONS);
		for (uint32_t k = 0; k < i; k++)
			if (seen[k] == offset)
				return ww_err_set(err, WW_ECORRUPT, f->path, offset,
						  "the sections of options go round in a circle");
		seen[i] = offset;
		rc = td_section(f, offset, TD_OPT_DONE, &s, &heap, err);
		if (!rc)
			rc = options_section(t, s, offset, &secs, &next, err);
		free(heap);
		offset = next;
	}
	if (rc)
		return rc;
	f->kallsyms_at = secs.at[TD_OPT_KALLSYMS];
	if (!secs.at[TD_OPT_HEADER_INFO])
		return ww_err_set(err, WW_ECORRUPT, f->path, WW_ERR_NO_OFFSET, "no description of the ring buffer");
	if (!f->buffers.n && secs.text) {
		ww_err_set(err, WW_EUNSUPPORTED, f->path, WW_ERR_NO_OFFSET, "a latency tracer's text, not events");
		return ww_err_hint(err, "it is for reading: trace-cmd report");
	}
	rc = read_section(t, &secs, TD_OPT_HEADER_INFO, td_meta_headers, err);
	if (!rc)
		rc = read_section(t, &secs, TD_OPT_FTRACE_EVENTS, td_meta_ftrace, err);
	if (!rc)
		rc = read_section(t, &secs, TD_OPT_EVENT_FORMATS, td_meta_events, err);
	if (!rc)
		rc = read_section(t, &secs, TD_OPT_CMDLINES, td_meta_cmdlines, err);
	return rc;
}
