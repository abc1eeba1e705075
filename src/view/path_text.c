/* path_text.c - the critical path for a person, after the title in three parts:
 *
 *   where it was     a line for each thread, grouped by host, with its share and a bar over the time:
 *
 *     40.73 ms  60.4 %  | ##############  ####    |  wl-producer (203)
 *
 *   step by step     the path in time order; what one did, and why the path went on from there:
 *
 *     +0.397013  11.09 ms  16.4 %  ######      wl-producer (203) running: user 6.3 ms, RCU 3.9 ms
 *                                              woke wl-consumer (202), in write(4 pipe)
 *
 *   what it was spent on     sums by kind, host, file, lock and device
 */
#include <stdlib.h>

#include "analysis/names.h"
#include "view/path_bars.h"

#define STEP_BAR 8
/* In columns: narrower than this, a step's words stand below its figures instead of beside them. */
#define BESIDE 80
#define WORDS_BESIDE 44
#define WORDS_BELOW 4

/* What is shown as one line: a stretch of running, of being ready, or one wait. */
struct step {
	uint32_t first, n;
	int64_t ns;
	bool last; /* of its piece: then the path goes over to another */
};

struct steps {
	struct step *v;
	uint32_t n;
	int64_t least_ns; /* shorter ones are summed up */
	int64_t longest_ns;
};

static void put_title(struct ww_text *t, const char *s)
{
	fputc('\n', t->out);
	ww_text_wrap(t, 0, 2, s, WW_P_BOLD);
}

static double percent(const struct ww_path *p, int64_t ns)
{
	return 100.0 * (double)ns / (double)(p->to_ns - p->from_ns);
}

/* ---- steps ---- */

static enum ww_path_class class_of(const struct ww_segment *s)
{
	enum ww_path_class c = ww_path_class_of(s);

	return c == WW_PC_RUN || c == WW_PC_READY ? c : WW_PC_N;
}

static struct steps make_steps(const struct ww_path *p)
{
	struct steps st = {.v = ww_xmalloc(sizeof(*st.v) * ((size_t)p->nsegments + 1))};

	for (uint32_t i = 0; i < p->nsegments;) {
		const struct ww_segment *s = &p->segments[i];
		struct step *k = &st.v[st.n++];

		*k = (struct step){.first = i, .n = 1, .ns = s->dur_ns};
		while (i + k->n < p->nsegments && class_of(s) != WW_PC_N && s[k->n].arrow == s->arrow &&
		       s[k->n].thread == s->thread && class_of(&s[k->n]) == class_of(s))
			k->ns += s[k->n++].dur_ns;
		i += k->n;
		k->last = i == p->nsegments || p->segments[i].arrow != s->arrow;
		st.longest_ns = WW_MAX(st.longest_ns, k->ns);
	}
	return st;
}

/* The length of the `most` longest steps' shortest: they are few, so they are kept sorted, and most steps are
 * shorter than all of them. */
static int64_t shortest_of_longest(const struct steps *st, uint32_t most)
{
	int64_t *top = ww_xcalloc(most, sizeof(*top)), least;

	for (uint32_t i = 0; i < st->n; i++) {
		uint32_t k = most - 1;

		if (st->v[i].ns <= top[k])
			continue;
		for (; k && top[k - 1] < st->v[i].ns; k--)
			top[k] = top[k - 1];
		top[k] = st->v[i].ns;
	}
	least = top[most - 1];
	free(top);
	return least;
}

static void choose_steps(struct ww_text *t, struct steps *st, int64_t whole_ns)
{
	if (t->o->verbose)
		return;
	st->least_ns = whole_ns * (int64_t)t->o->permille / 1000;
	if (t->o->steps && st->n > t->o->steps)
		st->least_ns = WW_MAX(st->least_ns, shortest_of_longest(st, WW_MIN(t->o->steps, 1000u)));
}

static bool is_short(const struct steps *st, const struct step *k)
{
	return k->ns < st->least_ns;
}

/* A stretch that only short steps interrupt (others had the CPU for a moment or in turn, it waited a little) is one line;
 * its words say how much of it that was. */
static void join_steps(const struct ww_path *p, struct steps *st)
{
	uint32_t to = 0;

	for (uint32_t i = 0; i < st->n; to++) {
		struct step k = st->v[i++];
		const struct ww_segment *s = &p->segments[k.first];

		while (class_of(s) != WW_PC_N && !is_short(st, &k)) {
			uint32_t j = i;
			int64_t ns = 0;

			while (j < st->n && !st->v[j - 1].last && is_short(st, &st->v[j]) &&
			       class_of(&p->segments[st->v[j].first]) != class_of(s))
				ns += st->v[j++].ns;
			if (j == i || j == st->n || st->v[j - 1].last || p->segments[st->v[j].first].thread != s->thread ||
			    class_of(&p->segments[st->v[j].first]) != class_of(s))
				break;
			k.n = st->v[j].first + st->v[j].n - k.first;
			k.ns += ns + st->v[j].ns;
			k.last = st->v[j].last;
			i = j + 1;
		}
		st->v[to] = k;
		st->longest_ns = WW_MAX(st->longest_ns, k.ns);
	}
	st->n = to;
}

/* ---- a step in words ---- */

struct part { const char *name; int64_t ns; };

enum group { G_RUN, G_READY, G_WAIT, G_N };

struct parts { /* of a step, of one group */
	enum group group;
	struct part v[24];
	uint32_t n;
	int64_t ns;
	const struct ww_segment *longest;
};

static enum group group_of(const struct ww_segment *s)
{
	enum ww_path_class c = class_of(s);

	return c == WW_PC_RUN ? G_RUN : c == WW_PC_READY ? G_READY : G_WAIT;
}

/* Without what the heading says: "user", "read", "by X (7)", "timer". */
static const char *part_name(struct ww_text *t, const struct ww_path *p, const struct ww_segment *s)
{
	if (s->state == WW_ST_RUNNING_USER)
		return "user";
	const char *name = group_of(s) == G_WAIT ? "" : ww_segment_detail(&t->mem, p, s, false);
	if (*name)
		return name;
	return group_of(s) != G_RUN ? ww_segment_kind(s) :
	       s->state == WW_ST_INTERRUPTED ? "interrupts" : s->state == WW_ST_RUNNING ? "user or kernel" : "kernel";
}

static void add_part(struct ww_text *t, const struct ww_path *p, const struct ww_segment *s, struct parts *to)
{
	const char *name = part_name(t, p, s);
	uint32_t j = 0;

	while (j < to->n && to->v[j].name != name && strcmp(to->v[j].name, name))
		j++;
	if (j == WW_ARRAY_SIZE(to->v))
		j--;
	else if (j == to->n)
		to->v[to->n++] = (struct part){j == WW_ARRAY_SIZE(to->v) - 1 ? "others" : name, 0};
	to->v[j].ns += s->dur_ns;
	to->ns += s->dur_ns;
	if (!to->longest || s->dur_ns > to->longest->dur_ns)
		to->longest = s;
}

static int most_first(const void *a, const void *b)
{
	const struct parts *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->group < y->group ? -1 : x->group > y->group;
}

static void split_step(struct ww_text *t, const struct ww_path *p, const struct step *k, struct parts ret[static G_N])
{
	for (enum group g = 0; g < G_N; g++)
		ret[g] = (struct parts){.group = g};
	for (const struct ww_segment *s = &p->segments[k->first]; s < &p->segments[k->first] + k->n; s++)
		add_part(t, p, s, &ret[group_of(s)]);
	qsort(ret, G_N, sizeof(*ret), most_first);
}

/* "user 6.3 ms, read 1.2 ms": the longest three, without what is less than a 20th of the step. Of the only one its name will
 * do where the time stands already. */
static const char *part_words(struct ww_text *t, struct parts *of, const struct step *k, bool timed)
{
	const char *line = "";

	for (int shown = 0; shown < 3 && of->n; shown++) {
		struct part *best = &of->v[0];

		for (uint32_t j = 1; j < of->n; j++)
			if (of->v[j].ns > best->ns)
				best = &of->v[j];
		if (best->ns <= 0 || (shown && best->ns * 20 < k->ns))
			break;
		line = of->n == 1 && timed ? best->name : ww_arena_printf(&t->mem, "%s%s%s %s", line, shown ? ", " : "",
									  best->name, ww_text_dur(t, best->ns));
		best->ns = 0;
	}
	return line;
}

static const char *group_words(struct ww_text *t, struct parts *of, const struct step *k, bool alone)
{
	const char *words = part_words(t, of, k, of->group == G_READY ? alone : k->n == 1), *kind = ww_segment_kind(of->longest);

	if (of->group != G_READY)
		return ww_arena_printf(&t->mem, "%s: %s", of->group == G_RUN ? "running" : "waiting", words);
	return strcmp(words, kind) ? ww_arena_printf(&t->mem, "%s - %s", kind, words) : kind;
}

/* A step that is more than one wait: what there is most of; then what else makes a good part of it. */
static const char *stretch_words(struct ww_text *t, const struct ww_path *p, const struct step *k)
{
	struct parts g[G_N];

	split_step(t, p, k, g);
	const char *words = group_words(t, &g[0], k, g[1].ns * 20 < k->ns);
	for (int i = 1; i < G_N && g[i].ns * 20 >= k->ns; i++) {
		const bool ran = g[i].group == G_RUN;
		const char *kind = ran ? "running" : g[i].group == G_WAIT ? "waiting" : ww_segment_kind(g[i].longest);
		const char *whose = ran ? "" : part_words(t, &g[i], k, true);
		if (!strcmp(whose, kind))
			whose = ""; /* nobody's: the hypervisor took it */
		words = ww_arena_printf(&t->mem, "%s; %s %s%s%s", words, kind, ww_text_dur(t, g[i].ns), *whose ? ": " : "", whose);
	}
	return words;
}

/* What a step's bar and colour are of. */
static const struct ww_segment *main_segment(struct ww_text *t, const struct ww_path *p, const struct step *k)
{
	struct parts g[G_N];

	split_step(t, p, k, g);
	return g[0].longest;
}

static const char *what_words(struct ww_text *t, const struct ww_path *p, const struct step *k)
{
	const struct ww_segment *s = &p->segments[k->first];

	if (k->n > 1 || class_of(s) != WW_PC_N)
		return stretch_words(t, p, k);
	const char *detail = ww_segment_detail(&t->mem, p, s, true), *kind = ww_segment_kind(s);
	const char *call = ww_segment_call(&t->mem, p, s, false); /* the detail names the file */
	if (!strcmp(detail, kind) || (call && !strcmp(detail, "sleep")))
		detail = "";
	return ww_arena_printf(&t->mem, "%s%s%s%s%s", kind, call ? " in " : "", call ? call : "", *detail ? " - " : "", detail);
}

/* Deep chains do not run out of the page. */
static unsigned indent_of(const struct ww_path *p, const struct ww_segment *s)
{
	return 2 * WW_MIN(p->visits[s->visit].depth, 8u);
}

static void put_step(struct ww_text *t, const struct ww_path *p, const struct steps *st, const struct step *k)
{
	const struct ww_segment *s = &p->segments[k->first];
	const struct ww_facts *f = p->set->hosts[s->host];
	const bool beside = t->o->width >= BESIDE;
	const unsigned at = (beside ? WORDS_BESIDE : WORDS_BELOW) + indent_of(p, s);
	char bar[STEP_BAR + 1] = "";
	const char *name = ww_name_thread_at(&t->mem, f, s->thread, ww_set_local(p->set, s->host, s->start_ns + k->ns - 1));

	if (!*name && s->state == WW_ST_BLOCKED)
		name = s->thing == WW_WK_PACKET ? "network" : "";
	if (p->set->nhosts > 1)
		name = ww_arena_printf(&t->mem, "%s%s%s", p->set->who[s->host].label, *name ? " " : "", name);
	const struct ww_segment *most = main_segment(t, p, k);
	memset(bar, ww_path_class_letter(ww_path_class_of(most)), (size_t)(k->ns * STEP_BAR + st->longest_ns - 1) / (size_t)st->longest_ns);
	fprintf(t->out, "%12s %10s %5.1f %% %s%s%-*s%s", ww_text_at(t, ww_set_local(p->set, p->host, s->start_ns)), ww_text_dur(t, k->ns),
		percent(p, k->ns), beside ? " " : "", ww_paint_on(t, ww_paint_of(most->state)), beside ? STEP_BAR + 1 : 0, bar,
		ww_paint_off(t, ww_paint_of(most->state)));
	fprintf(t->out, "%s%*s", beside ? "" : "\n", (int)(beside ? indent_of(p, s) : at), "");
	ww_text_wrap(t, at, at + 2, ww_arena_printf(&t->mem, "%s%s%s%s", name, *name ? " " : "", what_words(t, p, k),
						    s->certainty != WW_SURE ? " (uncertain)" : ""), WW_P_NONE);
	if (!k->last)
		return;
	fprintf(t->out, "%*s", (int)at, "");
	ww_text_wrap(t, at, at + 2, ww_segment_via(&t->mem, p, &s[k->n - 1]), WW_P_DIM);
}

static void put_shorter(struct ww_text *t, uint32_t *count, int64_t *ns)
{
	const int blanks = t->o->width >= BESIDE ? 10 : 2;

	if (*count) {
		fprintf(t->out, "%12s %10s", "...", ww_text_dur(t, *ns));
		ww_text_wrap(t, 23, WORDS_BELOW, ww_arena_printf(&t->mem, "%*s%u shorter step%s", blanks, "", *count, *count == 1 ? "" : "s"),
			     WW_P_DIM);
	}
	*count = 0;
	*ns = 0;
}

static void put_steps(struct ww_text *t, const struct ww_path *p)
{
	struct steps st = make_steps(p);
	uint32_t shorter = 0;
	int64_t shorter_ns = 0;

	put_title(t, ww_arena_printf(&t->mem, "Step by step (%u step%s; what one did, and why the path went on from there)", st.n,
				     st.n == 1 ? "" : "s"));
	choose_steps(t, &st, p->to_ns - p->from_ns);
	if (!t->o->verbose) {
		join_steps(p, &st);
		choose_steps(t, &st, p->to_ns - p->from_ns); /* of the fewer that are left, more have room */
	}
	for (uint32_t i = 0; i < st.n; i++) {
		if (st.v[i].ns < st.least_ns) {
			shorter++;
			shorter_ns += st.v[i].ns;
			continue;
		}
		put_shorter(t, &shorter, &shorter_ns);
		put_step(t, p, &st, &st.v[i]);
	}
	put_shorter(t, &shorter, &shorter_ns);
	free(st.v);
}

/* ---- sums ---- */

static void put_shares(struct ww_text *t, const struct ww_path *p, const struct ww_path_sum *sum, enum ww_share_kind kind,
		       const char *title, uint32_t most)
{
	uint32_t first = sum->first[kind], n = sum->first[kind + 1] - first, shown = 0;

	if (t->o->verbose)
		most = n;
	for (uint32_t i = first; i < first + n && shown < most; i++, shown++) {
		const struct ww_path_share *s = &sum->shares[i];
		const char *name = s->name;

		if (shown && percent(p, s->ns) < 0.1 && !t->o->verbose)
			break;
		if (p->set->nhosts > 1 && kind > WW_SH_HOST)
			name = ww_arena_printf(&t->mem, "%s: %s", p->set->who[s->host].label, name);
		fprintf(t->out, "  %10s %5.1f %%", ww_text_dur(t, s->ns), percent(p, s->ns));
		ww_text_wrap(t, 20, 33, ww_arena_printf(&t->mem, "  %-8s %s", shown ? "" : title, name), WW_P_NONE);
	}
	if (shown < n)
		fprintf(t->out, "  %29s %u more\n", "", n - shown);
}

static void put_sums(struct ww_text *t, const struct ww_path *p, const struct ww_path_sum *sum)
{
	put_title(t, "What it was spent on");
	put_shares(t, p, sum, WW_SH_KIND, "kind", 12);
	if (p->set->nhosts > 1)
		put_shares(t, p, sum, WW_SH_HOST, "host", 16);
	if (sum->first[WW_SH_FILE] < sum->first[WW_SH_N])
		ww_text_wrap(t, 0, 4, "  while it waited, at any level, for (these overlap)", WW_P_NONE);
	put_shares(t, p, sum, WW_SH_FILE, "file", 6);
	put_shares(t, p, sum, WW_SH_LOCK, "lock", 6);
	put_shares(t, p, sum, WW_SH_DEVICE, "device", 6);
}

/* Was anything counted as lost, or not to be read? Else a gap is what a snapshot has: of each CPU it keeps the last part, and
 * these begin at different times. */
static bool is_lossy(const struct ww_path *p)
{
	for (uint32_t h = 0; h < p->set->nhosts; h++)
		if (p->set->hosts[h]->loss.lost_events || p->set->hosts[h]->loss.bad_packets)
			return true;
	return false;
}

static void put_notes(struct ww_text *t, const struct ww_path *p, const struct ww_path_sum *sum)
{
	if (!sum->nagle_count && !sum->uncertain_ns)
		return;
	put_title(t, "Worth looking at");
	if (sum->nagle_count) {
		fputs("  ", t->out);
		ww_text_wrap(t, 2, 2, ww_arena_printf(&t->mem, "%s of it (%.1f %%), %u time%s, Nagle's algorithm waited for a delayed ACK: a "
						      "second small write was held back until the other side's ACK timer fired "
						      "(TCP_NODELAY, or one write, avoids it)", ww_text_dur(t, sum->nagle_ns),
						      percent(p, sum->nagle_ns), sum->nagle_count, sum->nagle_count == 1 ? "" : "s"), WW_P_NONE);
	}
	if (sum->uncertain_ns) {
		fputs("  ", t->out);
		ww_text_wrap(t, 2, 2, ww_arena_printf(&t->mem, "%s of it (%.1f %%) is uncertain: %s",
						      ww_text_dur(t, sum->uncertain_ns), percent(p, sum->uncertain_ns),
						      is_lossy(p) ? "events were lost there" : "it reaches back to before the record of "
						      "some CPU begins (of a snapshot each CPU's begins at another time); nothing was lost"), WW_P_NONE);
	}
}

static void put_head(struct ww_text *t, const struct ww_path *p)
{
	const struct ww_facts *f = t->f;
	const char *exe = ww_facts_str(f, f->thread.exe[p->target.thread]);
	const char *who = ww_arena_printf(&t->mem, "Critical path of %s", ww_name_thread(&t->mem, f, p->target.thread));

	ww_text_wrap(t, 0, 2, ww_arena_printf(&t->mem, "%s: %s, from %s s to %s s%s%s%s%s", who, ww_text_dur(t, p->to_ns - p->from_ns),
					      ww_text_at(t, ww_set_local(p->set, p->host, p->from_ns)),
					      ww_text_at(t, ww_set_local(p->set, p->host, p->to_ns)),
					      p->set->nhosts > 1 ? ", on " : "", p->set->nhosts > 1 ? p->set->who[p->host].label : "",
					      *exe ? ", " : "", exe), WW_P_BOLD);
	ww_text_wrap(t, 0, 2, ww_arena_printf(&t->mem, "(%s)", p->target.why), WW_P_NONE);
	ww_set_remarks(t->out, p->set, "", t->o->width);
}

void ww_path_text(FILE *out, const struct ww_path *p, const struct ww_path_sum *sum, const struct ww_text_opts *o)
{
	const struct ww_facts *f = p->set->hosts[p->host];
	struct ww_text t = {.out = out, .f = f, .o = o};

	ww_arena_init(&t.mem);
	put_head(&t, p);
	ww_path_bars(&t, p, sum);
	put_steps(&t, p);
	put_sums(&t, p, sum);
	put_notes(&t, p, sum);
	ww_arena_release(&t.mem);
}
