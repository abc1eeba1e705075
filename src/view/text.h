/* text.h - what the text views share: colours, times, lines that fit. Private to src/view. */
#ifndef WW_TEXT_H
#define WW_TEXT_H

#include "view/view.h"

enum ww_paint { WW_P_NONE, WW_P_BOLD, WW_P_DIM, WW_P_RUN, WW_P_WAIT, WW_P_QUEUE, WW_P_UNKNOWN };

struct ww_text {
	FILE *out;
	const struct ww_facts *f;
	const struct ww_text_opts *o;
	struct ww_arena mem; /* for words made while printing */
	uint32_t columns;    /* that the reader sees; `o` may lay out wider lines, which are folded */
	int64_t least_ns;    /* shorter steps of the wait in hand are summed up */
};

/* Lines are laid out for this width at least, so that names need not be cut, and folded to what there is:
 *   ww_text_begin(&t, out, &fold); ... prints to t.out by t.o ... ww_text_end(&t, &fold); */
#define WW_TEXT_LAYOUT 160u
struct ww_text_fold {
	FILE *out, *lines;
	char *text;
	size_t size;
	struct ww_text_opts o;
};
FILE *ww_text_begin(struct ww_text *t, FILE *out, struct ww_text_fold *f);
void ww_text_end(struct ww_text *t, struct ww_text_fold *f);
/* The text with lines of at most so many columns, broken between words; a longer word is not cut. */
void ww_text_fold(FILE *out, const char *text, uint32_t width);

/* Words that begin in column `at`, where the line already is, and go on in column `hang` of as many lines as it takes;
 * ends the last one. Broken between words; only a word that no line has room for is broken anywhere. Nothing is cut. */
void ww_text_wrap(struct ww_text *t, uint32_t at, uint32_t hang, const char *words, enum ww_paint paint);

/* A trace's strings may hold anything: what would steer a terminal, or is no UTF-8, is shown as '?'. */
const char *ww_text_printable(struct ww_text *t, const char *s);

const char *ww_paint_on(const struct ww_text *t, enum ww_paint p);
const char *ww_paint_off(const struct ww_text *t, enum ww_paint p);
enum ww_paint ww_paint_of(enum ww_thread_state s);

/* Words cut in the middle to `width` columns ("/usr/sh...lib.so"); not cut when verbose. */
const char *ww_text_fit(struct ww_text *t, const char *s, size_t width);
/* "+0.102345": seconds after the begin of the trace. */
const char *ww_text_at(struct ww_text *t, int64_t ts_ns);
const char *ww_text_dur(struct ww_text *t, int64_t ns);
/* "waiting for the disk", "running in user space": state and cause for a person. */
const char *ww_text_state(struct ww_text *t, enum ww_thread_state s, enum ww_cause c);
/* The few things that a thread does, for sums. */
enum ww_text_group { WW_TG_RUNNING, WW_TG_READY, WW_TG_BLOCKED, WW_TG_UNKNOWN, WW_TG_N };
enum ww_text_group ww_text_group(enum ww_thread_state s);
/* "by producer (203), in write(4 pipe)"; "" unknown. */
const char *ww_text_woken(struct ww_text *t, const struct ww_woken *w);

/* An empty line, and a part's title. */
void ww_text_title(struct ww_text *t, const char *s);
/* What is missing in the trace, in one line; to be said before anything else. */
void ww_text_loss(struct ww_text *t);

/* One wait with its tree, `indent` columns in. Steps shorter than `least_ns` are summed up, and those that
 * struct ww_text_opts says. */
void ww_text_wait(struct ww_text *t, const struct ww_link *wait, unsigned indent, int64_t least_ns);

/* A table of the target's other threads and children; many of one name are one line. */
void ww_text_family(struct ww_text *t, const struct ww_report *r);

#endif
