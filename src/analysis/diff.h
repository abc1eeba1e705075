/* diff.h - recordings of a command before and after a change: what takes longer now, by cause.
 *
 *   struct ww_diff_maker m;  ww_diff_begin(&m, &mem, nbefore, nafter);
 *   for (i = 0; i < nbefore + nafter; i++) ... ww_diff_add(&m, i, &report_of_recording_i);
 *   ww_diff_finish(&m, &diff);
 *
 * Rows of several recordings are one when they say the same in words without the numbers that each run has
 * anew (thread and process ids, addresses, inode numbers, the kernel's ports).
 *
 * A value is the mean of a side's recordings. Its difference has an interval when each side has two
 * recordings, or one side three: Welch's, of two means with spreads of their own; a side of one recording
 * is taken to spread as the other does. The intervals of a table hold together with 95 % (Bonferroni), so
 * that of many rows none is marked by chance: `beyond` are those that do not have 0 in them.
 *
 * owner  mem; reports may go as soon as they were added
 * source B. L. Welch, The generalization of "Student's" problem, Biometrika 34 (1947)
 */
#ifndef WW_DIFF_H
#define WW_DIFF_H

#include "analysis/report.h"

struct ww_diff_number {
	double before_ns, after_ns; /* means */
	double diff_ns;		    /* after - before */
	double half_ns;		    /* the interval is diff +- half; NAN: no estimate */
	bool judged;		    /* it has an interval: enough recordings, and not too small to matter */
	bool beyond;		    /* 0 is not in the interval */
};

struct ww_diff_row {
	uint8_t state, cause;
	const char *who;     /* of `chains` who is at the end of the chain, "" nobody; else NULL */
	const char *syscall; /* "" none */
	const char *detail;
	struct ww_diff_number ns;
	double before_count, after_count; /* intervals a recording */
};

struct ww_diff_table {
	struct ww_diff_row
		*rows; /* those beyond noise first; then the largest difference, longer or shorter */
	uint32_t n;
};

/* The threads of one name, other than the target, taken together. */
struct ww_diff_role {
	const char *comm;
	double before_threads, after_threads; /* a recording */
	struct ww_diff_number wall;	      /* sum of their lives */
	struct ww_diff_table table;
};

struct ww_diff {
	uint32_t nbefore, nafter;
	bool noise;	  /* there are recordings enough to estimate it */
	int64_t *wall_ns; /* of each recording, those of before first */
	struct ww_diff_number wall;
	struct ww_diff_table target; /* its rows' differences sum to the wall time's */
	struct ww_diff_table chains; /* what its waits come down to, at the end of the chains */
	struct ww_diff_role *roles;  /* largest difference first */
	uint32_t nroles;
};

struct ww_diff_maker;

struct ww_diff_maker *ww_diff_begin(struct ww_arena *mem, uint32_t nbefore, uint32_t nafter);
/* recording: 0.. of before, nbefore.. of after. The report has its waits. */
void ww_diff_add(struct ww_diff_maker *m, uint32_t recording, const struct ww_report *r);
void ww_diff_finish(struct ww_diff_maker *m, struct ww_diff *ret);

/* Words without the numbers that each run has anew: "pipe:[4711], from sort (12)" -> "pipe, from sort". */
const char *ww_diff_words(struct ww_arena *mem, const char *s);
bool ww_diff_noise_known(uint32_t nbefore, uint32_t nafter);
/* v: of nbefore and then nafter recordings. Fills all but `judged`; half_ns is of an interval that holds
 * with probability 1 - alpha. */
void ww_diff_number_make(const int64_t *v, uint32_t nbefore, uint32_t nafter, double alpha,
			 struct ww_diff_number *ret);
/* x such that Student's t with df degrees of freedom is above it with probability `tail` (0 < tail < 0.5).
 */
double ww_student_above(double tail, double df);

#endif
