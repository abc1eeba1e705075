/* report_text.c - the report for a person: a table that adds up, the longest waits, the findings. */
#include "analysis/names.h"
#include "view/text.h"

#define ROWS_SHOWN_PERMILLE 1 /* rows below 0.1 % of the wall time are summed up in one */

static void put_title(struct ww_text *t, const char *s)
{
	fprintf(t->out, "\n%s%s%s\n", ww_paint_on(t, WW_P_BOLD), s, ww_paint_off(t, WW_P_BOLD));
}

/* "blocked: disk in fsync - /tmp/x on vda": one phrase, so that short parts leave their room to long ones. */
static void put_row(struct ww_text *t, const struct ww_thread_report *r, int64_t ns, const char *times,
		    const char *longest, enum ww_paint p, const char *what, const char *where, const char *detail)
{
	unsigned used = 37 + (unsigned)(strlen(what) + strlen(where));

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

/* All rows of one state as one: "by cc1 (12) 7.8 ms, clang (9) 2.1 ms, 12 more". */
static struct ww_breakdown_row merge_state(struct ww_text *t, const struct ww_breakdown_row *rows, uint32_t nrows,
					   enum ww_thread_state s)
{
	struct ww_breakdown_row m = {.state = s, .syscall = "", .detail = ""};
	uint32_t named = 0, more = 0;

	for (uint32_t i = 0; i < nrows; i++) {
		const struct ww_breakdown_row *b = &rows[i];
		if (b->state != s)
			continue;
		const char *who = b->detail;
		if (named && (!strncmp(who, "by ", 3) || !strncmp(who, "behind ", 7)))
			who = strchr(who, ' ') + 1;
		if (m.ns && named < 2 && *who && strlen(m.detail) + strlen(who) < 32)
			m.detail = ww_arena_printf(&t->mem, "%s, %s %s", m.detail, who, ww_text_dur(t, b->ns));
		else if (!m.ns && *who)
			m.detail = ww_arena_printf(&t->mem, "%s %s", who, ww_text_dur(t, b->ns));
		else
			more += *who != 0;
		named += *who != 0;
		m.ns += b->ns;
		m.count += b->count;
		m.max_ns = WW_MAX(m.max_ns, b->max_ns);
	}
	if (named == 1 && !more) /* the duration is in the row already */
		for (uint32_t i = 0; i < nrows; i++)
			if (rows[i].state == s && *rows[i].detail)
				m.detail = rows[i].detail;
	if (more)
		m.detail = ww_arena_printf(&t->mem, "%s, %u more", m.detail, more);
	return m;
}

static void put_breakdown_row(struct ww_text *t, const struct ww_thread_report *r, const struct ww_breakdown_row *b)
{
	const char *times = ww_arena_printf(&t->mem, "%u", b->count), *in = "";
	/* of running in a system call the detail is only the call again */
	bool repeats = b->state == WW_ST_RUNNING_KERNEL && !strcmp(b->detail, b->syscall);

	if (*b->syscall && strcmp(b->syscall, ww_cause_name(b->cause)))
		in = ww_arena_printf(&t->mem, " in %s", ww_text_fit(t, b->syscall, 24));
	put_row(t, r, b->ns, times, ww_text_dur(t, b->max_ns), ww_paint_of(b->state),
		ww_text_state(t, b->state, b->cause), in, repeats ? "" : b->detail);
}

#define ROWS_SHOWN 22

static void put_breakdown(struct ww_text *t, const struct ww_thread_report *r)
{
	static const uint8_t merged[] = {WW_ST_PREEMPTED, WW_ST_RUNQUEUE, WW_ST_INTERRUPTED};
	struct ww_breakdown_row *rows = WW_ARENA_ARRAY(&t->mem, struct ww_breakdown_row, r->nrows + 4), *all = r->rows;
	int64_t least = t->o->verbose ? 0 : r->wall_ns * ROWS_SHOWN_PERMILLE / 1000, rest = 0;
	uint32_t n = 0, nrest = 0, nall = r->nrows;

	if (!t->o->verbose)
		nall = ww_breakdown_merge(&t->mem, r->rows, r->nrows, &all);
	for (uint32_t i = 0; i < nall; i++)
		if (t->o->verbose || !memchr(merged, all[i].state, sizeof(merged)))
			rows[n++] = all[i];
	for (size_t k = 0; k < sizeof(merged) && !t->o->verbose; k++)
		if (r->by_state_ns[merged[k]])
			rows[n++] = merge_state(t, all, nall, merged[k]);
	if (n)
		qsort(rows, n, sizeof(*rows), most_first);
	fprintf(t->out, "  %9s %7s %6s %9s  %s\n", "time", "share", "times", "longest", "state");
	for (uint32_t i = 0; i < n; i++) {
		if (!t->o->verbose && (rows[i].ns < least || i >= ROWS_SHOWN)) {
			rest += rows[i].ns;
			nrest++;
		} else {
			put_breakdown_row(t, r, &rows[i]);
		}
	}
	if (nrest)
		put_row(t, r, rest, "", "", WW_P_DIM, "smaller rows", "",
			ww_arena_printf(&t->mem, "%u rows, --verbose shows them", nrest));
	put_row(t, r, r->wall_ns, "", "", WW_P_BOLD, "wall time", "", "");
}

static int longest_first(const void *a, const void *b)
{
	const struct ww_link *const *x = a, *const *y = b;

	if ((*x)->dur_ns != (*y)->dur_ns)
		return (*x)->dur_ns < (*y)->dur_ns ? 1 : -1;
	return (*x)->start_ts_ns < (*y)->start_ts_ns ? -1 : (*x)->start_ts_ns > (*y)->start_ts_ns;
}

static void put_longest(struct ww_text *t, const struct ww_thread_report *r)
{
	const struct ww_link **list = ww_xmalloc(sizeof(*list) * ((size_t)r->nwaits + 1));
	/* what takes no half percent is in the table; here it would be noise */
	int64_t least = WW_MAX(t->o->min_dur_ns, t->o->verbose ? 0 : r->wall_ns / 200);
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->nwaits; i++)
		if (r->waits[i].dur_ns >= least)
			list[n++] = &r->waits[i];
	if (n)
		qsort(list, n, sizeof(*list), longest_first);
	uint32_t shown = t->o->top ? WW_MIN(n, t->o->top) : n;
	if (shown) {
		put_title(t, ww_arena_printf(&t->mem, shown < r->nwaits_all ? "The longest waits (%u of %u), and what "
					     "those waited for did meanwhile" : "The waits (%u), and what those waited "
					     "for did meanwhile", shown, r->nwaits_all));
		for (uint32_t i = 0; i < shown; i++)
			ww_text_wait(t, list[i], 2);
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
	put_title(t, "What the waits come down to");
	for (uint32_t i = 0; i < r->nblame && shown < 12; i++, shown++) {
		const struct ww_blame_row *b = &r->blame[i];
		if (b->ns * 100 < sum && !t->o->verbose)
			break;
		const char *who = ww_text_fit(t, ww_name_thread(&t->mem, t->f, b->thread), 28);
		if (*who)
			who = ww_arena_printf(&t->mem, "%s ", who);
		put_row(t, r, b->ns, "", "", ww_paint_of(b->state),
			ww_arena_printf(&t->mem, "%s%s", who, ww_text_state(t, b->state, b->cause)), "", b->detail);
	}
}

static const char *state_sum(struct ww_text *t, const struct ww_thread_report *r, bool run)
{
	int64_t ns = run ? r->by_state_ns[WW_ST_RUNNING_USER] + r->by_state_ns[WW_ST_RUNNING_KERNEL] +
				   r->by_state_ns[WW_ST_RUNNING]
			 : r->by_state_ns[WW_ST_BLOCKED];

	return ww_text_dur(t, ns);
}

static const char *top_wait(struct ww_text *t, const struct ww_thread_report *r)
{
	for (uint32_t i = 0; i < r->nrows; i++) {
		const struct ww_breakdown_row *b = &r->rows[i];
		if (b->state == WW_ST_BLOCKED)
			return ww_arena_printf(&t->mem, "%s%s%s", ww_cause_name(b->cause), *b->detail ? ": " : "", b->detail);
	}
	return "";
}

static void put_family(struct ww_text *t, const struct ww_report *r)
{
	if (!r->nfamily)
		return;
	put_title(t, "Its other threads and children");
	fprintf(t->out, "  %-24s %10s %10s %10s %10s  %s\n", "thread", "wall", "running", "ready", "blocked",
		"most of it");
	for (uint32_t i = 0; i < r->nfamily; i++) {
		const struct ww_thread_report *c = &r->family[i];
		if (i == 30 && !t->o->verbose && !t->o->family) {
			fprintf(t->out, "  and %u more (--threads)\n", r->nfamily - i);
			break;
		}
		fprintf(t->out, "  %-24s %10s %10s %10s %10s  %s\n",
			ww_text_fit(t, ww_name_thread(&t->mem, t->f, c->thread), 24), ww_text_dur(t, c->wall_ns),
			state_sum(t, c, true),
			ww_text_dur(t, c->by_state_ns[WW_ST_PREEMPTED] + c->by_state_ns[WW_ST_RUNQUEUE]),
			state_sum(t, c, false),
			ww_text_fit(t, top_wait(t, c), t->o->width > 90 ? t->o->width - 72 : 20));
	}
}

/* A sentence, broken between words. */
static void put_sentence(struct ww_text *t, const char *s)
{
	size_t column = 3;

	fputs("  -", t->out);
	s = ww_text_fit(t, s, 4 * t->o->width);
	while (*s) {
		size_t n = strcspn(s, " ");
		if (column + 1 + n > t->o->width && column > 4) {
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
	put_title(t, "Worth looking at");
	for (uint32_t i = 0; i < r->nfindings; i++)
		put_sentence(t, r->findings[i].text);
}

static void put_thread(struct ww_text *t, const struct ww_thread_report *r, const char *why)
{
	const struct ww_facts *f = t->f;
	const char *exe = ww_facts_str(f, f->thread.exe[r->thread]);

	fprintf(t->out, "%s%s: wall time %s%s", ww_paint_on(t, WW_P_BOLD),
		ww_text_fit(t, ww_name_thread(&t->mem, f, r->thread), 40), ww_text_dur(t, r->wall_ns),
		ww_paint_off(t, WW_P_BOLD));
	if (f->thread.pid[r->thread] >= 0 && f->thread.pid[r->thread] != f->thread.tid[r->thread])
		fprintf(t->out, ", of process %d", f->thread.pid[r->thread]);
	fprintf(t->out, ", from %s s%s%s\n", ww_text_at(t, r->from_ts_ns), *exe ? ", " : "", ww_text_fit(t, exe, 36));
	if (why)
		fprintf(t->out, "(%s)\n", why);
	put_title(t, "Where the wall time went");
	put_breakdown(t, r);
	put_blame(t, r);
	put_longest(t, r);
}

void ww_report_text(FILE *out, const struct ww_report *r, const struct ww_text_opts *o)
{
	struct ww_text t = {.out = out, .f = r->facts, .o = o};

	ww_arena_init(&t.mem);
	put_thread(&t, &r->main, strcmp(r->target.why, "as asked") ? r->target.why : NULL);
	put_family(&t, r);
	put_findings(&t, r);
	for (uint32_t i = 0; o->family && i < r->nfamily; i++) {
		fputc('\n', out);
		put_thread(&t, &r->family[i], NULL);
	}
	ww_arena_release(&t.mem);
}
