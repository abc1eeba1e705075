/* when.c - reads times as they are written, and looks events up by their text. */
#include "cmd/when.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/units.h"
#include "format/format.h"
#include "model/vocab.h"

struct find_text {
	const char *text;
	bool found;
};

static void look_at_value(void *ctx, const char *name, const struct ww_value *v, const char *label, int base)
{
	struct find_text *s = ctx;

	if (v->kind == WW_V_STR && v->len && memmem(v->p, v->len, s->text, strlen(s->text)))
		s->found = true;
	if (label && strstr(label, s->text))
		s->found = true;
}

/* Whom an event names. */
static void look_at_tid(void *ctx, const char *name, const struct ww_value *v, const char *label, int base)
{
	struct ww_event_place *at = ctx;
	const enum ww_kind kind = ww_vocab_find(at->name, false).row->kind;
	static const char *const tids[][2] = {{"next_tid", "next_pid"}, {"child_tid", "child_pid"}, {"tid", "pid"}};
	const char *const *want = tids[kind == WW_K_SWITCH ? 0 : kind == WW_K_FORK ? 1 : 2];

	if (!name || (v->kind != WW_V_INT && v->kind != WW_V_UINT) || v->i < 0 || v->i > INT32_MAX)
		return;
	if (at->named_tid < 0 && (!strcmp(name, want[0]) || !strcmp(name, want[1])))
		at->named_tid = (int32_t)v->i;
	if (kind == WW_K_SWITCH && (!strcmp(name, "prev_tid") || !strcmp(name, "prev_pid")))
		at->left_tid = (int32_t)v->i;
}

static void look_at_nothing(void *ctx, const char *name, bool array)
{
}

static void look_at_end(void *ctx)
{
}

static void take_place(struct ww_trace *t, const struct ww_event *ev, struct ww_event_place *ret)
{
	const struct ww_visitor v = {look_at_nothing, look_at_end, look_at_tid};

	*ret = (struct ww_event_place){.ts_ns = ev->ts_ns, .cpu = ev->cpu, .left_tid = -1, .named_tid = -1};
	snprintf(ret->name, sizeof(ret->name), "%s", ww_trace_class(t, ev->cls)->name);
	const struct ww_vocab_match m = ww_vocab_find(ret->name, false);
	if (m.row && (m.row->kind == WW_K_SWITCH || m.row->kind == WW_K_FORK ||
		      (m.row->kind >= WW_K_WAKING && m.row->kind <= WW_K_WAKEUP_NEW)))
		ww_trace_visit(t, ev, &v, ret, NULL);
}

/* "sched_switch" of "sched:sched_switch" too. */
static bool is_named(const char *name, const char *text)
{
	const char *colon = strchr(name, ':');

	return !strcmp(name, text) || (colon && !strcmp(colon + 1, text));
}

static bool has_text(struct ww_trace *t, const struct ww_event *ev, const char *text)
{
	const struct ww_visitor v = {look_at_nothing, look_at_end, look_at_value};
	struct find_text s = {.text = text};

	if (strstr(ww_trace_class(t, ev->cls)->name, text))
		return true;
	ww_trace_visit(t, ev, &v, &s, NULL);
	return s.found;
}

/* 1: found. An event of that name is looked for to the end before one with the text counts. */
static int find_event(struct ww_trace *t, const char *text, int64_t after_ts_ns, struct ww_event_place *ret, struct ww_err *err)
{
	bool may_be_name = false, is_name = false, found = false;
	struct ww_event ev;
	int rc = 0;

	for (uint32_t i = 0; i < ww_trace_info(t)->nclasses; i++)
		may_be_name = may_be_name || is_named(ww_trace_class(t, i)->name, text);
	while ((!found || may_be_name) && (rc = ww_trace_next(t, &ev, err)) == 1) {
		if (ev.cls == WW_CLS_GAP)
			continue;
		if (may_be_name && is_named(ww_trace_class(t, ev.cls)->name, text)) {
			if (ev.ts_ns > after_ts_ns) {
				take_place(t, &ev, ret);
				return 1;
			}
			is_name = true;
		} else if (!found && !is_name && ev.ts_ns > after_ts_ns && has_text(t, &ev, text)) {
			take_place(t, &ev, ret);
			found = true;
		}
	}
	return found && !is_name ? 1 : rc;
}

int ww_event_find(const char *path, const char *text, int64_t after_ts_ns, struct ww_event_place *ret, struct ww_err *err)
{
	struct ww_event_place at;
	struct ww_trace *t = NULL;
	int rc = 0;

	if (*text) {
		rc = ww_trace_open(path, NULL, &t, err);
		if (rc)
			return rc;
		rc = find_event(t, text, after_ts_ns, &at, err);
		ww_trace_close(t);
	}
	if (rc > 0)
		*ret = at;
	if (rc)
		return WW_MIN(rc, 0);
	ww_err_set(err, WW_EUSAGE, path, WW_ERR_NO_OFFSET,
		   *text ? "'%s' is no time and no event has this text" : "'%s' is no time, and no text either", text);
	return ww_err_hint(err, "write +1.5s, 13:02:59.5, seconds or ns since the epoch, or a text of an event");
}

/* 13:02, 13:02:59 or 13:02:59.5, as `events` prints the time: of the day on which that is nearest to the trace's begin.
 * False: it is none. */
static bool clock_parse(const char *s, int64_t begin_epoch_ns, int64_t *ret_epoch_ns)
{
	unsigned h, min, sec = 0;
	int n = 0, m = 0;
	int64_t frac = 0, unit = WW_NS_PER_S / 10;

	if (sscanf(s, "%2u:%2u%n", &h, &min, &n) != 2 || !n || h > 23 || min > 59)
		return false;
	if (s[n] == ':' && sscanf(s + n + 1, "%2u%n", &sec, &m) == 1 && m)
		n += 1 + m;
	if (m && s[n] == '.')
		for (n++; s[n] >= '0' && s[n] <= '9'; n++, unit /= 10)
			frac += (s[n] - '0') * unit;
	if (s[n] || sec > 60)
		return false;
	time_t begin = (time_t)(begin_epoch_ns / WW_NS_PER_S);
	int64_t best = INT64_MAX;
	for (int day = -1; day <= 1; day++) {
		struct tm tm;
		localtime_r(&begin, &tm);
		tm.tm_mday += day;
		tm.tm_hour = (int)h, tm.tm_min = (int)min, tm.tm_sec = (int)sec, tm.tm_isdst = -1;
		int64_t ns = (int64_t)mktime(&tm) * WW_NS_PER_S + frac, off = ns - begin_epoch_ns;
		if (best == INT64_MAX || (off < 0 ? -off : off) < (best < 0 ? -best : best))
			best = off;
	}
	*ret_epoch_ns = begin_epoch_ns + best;
	return true;
}

#define MAX_SECONDS 9000000000LL /* that int64 has ns for */

bool ww_time_parse(int64_t begin_ts_ns, int64_t offset, const char *s, int64_t *ret)
{
	char *end;
	int64_t ns;

	if (*s == '+' && ww_dur_parse(s + 1, &ns)) {
		*ret = begin_ts_ns + ns;
		return true;
	}
	if (clock_parse(s, begin_ts_ns + offset, &ns)) {
		*ret = ns - offset;
		return true;
	}
	errno = 0;
	long long whole = strtoll(s, &end, 10);
	if (end == s || errno || whole < 0)
		return false;
	if (!*end && whole >= MAX_SECONDS) { /* ns since the epoch, or of the trace's clock where it has no date */
		*ret = whole - offset;
		return true;
	}
	int64_t frac = 0, unit = WW_NS_PER_S / 10;
	if (*end == '.')
		for (end++; *end >= '0' && *end <= '9'; end++, unit /= 10)
			frac += (*end - '0') * unit;
	if (*end || whole >= MAX_SECONDS)
		return false;
	*ret = whole * WW_NS_PER_S + frac - offset;
	return true;
}

int ww_time_resolve(const char *path, int64_t begin_ts_ns, int64_t offset, const char *s, int64_t *ret,
		    struct ww_err *err)
{
	struct ww_event_place at = {0};

	if (ww_time_parse(begin_ts_ns, offset, s, ret))
		return 0;
	int rc = ww_event_find(path, s, INT64_MIN, &at, err);
	*ret = at.ts_ns;
	return rc;
}
