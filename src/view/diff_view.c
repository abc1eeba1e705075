/* diff_view.c - two sets of recordings beside one another, as text and JSON. */
#include <math.h>

#include "analysis/names.h"
#include "base/jsonout.h"
#include "base/units.h"
#include "view/text.h"

#define ROWS_SHOWN 12 /* of the target; of all its other threads together */
#define CHAINS_SHOWN 8
#define SHOWN_PERMILLE 5 /* smaller differences are summed up, unless they are beyond noise */

/* "+80.12 ms" */
static const char *signed_dur(struct ww_text *t, double ns)
{
	return ww_arena_printf(&t->mem, "%s%s", ns > 0 ? "+" : "", ww_text_dur(t, llround(ns)));
}

static const char *half_words(struct ww_text *t, const struct ww_diff_number *x)
{
	return x->judged ? ww_text_dur(t, llround(x->half_ns)) : "";
}

/* A mean count: whole when it is. */
static const char *count_words(struct ww_text *t, double v)
{
	return ww_arena_printf(&t->mem, v == floor(v) || v >= 100 ? "%.0f" : "%.1f", v);
}

static void put_title(struct ww_text *t, const char *s)
{
	fprintf(t->out, "\n%s%s%s\n  %10s %9s %9s %9s %10s  %s\n", ww_paint_on(t, WW_P_BOLD), s,
		ww_paint_off(t, WW_P_BOLD), "difference", "+-", "before", "after", "times", "state");
}

static void put_line(struct ww_text *t, const struct ww_diff_number *x, const char *times, enum ww_paint p,
		     const char *what, const char *rest)
{
	const unsigned used = 59 + (unsigned)strlen(what);

	fprintf(t->out, "%s %10s %9s %9s %9s %10s  %s%s%s%s%s\n", x->beyond ? "*" : " ",
		signed_dur(t, x->diff_ns), half_words(t, x), ww_text_dur(t, llround(x->before_ns)),
		ww_text_dur(t, llround(x->after_ns)), times, ww_paint_on(t, p), what, ww_paint_off(t, p),
		*rest ? " - " : "",
		ww_text_fit(t, rest, t->o->width > used + 12 ? t->o->width - used : 12));
}

static void put_row(struct ww_text *t, const struct ww_diff_row *r)
{
	const char *times = ww_arena_printf(&t->mem, "%s -> %s", count_words(t, r->before_count),
					    count_words(t, r->after_count));
	const char *who = r->who && *r->who ? ww_arena_printf(&t->mem, "%s ", ww_text_fit(t, r->who, 20))
					    : "",
		   *in = "";
	const bool repeats = r->state == WW_ST_RUNNING_KERNEL && !strcmp(r->detail, r->syscall);

	if (*r->syscall && strcmp(r->syscall, ww_cause_name(r->cause)))
		in = ww_arena_printf(&t->mem, " in %s", ww_text_fit(t, r->syscall, 24));
	put_line(t, &r->ns, times, ww_paint_of(r->state),
		 ww_arena_printf(&t->mem, "%s%s%s", who, ww_text_state(t, r->state, r->cause), in),
		 repeats ? "" : r->detail);
}

static bool is_worth(const struct ww_text *t, const struct ww_diff *d, const struct ww_diff_number *x)
{
	return t->o->verbose || x->beyond ||
	       fabs(x->diff_ns) * 1000 >= SHOWN_PERMILLE * WW_MAX(d->wall.before_ns, d->wall.after_ns);
}

/* Up to `most` rows; the sum of the others in one line. */
static void put_rows(struct ww_text *t, const struct ww_diff *d, const struct ww_diff_table *tab,
		     uint32_t most)
{
	struct ww_diff_number rest = {0};
	uint32_t n = 0, left = 0;

	if (t->o->top)
		most = t->o->top;
	for (uint32_t i = 0; i < tab->n; i++) {
		const struct ww_diff_number *x = &tab->rows[i].ns;
		if (is_worth(t, d, x) && (n < most || t->o->verbose)) {
			put_row(t, &tab->rows[i]);
			n++;
			continue;
		}
		left++;
		rest.before_ns += x->before_ns;
		rest.after_ns += x->after_ns;
		rest.diff_ns += x->diff_ns;
	}
	if (left)
		put_line(t, &rest, "", WW_P_DIM,
			 ww_arena_printf(&t->mem, "%u smaller difference%s (-v)", left,
					 left == 1 ? "" : "s"),
			 "");
}

static void put_chains(struct ww_text *t, const struct ww_diff *d)
{
	bool any = false;

	for (uint32_t i = 0; i < d->chains.n; i++)
		any |= is_worth(t, d, &d->chains.rows[i].ns) && *d->chains.rows[i].who;
	if (!any) /* timers and devices only: the table above has said it */
		return;
	put_title(t, "What its waits come down to, at the end of the chains");
	put_rows(t, d, &d->chains, CHAINS_SHOWN);
}

static void put_roles(struct ww_text *t, const struct ww_diff *d)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->nroles; i++) {
		const struct ww_diff_role *r = &d->roles[i];
		bool any = is_worth(t, d, &r->wall);
		for (uint32_t k = 0; k < r->table.n; k++)
			any |= is_worth(t, d, &r->table.rows[k].ns);
		if (!any || (n >= ROWS_SHOWN && !t->o->verbose))
			continue;
		if (!n)
			put_title(t, "Its other threads and children, by name");
		put_line(t, &r->wall,
			 ww_arena_printf(&t->mem, "%s -> %s", count_words(t, r->before_threads),
					 count_words(t, r->after_threads)),
			 WW_P_BOLD, ww_text_fit(t, r->comm, 24), "all their time");
		for (uint32_t k = 0; k < r->table.n; k++)
			if (is_worth(t, d, &r->table.rows[k].ns) && (n++ < ROWS_SHOWN || t->o->verbose))
				put_row(t, &r->table.rows[k]);
		n++;
	}
}

static void put_noise(struct ww_text *t, const struct ww_diff *d)
{
	if (!d->noise)
		fprintf(t->out,
			"\n%s: no noise estimate; what chance did here is not known, and nothing is "
			"marked.\n"
			"Record each side several times: whywait diff A1 A2 A3 -- B1 B2 B3\n",
			d->nbefore == 1 && d->nafter == 1 ? "One recording a side"
							  : "One recording against two");
	else
		fprintf(t->out,
			"\n* beyond noise: the repeats differ less. All intervals of a table hold together "
			"with 95 %%.\n%s",
			d->nbefore > 1 && d->nafter > 1
				? ""
				: "The side of one recording is taken to vary as the other does.\n");
}

void ww_diff_text(FILE *out, const struct ww_diff *d, const char *before, const char *after,
		  const struct ww_text_opts *o)
{
	struct ww_text t = {.out = out, .o = o};
	const struct ww_diff_number *w = &d->wall;

	ww_arena_init(&t.mem);
	fprintf(out, "before: %u recording%s of %s\nafter:  %u recording%s of %s\n", d->nbefore,
		d->nbefore == 1 ? "" : "s", ww_text_fit(&t, before, o->width - 26), d->nafter,
		d->nafter == 1 ? "" : "s", ww_text_fit(&t, after, o->width - 26));
	fprintf(out, "%s%s wall time %s -> %s: %s", ww_paint_on(&t, WW_P_BOLD), w->beyond ? "*" : " ",
		ww_text_dur(&t, llround(w->before_ns)), ww_text_dur(&t, llround(w->after_ns)),
		signed_dur(&t, w->diff_ns));
	if (w->judged)
		fprintf(out, " +- %s", half_words(&t, w));
	if (w->before_ns > 0)
		fprintf(out, " (%+.1f %%)", 100 * w->diff_ns / w->before_ns);
	fprintf(out, "%s%s\n",
		!w->judged  ? ""
		: w->beyond ? w->diff_ns > 0 ? ", slower" : ", faster"
			    : ", within noise",
		ww_paint_off(&t, WW_P_BOLD));
	put_title(&t, "Where the difference is: the target's time, by cause; it sums to the wall time's");
	put_rows(&t, d, &d->target, ROWS_SHOWN);
	put_chains(&t, d);
	put_roles(&t, d);
	put_noise(&t, d);
	ww_arena_release(&t.mem);
}

/* ---- JSON ---- */

static void json_number(struct ww_json *j, const struct ww_diff_number *x)
{
	ww_json_i64(j, "before_ns", llround(x->before_ns));
	ww_json_i64(j, "after_ns", llround(x->after_ns));
	ww_json_i64(j, "difference_ns", llround(x->diff_ns));
	if (x->judged) {
		ww_json_i64(j, "interval_ns", llround(x->half_ns));
		ww_json_bool(j, "beyond_noise", x->beyond);
	} else {
		ww_json_null(j, "interval_ns");
		ww_json_null(j, "beyond_noise");
	}
}

static void json_table(struct ww_json *j, const char *key, const struct ww_diff_table *tab)
{
	ww_json_arr(j, key);
	for (uint32_t i = 0; i < tab->n; i++) {
		const struct ww_diff_row *r = &tab->rows[i];
		ww_json_obj(j, NULL);
		if (r->who && !strcmp(key, "chains"))
			ww_json_str(j, "comm", *r->who ? r->who : NULL);
		ww_json_str(j, "state", ww_state_name(r->state));
		ww_json_str(j, "cause", r->cause == WW_CA_NONE ? NULL : ww_cause_name(r->cause));
		ww_json_str(j, "syscall", *r->syscall ? r->syscall : NULL);
		ww_json_str(j, "detail", r->detail);
		json_number(j, &r->ns);
		ww_json_f64(j, "before_count", r->before_count);
		ww_json_f64(j, "after_count", r->after_count);
		ww_json_end(j);
	}
	ww_json_end(j);
}

int ww_diff_json(FILE *out, const struct ww_diff *d, const struct ww_diff_recording *recordings)
{
	struct ww_json j;

	ww_json_init(&j, out, true);
	ww_json_obj(&j, NULL);
	ww_json_str(&j, "whywait", "diff");
	ww_json_i64(&j, "version", 1);
	ww_json_arr(&j, "recordings");
	for (uint32_t i = 0; i < d->nbefore + d->nafter; i++) {
		ww_json_obj(&j, NULL);
		ww_json_str(&j, "side", i < d->nbefore ? "before" : "after");
		ww_json_str(&j, "trace", recordings[i].trace);
		ww_json_str(&j, "comm", recordings[i].comm);
		ww_json_str(&j, "command", *recordings[i].command ? recordings[i].command : NULL);
		ww_json_i64(&j, "wall_ns", d->wall_ns[i]);
		ww_json_u64(&j, "lost_events", recordings[i].lost_events);
		ww_json_end(&j);
	}
	ww_json_end(&j);
	ww_json_bool(&j, "noise_known", d->noise);
	ww_json_obj(&j, "wall");
	json_number(&j, &d->wall);
	ww_json_end(&j);
	json_table(&j, "target", &d->target);
	json_table(&j, "chains", &d->chains);
	ww_json_arr(&j, "threads");
	for (uint32_t i = 0; i < d->nroles; i++) {
		const struct ww_diff_role *r = &d->roles[i];
		ww_json_obj(&j, NULL);
		ww_json_str(&j, "comm", r->comm);
		ww_json_f64(&j, "before_threads", r->before_threads);
		ww_json_f64(&j, "after_threads", r->after_threads);
		ww_json_obj(&j, "wall");
		json_number(&j, &r->wall);
		ww_json_end(&j);
		json_table(&j, "rows", &r->table);
		ww_json_end(&j);
	}
	ww_json_end(&j);
	ww_json_end(&j);
	return ww_json_finish(&j);
}
