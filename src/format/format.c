/* format.c - opens the trace that a path holds and passes calls on to its reader. */
#include "format/ahead.h"
#include "format/find.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

int ww_trace_open(const char *path, const struct ww_open_opts *opts, struct ww_trace **ret, struct ww_err *err)
{
	struct stat st;

	if (stat(path, &st) < 0) {
		int rc = ww_err_errno(err, path, "cannot open");
		if (errno == ENOENT)
			(void)ww_err_hint(err, "`whywait -- CMD` records a trace here");
		return rc;
	}
	if (access(path, R_OK) < 0)
		return ww_err_errno(err, path, "cannot read");
	struct ww_found found = {0};
	int rc = ww_trace_find(path, &found, err);
	if (!rc)
		rc = found.fmt->open(found.path, opts, ret, err);
	free(found.path);
	return rc;
}

void ww_trace_close(struct ww_trace *t)
{
	if (!t)
		return;
	ww_ahead_stop(t);
	free(t->will_visit);
	t->fmt->close(t);
}

const struct ww_trace_info *ww_trace_info(const struct ww_trace *t)
{
	return &t->info;
}

const struct ww_class *ww_trace_class(const struct ww_trace *t, uint32_t cls)
{
	return t->fmt->get_class(t, cls);
}

const struct ww_trace_stats *ww_trace_stats(const struct ww_trace *t)
{
	return &t->stats;
}

uint32_t ww_trace_damage(const struct ww_trace *t, const struct ww_damage **ret)
{
	return t->fmt->damage(t, ret);
}

int ww_trace_want(struct ww_trace *t, uint32_t cls, const char *const *fields, uint32_t n, struct ww_err *err)
{
	t->max_want = WW_MAX(t->max_want, n);
	return t->fmt->want(t, cls, fields, n, err);
}

void ww_trace_ignore(struct ww_trace *t, uint32_t cls)
{
	t->fmt->ignore(t, cls);
}

int ww_trace_next(struct ww_trace *t, struct ww_event *ret, struct ww_err *err)
{
	WW_DASSERT(!t->ahead);
	return t->fmt->next(t, ret, err);
}

int ww_trace_batch(struct ww_trace *t, const struct ww_event **ret, struct ww_err *err)
{
	if (t->ahead)
		return ww_ahead_batch(t, ret, err);
	*ret = &t->one;
	return t->fmt->next(t, &t->one, err);
}

const struct ww_origin *ww_trace_origin(const struct ww_trace *t)
{
	return &t->from;
}

int64_t ww_trace_begin(const struct ww_trace *t)
{
	return t->ahead ? t->first_ts_ns : t->stats.events ? t->stats.begin_ts_ns : INT64_MAX;
}

void ww_trace_will_visit(struct ww_trace *t, uint32_t cls, bool arrays_only)
{
	WW_ASSERT(cls < t->info.nclasses && !t->ahead);
	if (!t->will_visit)
		t->will_visit = ww_xcalloc(t->info.nclasses, 1);
	t->will_visit[cls] = arrays_only ? 2 : 1;
}

int ww_trace_count(struct ww_trace *t, uint64_t *per_class, struct ww_err *err)
{
	struct ww_event ev;
	int rc = t->fmt->count ? t->fmt->count(t, per_class, err) : 1;

	while (rc == 1 && (rc = t->fmt->next(t, &ev, err)) == 1)
		if (ev.cls != WW_CLS_GAP)
			per_class[ev.cls]++;
	return rc;
}

int ww_trace_visit(struct ww_trace *t, const struct ww_event *ev, const struct ww_visitor *v, void *ctx,
		   struct ww_err *err)
{
	if (t->ahead)
		return ww_ahead_visit(t, ev, v, ctx, err);
	return t->fmt->visit(t, ev, v, ctx, err);
}
