/* analysis_path_random.c - the path against the chains, on random facts.
 *
 * The oracle is ww_chain_expand without limits: it is recursive and was written first; its leaves, put one
 * after the other, are what the path must be, instant by instant. On facts that contradict each other (waker
 * and waiter wait for one another, things happen before their cause) there is no right answer: there the path
 * must still be whole and end.
 */
#include "../tap.h"

#include "analysis/chain.h"
#include "path_scene.h"

#define THREADS 8
#define END 2000

static uint64_t rng = 88172645463325252ull;

static uint32_t roll(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)((rng >> 20) % n);
}

/* Who runs at `ts`, other than t; WW_NONE. Threads are laid in step, so that is known. */
static uint32_t someone_running(const bool *running, uint32_t t)
{
	uint32_t first = roll(THREADS);

	for (uint32_t i = 0; i < THREADS; i++)
		if (running[(first + i) % THREADS] && (first + i) % THREADS != t)
			return (first + i) % THREADS;
	return WW_NONE;
}

/* What a thread did is laid as time goes on; a blocked one is woken by one that runs, or by a device or timer. */
static void lay(struct play *p)
{
	static const enum ww_cause causes[] = {WW_CA_PIPE, WW_CA_FUTEX, WW_CA_UNIX, WW_CA_CHILD};
	bool running[THREADS], blocked[THREADS] = {false};
	char name[8];

	for (uint32_t t = 0; t < THREADS; t++) {
		snprintf(name, sizeof(name), "t%u", t);
		actor(p, name, 0, END);
		running[t] = true;
	}
	for (int64_t ts = 1; ts < END; ts += 1 + roll(4)) {
		uint32_t t = roll(THREADS), by;

		if (running[t]) {
			if (p->at[t] < ts)
				is_in(p, t, ts, roll(2) ? WW_ST_RUNNING_USER : WW_ST_RUNNING_KERNEL, WW_NONE);
			running[t] = false;
			blocked[t] = roll(5) != 0; /* else preempted */
		} else if (!blocked[t]) {
			if (p->at[t] < ts)
				is_in(p, t, ts, WW_ST_PREEMPTED, WW_NONE);
			running[t] = true;
		} else if (p->at[t] < ts) {
			int64_t when = p->at[t] > 5 ? p->at[t] - roll(5) : p->at[t];

			by = someone_running(running, t);
			switch (by == WW_NONE ? 2 + roll(2) : roll(5)) {
			case 2:
				waits(p, t, ts, WW_CA_DISK, WW_WK_BLOCK, t, request(p, t, when, ts));
				break;
			case 3:
				waits(p, t, ts, WW_CA_TIMER, WW_WK_TIMER, t, timer(p, "hrtimer_wakeup", t, when, ts));
				break;
			default:
				waits(p, t, ts, causes[roll(4)], WW_WK_THREAD, by, WW_NONE);
				break;
			}
			blocked[t] = false;
			running[t] = roll(2);
			if (!running[t])
				blocked[t] = false; /* on the run queue: laid as preempted */
		}
	}
	for (uint32_t t = 0; t < THREADS; t++)
		if (p->at[t] < END)
			is_in(p, t, END, WW_ST_RUNNING_USER, WW_NONE);
}

struct piece {
	uint32_t thread, state;
};

/* Each instant of a wait by the leaves of its chain. A device is the waiter's. */
static void put_leaves(struct piece *at, const struct ww_link *l, uint32_t waiter)
{
	if (!l->nchain) {
		for (int64_t i = l->start_ts_ns; i < l->start_ts_ns + l->dur_ns; i++)
			at[i] = (struct piece){l->thread == WW_NONE ? waiter : l->thread, l->state | (uint32_t)l->cause << 8};
		return;
	}
	for (uint32_t i = 0; i < l->nchain; i++)
		put_leaves(at, &l->chain[i], l->thread == WW_NONE ? waiter : l->thread);
}

static void put_path(struct piece *at, const struct ww_path *p)
{
	for (uint32_t i = 0; i < p->nsegments; i++)
		for (int64_t k = 0; k < p->segments[i].dur_ns; k++)
			at[p->segments[i].start_ns + k] =
				(struct piece){p->segments[i].thread, p->segments[i].state | (uint32_t)p->segments[i].cause << 8};
}

static bool same_as_chains(struct play *p, uint32_t t)
{
	static struct piece want[END], got[END];
	struct ww_chain_opts opts = {.max_depth = 1000, .budget = 10000000};
	const struct ww_facts *f = &p->f;
	struct ww_path path;

	if (make_path(p, t, &path) || !path_is_whole(&path))
		return false;
	put_path(got, &path);
	for (uint32_t i = f->state_first[t]; i < f->state_first[t + 1]; i++) {
		struct ww_link l;

		ww_chain_expand(&p->mem, f, &opts, i, 0, END, &l);
		put_leaves(want, &l, t);
	}
	ww_chain_free(&opts);
	for (int64_t i = 0; i < END; i++)
		if (want[i].thread != got[i].thread || want[i].state != got[i].state) {
			printf("# thread %u at %d: chains say %u state %#x, the path %u state %#x\n", t, (int)i, want[i].thread,
			       want[i].state, got[i].thread, got[i].state);
			return false;
		}
	return true;
}

static uint32_t nonsense_work(struct play *p)
{
	uint32_t w = work(p, "work", roll(2) ? WW_NONE : roll(THREADS), roll(END), roll(THREADS), roll(END), roll(END));

	p->f.work.trigger_kind[w] = (uint8_t)roll(WW_WK_N);
	p->f.work.trigger[w] = roll(20);
	return w;
}

/* Any facts at all: wakers that wait, requests of the future, parents in a circle. */
static void lay_nonsense(struct play *p)
{
	char name[8];

	for (uint32_t t = 0; t < THREADS; t++) {
		snprintf(name, sizeof(name), "n%u", t);
		uint32_t x = born_of(p, roll(THREADS), name, roll(2) ? 0 : roll(END / 2), END);

		for (int64_t ts = p->at[x] + 1; ts < END; ts += 1 + roll(60)) {
			uint32_t fact = WW_NONE, kind = roll(WW_WK_N);

			if (kind == WW_WK_BLOCK && roll(3))
				fact = request(p, roll(THREADS), roll(END), roll(END));
			else if (kind == WW_WK_TIMER && roll(3))
				fact = timer(p, "tick", roll(THREADS), roll(END), roll(END));
			else if (kind == WW_WK_WORK && roll(3))
				fact = nonsense_work(p);
			else if (kind == WW_WK_PACKET && roll(3)) {
				struct ww_packet k = {.ts_ns = roll(END), .sent = (uint8_t)roll(2), .proto = 6, .thread = roll(2) ? WW_NONE : roll(THREADS),
						      .trigger = roll(20), .trigger_kind = roll(2) ? WW_WK_PACKET : WW_WK_TIMER,
						      .match = roll(20)};
				fact = ww_packet_push(&p->f, &k);
			} else if (!roll(10)) {
				fact = roll(1000000); /* of no row */
			}
			if (roll(3))
				waits(p, x, ts, (enum ww_cause)roll(WW_CA_N), (enum ww_waker)kind, roll(10) ? roll(THREADS) : roll(1000), fact);
			else
				is_in(p, x, ts, (enum ww_thread_state)roll(WW_ST_N), roll(THREADS));
		}
	}
	for (uint32_t i = 0; i < p->f.packet.n; i++) { /* the model's own promise: rows or none */
		if (p->f.packet.match[i] >= p->f.packet.n)
			p->f.packet.match[i] = WW_NONE;
		if (p->f.packet.trigger_kind[i] == WW_WK_PACKET && p->f.packet.trigger[i] >= p->f.packet.n)
			p->f.packet.trigger[i] = WW_NONE;
	}
}

int main(void)
{
	uint32_t same = 0, asked = 0, whole = 0, made = 0;

	for (int round = 0; round < 300; round++) {
		struct play p;

		play_begin(&p);
		lay(&p);
		play_end(&p);
		for (uint32_t t = 0; t < THREADS; t++, asked++)
			same += same_as_chains(&p, t);
		play_release(&p);
	}
	is_i64(same, asked, "the path is the leaves of the chains, instant by instant (300 x 8 random threads)");
	for (int round = 0; round < 150; round++) {
		struct play p;
		struct ww_path path;
		struct ww_path_sum sum;

		play_begin(&p);
		lay_nonsense(&p);
		play_end(&p);
		for (uint32_t t = 0; t < THREADS; t++) {
			if (make_path(&p, t, &path))
				continue;
			made++;
			whole += path_is_whole(&path);
			ww_path_sum(&p.mem, &path, &sum);
			for (uint32_t i = 0; i < path.nsegments; i++) {
				ww_segment_detail(&p.mem, &path, &path.segments[i], true);
				ww_segment_via(&p.mem, &path, &path.segments[i]);
			}
		}
		play_release(&p);
	}
	ok(made > 500, "%u paths over nonsense", made);
	is_i64(whole, made, "facts that contradict each other: the path ends, and is whole");
	return done_testing();
}
