/* mm.bpf.h - page faults of the target's tree: their beginning, and from the software events their end. */
#ifndef WW_MM_BPF_H
#define WW_MM_BPF_H

#include "current.bpf.h"
#include "vma.bpf.h"

static __always_inline void ww_emit_fault(u32 id, u64 address, struct pt_regs *regs, u64 code)
{
	struct ww_ring_ctl *c = ww_this_cpu();
	struct ww_slot s;
	u8 *p;

	if (!c->in_tree)
		return;
	c->fault_of = c->on + 1;
	p = ww_reserve_here(&s, id, 17);
	if (!p)
		return;
	ww_put64(p, 0, address);
#if defined(__TARGET_ARCH_x86)
	ww_put64(p, 8, regs->ip);
#else
	ww_put64(p, 8, regs->pc);
#endif
	ww_put8(p, 16, code);
	ww_commit(&s);
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(ww_page_fault_user, unsigned long address, struct pt_regs *regs, unsigned long code)
{
	ww_see_regs(regs);
	ww_emit_fault(WW_EV_X86_EXCEPTIONS_PAGE_FAULT_USER, address, regs, code);
	return 0;
}

SEC("tp_btf/page_fault_kernel")
int BPF_PROG(ww_page_fault_kernel, unsigned long address, struct pt_regs *regs, unsigned long code)
{
	ww_see_current();
	ww_emit_fault(WW_EV_X86_EXCEPTIONS_PAGE_FAULT_KERNEL, address, regs, code);
	return 0;
}

/* whywait_page_in: dev ino offset bytes. Only within a page fault: what it was for, and what was read ahead. Who sleeps in
 * his, and is not the last to have begun one here, is not met again. */
SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(ww_page_in, struct folio *folio)
{
	struct ww_ring_ctl *c = ww_this_cpu();
	struct ww_slot s;
	u8 *p;

	ww_see_current();
	if (!c->in_tree || c->fault_of != c->on + 1)
		return 0;
	u64 inode = WW_GET(address_space, WW_GET(folio, folio, mapping), host);
	p = ww_reserve(&s, WW_EV_WHYWAIT_PAGE_IN, 24);
	if (!p)
		return 0;
	ww_put32(p, 0, WW_GET(super_block, WW_GET(inode, inode, i_sb), s_dev));
	ww_put64(p, 4, WW_GET(inode, inode, i_ino));
	ww_put64(p, 12, WW_GET(folio, folio, index) << 12);
	ww_put32(p, 20, 4096u << (ww_folio_order(folio) & 15));
	ww_commit(&s);
	return 0;
}

/* The part of struct bpf_perf_event_data that we read; its registers are the user's view of pt_regs. */
struct ww_perf_data {
#if defined(__TARGET_ARCH_x86)
	u64 regs[21];
#else
	u64 regs[34];
#endif
	u64 sample_period;
	u64 addr;
};

/* Programs' code that was told of already: the first page fault in it tells where it is mapped, which --stacks
 * needs to turn addresses into functions. */
struct ww_map_key {
	u64 start;
	u32 pid, pad;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct ww_map_key);
	__type(value, u64);
} ww_maps_told SEC(".maps");

#define VM_EXEC 4

/* whywait_map: pid start end offset dev ino */
static __always_inline void ww_emit_map(struct task_struct *t, struct ww_fault_at *at)
{
	u32 pid = t->tgid;
	struct ww_map_key key = {.start = at->start, .pid = pid};
	u64 *was = bpf_map_lookup_elem(&ww_maps_told, &key), now = at->f.ino ^ (u64)BPF_CORE_READ(t, mm); /* exec makes another mm */
	struct ww_slot s;
	u8 *p;

	if ((was && *was == now) || READ_ONCE(ww_shared.frozen))
		return;
	bpf_map_update_elem(&ww_maps_told, &key, &now, BPF_ANY);
	p = ww_reserve(&s, WW_EV_WHYWAIT_MAP, 40);
	if (!p)
		return;
	ww_put32(p, 0, pid);
	ww_put64(p, 4, at->start);
	ww_put64(p, 12, at->end);
	ww_put64(p, 20, at->offset - (at->address - at->start));
	ww_put32(p, 28, at->f.dev);
	ww_put64(p, 32, at->f.ino);
	ww_commit(&s);
}

/* whywait_fault_end: tid address major dev ino offset. The cookie says which of the two software events it is. */
SEC("perf_event")
int ww_fault_end(struct ww_perf_data *ctx)
{
	struct ww_fault_at at = {.address = ctx->addr};
	struct task_struct *t = bpf_get_current_task_btf();
	struct ww_slot s;
	u8 *p;

	if (!ww_current_is_in_tree(t))
		return 0;
	ww_this_cpu()->fault_of = 0;
	ww_fault_where(t, &at);
	if (ww_stacks && at.file && at.flags & VM_EXEC)
		ww_emit_map(t, &at);
	p = ww_reserve_here(&s, WW_EV_WHYWAIT_FAULT_END, 33);
	if (!p)
		return 0;
	ww_put32(p, 0, t->pid);
	ww_put64(p, 4, at.address);
	ww_put8(p, 12, bpf_get_attach_cookie(ctx) != 0);
	ww_put32(p, 13, at.f.dev);
	ww_put64(p, 17, at.f.ino);
	ww_put64(p, 25, at.offset);
	ww_commit(&s);
	return 0;
}

#endif
