/* tree_text.c - every wait of the target with its tree; runs of small equal waits in one line. */
#include "analysis/names.h"
#include "view/text.h"

#define GROUP_LEAST 4 /* so many equal waits in a row become one line */

static bool same_kind(struct ww_text *t, const struct ww_link *a, const struct ww_link *b)
{
	struct ww_link_words x, y;

	ww_link_words(&t->mem, t->f, a, &x);
	ww_link_words(&t->mem, t->f, b, &y);
	return a->cause == b->cause && !strcmp(x.call ? x.call : "", y.call ? y.call : "") &&
	       x.woken_by.kind == y.woken_by.kind && x.woken_by.thread == y.woken_by.thread &&
	       !strcmp(ww_name_state(&t->mem, t->f, a->row, false), ww_name_state(&t->mem, t->f, b->row, false));
}

static void put_group(struct ww_text *t, const struct ww_link *w, uint32_t n)
{
	int64_t sum = 0, longest = 0;

	for (uint32_t i = 0; i < n; i++) {
		sum += w[i].dur_ns;
		longest = WW_MAX(longest, w[i].dur_ns);
	}
	const char *detail = ww_name_state(&t->mem, t->f, w->row, false);
	struct ww_link_words words;
	ww_link_words(&t->mem, t->f, w, &words);
	fprintf(t->out, "%s--> %u waits%s in %s%s, together %s, longest %s [%s .. %s s] %s%s%s\n",
		ww_paint_on(t, WW_P_WAIT), n, ww_paint_off(t, WW_P_WAIT),
		words.call ? "SYSCALL " : "", words.call ? ww_text_fit(t, words.call, 40) : "KERNEL", ww_text_dur(t, sum),
		ww_text_dur(t, longest), ww_text_at(t, w->start_ts_ns),
		ww_text_at(t, w[n - 1].start_ts_ns + w[n - 1].dur_ns), ww_cause_name(w->cause), *detail ? ": " : "",
		ww_text_fit(t, detail, 60));
	const char *woken = ww_text_woken(t, &words.woken_by);
	if (words.woken_by.kind == WW_WK_THREAD && *woken)
		fprintf(t->out, "--- Woken up %s, and so on\n", ww_text_fit(t, woken, t->o->width - 24));
}

static void put_thread(struct ww_text *t, const struct ww_thread_report *r)
{
	/* a wait of less than 0.1 % of the wall time is small */
	int64_t small = t->o->verbose ? 0 : r->wall_ns / 1000;

	fprintf(t->out, "%s%s: wall time %s, %u wait%s%s\n", ww_paint_on(t, WW_P_BOLD),
		ww_text_fit(t, ww_name_thread(&t->mem, t->f, r->thread), 60), ww_text_dur(t, r->wall_ns), r->nwaits_all,
		r->nwaits_all == 1 ? "" : "s", ww_paint_off(t, WW_P_BOLD));
	for (uint32_t i = 0; i < r->nwaits;) {
		const struct ww_link *w = &r->waits[i];
		uint32_t n = 1;
		while (w->dur_ns < small && i + n < r->nwaits && w[n].dur_ns < small && same_kind(t, w, &w[n]))
			n++;
		if (n >= GROUP_LEAST)
			put_group(t, w, n);
		else
			for (uint32_t k = 0; k < n; k++)
				ww_text_wait(t, &w[k], 0, 0);
		i += n;
	}
	if (r->nwaits < r->nwaits_all)
		fprintf(t->out, "%u shorter wait%s not shown (--min-dur, --top)\n", r->nwaits_all - r->nwaits,
			r->nwaits_all - r->nwaits == 1 ? " is" : "s are");
}

void ww_tree_text(FILE *out, const struct ww_report *r, const struct ww_text_opts *o)
{
	struct ww_text t = {.f = r->facts, .o = o};
	struct ww_text_fold fold;

	ww_arena_init(&t.mem);
	out = ww_text_begin(&t, out, &fold);
	ww_text_loss(&t);
	put_thread(&t, &r->main);
	for (uint32_t i = 0; o->family && i < r->nfamily; i++) {
		fputc('\n', out);
		put_thread(&t, &r->family[i]);
	}
	ww_text_end(&t, &fold);
	ww_arena_release(&t.mem);
}
