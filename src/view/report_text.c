/* report_text.c - the report for a person: a table that adds up, the longest waits, the findings. */
#include <sys/wait.h>

#include "analysis/names.h"
#include "view/text.h"

#define ROWS_SHOWN_PERMILLE 5 /* rows below 0.5 % of the wall time are summed up in one */

/* "blocked: disk in fsync - /tmp/x on vda": one phrase, so that short parts leave their room to long ones. */
static void put_row(struct ww_text *t, const struct ww_thread_report *r, int64_t ns, const char *times,
		    const char *longest, enum ww_paint p, const char *what, const char *where, const char *detail)
{
	unsigned used = 38 + (unsigned)(strlen(what) + strlen(where));

	if (*detail)
		detail = ww_text_fit(t, detail, t->o->width > used + 3 + 12 ? t->o->width - used - 3 : 12);
	fprintf(t->out, "  %9s %5.1f %% %6s %9s  %s%s%s%s%s%s\n", ww_text_dur(t, ns),
		r->wall_ns ? 100.0 * (double)ns / (double)r->wall_ns : 0.0, times, longest, ww_paint_on(t, p), what,
		ww_paint_off(t, p), where, *detail ? " - " : "", detail);
}

static int most_first(const void *a, const void *b)
{
	const struct ww_breakdown_row *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

/* Of these a thread has a row for each neighbour, interrupt or file: shown as one. */
static const char fault_words[] = "page fault ";

static bool is_fault(const struct ww_breakdown_row *b)
{
	return b->state == WW_ST_RUNNING_KERNEL && !*b->syscall && !strncmp(b->detail, fault_words, strlen(fault_words));
}

static bool is_merged(const struct ww_breakdown_row *b)
{
	return b->state == WW_ST_PREEMPTED || b->state == WW_ST_RUNQUEUE || b->state == WW_ST_INTERRUPTED || is_fault(b);
}

/* What differs between the rows that are merged: "cc1 (5 of them)", "/usr/bin/git". */
static const char *own_words(const struct ww_breakdown_row *b)
{
	if (is_fault(b))
		return b->detail + strlen(fault_words);
	if (!strncmp(b->detail, "by ", 3) || !strncmp(b->detail, "behind ", 7))
		return strchr(b->detail, ' ') + 1;
	return b->detail;
}

/* The rows that are to be one with `of`: "by cc1 (12) 7.8 ms, clang (9) 2.1 ms, 12 more". */
static struct ww_breakdown_row merge_rows(struct ww_text *t, const struct ww_breakdown_row *rows, uint32_t nrows,
					  const struct ww_breakdown_row *of)
{
	struct ww_breakdown_row m = {.state = of->state, .syscall = "", .detail = ""};
	const char *kind = is_fault(of) ? "page faults: " : of->state == WW_ST_PREEMPTED ? "by " :
			   of->state == WW_ST_RUNQUEUE ? "behind " : "", *only = NULL;
	uint32_t named = 0, more = 0;

	for (uint32_t i = 0; i < nrows; i++) {
		const struct ww_breakdown_row *b = &rows[i];
		if (b->state != of->state || is_fault(b) != is_fault(of))
			continue;
		const char *who = own_words(b);
		m.ns += b->ns;
		m.count += b->count;
		m.max_ns = WW_MAX(m.max_ns, b->max_ns);
		if (!*who)
			continue;
		if (!only && !strcmp(who, "the CPU was idle"))
			kind = "";
		only = named++ ? only : who;
		if (named == 1 || (named == 2 && strlen(m.detail) + strlen(who) < 64))
			m.detail = ww_arena_printf(&t->mem, "%s%s%s %s", m.detail, *m.detail ? ", " : "",
						   ww_text_fit(t, who, 32), ww_text_dur(t, b->ns));
		else
			more++;
	}
	if (named == 1) /* the duration is in the row already */
		m.detail = only;
	else if (more)
		m.detail = ww_arena_printf(&t->mem, "%s%s%u more", m.detail, *m.detail ? ", " : "", more);
	if (*m.detail)
		m.detail = ww_arena_printf(&t->mem, "%s%s", kind, m.detail);
	return m;
}

/* "pipe" is both the cause and what a nameless one is called: it is said once. */
static const char *without_cause(const char *detail, enum ww_cause cause)
{
	const char *name = ww_cause_name(cause);
	size_t n = strlen(name);

	if (cause == WW_CA_NONE || strncmp(detail, name, n) || (detail[n] && detail[n] != ','))
		return detail;
	return detail + n + strspn(detail + n, ", ");
}

static void put_breakdown_row(struct ww_text *t, const struct ww_thread_report *r, const struct ww_breakdown_row *b)
{
	const char *times = ww_arena_printf(&t->mem, "%u", b->count), *in = "";
	/* of running in a system call the detail is only the call again */
	bool repeats = b->state == WW_ST_RUNNING_KERNEL && !strcmp(b->detail, b->syscall);

	if (*b->syscall && strcmp(b->syscall, ww_cause_name(b->cause)))
		in = ww_arena_printf(&t->mem, " in %s", ww_text_fit(t, b->syscall, 24));
	put_row(t, r, b->ns, times, ww_text_dur(t, b->max_ns), ww_paint_of(b->state),
		ww_text_state(t, b->state, b->cause), in, repeats ? "" : without_cause(b->detail, b->cause));
}

/* "57 smaller rows - running 2.1 ms, blocked 1.2 ms (--verbose shows them)". */
static void put_rest(struct ww_text *t, const struct ww_thread_report *r, const int64_t ns[WW_TG_N], uint32_t n)
{
	static const char *const names[WW_TG_N] = {"running", "ready", "blocked", "unknown"};
	const char *parts = "";
	int64_t sum = 0;

	for (int g = 0; g < WW_TG_N; g++)
		sum += ns[g];
	for (int g = 0; g < WW_TG_N; g++) {
		if (ns[g] * 10 >= sum)
			parts = ww_arena_printf(&t->mem, "%s%s%s %s", parts, *parts ? ", " : "", names[g],
						ww_text_dur(t, ns[g]));
	}
	put_row(t, r, sum, "", "", WW_P_DIM, ww_arena_printf(&t->mem, "%u smaller row%s (-v)", n, n == 1 ? "" : "s"), "",
		parts);
}

/* "92.3 % blocked; 6.3 % ready, no CPU; 1.4 % running (0.3 % user, 1.1 % kernel)", the largest first. */
static void put_short(struct ww_text *t, const struct ww_thread_report *r)
{
	static const char *const names[WW_TG_N] = {"running", "ready, no CPU", "blocked", "unknown"};
	static const enum ww_paint paints[WW_TG_N] = {WW_P_RUN, WW_P_QUEUE, WW_P_WAIT, WW_P_UNKNOWN};
	int64_t ns[WW_TG_N] = {0};
	double whole = r->wall_ns ? (double)r->wall_ns / 100.0 : 1;
	bool any = false;

	for (int s = 0; s < WW_ST_N; s++)
		ns[ww_text_group((enum ww_thread_state)s)] += r->by_state_ns[s];
	fputs("  ", t->out);
	for (int i = 0; i < WW_TG_N; i++) {
		int best = 0;
		for (int g = 1; g < WW_TG_N; g++)
			if (ns[g] > ns[best])
				best = g;
		if (ns[best] <= 0 || (any && ns[best] * 2000 < r->wall_ns))
			break;
		fprintf(t->out, "%s%s%.1f %% %s%s", any ? "; " : "", ww_paint_on(t, paints[best]), (double)ns[best] / whole,
			names[best], ww_paint_off(t, paints[best]));
		if (best == WW_TG_RUNNING && r->by_state_ns[WW_ST_RUNNING_USER] + r->by_state_ns[WW_ST_RUNNING_KERNEL])
			fprintf(t->out, " (%.1f %% user, %.1f %% kernel)", (double)r->by_state_ns[WW_ST_RUNNING_USER] / whole,
				(double)r->by_state_ns[WW_ST_RUNNING_KERNEL] / whole);
		ns[best] = 0;
		any = true;
	}
	fputc('\n', t->out);
}

#define ROWS_SHOWN 16

static void put_breakdown(struct ww_text *t, const struct ww_thread_report *r)
{
	struct ww_breakdown_row *rows = WW_ARENA_ARRAY(&t->mem, struct ww_breakdown_row, r->nrows + 4), *all = r->rows;
	int64_t least = t->o->verbose ? 0 : r->wall_ns * ROWS_SHOWN_PERMILLE / 1000, rest[WW_TG_N] = {0};
	uint32_t n = 0, nrest = 0, nall = r->nrows;

	if (!t->o->verbose)
		nall = ww_breakdown_merge(&t->mem, r->rows, r->nrows, &all);
	bool done[WW_ST_N] = {false};
	for (uint32_t i = 0; i < nall; i++) {
		if (t->o->verbose || !is_merged(&all[i]))
			rows[n++] = all[i];
		else if (!done[all[i].state])
			rows[n++] = merge_rows(t, all, nall, &all[i]);
		if (is_merged(&all[i]))
			done[all[i].state] = true;
	}
	if (n)
		qsort(rows, n, sizeof(*rows), most_first);
	fprintf(t->out, "  %9s %7s %6s %9s  %s\n", "time", "share", "times", "longest", "state");
	for (uint32_t i = 0; i < n; i++) {
		if (!t->o->verbose && (rows[i].ns < least || i >= ROWS_SHOWN)) {
			rest[ww_text_group(rows[i].state)] += rows[i].ns;
			nrest++;
		} else {
			put_breakdown_row(t, r, &rows[i]);
		}
	}
	if (nrest)
		put_rest(t, r, rest, nrest);
	put_row(t, r, r->wall_ns, "", "", WW_P_BOLD, "wall time", "", "");
}

static int longest_first(const void *a, const void *b)
{
	const struct ww_link *const *x = a, *const *y = b;

	if ((*x)->dur_ns != (*y)->dur_ns)
		return (*x)->dur_ns < (*y)->dur_ns ? 1 : -1;
	return (*x)->start_ts_ns < (*y)->start_ts_ns ? -1 : (*x)->start_ts_ns > (*y)->start_ts_ns;
}

/* Waits of one kind: in the same call, for the same. */
struct wait_kind {
	const struct ww_link *longest;
	const char *detail, *call;
	uint32_t n;
	int64_t ns;
};

static int most_time_first(const void *a, const void *b)
{
	const struct wait_kind *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->longest->start_ts_ns < y->longest->start_ts_ns ? -1 : x->longest->start_ts_ns > y->longest->start_ts_ns;
}

#define KINDS_MAX 2000u /* of the longest waits; the rest is too short to be shown */

static uint32_t kinds_make(struct ww_text *t, const struct ww_link *const *list, uint32_t n, struct wait_kind *kinds)
{
	uint32_t nkinds = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct ww_link *l = list[i];
		const char *detail = ww_name_state(&t->mem, t->f, l->row, false);
		const char *call = ww_name_syscall_only(t->f, t->f->state.syscall[l->row]);
		uint32_t k = 0;
		while (k < nkinds && (kinds[k].longest->cause != l->cause ||
				      strcmp(kinds[k].call, call ? call : "") ||
				      !ww_breakdown_alike(&t->mem, kinds[k].detail, detail)))
			k++;
		if (k == KINDS_MAX)
			break;
		if (k == nkinds)
			kinds[nkinds++] = (struct wait_kind){.longest = l, .detail = detail, .call = call ? call : ""};
		kinds[k].n++;
		kinds[k].ns += l->dur_ns;
	}
	if (nkinds)
		qsort(kinds, nkinds, sizeof(*kinds), most_time_first);
	return nkinds;
}

/* The lines of a wait; what is short of it is left out until they are few enough. They are the caller's. */
static char *wait_lines(struct ww_text *t, const struct ww_link *wait, int64_t least_ns, uint32_t most)
{
	static const uint32_t permille[] = {100, 150, 200, 300, 400};
	const struct ww_text_opts *all = t->o;
	struct ww_text_opts o = *all;
	FILE *out = t->out;
	char *text = NULL;

	t->o = &o;
	for (size_t i = 0;; i++) {
		size_t size, lines = 0;
		free(text);
		t->out = open_memstream(&text, &size);
		WW_ASSERT(t->out);
		ww_text_wait(t, wait, 2, least_ns);
		fclose(t->out);
		for (const char *p = text; (p = strchr(p, '\n')); p++)
			lines++;
		if (lines <= most || i == WW_ARRAY_SIZE(permille))
			break;
		o.permille = permille[i];
	}
	t->o = all;
	t->out = out;
	return text;
}

#define FIRST_LINES 20u /* of the kind that took most; the others get */
#define OTHER_LINES 10u

/* Of each kind of wait the longest one, the kinds that took most first. */
static void put_kinds(struct ww_text *t, const struct ww_thread_report *r, const struct ww_link *const *list, uint32_t n)
{
	struct wait_kind *kinds = ww_xcalloc(WW_MIN(n, KINDS_MAX) + 1, sizeof(*kinds));
	uint32_t nkinds = kinds_make(t, list, n, kinds), shown = 0;

	for (uint32_t k = 0; k < nkinds && shown < t->o->kinds; k++) {
		if (kinds[k].ns < r->wall_ns / 100)
			break; /* what takes no percent is in the table; here it would be noise */
		if (!shown++)
			ww_text_title(t, "The longest wait of each kind, and what was done meanwhile by whom it waited for");
		char *lines = wait_lines(t, kinds[k].longest, r->wall_ns / 100, shown == 1 ? FIRST_LINES : OTHER_LINES);
		fputs(lines, t->out);
		free(lines);
		if (kinds[k].n > 1)
			fprintf(t->out, "  %s    and %u more like it, together %s%s\n", ww_paint_on(t, WW_P_DIM), kinds[k].n - 1,
				ww_text_dur(t, kinds[k].ns - kinds[k].longest->dur_ns), ww_paint_off(t, WW_P_DIM));
	}
	free(kinds);
}

static void put_longest(struct ww_text *t, const struct ww_thread_report *r)
{
	const struct ww_link **list = ww_xmalloc(sizeof(*list) * ((size_t)r->nwaits + 1));
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->nwaits; i++)
		if (r->waits[i].dur_ns >= t->o->min_dur_ns)
			list[n++] = &r->waits[i];
	if (n)
		qsort(list, n, sizeof(*list), longest_first);
	if (t->o->kinds) {
		put_kinds(t, r, list, n);
		free(list);
		return;
	}
	uint32_t shown = t->o->top ? WW_MIN(n, t->o->top) : n;
	if (shown) {
		ww_text_title(t, ww_arena_printf(&t->mem, shown < r->nwaits_all ? "The longest waits (%u of %u), and what was "
					     "done meanwhile by whom they waited for" : "The waits (%u), and what was "
					     "done meanwhile by whom they waited for", shown, r->nwaits_all));
		for (uint32_t i = 0; i < shown; i++)
			ww_text_wait(t, list[i], 2, 0);
	}
	free(list);
}

static void put_blame(struct ww_text *t, const struct ww_thread_report *r)
{
	int64_t sum = 0;
	uint32_t shown = 0;
	bool chains = false;

	for (uint32_t i = 0; i < r->nblame; i++)
		sum += r->blame[i].ns;
	for (uint32_t i = 0; i < r->nblame; i++)
		chains |= r->blame[i].thread != r->thread && r->blame[i].thread != WW_NONE;
	if (!sum || !chains) /* nothing but timers and devices: the table has said it already */
		return;
	struct ww_blame_row *rows = r->blame;
	uint32_t n = t->o->verbose ? r->nblame : ww_blame_merge(&t->mem, t->f, r->blame, r->nblame, &rows);
	for (uint32_t i = 0; i < n && shown < 8; i++, shown += !t->o->verbose) {
		const struct ww_blame_row *b = &rows[i];
		if (b->ns * 100 < r->wall_ns && !t->o->verbose)
			break;
		if (!i)
			ww_text_title(t, "What the waits come down to, at the end of the chains");
		const char *who = ww_text_fit(t, b->who ? b->who : ww_blame_who(&t->mem, t->f, b), 36);
		if (*who)
			who = ww_arena_printf(&t->mem, "%s ", who);
		put_row(t, r, b->ns, "", "", ww_paint_of(b->state),
			ww_arena_printf(&t->mem, "%s%s", who, ww_text_state(t, b->state, b->cause)), "", b->detail);
	}
}

/* A sentence, broken between words. */
static void put_sentence(struct ww_text *t, const char *s)
{
	size_t column = 3;

	fputs("  -", t->out);
	s = ww_text_fit(t, s, 6 * WW_TEXT_LAYOUT);
	while (*s) {
		size_t n = strcspn(s, " ");
		if (column + 1 + n > WW_MIN(t->columns, 100u) && column > 4) {
			fputs("\n   ", t->out);
			column = 3;
		}
		fprintf(t->out, " %.*s", (int)n, s);
		column += 1 + n;
		s += n;
		s += *s == ' ';
	}
	fputc('\n', t->out);
}

static void put_findings(struct ww_text *t, const struct ww_report *r)
{
	if (!r->nfindings)
		return;
	ww_text_title(t, "Worth looking at");
	for (uint32_t i = 0; i < r->nfindings; i++)
		put_sentence(t, r->findings[i].text);
}

/* "exit status 1", "killed by signal 9"; "" when it ended well or is not known. */
static const char *ending(struct ww_text *t, const struct ww_facts *f, uint32_t thread)
{
	int st = f->target_status;

	if (thread != f->target || st <= 0)
		return "";
	if (WIFSIGNALED(st))
		return ww_arena_printf(&t->mem, "killed by signal %d (%s)%s", WTERMSIG(st), strsignal(WTERMSIG(st)),
				       WCOREDUMP(st) ? ", core dumped" : "");
	return ww_arena_printf(&t->mem, "exit status %d", WEXITSTATUS(st));
}

static void put_head(struct ww_text *t, const struct ww_thread_report *r)
{
	const struct ww_facts *f = t->f;
	const char *exe = ww_facts_str(f, f->thread.exe[r->thread]), *end = ending(t, f, r->thread);

	if (r->thread == f->target && *ww_facts_str(f, f->target_cmdline))
		exe = ww_facts_str(f, f->target_cmdline);
	const char *what = ww_arena_printf(&t->mem, "%s: wall time %s", ww_text_fit(t, ww_name_thread(&t->mem, f, r->thread), 40),
					   ww_text_dur(t, r->wall_ns));
	const char *more = "";
	if (f->thread.pid[r->thread] >= 0 && f->thread.pid[r->thread] != f->thread.tid[r->thread])
		more = ww_arena_printf(&t->mem, ", of process %d", f->thread.pid[r->thread]);
	more = ww_arena_printf(&t->mem, "%s, from %s s", more, ww_text_at(t, r->from_ts_ns));
	size_t used = strlen(what) + strlen(end) + strlen(more) + 4;
	fprintf(t->out, "%s%s%s", ww_paint_on(t, WW_P_BOLD), what, ww_paint_off(t, WW_P_BOLD));
	if (*end)
		fprintf(t->out, ", %s%s%s", ww_paint_on(t, WW_P_WAIT), end, ww_paint_off(t, WW_P_WAIT));
	fprintf(t->out, "%s%s%s\n", more, *exe ? ", " : "",
		ww_text_fit(t, exe, t->o->width > used + 20 ? t->o->width - used : 20));
}

/* "it was sh, then bash, then perl, then sleep": what it went through by exec, or called itself. */
static void put_names(struct ww_text *t, const struct ww_thread_report *r)
{
	const char **comms, *words = "";
	uint32_t n = ww_name_comms(&t->mem, t->f, r->thread, r->from_ts_ns, r->to_ts_ns, &comms);

	if (n < 2)
		return;
	for (uint32_t i = 0; i < n; i++)
		words = ww_arena_printf(&t->mem, "%s%s%s", words, i ? " > " : "", comms[i]);
	fprintf(t->out, "  (its names: %s)\n", ww_text_fit(t, words, t->o->width - 16));
}

static void put_thread(struct ww_text *t, const struct ww_thread_report *r, const char *why)
{
	put_head(t, r);
	put_names(t, r);
	if (why)
		fprintf(t->out, "  (%s)\n", why);
	put_short(t, r);
	ww_text_title(t, "Where the wall time went");
	put_breakdown(t, r);
	put_blame(t, r);
	put_longest(t, r);
}

void ww_report_text(FILE *out, const struct ww_report *r, const struct ww_text_opts *o)
{
	struct ww_text t = {.f = r->facts, .o = o};
	struct ww_text_fold fold;

	ww_arena_init(&t.mem);
	out = ww_text_begin(&t, out, &fold);
	bool plain = !strcmp(r->target.why, "as asked") || r->main.thread == r->facts->target;
	ww_text_loss(&t);
	put_thread(&t, &r->main, plain ? NULL : r->target.why);
	ww_text_family(&t, r);
	put_findings(&t, r);
	for (uint32_t i = 0; o->family && i < r->nfamily; i++) {
		fputc('\n', out);
		put_thread(&t, &r->family[i], NULL);
	}
	ww_text_end(&t, &fold);
	ww_arena_release(&t.mem);
}
