/* state_key.c - equal numbers, equal words; follows what names.c looks at. */
#include "analysis/state_key.h"

#include "analysis/names.h"
#include "base/u64map.h"

/* Of a blocked state: what it waited for, and who ended it. */
static void add_wait(const struct ww_facts *f, uint32_t i, struct ww_state_key *k)
{
	const uint32_t fault = ww_state_fault(f, i), wakeup = ww_state_wakeup(f, i);
	const uint8_t cause = f->state.cause[i];
	uint32_t io = ww_wait_block(f, wakeup);

	k->peer = io == WW_NONE ? ww_wait_peer(f, i) : WW_NONE;
	k->peer_name = ww_name_comm_id(f, k->peer, ww_state_named_at(f, i));
	k->file = ww_state_file(f, i);
	if (k->file == WW_NONE && fault < f->fault.n)
		k->file = f->fault.file[fault];
	if (cause == WW_CA_FUTEX || cause == WW_CA_LOCK) {
		k->object = ww_state_object(f, i);
		k->by_end = ww_wait_ended_by_end(f, wakeup);
	}
	k->by_key = ww_wait_ended_by_key(f, i);
	if (cause == WW_CA_FAULT && fault < f->fault.n)
		k->object = 1 + f->fault.major[fault];
	if (io != WW_NONE) {
		k->dev = f->block_io.dev[io];
		k->io_file = f->block_io.file[io];
	}
}

struct ww_state_key ww_state_key_make(const struct ww_facts *f, uint32_t i, int64_t from_ts_ns, int64_t to_ts_ns)
{
	const uint8_t state = f->state.state[i];
	const uint32_t call = f->state.syscall[i], fault = ww_state_fault(f, i);
	struct ww_state_key k;

	memset(&k, 0, sizeof(k)); /* padding too: keys are compared as bytes */
	k.state = state;
	k.cause = ww_state_cause(f, i);
	if (ww_state_has_call(state) && call < f->syscall.n) {
		k.syscall_name = f->syscall.name[call];
		k.in_call = 1;
	}
	k.other = state == WW_ST_PREEMPTED || state == WW_ST_RUNQUEUE ? ww_ready_behind(f, i, from_ts_ns, to_ts_ns) : ww_state_other(f, i);
	k.other_name = ww_name_comm_id(f, k.other, ww_state_named_at(f, i));
	k.peer = k.dev = k.file = k.io_file = WW_NONE;
	k.detail = ww_state_detail(f, i);
	if (state == WW_ST_RUNNING_KERNEL && call == WW_NONE && fault < f->fault.n) {
		k.file = f->fault.file[fault];
		k.object = 1 + f->fault.major[fault];
	}
	if (state == WW_ST_BLOCKED)
		add_wait(f, i, &k);
	return k;
}

uint64_t ww_state_key_hash(const struct ww_state_key *k)
{
	uint64_t h = ww_hash_mix(k->state | (uint64_t)k->cause << 8, k->object);

	h = ww_hash_mix(h, k->syscall_name | (uint64_t)k->file << 32);
	h = ww_hash_mix(h, k->other | (uint64_t)k->peer << 32);
	h = ww_hash_mix(h, k->other_name | (uint64_t)k->peer_name << 32);
	return ww_hash_mix(h, k->dev | (uint64_t)k->detail << 32);
}
