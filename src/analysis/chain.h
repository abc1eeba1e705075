/* chain.h - a wait and what its waker did meanwhile, recursively.
 *
 * Expansion after Fournier (2009): a wait [a, b) of a thread, ended by a wakeup from thread W, is
 * explained by what W itself was doing in [a, b); where W was blocked, by W's waker in the part of
 * that wait inside [a, b); and so on. A wait ended by an interrupt is explained by what completed
 * there: a block request (its submitter until it was queued, then the device), a timer (who armed
 * it), a packet (its sender until it was sent, then the network), deferred work.
 *
 * shape  the links of a chain are in time order, contiguous, and cover the wait exactly; what is
 *        not known in between is a link with state unknown.
 * bounds intervals never grow on the way down and the depth is limited, so cycles end; the number of
 *        links is limited by a budget that all chains of one query share (`cut` says where).
 *
 * Example: A blocks in read of a pipe 0..10; B writes at 10, but sleeps 2..7:
 *   A blocked pipe 0..10 <- [B running-user 0..2, B blocked timer 2..7 <- [timer 2..7], B running 7..10]
 */
#ifndef WW_CHAIN_H
#define WW_CHAIN_H

#include "analysis/analysis.h"

struct ww_woken {
	uint8_t kind;      /* enum ww_waker */
	uint8_t certainty; /* enum ww_certainty */
	uint32_t thread;   /* thread index that is behind it; WW_NONE */
	const char *name;  /* "IRQ 11 virtio0", "vda read 64 KiB", "hrtimer_wakeup"; "" none */
	int64_t ts_ns;     /* when */
	const char *in;    /* system call that the waker was in, "" none */
};

/* What is no thread's doing. */
struct ww_link_said {
	const char *detail;
	const char *brief; /* the same without what differs each time; "" none */
};

/* Of a large trace there are hundreds of thousands: what its state row tells in words is made when it is printed. */
struct ww_link {
	int64_t start_ts_ns, dur_ns;
	uint32_t thread;   /* whose doing; WW_NONE: a device, a timer, the network, or unknown */
	uint32_t row;      /* its state row; WW_NONE when it is not a thread's */
	uint8_t state, cause, certainty;
	bool cut : 1;      /* the chain was left out: depth or budget */
	bool again : 1;    /* and so were its words: it is a wait further up */
	uint32_t nchain;
	union {
		struct ww_link *chain;           /* of a row */
		const struct ww_link_said *said; /* without a row: ww_link_said */
	};
};

static inline struct ww_link_said ww_link_said(const struct ww_link *l)
{
	return l->row == WW_NONE && l->said ? *l->said : (struct ww_link_said){"", ""};
}

struct ww_link_words {
	const char *detail;
	const char *syscall; /* "read"; NULL none */
	const char *call;    /* "read(3 /tmp/f)"; NULL none */
	struct ww_woken woken_by; /* of a blocked state */
};

struct ww_chain_opts {
	uint32_t max_depth;
	int64_t min_dur_ns;  /* waits shorter than this are not followed */
	uint32_t budget;     /* links left; counts down */
	/* The links of chains that are being laid, the innermost one's on top: ww_chain_free when all are. */
	struct ww_link *stack;
	size_t nstack, cap_stack;
};
void ww_chain_free(struct ww_chain_opts *opts);

#define WW_CHAIN_DEPTH 12
#define WW_CHAIN_BUDGET 400000u

/* The link of state row `row` clipped to [from, to), with its chain. Memory in `mem`. */
void ww_chain_expand(struct ww_arena *mem, const struct ww_facts *f, struct ww_chain_opts *opts, uint32_t row,
		     int64_t from_ts_ns, int64_t to_ts_ns, struct ww_link *ret);
/* In words; memory in `mem`. */
void ww_link_words(struct ww_arena *mem, const struct ww_facts *f, const struct ww_link *l, struct ww_link_words *ret);

#endif
