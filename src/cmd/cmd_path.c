/* cmd_path.c - whywait path: the critical path of a thread, on one host or many.
 *
 * --between takes two operands of its own, which getopt cannot; so it is taken out of the arguments first.
 */
#include "cmd/commands.h"
#include "cmd/load.h"
#include "cmd/report_run.h"

#define TEXT_STEPS 40 /* lines of the text's second part */

struct asked {
	bool folded;
	const char *host;
	const char *first, *second; /* --between; NULL not given */
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

/* Who ran on the CPU at that time; WW_NONE: nobody, or not known. */
static uint32_t thread_at(const struct ww_facts *f, const struct ww_event_place *at)
{
	uint32_t first, n, t;

	if (at->cpu < 0)
		return WW_NONE;
	ww_facts_runs(f, (uint32_t)at->cpu, at->ts_ns, at->ts_ns + 1, &first, &n);
	t = n ? f->run.thread[f->run_of_cpu[first]] : WW_NONE;
	return t < f->thread.n && !(f->thread.flags[t] & WW_TF_IDLE) ? t : WW_NONE;
}

/* From the first event to the next one with the second text; without --tid and the like the target is the
 * thread that the second is of. Either may also be a time. */
static int set_between(struct ww_loaded *l, const struct asked *a, struct ww_err *err)
{
	const struct ww_facts *f = &l->facts;
	int64_t offset = f->host.epoch_known ? f->host.clock_offset_ns : 0;
	struct ww_query *q = &l->query;
	struct ww_event_place at = {.cpu = -1};
	int rc = ww_time_resolve(l->path, f->begin_ts_ns, offset, a->first, &q->from_ts_ns, err);

	if (rc)
		return rc;
	if (ww_event_find(l->path, a->second, q->from_ts_ns, &at, err))
		rc = ww_time_resolve(l->path, f->begin_ts_ns, offset, a->second, &at.ts_ns, err);
	if (rc)
		return rc;
	q->to_ts_ns = at.ts_ns;
	if (q->from_ts_ns >= q->to_ts_ns)
		return ww_err_set(err, WW_EUSAGE, NULL, WW_ERR_NO_OFFSET, "--between: the second is not after the first");
	uint32_t t = q->tid < 0 && q->pid < 0 && !q->comm && !q->cgroup ? thread_at(f, &at) : WW_NONE;
	if (t != WW_NONE)
		q->tid = f->thread.tid[t];
	return 0;
}

static int find_host(const struct ww_loaded_set *s, const struct asked *a, uint32_t *ret, struct ww_err *err)
{
	*ret = 0;
	for (uint32_t h = 0; a->host && h < s->n; h++)
		if (!strcmp(s->host[h].facts.host.name, a->host) || !strcmp(s->host[h].path, a->host)) {
			*ret = h;
			return 0;
		}
	if (!a->host)
		return 0;
	ww_err_set(err, WW_EUSAGE, NULL, WW_ERR_NO_OFFSET, "no trace is of a host called '%s'", a->host);
	return ww_err_hint(err, "`whywait info TRACE` says a trace's host");
}

static int print(const struct ww_opts *o, const struct asked *a, const struct ww_path *p, struct ww_arena *mem)
{
	struct ww_path_sum sum;

	if (a->folded) {
		ww_path_folded(stdout, p);
		return 0;
	}
	ww_path_sum(mem, p, &sum);
	if (o->json)
		return ww_path_json(stdout, p, &sum);
	struct ww_text_opts to = ww_text_opts_of(o, stdout, o->top > 0 ? (uint32_t)o->top : 0, true);
	to.steps = o->top > 0 ? (uint32_t)o->top : o->top == 0 ? 0 : TEXT_STEPS;
	to.permille = 1;
	ww_path_text(stdout, p, &sum, &to);
	return 0;
}

int cmd_path(int argc, char **argv)
{
	static const struct ww_opt_extra extra[] = {
		[FOLDED] = {"folded", 0, NULL, "folded stacks for flame graphs: waiter;waker;...;kind, and ns"},
		[HOST] = {"host", 0, "HOST", "the target is on this host; else on the first TRACE's"},
		[BETWEEN] = {"between", 0, "EVENT EVENT",
			     "from the first event with this text to the next with that; the thread of the latter"},
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
	uint32_t host = 0;

	if (!take_between(&a, &argc, argv)) {
		fputs("whywait path: --between takes two events\n", stderr);
		return WW_EXIT_USAGE;
	}
	int rc = ww_opts_parse(&o, argc, argv, &spec), bad = 0;
	if (rc >= 0)
		return rc;
	rc = ww_load_set(o.traces, (uint32_t)o.ntraces, &o, NULL, &s);
	if (rc)
		return rc;
	ww_arena_init(&mem);
	rc = find_host(&s, &a, &host, &err);
	if (!rc && a.first)
		rc = set_between(&s.host[host], &a, &err);
	if (!rc)
		rc = ww_path_make(&mem, &s.set, host, &s.host[host].query, &p, &err);
	if (rc) {
		rc = ww_opts_fail(&err);
	} else {
		bad = print(&o, &a, &p, &mem);
		rc = ww_load_set_status(&s);
	}
	ww_arena_release(&mem);
	ww_load_set_release(&s);
	return ww_output_finish(stdout, bad, rc);
}
