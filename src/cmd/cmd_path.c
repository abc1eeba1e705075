/* cmd_path.c - whywait path: the critical path of a thread, on one host or many.
 *
 * --between takes two operands of its own, which getopt cannot; so it is taken out of the arguments first.
 */
#include <unistd.h>

#include "analysis/rows.h"
#include "cmd/commands.h"
#include "cmd/load.h"
#include "cmd/report_run.h"
#include "cmd/when.h"

#define TEXT_STEPS 40 /* lines of the text's second part */

struct asked {
	bool folded;
	const char *host;
	const char *first, *second; /* --between; NULL not given */
	bool of_event; /* the target is the second event's thread */
};

enum { FOLDED, HOST, BETWEEN };

static bool on_extra(void *ctx, int index, const char *arg)
{
	struct asked *a = ctx;

	switch (index) {
	case FOLDED:
		a->folded = true;
		return true;
	case HOST:
		a->host = arg;
		return true;
	default:
		return false; /* --between=ONE: it needs two */
	}
}

/* Takes "--between A B" out of argv; false: it lacks its operands. */
static bool take_between(struct asked *a, int *argc, char **argv)
{
	for (int i = 1; i < *argc && strcmp(argv[i], "--"); i++) {
		if (strcmp(argv[i], "--between"))
			continue;
		if (i + 2 >= *argc)
			return false;
		a->first = argv[i + 1];
		a->second = argv[i + 2];
		memmove(&argv[i], &argv[i + 3], sizeof(*argv) * (size_t)(*argc - i - 2));
		*argc -= 3;
		return true;
	}
	return true;
}

/* The thread that an event is of: who had the CPU or, when the CPU was idle, whom the event woke or put on it.
 * WW_NONE: nobody, or not known. */
static uint32_t thread_of(const struct ww_facts *f, const struct ww_event_place *at)
{
	uint32_t first, n, t = WW_NONE;

	if (at->left_tid > 0)
		return ww_facts_thread_find(f, at->left_tid, at->ts_ns);
	if (at->cpu >= 0) {
		ww_facts_runs(f, (uint32_t)at->cpu, at->ts_ns, at->ts_ns + 1, &first, &n);
		t = n ? f->run.thread[f->run_of_cpu[first]] : WW_NONE;
	}
	if (t < f->thread.n && !(f->thread.flags[t] & WW_TF_IDLE))
		return t;
	return at->named_tid > 0 ? ww_facts_thread_find(f, at->named_tid, at->ts_ns) : WW_NONE;
}

/* "+0.123456 s" after the begin of the trace. */
static const char *when(const struct ww_facts *f, int64_t ts_ns, char *buf, size_t size)
{
	int64_t us = (ts_ns - f->begin_ts_ns) / 1000;

	snprintf(buf, size, "%c%" PRId64 ".%06" PRId64 " s", us < 0 ? '-' : '+', (us < 0 ? -us : us) / 1000000,
		 (us < 0 ? -us : us) % 1000000);
	return buf;
}

static int not_after(const struct ww_loaded *l, const struct asked *a, int64_t second_ts_ns, bool is_time, struct ww_err *err)
{
	char from[32], to[32];

	when(&l->facts, l->query.from_ts_ns, from, sizeof(from));
	when(&l->facts, second_ts_ns, to, sizeof(to));
	if (is_time)
		return ww_err_set(err, WW_EUSAGE, NULL, WW_ERR_NO_OFFSET, "--between: %s (at %s) is not after %s (at %s)", a->second, to,
				  a->first, from);
	if (!strcmp(a->first, a->second) || second_ts_ns == l->query.from_ts_ns)
		return ww_err_set(err, WW_EUSAGE, l->path, WW_ERR_NO_OFFSET,
				  "--between: after the first event (at %s) there is no second one with '%s'", from, a->second);
	return ww_err_set(err, WW_EUSAGE, l->path, WW_ERR_NO_OFFSET, "--between: '%s' is at %s, and '%s' only before it, first at %s",
			  a->first, from, a->second, to);
}

/* The second event, or time: after the first. */
static int find_second(const struct ww_loaded *l, const struct asked *a, int64_t offset, struct ww_event_place *ret,
		       struct ww_err *err)
{
	const int64_t from = l->query.from_ts_ns;
	struct ww_event_place any;
	int rc;

	*ret = (struct ww_event_place){.cpu = -1, .left_tid = -1, .named_tid = -1};
	if (ww_time_parse(l->facts.begin_ts_ns, offset, a->second, &ret->ts_ns))
		return ret->ts_ns > from ? 0 : not_after(l, a, ret->ts_ns, true, err);
	if (!ww_event_find(l->path, a->second, from, ret, NULL))
		return 0;
	rc = ww_event_find(l->path, a->second, INT64_MIN, &any, err);
	return rc ? rc : not_after(l, a, any.ts_ns, false, err);
}

/* From the first event to the next one with the second text; without --tid and the like the target is the
 * thread that the second is of. Either may also be a time. */
static int set_between(struct ww_loaded *l, struct asked *a, struct ww_err *err)
{
	const struct ww_facts *f = &l->facts;
	int64_t offset = f->host.epoch_known ? f->host.clock_offset_ns : 0;
	struct ww_query *q = &l->query;
	struct ww_event_place at;
	char text[32];
	int rc = ww_time_resolve(l->path, f->begin_ts_ns, offset, a->first, &q->from_ts_ns, err);

	if (!rc)
		rc = find_second(l, a, offset, &at, err);
	if (rc)
		return rc;
	q->to_ts_ns = at.ts_ns;
	if (q->tid >= 0 || q->pid >= 0 || q->comm || q->cgroup || !*at.name)
		return 0;
	uint32_t t = thread_of(f, &at);
	if (t != WW_NONE) {
		q->tid = f->thread.tid[t];
		a->of_event = true;
		return 0;
	}
	ww_err_set(err, WW_EUSAGE, l->path, WW_ERR_NO_OFFSET, "--between: the second event (%s at %s) is of no thread: none had CPU %d",
		   at.name, when(f, at.ts_ns, text, sizeof(text)), at.cpu);
	return ww_err_hint(err, "say whose path it is with --tid, --pid or --comm");
}

static int print(const struct ww_opts *o, const struct asked *a, const struct ww_path *p, struct ww_arena *mem)
{
	struct ww_path_sum sum;

	if (a->folded) {
		if (!o->quiet)
			ww_set_remarks(stderr, p->set, "whywait: ", UINT32_MAX);
		ww_path_folded(stdout, p);
		return 0;
	}
	ww_path_sum(mem, p, &sum);
	if (o->json)
		return ww_path_json(stdout, p, &sum);
	struct ww_text_opts to = ww_text_opts_of(o, stdout, o->top > 0 ? (uint32_t)o->top : 0, true);
	to.width = ww_text_columns(stdout, 100);
	to.steps = o->top > 0 ? (uint32_t)o->top : o->top == 0 ? 0 : TEXT_STEPS;
	to.permille = 1;
	ww_path_text(stdout, p, &sum, &to);
	return 0;
}

/* The asked thread is not on the host that was searched: those that have it are named. Whenever it was there: the times
 * that were asked for may be of that host's clock. */
static void hint_host(const struct ww_loaded_set *s, struct ww_arena *mem, struct ww_err *err)
{
	struct ww_query q = s->host[s->set.reference].query;
	const char *found = "";
	struct ww_target t;

	q.from_ts_ns = INT64_MIN;
	q.to_ts_ns = INT64_MAX;
	for (uint32_t h = 0; h < s->n; h++)
		if (h != s->set.reference && !ww_target_find(s->facts[h], &q, &t, NULL))
			found = ww_arena_printf(mem, "%s%s%s", found, *found ? ", " : "", s->set.who[h].label);
	if (!*found)
		return;
	err->hint[0] = 0;
	ww_err_hint(err, "only %s was searched; --host says where else, and there is one on %s", s->set.who[s->set.reference].label,
		    found);
}

int cmd_path(int argc, char **argv)
{
	static const struct ww_opt_extra extra[] = {
		[FOLDED] = {"folded", 0, NULL, "folded stacks for flame graphs: waiter;waker;...;kind, and ns"},
		[HOST] = {"host", 0, "HOST", "the target is on this host (its name, or its TRACE); else on the first TRACE's"},
		[BETWEEN] = {"between", 0, "EVENT EVENT",
			     "from the first event of this name or text to the next of that; the thread of the latter"},
		{NULL, 0, NULL, NULL},
	};
	struct asked a = {0};
	const struct ww_opts_spec spec = {
		.name = "path", .args = "[TRACE...]", .max_traces = WW_OPTS_MAX_TRACES,
		.summary = "The critical path: the chain of activity, across threads, devices, timers, packets and hosts,\n"
			   "that decided when a thread finished. Give the traces of several hosts to follow it over all.",
		.groups = WW_OG_TARGET | WW_OG_RANGE | WW_OG_JSON | WW_OG_TOP | WW_OG_FACTS,
		.extra = extra, .on_extra = on_extra, .ctx = &a,
	};
	struct ww_loaded_set s;
	struct ww_arena mem;
	struct ww_path p;
	struct ww_err err = {0};
	struct ww_opts o;

	if (!take_between(&a, &argc, argv)) {
		fputs("whywait path: --between takes two events or times\n", stderr);
		return WW_EXIT_USAGE;
	}
	int rc = ww_opts_parse(&o, argc, argv, &spec), bad = 0;
	if (rc >= 0)
		return rc;
	if (a.folded && o.json) {
		fputs("whywait path: --folded and --json are two forms of the answer; choose one\n", stderr);
		return WW_EXIT_USAGE;
	}
	/* --between A TRACE: no trace is called like an event. */
	if (a.first && o.ntraces == 1 && !strcmp(o.traces[0], WW_DEFAULT_TRACE) && !access(a.second, F_OK)) {
		fprintf(stderr, "whywait path: --between takes two events or times, and '%s' is a file: the second one is missing\n",
			a.second);
		return WW_EXIT_USAGE;
	}
	if (a.first && (o.from || o.to)) {
		fputs("whywait path: --between is the range; it does not go with --from or --to\n", stderr);
		return WW_EXIT_USAGE;
	}
	/* The target's clock is the one that all times are read and written in. */
	rc = ww_load_set(o.traces, (uint32_t)o.ntraces, &o, a.host ? a.host : o.traces[0], &s);
	if (rc)
		return rc;
	const uint32_t host = s.set.reference;
	ww_arena_init(&mem);
	if (a.first)
		rc = set_between(&s.host[host], &a, &err);
	if (!rc)
		rc = ww_path_make(&mem, &s.set, host, &s.host[host].query, &p, &err);
	if (rc) {
		if (rc == -WW_ENOTHREAD && ww_query_asks(&s.host[host].query))
			hint_host(&s, &mem, &err);
		rc = ww_opts_fail(&err);
	} else {
		if (a.of_event)
			p.target.why = "the thread that the second event is of";
		bad = print(&o, &a, &p, &mem);
		rc = ww_exit_worse(ww_load_set_status(&s), ww_set_is_whole(&s.set) ? WW_EXIT_DONE : WW_EXIT_PARTIAL);
	}
	ww_arena_release(&mem);
	ww_load_set_release(&s);
	return ww_output_finish(stdout, bad, rc);
}
