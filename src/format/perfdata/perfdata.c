/* perfdata.c - reads perf.data, the file of `perf record`, as a ww_format.
 *
 * Classes: one per event that was recorded - tracepoints by their name ("sched_switch"; with the
 * system in front, "a:name", only when two systems have the name), others by perf's name
 * ("cycles") - and one per kind of side record (perf_comm, perf_fork, ...; pd_fields.c).
 * A tracepoint's payload are its own fields, other samples' payload is what perf sampled (ip, addr,
 * period, callchain ...); "ctx" holds pid and tid of every record and the rest of the sample.
 * The whole file is one stream: its order at equal stamps is the order of the file. In a directory of
 * `perf record --threads` the file `data` has the header and data.0, data.1, ... have more records; they are one
 * stream, too.
 */
#include "format/perfdata/perfdata_private.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strtab.h"

#define MAX_DAMAGE 1000

int pd_damage(struct perfdata *t, int code, uint64_t offset, struct ww_err *err, const char *fmt, ...)
{
	struct ww_damage d = {.cpu = -1};
	char msg[sizeof(d.err.message)];
	const char *path = t->files.v[t->walked_file];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	t->pub.stats.bad_packets++;
	if (t->strict)
		return ww_err_set(err, code, path, offset, "%s", msg);
	if (t->damage.n < MAX_DAMAGE) {
		ww_err_set(&d.err, code, path, offset, "%s", msg);
		*ww_vec_push(&t->damage) = d;
	}
	return 0;
}

/* ---- classes ---- */

static const char *generic_name(struct perfdata *t, const struct pd_attr *a)
{
	static const char *const hw[] = {"cycles", "instructions", "cache-references", "cache-misses",
		"branches", "branch-misses", "bus-cycles", "stalled-cycles-frontend",
		"stalled-cycles-backend", "ref-cycles"};
	static const char *const sw[] = {"cpu-clock", "task-clock", "page-faults", "context-switches",
		"cpu-migrations", "minor-faults", "major-faults", "alignment-faults", "emulation-faults",
		"dummy", "bpf-output", "cgroup-switches"};

	if (a->type == PD_TYPE_HARDWARE && a->config < WW_ARRAY_SIZE(hw))
		return hw[a->config];
	if (a->type == PD_TYPE_SOFTWARE && a->config < WW_ARRAY_SIZE(sw))
		return sw[a->config];
	if (a->type == PD_TYPE_TRACEPOINT)
		return ww_arena_printf(&t->mem, "tracepoint-%" PRIu64, a->config);
	return ww_arena_printf(&t->mem, "event-%u-0x%" PRIx64, a->type, a->config);
}

/* The part behind the system of "sched:sched_switch"; modifiers ("cycles:ppp") stay. */
static const char *short_name(const struct pd_attr *a)
{
	const char *colon = a->type == PD_TYPE_TRACEPOINT ? strchr(a->name, ':') : NULL;
	return colon && colon[1] ? colon + 1 : a->name;
}

static void class_add_sample(struct perfdata *t, struct pd_attr *a, const char *name)
{
	struct pd_class *c = ww_vec_push(&t->classes);

	c->tep = a->tep;
	c->pub.name = name;
	c->pub.id = a->config;
	if (!a->tep) {
		c->pub.nfields = PD_S_N;
		c->pub.field_names = pd_sample_field_names;
		return;
	}
	uint32_t n = a->tep->nfields - a->tep->ncommon;
	const char **names = WW_ARENA_ARRAY(&t->mem, const char *, n + 1);
	for (uint32_t i = 0; i < n; i++)
		names[i] = a->tep->fields[a->tep->ncommon + i].name;
	c->pub.nfields = n;
	c->pub.field_names = names;
}

static void classes_build(struct perfdata *t)
{
	struct ww_strtab names;
	struct ww_u64map first = {0}, by_name = {0}; /* short name -> config + 1, 0: several; full name -> class */

	ww_strtab_init(&names);
	for (size_t i = 0; i < t->attrs.n; i++) {
		struct pd_attr *a = &t->attrs.v[i];
		uint64_t *tep = a->type == PD_TYPE_TRACEPOINT ? ww_u64map_find(&t->tep_of_id, a->config) : NULL;

		a->tep = tep ? t->teps.v[*tep] : NULL;
		if (a->tep)
			a->name = ww_arena_printf(&t->mem, "%s:%s", a->tep->system, a->tep->name);
		else if (!a->name || !a->name[0])
			a->name = generic_name(t, a);
		uint64_t *seen = ww_u64map_get(&first, ww_strtab_intern_cstr(&names, short_name(a)),
					       a->config + 1, NULL);
		if (*seen != a->config + 1)
			*seen = 0;
	}
	for (size_t i = 0; i < t->attrs.n; i++) {
		struct pd_attr *a = &t->attrs.v[i];
		const char *name = short_name(a);
		bool is_new;

		if (a->type == PD_TYPE_TRACEPOINT &&
		    *ww_u64map_find(&first, ww_strtab_intern_cstr(&names, name)) == 0)
			name = a->name;
		/* events opened twice share a class, but not one with and one without a format */
		uint64_t key = (uint64_t)ww_strtab_intern_cstr(&names, name) << 1 | !a->tep;
		uint64_t *cls = ww_u64map_get(&by_name, key, t->classes.n, &is_new);
		a->cls = (uint32_t)*cls;
		if (is_new)
			class_add_sample(t, a, name);
	}
	ww_u64map_release(&first);
	ww_u64map_release(&by_name);
	ww_strtab_release(&names);

	memset(t->cls_of_rec, 0xff, sizeof(t->cls_of_rec));
	for (uint32_t type = 0; type < PD_REC_KERNEL_N; type++) {
		const struct pd_record_type *r = pd_record_type_of(type);
		uint32_t c = 0;

		if (!r)
			continue;
		while (c < type && !(t->cls_of_rec[c] != WW_NONE && pd_record_type_of(c) == r))
			c++;
		if (c < type) {
			t->cls_of_rec[type] = t->cls_of_rec[c];
			continue;
		}
		t->cls_of_rec[type] = (uint32_t)t->classes.n;
		struct pd_class *cls = ww_vec_push(&t->classes);
		cls->rec = r;
		cls->pub.name = pd_record_class_name(r);
		cls->pub.id = type;
		cls->pub.nfields = pd_record_field_names(r, &t->mem, &cls->pub.field_names);
	}
}

/* ---- open, close ---- */

static void clock_name(struct perfdata *t)
{
	static const struct {
		int32_t id;
		const char *name;
	} clocks[] = {{0, "realtime"}, {1, "monotonic"}, {4, "monotonic_raw"}, {7, "boottime"}, {11, "tai"}};
	struct ww_clock *c = &t->pub.info.clock;

	c->name = "perf"; /* the scheduler's clock of each CPU */
	c->uuid = "";
	c->freq_hz = 1000000000;
	if (!t->attrs.n || !t->attrs.v[0].use_clockid)
		return;
	for (size_t i = 0; i < WW_ARRAY_SIZE(clocks); i++)
		if (clocks[i].id == t->attrs.v[0].clockid)
			c->name = clocks[i].name;
	if (t->attrs.v[0].clockid == 0) {
		c->epoch_known = true;
		c->offset_ns = 0;
	}
}

static void perfdata_close(struct ww_trace *trace)
{
	struct perfdata *t = (struct perfdata *)trace;

	if (!t)
		return;
	pd_queue_release(t);
	pd_walk_release(t);
	free(t->dense);
	ww_u64map_release(&t->ids);
	ww_u64map_release(&t->tep_of_id);
	ww_vec_free(&t->attrs);
	ww_vec_free(&t->teps);
	ww_vec_free(&t->classes);
	ww_vec_free(&t->env);
	ww_vec_free(&t->damage);
	ww_vec_free(&t->cpu_last);
	ww_vec_free(&t->files);
	free(t->values);
	ww_arena_release(&t->mem);
	free(t);
}

static bool perfdata_probe(const char *path)
{
	char magic[8];
	struct stat st;
	bool ok = false;

	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && read(fd, magic, sizeof(magic)) == sizeof(magic))
		ok = !memcmp(magic, PD_MAGIC, 8) || !memcmp(magic, PD_MAGIC_SWAPPED, 8) ||
		     !memcmp(magic, PD_MAGIC_V1, 8);
	close(fd);
	return ok;
}

/* One more file, to be walked from `pos` on. */
static int source_add(struct perfdata *t, const char *path, struct ww_err *err)
{
	struct stat st;

	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return ww_err_errno(err, path, "cannot open");
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size == 0) {
		close(fd);
		return ww_err_set(err, WW_EFORMAT, path, WW_ERR_NO_OFFSET, "not a regular file, or empty");
	}
	void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	int rc = p == MAP_FAILED ? ww_err_errno(err, path, "cannot map") : 0;
	close(fd);
	if (rc)
		return rc;
	*ww_vec_push(&t->sources) = (struct pd_source){
		.map = p,
		.map_len = (size_t)st.st_size,
		.file = (uint32_t)t->files.n,
		.end = (uint64_t)st.st_size,
		.max_ts_ns = PD_NO_TIME,
		.flush_ts_ns = PD_NO_TIME,
		.block = WW_NONE,
	};
	*ww_vec_push(&t->files) = path;
	t->pub.stats.bytes += (uint64_t)st.st_size;
	return 0;
}

static int is_data(const struct dirent *e)
{
	return !strncmp(e->d_name, "data.", 5) && e->d_name[5] && !e->d_name[5 + strspn(e->d_name + 5, "0123456789")];
}

/* The files beside the one with the header, data.0 and so on; there are none when only the kernel's image is (--kcore). */
static int dir_open(struct perfdata *t, struct ww_err *err)
{
	const char *path = t->pub.info.path, *slash = strrchr(path, '/');
	const char *dir = slash ? ww_arena_strndup(&t->mem, path, (size_t)(slash - path + 1)) : "./";
	struct dirent **list = NULL;
	int n = strcmp(slash ? slash + 1 : path, "data") ? 0 : scandir(dir, &list, is_data, versionsort), rc = 0;

	for (int i = 0; i < n; i++) {
		const char *file = ww_arena_printf(&t->mem, "%s%s", slash ? dir : "", list[i]->d_name);
		struct stat st;

		if (!rc && t->files.n >= PD_MAX_FILES)
			rc = ww_err_set(err, WW_ELIMIT, file, WW_ERR_NO_OFFSET, "over %u files", PD_MAX_FILES);
		else if (!rc && !stat(file, &st) && st.st_size) /* a CPU on which nothing happened */
			rc = source_add(t, file, err);
		free(list[i]);
	}
	free(list);
	return rc;
}

static int open_all(struct perfdata *t, struct ww_err *err)
{
	int rc = source_add(t, t->pub.info.path, err);

	if (rc)
		return rc;
	t->map = t->sources.v[0].map;
	t->map_len = t->sources.v[0].map_len;
	rc = pd_header_read(t, err);
	if (rc)
		return rc;
	t->sources.v[0].pos = t->sources.v[0].given = t->data_pos;
	t->sources.v[0].given &= ~4095ull;
	t->sources.v[0].end = t->data_end;
	t->id_off = t->attrs.n > 1 && t->nids ? t->attrs.v[0].off_id : PD_ABSENT;
	return t->dir ? dir_open(t, err) : 0;
}

static int perfdata_open(const char *path, const struct ww_open_opts *opts, struct ww_trace **ret,
			 struct ww_err *err)
{
	struct perfdata *t = ww_xcalloc(1, sizeof(*t));
	struct ww_trace_info *info = &t->pub.info;

	ww_arena_init(&t->mem);
	t->pub.fmt = &ww_format_perfdata;
	t->strict = opts && opts->strict;
	t->last_ts_ns = t->limit_ts_ns = t->oldest_ts_ns = PD_NO_TIME;
	t->free_seg = t->free_run = t->open_seg = WW_NONE;
	t->long_size = 8;
	t->dense = ww_xmalloc(PD_DENSE_IDS * sizeof(*t->dense));
	memset(t->dense, 0xff, PD_DENSE_IDS * sizeof(*t->dense));
	info->path = ww_arena_strdup(&t->mem, path);
	info->hostname = info->kernel_release = info->arch = "";
	info->tracer = "perf";

	int rc = open_all(t, err);
	if (rc) {
		perfdata_close(&t->pub);
		return rc;
	}
	classes_build(t);
	clock_name(t);
	info->format = t->pipe ? "perf.data (pipe)" : t->sources.n > 1 ? "perf.data (directory)" : "perf.data";
	info->env = t->env.v;
	info->nenv = (uint32_t)t->env.n;
	info->nclasses = (uint32_t)t->classes.n;
	info->nstreams = 1;
	t->pub.stats.files = t->files.v;
	t->pub.stats.nfiles = (uint32_t)t->files.n;
	*ret = &t->pub;
	return 0;
}

/* ---- want ---- */

static const struct ww_class *perfdata_get_class(const struct ww_trace *trace, uint32_t cls)
{
	const struct perfdata *t = (const struct perfdata *)trace;
	return cls < t->classes.n ? &t->classes.v[cls].pub : NULL;
}

static uint32_t perfdata_damage(const struct ww_trace *trace, const struct ww_damage **ret)
{
	const struct perfdata *t = (const struct perfdata *)trace;
	*ret = t->damage.v;
	return (uint32_t)t->damage.n;
}

static struct pd_step step_find(const struct pd_class *c, const char *name)
{
	bool ctx = !strncmp(name, "ctx.", 4);

	if (!ctx && c->tep) {
		const struct ww_tep_field *f = ww_tep_field_find(c->tep, name);
		if (f)
			return (struct pd_step){.kind = PD_STEP_TEP, .tep = *f};
	}
	for (uint32_t i = 0; !ctx && c->rec && i < c->pub.nfields; i++)
		if (!strcmp(c->pub.field_names[i], name))
			return (struct pd_step){.kind = PD_STEP_RECORD, .index = i};
	name += ctx ? 4 : 0;
	for (uint32_t i = 0; i < PD_S_N; i++)
		if (!strcmp(pd_sample_field_names[i], name))
			return (struct pd_step){.kind = PD_STEP_SAMPLE, .index = i};
	return (struct pd_step){.kind = PD_STEP_NONE};
}

static int perfdata_want(struct ww_trace *trace, uint32_t cls, const char *const *fields, uint32_t n,
			 struct ww_err *err)
{
	struct perfdata *t = (struct perfdata *)trace;

	if (cls >= t->classes.n)
		return ww_err_set(err, WW_ENOENT, trace->info.path, WW_ERR_NO_OFFSET, "no class %u", cls);
	struct pd_class *c = &t->classes.v[cls];
	c->steps = WW_ARENA_ARRAY(&t->mem, struct pd_step, n + 1);
	c->nsteps = n;
	c->only_tep = true;
	c->fixed_bytes = 0;
	bool fixed = c->tep && !t->swap;
	for (uint32_t i = 0; i < n; i++) {
		c->steps[i] = step_find(c, fields[i]);
		if (c->steps[i].kind == PD_STEP_SAMPLE || c->steps[i].kind == PD_STEP_RECORD)
			c->only_tep = false;
		fixed = fixed && pd_step_fix(&c->steps[i], &c->fixed_bytes);
	}
	if (!fixed)
		c->fixed_bytes = 0;
	if (n > t->nvalues) {
		t->nvalues = n;
		t->values = ww_xrealloc(t->values, n * sizeof(*t->values));
	}
	return 0;
}

static void perfdata_ignore(struct ww_trace *trace, uint32_t cls)
{
	struct perfdata *t = (struct perfdata *)trace;
	if (cls >= t->classes.n)
		return;
	t->classes.v[cls].ignored = true;
	for (size_t i = 0; i < t->attrs.n; i++)
		t->attrs.v[i].ignored |= t->attrs.v[i].cls == cls;
}

/* ---- visit ---- */

static int perfdata_visit(struct ww_trace *trace, const struct ww_event *ev, const struct ww_visitor *v,
			  void *ctx, struct ww_err *err)
{
	struct perfdata *t = (struct perfdata *)trace;
	const struct pd_entry *e = trace->from.priv;
	const uint32_t who = 1u << PD_S_PID | 1u << PD_S_TID;

	if (!e || ev->cls >= t->classes.n)
		return 0;
	const struct pd_attr *a = &t->attrs.v[e->attr];
	const struct pd_class *c = &t->classes.v[ev->cls];
	struct pd_sample s;

	if (c->rec) {
		pd_record_visit(t, c->rec, a, e->rec, v, ctx);
		pd_trailer_parse(t, a, e->rec, &s);
		v->begin(ctx, "ctx", false);
		pd_sample_visit(t, &s, s.have, v, ctx);
		v->end(ctx);
		return 0;
	}
	pd_sample_parse(t, a, e->rec, &s);
	bool tep = c->tep && s.have & (1u << PD_S_RAW);
	if (tep)
		ww_tep_visit(c->tep, s.raw, s.raw_len, t->swap, false, v, ctx);
	else if (!c->tep)
		pd_sample_visit(t, &s, s.have & ~who, v, ctx);
	v->begin(ctx, "ctx", false);
	if (tep)
		ww_tep_visit(c->tep, s.raw, s.raw_len, t->swap, true, v, ctx);
	pd_sample_visit(t, &s, c->tep ? s.have & ~(1u << PD_S_RAW) : s.have & who, v, ctx);
	v->end(ctx);
	return 0;
}

const struct ww_format ww_format_perfdata = {
	.name = "perfdata",
	.summary = "perf.data of perf record, perf sched record and perf trace record: file, pipe or directory",
	.stable = true, /* till a compressed record comes */
	.probe = perfdata_probe,
	.open = perfdata_open,
	.close = perfdata_close,
	.get_class = perfdata_get_class,
	.damage = perfdata_damage,
	.want = perfdata_want,
	.ignore = perfdata_ignore,
	.next = pd_next,
	.visit = perfdata_visit,
};
