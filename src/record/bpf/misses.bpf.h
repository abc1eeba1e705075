/* misses.bpf.h - how often the kernel skipped one of our programs on this CPU.
 *
 * A program that is active on a CPU is skipped when its tracepoint is met again there; the kernel counts that for
 * each program and CPU, but shows only sums. We read the counts where they are: two iterators, run once after
 * loading, find the addresses; a per-CPU map of ours tells how far this CPU's copies are from them.
 */
#ifndef WW_MISSES_BPF_H
#define WW_MISSES_BPF_H

#include "vmlinux_min.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "wire.h"

struct ww_shared ww_shared SEC(".data.ctl");
struct ww_ring_ctl ww_ctl[WW_MAX_CPUS] SEC(".data.ctl");

__u32 ww_prog_ids[WW_MAX_PROGS];  /* user space fills these after loading */
__u64 ww_prog_stats[WW_MAX_PROGS]; /* per-CPU addresses of their statistics, 0: not known */
__u32 ww_prog_count;
__u32 ww_mark_id;   /* of the map below */
__u64 ww_mark_base; /* its per-CPU address */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} ww_percpu_mark SEC(".maps");

struct ww_prog_seen {
	u64 id, stats;
};

static int ww_find_one(u32 i, void *ctx)
{
	struct ww_prog_seen *seen = ctx;

	if (i >= WW_MAX_PROGS || !ww_prog_ids[i] || ww_prog_ids[i] != seen->id)
		return 0;
	ww_prog_stats[i] = seen->stats;
	return 1;
}

SEC("iter/bpf_prog")
int ww_find_stats(struct bpf_iter__bpf_prog *ctx)
{
	struct bpf_prog *prog = ctx->prog;

	if (!prog)
		return 0;
	struct ww_prog_seen seen = {.id = BPF_CORE_READ(prog, aux, id), .stats = (u64)BPF_CORE_READ(prog, stats)};
	bpf_loop(WW_MAX_PROGS, ww_find_one, &seen, 0);
	return 0;
}

SEC("iter/bpf_map")
int ww_find_mark(struct bpf_iter__bpf_map *ctx)
{
	struct bpf_map *map = ctx->map;

	if (map && map->id == ww_mark_id) {
		struct bpf_array *array = (void *)map;
		bpf_core_read(&ww_mark_base, sizeof(ww_mark_base), &array->pptrs[0]);
	}
	return 0;
}

const volatile __u32 ww_mark_key;

struct ww_misses {
	u64 shift, sum;
};

/* The body of a bpf_loop, which is verified once, not once a program of ours and again with each program. */
static int ww_misses_one(u32 i, void *ctx)
{
	struct ww_misses *m = ctx;
	u64 at = i < WW_MAX_PROGS ? ww_prog_stats[i] : 0, count;

	if (at && !bpf_probe_read_kernel(&count, sizeof(count), (void *)(at + m->shift)))
		m->sum += count;
	return 0;
}

/* Of this CPU, all programs together, since they were loaded. Little here is on the stack, of which those who call
 * us, deep down, have little left. */
static __always_inline u64 ww_misses_here(void)
{
	volatile u64 *mark = bpf_map_lookup_elem(&ww_percpu_mark, (const void *)&ww_mark_key);
	struct ww_misses m = {};

	if (!mark || !ww_mark_base)
		return 0;
	*mark = (u64)mark; /* read back it is a number, with which the verifier lets us reckon */
	m.shift = *mark - ww_mark_base + bpf_core_field_offset(struct bpf_prog_stats, misses);
	bpf_loop(ww_prog_count, ww_misses_one, &m, 0);
	return m.sum;
}

#endif
