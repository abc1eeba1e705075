/* split-netns.c - one recording of a machine with network namespaces -> a CTF trace for each of them, as if each
 * were a host with a clock of its own.
 *
 *   split-netns TRACE OUT HOST...      HOST = NAME:IF[,IF...]:PID[,PID...]:OFFSET_NS:DRIFT_PPB
 *
 * TRACE is a recording of `whywait record -a`. OUT/NAME gets the events of the tasks PID and all that they fork,
 * wakeups of these, packets on the devices IF, interrupts and softirqs of all CPUs, kernel threads, and every
 * sched_switch, where tasks of others are named "other". Device names must be different in all namespaces. A time t
 * becomes t + OFFSET_NS + DRIFT_PPB * 10^-9 * (t - T0), in stamps and in timers' fields; T0 is TRACE's first
 * event. The clock has its own uuid, the trace its own host name. OUT/truth.json has the clocks.
 *
 * The payload of an event is copied as it is: it ends where the next one of its packet begins, or the packet.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/u64map.h"
#include "base/vec.h"
#include "format/ctf/writer.h"
#include "format/format.h"

enum { MAX_HOSTS = 32, MAX_CPUS = 256, NOBODY = 254, EVERYBODY = 255, UNKNOWN = 253 };

struct host {
	char *name, *ifs;
	int64_t offset_ns, drift_ppb;
	uint8_t uuid[16], clock_uuid[16];
	struct ww_ctf_out *out; /* by input file */
	bool *open;
	int dirfd;
	uint64_t events;
};

enum kind { K_CURRENT, K_SWITCH, K_TASK, K_FORK, K_DEVICE, K_ENTRY, K_EXIT, K_ALWAYS, K_PROC, K_DROP };

struct cls {
	enum kind kind;
	uint32_t id;
	int64_t times[2]; /* offsets in the payload of 64-bit times; -1 */
};

struct rec { /* an event of the source, in time order */
	int64_t ts_ns;
	uint64_t begin, end; /* in its file */
	uint32_t cls, file;
	int32_t cpu, a, b;   /* tids; b also the interface */
};

static struct {
	struct host host[MAX_HOSTS];
	int nhosts;
	struct ww_u64map owner; /* tid -> host, NOBODY, EVERYBODY */
	struct cls *cls;
	WW_VEC(struct rec) recs;
	WW_VEC(char *) ifs;
	int64_t t0;
	struct { int32_t current; int depth; } cpu[MAX_CPUS];
} g;

static _Noreturn void die(const char *what, const struct ww_err *err)
{
	char text[1200] = "";

	if (err)
		ww_err_format(err, text, sizeof(text));
	fprintf(stderr, "split-netns: %s %s\n", what, text);
	exit(1);
}

/* ---- arguments ---- */

static void parse_host(char *arg)
{
	struct host *h = &g.host[g.nhosts];
	char *pids, *offset, *drift, *p, *save = NULL;

	h->name = strsep(&arg, ":");
	h->ifs = strsep(&arg, ":");
	pids = strsep(&arg, ":");
	offset = strsep(&arg, ":");
	drift = strsep(&arg, ":");
	if (!drift || g.nhosts == MAX_HOSTS)
		die("HOST is NAME:IF[,IF...]:PID[,PID...]:OFFSET_NS:DRIFT_PPB, at most 32", NULL);
	h->offset_ns = strtoll(offset, NULL, 10);
	h->drift_ppb = strtoll(drift, NULL, 10);
	for (p = strtok_r(pids, ",", &save); p; p = strtok_r(NULL, ",", &save))
		ww_u64map_put(&g.owner, (uint64_t)atoll(p), (uint64_t)g.nhosts);
	g.nhosts++;
}

static bool has_device(const struct host *h, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = h->ifs; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (!strncmp(p, name, n) && (!p[n] || p[n] == ','))
			return true;
	return false;
}

/* ---- what an event needs ---- */

static enum kind kind_of(const char *name, const struct ww_class *c)
{
	static const struct { const char *name; enum kind kind; } known[] = {
		{"sched_switch", K_SWITCH}, {"sched_process_fork", K_FORK}, {"net_dev_queue", K_DEVICE},
		{"net_if_receive_skb", K_DEVICE}, {"net_dev_xmit", K_DEVICE}, {"irq_handler_entry", K_ENTRY},
		{"irq_handler_exit", K_EXIT}, {"irq_softirq_entry", K_ENTRY}, {"irq_softirq_exit", K_EXIT},
		{"timer_hrtimer_expire_entry", K_ENTRY}, {"timer_hrtimer_expire_exit", K_EXIT},
		{"timer_expire_entry", K_ENTRY}, {"timer_expire_exit", K_EXIT}, {"irq_softirq_raise", K_ALWAYS}, {"lttng_statedump_process_state", K_PROC}, {"whywait_file", K_ALWAYS},
		{"whywait_sock", K_ALWAYS}, {"whywait_target", K_DROP}, {"whywait_clock", K_DROP},
		{"whywait_cost", K_DROP}, {"whywait_stolen", K_ALWAYS},
	};

	for (size_t i = 0; i < WW_ARRAY_SIZE(known); i++)
		if (!strcmp(name, known[i].name))
			return known[i].kind;
	if (strstr(name, "_vector_entry") || !strncmp(name, "x86_irq_vectors", 15))
		return strstr(name, "_entry") ? K_ENTRY : K_EXIT;
	if (strncmp(name, "sched_", 6) && strncmp(name, "whywait_", 8) && strncmp(name, "lttng_statedump_p", 17) &&
	    strncmp(name, "lttng_statedump_f", 17))
		return strncmp(name, "lttng_", 6) ? K_CURRENT : K_ALWAYS;
	for (uint32_t i = 0; i < c->nfields; i++)
		if (!strcmp(c->field_names[i], "tid") || !strcmp(c->field_names[i], "pid"))
			return K_TASK;
	return K_CURRENT;
}

static const char *task_field(const struct ww_class *c)
{
	for (uint32_t i = 0; i < c->nfields; i++)
		if (!strcmp(c->field_names[i], "tid"))
			return "tid";
	return "pid";
}

static void bind(struct ww_trace *t, uint32_t i)
{
	static const struct fields { const char *fields[2]; uint32_t n; } wanted[] = {
		[K_SWITCH] = {{"prev_tid", "next_tid"}, 2}, [K_TASK] = {{"tid"}, 1},
		[K_FORK] = {{"parent_tid", "child_tid"}, 2}, [K_DEVICE] = {{"name"}, 1}, [K_PROC] = {{"tid", "type"}, 2},
		[K_DROP] = {{NULL}, 0}};
	static const struct fields by_pid = {{"pid"}, 1};
	const struct ww_class *c = ww_trace_class(t, i);
	struct cls *k = &g.cls[i];
	struct ww_err err = {0};

	*k = (struct cls){kind_of(c->name, c), (uint32_t)c->id, {-1, -1}};
	if (!strcmp(c->name, "timer_hrtimer_start"))
		k->times[0] = 16, k->times[1] = 24;
	else if (!strcmp(c->name, "timer_hrtimer_expire_entry"))
		k->times[0] = 8;
	const bool pid = k->kind == K_TASK && !strcmp(task_field(c), "pid");
	if (ww_trace_want(t, i, pid ? by_pid.fields : wanted[k->kind].fields, wanted[k->kind].n, &err))
		die("cannot read", &err);
}

static int32_t intern_if(const struct ww_value *v)
{
	for (size_t i = 0; i < g.ifs.n; i++)
		if (v->kind == WW_V_STR && strlen(g.ifs.v[i]) == v->len && !memcmp(g.ifs.v[i], v->p, v->len))
			return (int32_t)i;
	*ww_vec_push(&g.ifs) = strndup(v->kind == WW_V_STR ? v->p : "", v->kind == WW_V_STR ? v->len : 0);
	return (int32_t)g.ifs.n - 1;
}

static void read_source(struct ww_trace *t)
{
	struct ww_err err = {0};
	struct ww_event ev;
	int rc;

	while ((rc = ww_trace_next(t, &ev, &err)) == 1) {
		if (ev.cls == WW_CLS_GAP)
			continue;
		struct rec *r = ww_vec_push(&g.recs);
		*r = (struct rec){.ts_ns = ev.ts_ns, .begin = ww_trace_origin(t)->offset, .cls = ev.cls, .file = ww_trace_origin(t)->file, .cpu = ev.cpu,
				  .a = -1, .b = -1};
		if (ev.nval && g.cls[ev.cls].kind == K_DEVICE) {
			r->b = intern_if(&ev.v[0]);
		} else if (ev.nval) {
			r->a = (int32_t)ev.v[0].i;
			r->b = ev.nval > 1 ? (int32_t)ev.v[1].i : -1;
		}
	}
	if (rc < 0)
		die("cannot read the trace:", &err);
}

/* ---- where each event ends ---- */

static int by_place(const void *a, const void *b)
{
	const struct rec *x = &g.recs.v[*(const uint32_t *)a], *y = &g.recs.v[*(const uint32_t *)b];

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->begin < y->begin ? -1 : 1;
}

static uint8_t *read_file(const char *path, size_t *ret_size)
{
	FILE *f = fopen(path, "r");
	struct stat st;

	if (!f || fstat(fileno(f), &st))
		die(path, NULL);
	uint8_t *p = ww_xmalloc((size_t)st.st_size + 1);
	*ret_size = fread(p, 1, (size_t)st.st_size, f);
	fclose(f);
	p[*ret_size] = 0;
	return p;
}

static void find_ends(uint8_t **data, const size_t *size)
{
	uint32_t *order = ww_xmalloc(sizeof(*order) * (g.recs.n + 1));
	uint64_t packet = 0, content = 0, next = 0;

	for (uint32_t i = 0; i < g.recs.n; i++)
		order[i] = i;
	qsort(order, g.recs.n, sizeof(*order), by_place);
	for (size_t i = 0; i < g.recs.n; i++) {
		struct rec *r = &g.recs.v[order[i]];
		bool first = !i || g.recs.v[order[i - 1]].file != r->file;
		if (first)
			packet = content = next = 0;
		while (r->begin >= next) { /* the packet that it is in */
			const struct ww_ctf_packet_header *h = (const void *)(data[r->file] + next);
			if (next + sizeof(*h) > size[r->file] || h->magic != WW_CTF_MAGIC || h->packet_bits < 8)
				die("not a recording of whywait", NULL);
			packet = next;
			content = packet + h->content_bits / 8;
			next = packet + h->packet_bits / 8;
		}
		const struct rec *after = i + 1 < g.recs.n ? &g.recs.v[order[i + 1]] : NULL;
		r->end = after && after->file == r->file && after->begin < next ? after->begin : content;
	}
	free(order);
}

/* ---- who gets it ---- */

static uint32_t owner_of(int32_t tid)
{
	uint64_t *o = ww_u64map_find(&g.owner, (uint64_t)(int64_t)tid);

	return tid == 0 ? EVERYBODY : o ? (uint32_t)*o : tid < 0 ? UNKNOWN : NOBODY;
}

/* Kernel threads are all hosts' alike. */
static void learn(const struct rec *r, enum kind kind)
{
	if (kind == K_PROC && r->b == 1)
		ww_u64map_put(&g.owner, (uint64_t)(int64_t)r->a, EVERYBODY);
	if (kind == K_FORK && owner_of(r->a) != NOBODY && !ww_u64map_find(&g.owner, (uint64_t)(int64_t)r->b))
		ww_u64map_put(&g.owner, (uint64_t)(int64_t)r->b, owner_of(r->a));
}

static bool is_of(uint32_t owner, uint32_t host)
{
	return owner == host || owner == EVERYBODY;
}

static bool gets(uint32_t h, const struct rec *r, enum kind kind)
{
	const int32_t current = g.cpu[r->cpu].current;
	const bool interrupt = g.cpu[r->cpu].depth > 0, mine = is_of(owner_of(current), h);

	switch (kind) {
	case K_SWITCH: case K_ENTRY: case K_EXIT: case K_ALWAYS: return true;
	case K_TASK: case K_PROC: return is_of(owner_of(r->a), h);
	case K_FORK: return is_of(owner_of(r->a), h) || is_of(owner_of(r->b), h);
	case K_DEVICE: return has_device(&g.host[h], g.ifs.v[r->b]) || (!strcmp(g.ifs.v[r->b], "lo") && mine);
	case K_CURRENT: return interrupt || mine;
	default: return false;
	}
}

static int64_t host_time(const struct host *h, int64_t t)
{
	__int128 d = (__int128)(t - g.t0) * h->drift_ppb;

	return t + h->offset_ns + (int64_t)(d >= 0 ? d / 1000000000 : -((-d + 999999999) / 1000000000));
}

static void put(uint32_t host, const struct rec *r, const uint8_t *data)
{
	struct host *h = &g.host[host];
	const struct cls *c = &g.cls[r->cls];
	struct ww_err err = {0};
	uint8_t buf[8192];
	/* u16 id, u32 stamp; id 65535: then u32 id, u64 stamp. */
	size_t head = data[r->begin] == 0xff && data[r->begin + 1] == 0xff ? 14 : 6;
	size_t n = r->end - r->begin - head;

	WW_ASSERT(r->end >= r->begin + head && n <= sizeof(buf));
	memcpy(buf, data + r->begin + head, n);
	if (c->kind == K_SWITCH) { /* prev_comm[16] tid prio state next_comm[16] tid prio */
		if (!is_of(owner_of(r->a), host))
			memcpy(buf, "other\0\0\0\0\0\0\0\0\0\0", 16);
		if (!is_of(owner_of(r->b), host))
			memcpy(buf + 32, "other\0\0\0\0\0\0\0\0\0\0", 16);
	}
	for (int i = 0; i < 2; i++) {
		int64_t v;
		if (c->times[i] < 0 || (size_t)c->times[i] + 8 > n)
			continue;
		memcpy(&v, buf + c->times[i], 8);
		if (v < 1000000000000000000) /* not one of the wall clock, nor "never" */
			v = host_time(h, v);
		memcpy(buf + c->times[i], &v, 8);
	}
	if (!h->open[r->file]) {
		char name[32];
		snprintf(name, sizeof(name), "c0_%u", r->file);
		if (ww_ctf_out_open(&h->out[r->file], h->dirfd, name, h->uuid, r->file, (uint32_t)r->cpu, &err))
			die("cannot write", &err);
		h->open[r->file] = true;
	}
	if (ww_ctf_rec_begin(&h->out[r->file], c->id, (uint64_t)host_time(h, r->ts_ns), &err))
		die("cannot write", &err);
	ww_ctf_rec_bytes(&h->out[r->file], buf, n);
	ww_ctf_rec_end(&h->out[r->file]);
	h->events++;
}

static void split(uint8_t **data)
{
	for (size_t i = 0; i < g.recs.n; i++) {
		const struct rec *r = &g.recs.v[i];
		enum kind kind = g.cls[r->cls].kind;
		if (r->cpu < 0 || r->cpu >= MAX_CPUS)
			continue;
		learn(r, kind);
		if (kind == K_ENTRY)
			g.cpu[r->cpu].depth++;
		for (uint32_t h = 0; h < (uint32_t)g.nhosts; h++)
			if (gets(h, r, kind))
				put(h, r, data[r->file]);
		if (kind == K_EXIT && g.cpu[r->cpu].depth)
			g.cpu[r->cpu].depth--;
		if (kind == K_SWITCH) {
			g.cpu[r->cpu].current = r->b;
			g.cpu[r->cpu].depth = 0;
		}
	}
}

/* ---- metadata ---- */

static char *metadata_text(const char *trace)
{
	char path[4096];
	size_t size, n = 0;

	snprintf(path, sizeof(path), "%s/metadata", trace);
	uint8_t *p = read_file(path, &size);
	char *text = ww_xcalloc(size + 1, 1);
	/* magic, uuid, checksum, content and packet size in bits, five bytes; then text */
	for (size_t at = 0; at + 37 <= size;) {
		uint32_t content, packet;
		memcpy(&content, p + at + 24, 4);
		memcpy(&packet, p + at + 28, 4);
		if (content < 37 * 8 || packet < content || at + packet / 8 > size)
			die("the metadata is not packetised", NULL);
		memcpy(text + n, p + at + 37, content / 8 - 37);
		n += content / 8 - 37;
		at += packet / 8;
	}
	free(p);
	return text;
}

static void uuid_text(const uint8_t u[16], char *buf)
{
	for (int i = 0, n = 0; i < 16; i++)
		n += sprintf(buf + n, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
}

/* Replaces the value after `key` (up to the closing quote) from *at on. */
static void put_replaced(FILE *f, const char **at, const char *key, const char *value)
{
	const char *p = strstr(*at, key);

	if (!p)
		die("metadata without", NULL);
	p += strlen(key);
	fwrite(*at, 1, (size_t)(p - *at), f);
	fputs(value, f);
	*at = strchr(p, '"');
	WW_ASSERT(*at);
}

static void write_metadata(const struct host *h, const char *text)
{
	int fd = openat(h->dirfd, "metadata", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	FILE *f = fdopen(fd, "w");
	char uuid[40];
	const char *at = text;

	if (!f)
		die("cannot write the metadata", NULL);
	fputs("/* CTF 1.8 */\n\n", f); /* needed in a metadata of plain text */
	uuid_text(h->uuid, uuid);
	put_replaced(f, &at, "uuid = \"", uuid);
	put_replaced(f, &at, "hostname = \"", h->name);
	uuid_text(h->clock_uuid, uuid);
	put_replaced(f, &at, "uuid = \"", uuid);
	fputs(at, f);
	if (fclose(f))
		die("cannot write the metadata", NULL);
}

static void write_truth(const char *out, int64_t epoch_offset)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/truth.json", out);
	FILE *f = fopen(path, "w");
	if (!f)
		die(path, NULL);
	fprintf(f, "{\"t0_ns\": %" PRId64 ", \"hosts\": {", g.t0 + epoch_offset);
	for (int i = 0; i < g.nhosts; i++)
		fprintf(f, "%s\"%s\": {\"offset_ns\": %" PRId64 ", \"drift_ppb\": %" PRId64 ", \"events\": %" PRIu64 "}",
			i ? ", " : "", g.host[i].name, g.host[i].offset_ns, g.host[i].drift_ppb, g.host[i].events);
	fprintf(f, "}}\n");
	if (fclose(f))
		die(path, NULL);
}

static void open_host(struct host *h, const char *out, uint32_t nfiles)
{
	char path[4096];
	struct ww_err err = {0};

	snprintf(path, sizeof(path), "%s/%s", out, h->name);
	mkdir(out, 0755);
	if (mkdir(path, 0755) || (h->dirfd = open(path, O_RDONLY | O_DIRECTORY)) < 0)
		die(path, NULL);
	if (ww_ctf_uuid_make(h->uuid, &err) || ww_ctf_uuid_make(h->clock_uuid, &err))
		die("no uuid", &err);
	h->out = ww_xcalloc(nfiles, sizeof(*h->out));
	h->open = ww_xcalloc(nfiles, sizeof(*h->open));
}

int main(int argc, char **argv)
{
	struct ww_trace *t = NULL;
	struct ww_err err = {0};

	if (argc < 4)
		die("TRACE OUT NAME:IF[,IF...]:PID[,PID...]:OFFSET_NS:DRIFT_PPB...", NULL);
	for (int i = 3; i < argc; i++)
		parse_host(argv[i]);
	if (ww_trace_open(argv[1], NULL, &t, &err))
		die("cannot open", &err);
	const uint32_t ncls = ww_trace_info(t)->nclasses;
	g.cls = ww_xcalloc(ncls, sizeof(*g.cls));
	for (uint32_t i = 0; i < ncls; i++)
		bind(t, i);
	for (int i = 0; i < MAX_CPUS; i++)
		g.cpu[i].current = -1;
	read_source(t);
	const struct ww_trace_stats *st = ww_trace_stats(t);
	uint8_t **data = ww_xcalloc(st->nfiles, sizeof(*data));
	size_t *size = ww_xcalloc(st->nfiles, sizeof(*size));
	for (uint32_t i = 0; i < st->nfiles; i++)
		data[i] = read_file(st->files[i], &size[i]);
	find_ends(data, size);
	g.t0 = st->begin_ts_ns;
	for (int i = 0; i < g.nhosts; i++)
		open_host(&g.host[i], argv[2], st->nfiles);
	split(data);
	char *text = metadata_text(argv[1]);
	for (int i = 0; i < g.nhosts; i++) {
		for (uint32_t k = 0; k < st->nfiles; k++)
			if (g.host[i].open[k] && ww_ctf_out_close(&g.host[i].out[k], &err))
				die("cannot write", &err);
		write_metadata(&g.host[i], text);
	}
	write_truth(argv[2], ww_trace_info(t)->clock.offset_ns);
	ww_trace_close(t);
	return 0;
}
