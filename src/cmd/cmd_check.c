/* cmd_check.c - `whywait check`: reads every packet and every field, and tests what must hold.
 *
 * Damage (a packet or record that cannot be read) comes from the reader, with file and offset. The rest is
 * tested here: stamps of a stream do not go back, every event decodes in full.
 */
#include <stdio.h>

#include "base/jsonout.h"
#include "base/vec.h"
#include "cmd/commands.h"
#include "cmd/event_print.h"
#include "cmd/opts.h"

#define MAX_PROBLEMS 1000u

struct problem {
	struct ww_err err;
	bool damage; /* else it is only odd */
};

struct check {
	WW_VEC(struct problem) problems;
	uint64_t damaged, odd, fields, gaps;
	WW_VEC(int64_t) last_ts; /* by stream */
};

static struct problem *problem(struct check *c, bool damage)
{
	static struct problem spare;

	*(damage ? &c->damaged : &c->odd) += 1;
	spare = (struct problem){.damage = damage};
	if (c->problems.n >= MAX_PROBLEMS)
		return &spare;
	struct problem *p = ww_vec_push(&c->problems);
	p->damage = damage;
	return p;
}

static void on_begin(void *ctx, const char *name, bool array)
{
}

static void on_end(void *ctx)
{
}

static void on_value(void *ctx, const char *name, const struct ww_value *v, const char *label, int base)
{
	struct check *c = ctx;

	c->fields++;
}

static void check_order(struct check *c, struct ww_trace *t, const struct ww_event *ev)
{
	const struct ww_trace_stats *st = ww_trace_stats(t);
	const struct ww_origin *from = ww_trace_origin(t);

	while (c->last_ts.n <= from->stream)
		*ww_vec_push(&c->last_ts) = INT64_MIN;
	int64_t *last = &c->last_ts.v[from->stream];
	if (ev->ts_ns < *last)
		(void)ww_err_set(&problem(c, false)->err, WW_ECORRUPT, st->files[from->file], from->offset,
				 "time goes back by %" PRId64 " ns within stream %u", *last - ev->ts_ns, from->stream);
	*last = ev->ts_ns;
}

static int check_events(struct check *c, struct ww_trace *t, struct ww_err *err)
{
	static const struct ww_visitor v = {on_begin, on_end, on_value};
	struct ww_event ev;
	int rc;

	while ((rc = ww_trace_next(t, &ev, err)) == 1) {
		if (ev.cls == WW_CLS_GAP) {
			c->gaps += !ww_gap_is_begin(&ev);
			continue;
		}
		check_order(c, t, &ev);
		struct ww_err e = {0};
		if (ww_trace_visit(t, &ev, &v, c, &e))
			problem(c, true)->err = e;
	}
	return rc;
}

static void take_damage(struct check *c, struct ww_trace *t)
{
	const struct ww_damage *d;
	uint32_t n = ww_trace_damage(t, &d);

	for (uint32_t i = 0; i < n; i++)
		problem(c, true)->err = d[i].err;
	if (ww_trace_stats(t)->bad_packets > n)
		c->damaged += ww_trace_stats(t)->bad_packets - n;
}

static void print_json(struct ww_trace *t, const struct check *c)
{
	const struct ww_trace_info *i = ww_trace_info(t);
	const struct ww_trace_stats *st = ww_trace_stats(t);
	struct ww_json j;

	ww_json_init(&j, stdout, true);
	ww_json_obj(&j, NULL);
	ww_json_str(&j, "whywait", "check");
	ww_json_i64(&j, "version", 1);
	ww_json_str(&j, "trace", i->path);
	ww_json_str(&j, "format", i->format);
	ww_json_bool(&j, "sound", !c->damaged && !st->lost_events && !c->odd);
	ww_json_u64(&j, "events", st->events);
	ww_json_u64(&j, "fields", c->fields);
	ww_json_u64(&j, "lost", st->lost_events);
	ww_json_u64(&j, "gaps", c->gaps);
	ww_json_u64(&j, "damaged", c->damaged);
	ww_json_u64(&j, "time_goes_back", c->odd);
	ww_json_u64(&j, "out_of_order", st->out_of_order);
	ww_json_arr(&j, "problems");
	for (size_t k = 0; k < c->problems.n; k++) {
		const struct ww_err *e = &c->problems.v[k].err;
		ww_json_obj(&j, NULL);
		ww_json_str(&j, "kind", c->problems.v[k].damage ? ww_code_name(e->code) : "time-goes-back");
		ww_json_str(&j, "file", e->file);
		if (e->offset == WW_ERR_NO_OFFSET)
			ww_json_null(&j, "offset");
		else
			ww_json_u64(&j, "offset", e->offset);
		ww_json_str(&j, "message", e->message);
		ww_json_end(&j);
	}
	ww_json_end(&j);
	ww_json_end(&j);
	ww_json_finish(&j);
}

static void print_text(struct ww_trace *t, const struct check *c, const struct ww_opts *o)
{
	const struct ww_trace_info *i = ww_trace_info(t);
	const struct ww_trace_stats *st = ww_trace_stats(t);
	size_t shown = o->quiet ? 0 : o->verbose ? c->problems.n : WW_MIN(c->problems.n, (size_t)20);
	char buf[1200];

	for (size_t k = 0; k < shown; k++) {
		ww_err_format(&c->problems.v[k].err, buf, sizeof(buf));
		printf("%s\n", buf);
	}
	if (shown < c->problems.n && !o->quiet)
		printf("... %zu more (-v)\n", c->problems.n - shown);
	printf("%s: %s, %" PRIu64 " events with %" PRIu64 " fields in %u streams: ", i->path, i->format, st->events,
	       c->fields, i->nstreams);
	if (!c->damaged && !c->odd && !st->lost_events && !c->gaps) {
		puts("sound");
		return;
	}
	printf("%" PRIu64 " damaged places, %" PRIu64 " events lost, time goes back %" PRIu64 " times, %" PRIu64
	       " gaps\n", c->damaged, st->lost_events, c->odd, c->gaps);
}

static int check_one(const char *path, const struct ww_opts *o)
{
	struct ww_err err = {0};
	struct check c = {0};
	struct ww_trace *t = NULL;
	int rc = ww_trace_open(path, NULL, &t, &err);

	if (!rc)
		rc = check_events(&c, t, &err);
	if (rc < 0) {
		rc = ww_opts_fail(&err);
	} else {
		take_damage(&c, t);
		if (o->json)
			print_json(t, &c);
		else
			print_text(t, &c, o);
		rc = c.damaged || c.odd || ww_trace_stats(t)->lost_events || c.gaps ? WW_EXIT_PARTIAL : WW_EXIT_DONE;
	}
	ww_vec_free(&c.problems);
	ww_vec_free(&c.last_ts);
	ww_trace_close(t);
	return rc;
}

int cmd_check(int argc, char **argv)
{
	const struct ww_opts_spec spec = {
		.name = "check", .args = "[TRACE...]",
		.summary = "Reads every packet and field of a trace and says what is damaged, and where.",
		.groups = WW_OG_JSON, .max_traces = WW_OPTS_MAX_TRACES,
	};
	struct ww_opts o;
	int rc = ww_opts_parse(&o, argc, argv, &spec), worst = WW_EXIT_DONE;

	if (rc >= 0)
		return rc;
	for (int k = 0; k < o.ntraces; k++)
		worst = ww_exit_worse(worst, check_one(o.traces[k], &o));
	return worst;
}
