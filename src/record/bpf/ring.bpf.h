/* ring.bpf.h - one reserve an event on the CPU's ring, filled in place, committed.
 *
 *   struct ww_slot s; u8 *p = ww_reserve(&s, WW_EV_X, bytes); if (p) { ww_put...; ww_commit(&s); }
 * Programs nest (an interrupt's on a thread's), so a position is taken by compare-and-swap, and the clock is
 * read between reading the position and the swap: who wins the swap had the CPU's ring to himself in between,
 * hence stamps never go back in a stream.
 */
#ifndef WW_RING_BPF_H
#define WW_RING_BPF_H

#include "vmlinux_min.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "event_ids.h"
#include "misses.bpf.h"
#include "wire.h"

/* value_size and max_entries are set at load time from the ring's size. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, 4096 + WW_TAIL);
} ww_rings SEC(".maps");

const volatile __u32 ww_sub_mask = 4095; /* sub_bytes - 1 */
const volatile __u32 ww_sub_shift = 12;
const volatile __u32 ww_nsub = 1;        /* sub-buffers of a CPU, a power of two */
const volatile bool ww_overwrite;      /* flight mode: the oldest sub-buffer is given up */

#define READ_ONCE(x)     (*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile typeof(x) *)&(x) = (v))
#define TRIES 3

struct ww_slot {
	u64 *committed;
	u64 add;
};

/* Where a reserve has found room. */
struct ww_place {
	u32 index; /* of the sub-buffer's element */
	u32 at;    /* offset of the event in its data */
	u32 head;  /* bytes of its header */
	u32 ts_ns; /* the low half of its stamp */
};

/* Unaligned stores: structs would be packed, and clang stores those byte by byte. */
#define ww_put8(p, off, v)  (*(u8 *)((void *)(p) + (off)) = (u8)(v))
#define ww_put16(p, off, v) (*(u16 *)((void *)(p) + (off)) = (u16)(v))
#define ww_put32(p, off, v) (*(u32 *)((void *)(p) + (off)) = (u32)(v))
#define ww_put64(p, off, v) (*(u64 *)((void *)(p) + (off)) = (u64)(v))
/* A task's name as two words: a helper's call costs more than the rest of an event. */
#define ww_put_comm(p, off, task)                           \
	do {                                                \
		const u64 *name = (const u64 *)(task)->comm; \
		ww_put64(p, off, name[0]);                  \
		ww_put64(p, (off) + 8, name[1]);            \
	} while (0)

/* The part of an element that is not its packet. */
static __always_inline struct ww_sub *ww_sub_of(void *data)
{
	return data + ww_sub_mask + 1 + WW_SUB_AT;
}

static __always_inline struct ww_sub *ww_sub_at(u32 cpu, u64 n)
{
	u32 i = cpu * ww_nsub + ((u32)n & (ww_nsub - 1));
	void *data = bpf_map_lookup_elem(&ww_rings, &i);

	return data ? ww_sub_of(data) : NULL;
}

/* The functions that are not static are verified once, on their own; inlined in each program they would be
 * verified along every path that leads to them, seconds instead of milliseconds. */

/* Opens the next packet with room for `need` bytes, and closes the one before it. 1: done, the event is at
 * WW_HEAD_BYTES; 0: somebody was faster; -1: the ring is full. */
__noinline int ww_open(u32 cpu, u64 pos, u64 ts, u32 need)
{
	struct ww_ring_ctl *c = &ww_ctl[cpu & (WW_MAX_CPUS - 1)];
	u32 off = pos & ww_sub_mask;
	u64 old = pos >> ww_sub_shift;
	u64 n = off ? old + 1 : old;
	struct ww_sub *s;

	if (!ww_overwrite && n - READ_ONCE(c->read_n) >= ww_nsub)
		return -1;
	if (__sync_val_compare_and_swap(&c->pos, pos, (n << ww_sub_shift) + WW_HEAD_BYTES + need) != pos)
		return 0;
	c->missed = ww_misses_here();
	if (off) {
		s = ww_sub_at(cpu, old);
		if (s) {
			s->end_bytes = off;
			s->end_ts_ns = ts;
			s->lost = c->lost + c->missed;
			__sync_fetch_and_add(&s->committed, (u64)ww_sub_mask + 1 - off);
		}
	}
	s = ww_sub_at(cpu, n);
	if (s) {
		s->begin_ts_ns = ts;
		s->number = n;
		s->lost_before = c->lost + c->missed;
		__sync_fetch_and_add(&s->committed, WW_HEAD_BYTES);
	}
	return 1;
}

/* Takes room for an event and writes its header. 1: o is filled; 0: there is no recording now; -1: lost, and counted.
 * What follows a try that succeeded stands once, after the loop, and has no branch that is not needed: all our programs
 * have it, and each is verified with it. */
__noinline int ww_take(u32 id, u32 bytes, struct ww_place *o)
{
	u32 cpu = bpf_get_smp_processor_id() & (WW_MAX_CPUS - 1);
	struct ww_ring_ctl *c = &ww_ctl[cpu];
	u32 frozen = READ_ONCE(ww_shared.frozen), off, head;
	u64 pos, ts;

	if (!o || frozen) {
		if (frozen == WW_FROZEN_OUTSIDE)
			return 0;
		goto lost;
	}
	WRITE_ONCE(o->at, id); /* kept there: with one word more on the stack, some programs have too much of it */
#pragma nounroll
	for (int i = 0; i < TRIES; i++) {
		pos = READ_ONCE(c->pos);
		ts = bpf_ktime_get_ns();
		u64 last = READ_ONCE(c->last_ts_ns);

		off = pos & ww_sub_mask;
		if (ts < last)
			ts = last;
		u64 high = (ts - last) >> 32;
		asm volatile("" : "+r"(high)); /* or a branch is made of it */
		head = 6 + ((-high >> 63) << 3);
		if (off && off + head + bytes <= ww_sub_mask) {
			if (__sync_val_compare_and_swap(&c->pos, pos, pos + head + bytes) == pos)
				goto taken;
			continue;
		}
		int r = ww_open(cpu, pos, ts, head + bytes);
		if (r < 0)
			break;
		if (r) {
			pos = (off ? (pos | ww_sub_mask) + 1 : pos) + WW_HEAD_BYTES;
			goto taken;
		}
	}
lost:
	__sync_fetch_and_add(&c->lost, 1);
	return -1;
taken:
	WRITE_ONCE(c->last_ts_ns, ts);

	u32 index = cpu * ww_nsub + ((u32)(pos >> ww_sub_shift) & (ww_nsub - 1));
	u8 *p = bpf_map_lookup_elem(&ww_rings, &index);
	if (!p)
		goto lost; /* a CPU that was not there at the start */
	off = pos & ww_sub_mask;
	p += off;
	id = READ_ONCE(o->at);
	if (head == 6) {
		ww_put16(p, 0, id);
		ww_put32(p, 2, ts);
	} else {
		ww_put16(p, 0, WW_EXTENDED_ID);
		ww_put32(p, 2, id);
		ww_put64(p, 6, ts);
	}
	o->index = index;
	o->at = off;
	o->head = head;
	o->ts_ns = ts;
	return 1;
}

/* NULL: lost, and counted. Else room for `bytes` bytes, to be filled and then committed. */
static __always_inline u8 *ww_reserve(struct ww_slot *slot, u32 id, u32 bytes)
{
	struct ww_place o = {};
	u8 *data;

	if (ww_take(id, bytes, &o) <= 0)
		return NULL;
	data = bpf_map_lookup_elem(&ww_rings, &o.index);
	if (!data)
		return NULL;
	slot->committed = &ww_sub_of(data)->committed;
	slot->add = WW_COMMIT_EVENT + o.head + bytes;
	return data + (o.at & ww_sub_mask) + (o.head & 15);
}

/* Two events at one moment, taken and committed together: the clock is read once, the position swapped once. The second
 * is to be filled at the first's `bytes` + 6. */
#define WW_TWO(bytes) ((bytes) + 6)
static __always_inline u8 *ww_reserve_two(struct ww_slot *slot, u32 id, u32 bytes, u32 id2, u32 bytes2)
{
	struct ww_place o = {};
	u8 *p;

	int r = ww_take(id, WW_TWO(bytes) + bytes2, &o);
	if (r < 0)
		__sync_fetch_and_add(&ww_ctl[bpf_get_smp_processor_id() & (WW_MAX_CPUS - 1)].lost, 1);
	if (r <= 0)
		return NULL;
	p = bpf_map_lookup_elem(&ww_rings, &o.index);
	if (!p)
		return NULL;
	slot->committed = &ww_sub_of(p)->committed;
	slot->add = 2 * WW_COMMIT_EVENT + o.head + WW_TWO(bytes) + bytes2;
	p += (o.at & ww_sub_mask) + (o.head & 15);
	ww_put16(p, bytes, id2);
	ww_put32(p, bytes + 2, o.ts_ns);
	return p;
}

/* Run by user space on each CPU before it closes a packet. */
SEC("raw_tp")
int ww_look_at_misses(void *ctx)
{
	ww_ctl[bpf_get_smp_processor_id() & (WW_MAX_CPUS - 1)].missed = ww_misses_here();
	return 0;
}

/* For programs in which each call of a function is felt: what nearly always happens, one try in a packet with room, with
 * a stamp that needs no more than 32 bits, for `add` bytes and the events in `count`. NULL: it was not so. */
static __always_inline u8 *ww_try_here(struct ww_slot *slot, u32 id, u32 add, u64 count)
{
	u32 cpu = bpf_get_smp_processor_id() & (WW_MAX_CPUS - 1);
	struct ww_ring_ctl *c = &ww_ctl[cpu];
	u64 pos = READ_ONCE(c->pos);
	u64 ts = bpf_ktime_get_ns();
	u32 off = pos & ww_sub_mask;
	u32 index = cpu * ww_nsub + ((u32)(pos >> ww_sub_shift) & (ww_nsub - 1));
	u8 *data = bpf_map_lookup_elem(&ww_rings, &index);

	/* A stamp that is before the last one has its high bits set here, too. */
	if (!data || !off || off + add > ww_sub_mask || (ts - READ_ONCE(c->last_ts_ns)) >> 32 || READ_ONCE(ww_shared.frozen) ||
	    __sync_val_compare_and_swap(&c->pos, pos, pos + add) != pos)
		return NULL;
	WRITE_ONCE(c->last_ts_ns, ts);
	slot->committed = &ww_sub_of(data)->committed;
	slot->add = count + add;
	data += off & ww_sub_mask;
	ww_put16(data, 0, id);
	ww_put32(data, 2, ts);
	return data + 6;
}

static __always_inline u8 *ww_reserve_here(struct ww_slot *slot, u32 id, u32 bytes)
{
	u8 *p = ww_try_here(slot, id, 6 + bytes, WW_COMMIT_EVENT);

	return p ? p : ww_reserve(slot, id, bytes);
}

static __always_inline u8 *ww_reserve_two_here(struct ww_slot *slot, u32 id, u32 bytes, u32 id2, u32 bytes2)
{
	u8 *p = ww_try_here(slot, id, 6 + WW_TWO(bytes) + bytes2, 2 * WW_COMMIT_EVENT);

	if (!p)
		return ww_reserve_two(slot, id, bytes, id2, bytes2);
	ww_put16(p, bytes, id2);
	ww_put32(p, bytes + 2, *(u32 *)(p - 4));
	return p;
}

/* After the last store; the reader takes a packet when all of it is committed. */
static __always_inline void ww_commit(struct ww_slot *slot)
{
	__sync_fetch_and_add(slot->committed, slot->add);
}

#endif
