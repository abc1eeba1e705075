/* seq.bpf.h - system calls whose LTTng events end in a sequence: what poll and epoll_wait are asked and
 * answer, select's sets, the addresses of connect and accept.
 *
 * How much there is decides the room in the ring, so it is found first. What poll and epoll_wait are given is read at
 * once into a per-CPU map, since each look at the user's memory is several calls deep; sets and addresses are copied
 * straight into the ring. As in LTTng, what cannot be read without a page fault is an empty sequence, and what is longer
 * than an event may be is cut and says `overflow`.
 * source lttng-modules 2.13: include/instrumentation/syscalls/headers/{,x86-64-}syscalls_pointers_override.h
 */
#ifndef WW_SEQ_BPF_H
#define WW_SEQ_BPF_H

#include "fd.bpf.h"

#define POLLFD_BYTES 8
#define POLL_ELEM    7   /* fd 4, events 2, the low events bit by bit 1 */
#define POLL_MAX     128 /* LTTng: 512 */
#define POLL_SCAN    256 /* of these the ready ones are looked for */
#define EPOLL_ELEM   17  /* data 8, its low half 4, events 4, the low events bit by bit 1 */
#define EPOLL_MAX    48  /* LTTng: 341 */
#define SELECT_BITS  1024

/* A page of the least size that is all there or not at all. */
#define PAGE_MASK (~4095ull)

static __always_inline bool ww_user_readable(u64 at, u32 bytes)
{
	u64 last = at + bytes - 1;
	u8 b;

	return at && bytes && !bpf_probe_read_user(&b, 1, (void *)at) &&
	       (!((at ^ last) & PAGE_MASK) || !bpf_probe_read_user(&b, 1, (void *)last));
}

/* One for each CPU is enough, as with ww_text_room of syscall.bpf.h. */
struct ww_seq_room {
	u8 elem[POLL_SCAN * POLLFD_BYTES]; /* the user's, also EPOLL_MAX of epoll_wait's */
	u8 spare[16];                      /* the verifier's */
	u8 field[128 + 8];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ww_seq_room);
} ww_seq_rooms SEC(".maps");

static __always_inline struct ww_seq_room *ww_seq_room_here(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&ww_seq_rooms, &zero);
}

/* The `bytes` at `at` into the CPU's room. */
static __always_inline bool ww_seq_read(u64 at, u32 bytes)
{
	struct ww_seq_room *room = ww_seq_room_here();

	if (!at || !bytes || !room || bytes > sizeof(room->elem))
		return false;
	return !bpf_probe_read_user(room->elem, bytes, (void *)at);
}

/* In arg[7]: low half the number of elements, then the overflow byte. Returns the number. */
static __always_inline u32 ww_seq_made(struct ww_call *c, u32 n, u32 overflow)
{
	c->arg[7] = (u64)(overflow & 1) << 32 | n;
	return n;
}

static __always_inline u32 ww_poll_measure(struct ww_call *c, u32 exit)
{
	u32 nfds = c->arg[1], n = nfds;
	s64 ret = c->arg[6];

	if (exit)
		n = ret <= 0 || ret > nfds ? 0 : ret;
	u32 over = n > POLL_MAX || (exit && nfds > POLL_SCAN);
	if (n > POLL_MAX)
		n = POLL_MAX;
	u32 looked = exit && n ? nfds : n;
	if (looked > POLL_SCAN)
		looked = POLL_SCAN;
	if (!ww_seq_read(c->arg[0], looked * POLLFD_BYTES))
		n = 0;
	return ww_seq_made(c, n, over) * POLL_ELEM;
}

static __always_inline u32 ww_epoll_measure(struct ww_call *c)
{
	s64 ret = c->arg[6];
	s32 max = c->arg[2];
	u32 n = max <= 0 || ret <= 0 || ret > max ? 0 : ret, over = n > EPOLL_MAX;

	if (over)
		n = EPOLL_MAX;
	if (!ww_seq_read(c->arg[1], n * EPOLL_EVENT_BYTES))
		n = 0;
	return ww_seq_made(c, n, over) * EPOLL_ELEM;
}

/* The number made is that of bytes in each set that there is; a set that is not there has none. */
static __always_inline u32 ww_select_measure(struct ww_call *c, u32 exit)
{
	s32 n = c->arg[0];
	u32 bytes = n <= 0 || n > SELECT_BITS || (exit && (s64)c->arg[6] <= 0) ? 0 : (u32)(n + 7) / 8;
	u32 total = 3;

	for (int i = 1; i < 4; i++)
		if (bytes && c->arg[i] && !ww_user_readable(c->arg[i], bytes))
			bytes = 0;
	for (int i = 1; i < 4; i++)
		total += c->arg[i] ? bytes : 0;
	c->arg[7] = (u64)bytes << 40; /* overflow, in between, is 0: what is longer is refused, not cut */
	return total;
}

/* In arg[7]: the family, then the port as on the wire. */
static __always_inline u32 ww_addr_measure(struct ww_call *c, u32 exit)
{
	u32 len = c->arg[2];
	u16 family = 0, port = 0;

	if (exit) {
		/* To read where NULL points would be a page fault. */
		if (!c->arg[2] || bpf_probe_read_user(&len, 4, (void *)c->arg[2]))
			len = 0;
		c->arg[2] = len; /* the event shows the length, not its address */
	}
	if (!c->arg[1])
		len = 0;
	if ((s32)len >= 2)
		bpf_probe_read_user(&family, 2, (void *)c->arg[1]);
	bool v4 = family == 2 && (s32)len >= 16, v6 = family == 10 && (s32)len >= 28;
	if (v4 || v6)
		bpf_probe_read_user(&port, 2, (void *)(c->arg[1] + 2));
	/* In the upper half, which no field shows: which of the two addresses follows. */
	c->arg[7] = family | (u64)port << 16 | (u64)v4 << 32 | (u64)v6 << 33;
	return 8 + (v4 ? 4 : 0) + (v6 ? 16 : 0);
}

/* Functions that are not static, with scalars for arguments: each is verified once, not along all the ways
 * that lead to it. The place in the ring is therefore looked up again. */
static __always_inline u8 *ww_seq_at(u32 index, u32 at)
{
	u8 *data = bpf_map_lookup_elem(&ww_rings, &index);

	return data ? data + (at & ww_sub_mask) : NULL;
}

/* The fields before the sequence; returns their bytes. */
__noinline int ww_seq_fields(u32 index, u32 at, u32 call, u32 exit, struct ww_call *c)
{
	const volatile struct ww_sc_layout *l = &ww_sc_entry[call & (WW_SC_TABLE - 1)];
	struct ww_seq_room *room = ww_seq_room_here();
	u8 *p = ww_seq_at(index, at);
	u32 off = 0;

	if (!c || !p || !room)
		return 0;
	if (exit)
		l = &ww_sc_exit[call & (WW_SC_TABLE - 1)];
#pragma unroll
	for (u32 i = 0; i < WW_SC_FIELDS; i++) {
		u64 v = c->arg[l->f[i].arg & 7] >> (l->f[i].off & 7) * 8;

		if (i >= l->n)
			break;
		off &= 127;
		ww_put64(room->field, off, v); /* the next over its end */
		off += l->f[i].size;
	}
	off &= 127;
	bpf_probe_read_kernel(p, off, room->field);
	return off;
}

struct ww_poll_walk {
	u64 end; /* bytes there are to write */
	u64 exit;
	u32 index, at;
};

/* Bodies of bpf_loop: verified once, not once an element. */
static int ww_poll_one(u32 i, void *ctx)
{
	struct ww_poll_walk *w = ctx;
	u8 *p = ww_seq_at(w->index, w->at);
	u32 off, zero = 0;
	struct ww_name *room = bpf_map_lookup_elem(&ww_name_room, &zero);
	struct ww_seq_room *read = ww_seq_room_here();

	if (!p || !room || !read || i >= POLL_SCAN)
		return 1;
	off = room->pos & 1023; /* bytes written */
	if (off >= w->end)
		return 1;
	u64 v = *(u64 *)(read->elem + POLLFD_BYTES * i);
	u32 events = (w->exit ? v >> 48 : v >> 32) & 0xffff;
	ww_put32(p, off, v);
	ww_put16(p, off + 4, events);
	ww_put8(p, off + 6, events);
	if (events || !w->exit)
		room->pos = off + POLL_ELEM;
	return 0;
}

__noinline int ww_poll_put(u32 index, u32 at, u32 exit, struct ww_call *c)
{
	u8 *p = ww_seq_at(index, at);

	if (!c || !p)
		return 0;
	u32 n = c->arg[7], end = n * POLL_ELEM, nfds = c->arg[1], zero = 0;
	struct ww_name *room = bpf_map_lookup_elem(&ww_name_room, &zero);

	if (n > POLL_MAX || !room)
		return 0;
	room->pos = 0;
	struct ww_poll_walk w = {.end = end, .index = index, .at = at, .exit = exit};
	if (n)
		bpf_loop(nfds < POLL_SCAN ? nfds : POLL_SCAN, ww_poll_one, &w, 0);
	u32 off = room->pos & 1023;
	/* Another thread may have changed the array meanwhile: zeros, as in LTTng. */
	if (off < end)
		bpf_probe_read_kernel(p + off, (end - off) & 1023, NULL);
	return 0;
}

struct ww_epoll_walk {
	u32 index, at;
};

static int ww_epoll_one(u32 i, void *ctx)
{
	struct ww_epoll_walk *w = ctx;
	u8 *p = ww_seq_at(w->index, w->at);
	struct ww_seq_room *read = ww_seq_room_here();

	if (!p || !read || i >= EPOLL_MAX)
		return 1;
	p += i * EPOLL_ELEM;
	u32 events = *(u32 *)(read->elem + i * EPOLL_EVENT_BYTES);
	u64 data = *(u64 *)(read->elem + i * EPOLL_EVENT_BYTES + EPOLL_DATA_AT);
	ww_put64(p, 0, data);
	ww_put32(p, 8, data);
	ww_put32(p, 12, events);
	ww_put8(p, 16, events);
	return 0;
}

__noinline int ww_epoll_put(u32 index, u32 at, struct ww_call *c)
{
	if (!c)
		return 0;
	struct ww_epoll_walk w = {.index = index, .at = at};
	bpf_loop(c->arg[7] & 63, ww_epoll_one, &w, 0); /* at most EPOLL_MAX: ww_epoll_measure */
	return 0;
}

__noinline int ww_select_put(u32 index, u32 at, struct ww_call *c)
{
	u8 *p = ww_seq_at(index, at);

	if (!c || !p)
		return 0;
	u32 bytes = (c->arg[7] >> 40) & 255;

	for (int i = 1; i < 4; i++) {
		u32 len = c->arg[i] ? bytes : 0;

		ww_put8(p, 0, len);
		if (len)
			bpf_probe_read_user(p + 1, len & 255, (void *)c->arg[i]);
		p += 1 + (len & 255);
	}
	return 0;
}

__noinline int ww_addr_put(u32 index, u32 at, struct ww_call *c)
{
	u8 *p = ww_seq_at(index, at);

	if (!c || !p)
		return 0;
	u32 v4 = (c->arg[7] >> 32) & 1, v6 = (c->arg[7] >> 33) & 1;

	ww_put32(p, 0, v4 * 4);
	if (v4)
		bpf_probe_read_user(p + 4, 4, (void *)(c->arg[1] + 4));
	p += 4 + v4 * 4;
	ww_put32(p, 0, v6 * 8); /* of 16 bits */
	if (v6)
		bpf_probe_read_user(p + 4, 16, (void *)(c->arg[1] + 8));
	return 0;
}

__noinline int ww_seq_measure(struct ww_call *c, u32 seq, u32 exit)
{
	if (!c)
		return 0;
	if (seq == WW_SQ_POLL)
		return ww_poll_measure(c, exit);
	if (seq == WW_SQ_EPOLL)
		return ww_epoll_measure(c);
	if (seq == WW_SQ_SELECT)
		return ww_select_measure(c, exit);
	return ww_addr_measure(c, exit);
}

/* call: of the layout in ww_sc_entry or, when exit, ww_sc_exit. */
__noinline int ww_emit_seq(u32 call, u32 exit, struct ww_call *c)
{
	const volatile struct ww_sc_layout *l = &ww_sc_entry[call & (WW_SC_TABLE - 1)];
	struct ww_place o = {};

	if (!c)
		return 0;
	if (exit)
		l = &ww_sc_exit[call & (WW_SC_TABLE - 1)];
	u32 seq = l->seq, bytes = l->fixed + ww_seq_measure(c, seq, exit);
	if (ww_take(l->id, bytes, &o) <= 0)
		return 0;
	u32 at = o.at + o.head, index = o.index;
	at += ww_seq_fields(index, at, call, exit, c);
	if (seq == WW_SQ_POLL)
		ww_poll_put(index, at, exit, c);
	else if (seq == WW_SQ_EPOLL)
		ww_epoll_put(index, at, c);
	else if (seq == WW_SQ_SELECT)
		ww_select_put(index, at, c);
	else
		ww_addr_put(index, at, c);
	void *data = bpf_map_lookup_elem(&ww_rings, &index);
	if (data)
		__sync_fetch_and_add(&ww_sub_of(data)->committed, WW_COMMIT_EVENT + o.head + bytes);
	return 0;
}

#endif
