/* tracedat.c - trace-cmd's trace.dat, versions 6 and 7, through the interface of format.h.
 *
 * Every CPU of every buffer (the top one, then the instances) is a stream; a binary heap merges them by
 * time. The stream whose record was delivered last moves on at the next call only, so that values may
 * point into its page. See private.h for the other files.
 */
#include <stdio.h>

#include "format/tracedat/private.h"

static struct td_trace *self(const struct ww_trace *t)
{
	return (struct td_trace *)(uintptr_t)t;
}

static void td_close(struct ww_trace *trace)
{
	if (!trace)
		return;
	struct td_trace *t = self(trace);
	for (uint32_t i = 0; i < t->nstreams; i++)
		free(t->streams[i].chunk);
	free(t->streams);
	free(t->heap);
	free(t->values);
	free(t->class_of);
	td_symbols_free(t->symbols);
	ww_vec_free(&t->classes);
	ww_vec_free(&t->damage);
	td_file_close(&t->file);
	ww_arena_release(&t->mem);
	free(t);
}

/* The CPU's bytes, clamped to the file. */
static int open_stream(struct td_trace *t, uint32_t i, struct ww_err *err)
{
	const struct td_file *f = &t->file;
	const struct td_cpu_data *c = &f->cpus.v[i];
	struct td_stream *s = &t->streams[i];
	int rc = 0;

	s->index = i;
	s->where = c;
	s->buffer = &f->buffers.v[c->buffer];
	s->gap_begin_ns = INT64_MIN;
	uint64_t at = WW_MIN(c->offset, f->bytes), n = WW_MIN(c->size, f->bytes - at);
	s->pos = at;
	s->end = at + n;
	if (n < c->size) {
		s->cut = true;
		rc = td_damage(t, c->cpu, at, WW_ETRUNC, err,
			       "CPU %d has %" PRIu64 " bytes of data, the file only %" PRIu64 " of them", c->cpu,
			       c->size, n);
	}
	if (!rc && s->buffer->compressed && n) {
		if (n < 4)
			return td_damage(t, c->cpu, at, WW_ETRUNC, err, "the data ends in the number of chunks");
		struct ww_span count = ww_span_of(f->map + at, n);
		count.swap = f->swap;
		s->chunks_left = ww_span_u32(&count);
		s->pos = at + 4;
		/* trace-cmd 3.1 does not count these four bytes into the size */
		s->end = WW_MIN(s->end + 4, f->bytes);
	}
	return rc;
}

static int by_pos(const void *a, const void *b)
{
	const struct td_stream *x = *(struct td_stream *const *)a, *y = *(struct td_stream *const *)b;
	return x->pos < y->pos ? -1 : x->pos > y->pos;
}

/* Two CPUs cannot share bytes; a file that says so could be read for ever. The heap is scratch here. */
static int check_overlap(struct td_trace *t, struct ww_err *err)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->nstreams; i++)
		if (t->streams[i].pos < t->streams[i].end)
			t->heap[n++] = &t->streams[i];
	qsort(t->heap, n, sizeof(struct td_stream *), by_pos);
	for (uint32_t i = 1; i < n; i++)
		if (t->heap[i]->where->offset - t->heap[i - 1]->where->offset < t->heap[i - 1]->where->size)
			return ww_err_set(err, WW_ECORRUPT, t->file.path, t->heap[i]->where->offset,
					  "the data of CPU %d overlaps that of CPU %d", t->heap[i]->where->cpu,
					  t->heap[i - 1]->where->cpu);
	return 0;
}

static void fill_info(struct td_trace *t)
{
	struct ww_trace_info *in = &t->pub.info;
	struct td_file *f = &t->file;
	char *word[4] = {0}, *save = NULL;
	char *uname = ww_arena_strdup(&t->mem, f->uname ? f->uname : "");
	int n = 0;

	for (char *p = strtok_r(uname, " \n", &save); p && n < 4; p = strtok_r(NULL, " \n", &save))
		word[n++] = p;
	in->path = f->path;
	in->format = f->version == 6 ? "trace.dat v6" : "trace.dat v7";
	in->hostname = word[1] ? word[1] : "";
	in->kernel_release = word[2] ? word[2] : "";
	in->arch = word[3] ? word[3] : "";
	in->tracer = f->tracer ? ww_arena_printf(&t->mem, "trace-cmd %s", f->tracer) : "trace-cmd";
	td_clock_init(t);
	in->nclasses = (uint32_t)t->classes.n;
	in->nstreams = t->nstreams;
	in->ncpus = f->cpu_count;
	for (size_t i = 0; i < f->cpus.n; i++)
		if ((uint32_t)(f->cpus.v[i].cpu + 1) > in->ncpus)
			in->ncpus = (uint32_t)f->cpus.v[i].cpu + 1;
	for (size_t i = 0; i < f->buffers.n; i++)
		if (f->buffers.v[i].name[0])
			td_env(t, ww_arena_printf(&t->mem, "buffer.%zu", i),
			       ww_arena_printf(&t->mem, "%s clock=%s", f->buffers.v[i].name,
					       f->buffers.v[i].clock));
	in->env = f->env.v;
	in->nenv = (uint32_t)f->env.n;
	in->comms = f->comms.v;
	in->ncomms = (uint32_t)f->comms.n;
	t->files[0] = f->path;
	t->pub.stats.files = t->files;
	t->pub.stats.nfiles = 1;
	t->pub.stats.bytes = f->bytes;
}

static int td_open(const char *path, const struct ww_open_opts *opts, struct ww_trace **ret,
		   struct ww_err *err)
{
	struct td_trace *t = ww_xcalloc(1, sizeof(*t));
	int rc;

	t->pub.fmt = &ww_format_tracedat;
	t->strict = opts && opts->strict;
	ww_arena_init(&t->mem);
	t->class_of = ww_xmalloc((UINT16_MAX + 1) * sizeof(*t->class_of));
	memset(t->class_of, 0xff, (UINT16_MAX + 1) * sizeof(*t->class_of));
	rc = td_file_open(t, ww_arena_strdup(&t->mem, path), err);
	if (rc == -WW_ETRUNC)
		(void)ww_err_hint(err, "the file was cut off: copy it again, or let trace-cmd finish it");
	if (rc)
		goto out;
	td_classes_finish(t);
	t->nstreams = (uint32_t)t->file.cpus.n;
	t->streams = ww_xcalloc(t->nstreams + 1, sizeof(*t->streams));
	t->heap = ww_xcalloc(t->nstreams + 1, sizeof(struct td_stream *));
	for (uint32_t i = 0; i < t->nstreams && !rc; i++)
		rc = open_stream(t, i, err);
	if (!rc)
		rc = check_overlap(t, err);
	if (rc)
		goto out;
	fill_info(t);
	*ret = &t->pub;
	return 0;
out:
	td_close(&t->pub);
	return rc;
}

static const struct ww_class *td_get_class(const struct ww_trace *trace, uint32_t cls)
{
	const struct td_trace *t = self(trace);
	return cls < t->classes.n ? &t->classes.v[cls].pub : NULL;
}

static uint32_t td_get_damage(const struct ww_trace *trace, const struct ww_damage **ret)
{
	const struct td_trace *t = self(trace);
	*ret = t->damage.v;
	return (uint32_t)t->damage.n;
}

static int td_want(struct ww_trace *trace, uint32_t cls, const char *const *fields, uint32_t n,
		   struct ww_err *err)
{
	return td_class_want(self(trace), cls, fields, n, err);
}

static void td_ignore(struct ww_trace *trace, uint32_t cls)
{
	struct td_trace *t = self(trace);
	if (cls < t->classes.n)
		t->classes.v[cls].ignored = true;
}

static inline bool before(const struct td_stream *a, const struct td_stream *b)
{
	return a->key < b->key || (a->key == b->key && a->index < b->index);
}

static void sift_down(struct td_trace *t, uint32_t i)
{
	struct td_stream **h = t->heap, *s = h[i];

	for (uint32_t n = t->nheap;;) {
		uint32_t c = 2 * i + 1;
		if (c >= n)
			break;
		if (c + 1 < n && before(h[c + 1], h[c]))
			c++;
		if (!before(h[c], s))
			break;
		h[i] = h[c];
		i = c;
	}
	h[i] = s;
}

/* Moves the stream on; 1 it stays in the heap. A stream that ends in a gap stays for it, as the last of
 * the trace: no event of its own follows that the gap could come before. */
static int advance(struct td_trace *t, struct td_stream *s, struct ww_err *err)
{
	int rc = s->tail ? 0 : td_stream_next(t, s, err);

	if (rc || s->tail || !(s->gap || s->cut))
		return rc;
	s->gap = true;
	s->tail = true;
	s->key = INT64_MAX;
	if (s->any)
		s->gap_begin_ns = s->last_ns;
	return 1;
}

static int start(struct td_trace *t, struct ww_err *err)
{
	t->started = true;
	t->first_ns = INT64_MAX;
	for (uint32_t i = 0; i < t->nstreams; i++) {
		struct td_stream *s = &t->streams[i];
		int rc = advance(t, s, err);
		if (rc < 0)
			return rc;
		if (!rc)
			continue;
		t->heap[t->nheap++] = s;
		if (!s->tail)
			t->first_ns = WW_MIN(t->first_ns, s->ts_ns);
	}
	if (t->first_ns == INT64_MAX)
		t->first_ns = 0;
	for (uint32_t i = t->nheap / 2; i-- > 0;)
		sift_down(t, i);
	return 0;
}

/* What the flags of the pages did not say but the kernel's counters do. */
static void finish(struct td_trace *t)
{
	struct ww_trace_stats *st = &t->pub.stats;

	if (st->lost_events < t->file.stat_lost)
		st->lost_events = t->file.stat_lost;
}

static void deliver_gap(struct td_trace *t, struct td_stream *s, struct ww_event *ret)
{
	/* that events were lost is known even where their number is not */
	uint64_t lost = s->gap_lost ? s->gap_lost : 1;
	int64_t begin = s->gap_begin_ns != INT64_MIN ? s->gap_begin_ns : t->first_ns;

	t->gap_values[0] = (struct ww_value){.u = lost, .kind = WW_V_UINT};
	t->gap_values[1] = (struct ww_value){.i = WW_MIN(begin, ret->ts_ns), .kind = WW_V_INT};
	if (s->tail) {
		ret->ts_ns = t->pub.stats.end_ts_ns;
		t->cur = s;
	}
	ret->cls = WW_CLS_GAP;
	ret->nval = 2;
	ret->v = t->gap_values;
	t->pub.stats.lost_events += lost;
	s->gap = false;
	s->gap_lost = 0;
	s->gap_begin_ns = INT64_MIN;
}

static void decode(struct td_trace *t, const struct td_class *c, const struct td_stream *s, struct ww_value *v)
{
	for (uint32_t i = 0; i < c->nwant; i++, v++) {
		const struct ww_tep_field *f = c->want[i];
		if (WW_UNLIKELY(!f)) {
			*v = (struct ww_value){.kind = WW_V_NONE};
			continue;
		}
		if (WW_LIKELY(!c->elem[i])) {
			ww_tep_get_wanted(f, s->rec, s->rec_bytes, t->file.swap, v);
		} else {
			struct ww_value array;
			ww_tep_get(f, s->rec, s->rec_bytes, t->file.swap, &array);
			if (array.kind == WW_V_ARRAY && c->elem[i] <= array.len)
				ww_tep_elem(f, &array, c->elem[i] - 1u, t->file.swap, v);
			else
				*v = (struct ww_value){.kind = WW_V_NONE};
		}
	}
}

static int td_next(struct ww_trace *trace, struct ww_event *ret, struct ww_err *err)
{
	struct td_trace *t = self(trace);

	if (WW_UNLIKELY(!t->started)) {
		int rc = start(t, err);
		if (rc)
			return rc;
	}
	for (;;) {
		if (t->cur) {
			int rc = advance(t, t->cur, err);
			t->cur = NULL;
			if (rc < 0)
				return rc;
			if (!rc)
				t->heap[0] = t->heap[--t->nheap];
			if (t->nheap)
				sift_down(t, 0);
		}
		if (!t->nheap) {
			finish(t);
			return 0;
		}
		struct td_stream *s = t->heap[0];
		*ret = (struct ww_event){
			.ts_ns = s->ts_ns,
			.cls = s->cls,
			.cpu = s->where->cpu,
		};
		trace->from = (struct ww_origin){.offset = s->page_off, .stream = s->index, .priv = s};
		if (WW_UNLIKELY(s->gap)) {
			deliver_gap(t, s, ret);
			return 1;
		}
		const struct td_class *c = &t->classes.v[s->cls];
		t->cur = s;
		if (WW_UNLIKELY(c->ignored))
			continue;
		if (!s->buffer->compressed)
			trace->from.offset += (uint64_t)(s->rec - s->page);
		struct ww_value *v = trace->values_to ? trace->values_to : t->values;
		ret->nval = c->nwant;
		ret->v = v;
		decode(t, c, s, v);
		return 1;
	}
}

static void visit_fields(struct td_trace *t, const struct td_class *c, const struct td_stream *s, bool common,
			 const struct ww_visitor *v, void *ctx)
{
	const struct ww_tep_event *e = c->tep;

	for (uint32_t i = common ? 0 : e->ncommon; i < (common ? e->ncommon : e->nfields); i++) {
		const struct ww_tep_field *f = &e->fields[i];
		struct ww_value val;
		ww_tep_get(f, s->rec, s->rec_bytes, t->file.swap, &val);
		const char *symbol = td_symbol(t, f, &val);
		if (symbol)
			v->value(ctx, f->name, &val, symbol, 16);
		else
			ww_tep_visit_field(f, s->rec, s->rec_bytes, t->file.swap, v, ctx);
	}
}

static int td_visit(struct ww_trace *trace, const struct ww_event *ev, const struct ww_visitor *v, void *ctx,
		    struct ww_err *err)
{
	struct td_trace *t = self(trace);
	const struct td_stream *s = trace->from.priv;

	if (ev->cls >= t->classes.n || !s)
		return 0;
	const struct td_class *c = &t->classes.v[ev->cls];
	if (!c->tep)
		return 0;
	visit_fields(t, c, s, false, v, ctx);
	v->begin(ctx, "ctx", false);
	visit_fields(t, c, s, true, v, ctx);
	v->end(ctx);
	return 0;
}

const struct ww_format ww_format_tracedat = {
	.name = "trace.dat",
	.summary = "trace-cmd's trace.dat, versions 6 and 7",
	.probe = td_file_probe,
	.open = td_open,
	.close = td_close,
	.get_class = td_get_class,
	.damage = td_get_damage,
	.want = td_want,
	.ignore = td_ignore,
	.next = td_next,
	.visit = td_visit,
};
