/* vma.bpf.h - the mapping, the file and the place in it of the page that a fault was for.
 *
 * The helper that finds a mapping (bpf_find_vma) takes the address space's lock with interrupts off, and gives it back
 * from an interrupt that the CPU sends to itself: microseconds, several times a fault's own, and three more events. So
 * the tree of mappings is walked here, as the kernel does before it takes a lock: what a look without one may get wrong
 * is seen by the mapping that is found, which must be of this address space and hold the address. If it is not so, the
 * helper is asked.
 *
 *   a pointer to a node     has the node's type in its bits 3 to 6; the root's has 2 in its lowest two, or is no node
 *   a node of n slots       slot i holds what is at or below pivot i and above pivot i - 1; the last has no pivot
 * source include/linux/maple_tree.h, lib/maple_tree.c: mtree_range_walk, ma_data_end; 6.1 and later
 */
#ifndef WW_VMA_BPF_H
#define WW_VMA_BPF_H

#include "file.bpf.h"

struct ww_fault_at {
	struct ww_file f;
	u64 file; /* 0: anonymous memory */
	u64 address, offset;
	u64 start, end, flags;
};

#define NODE_LEVELS 6 /* a node is a piece: 256 bytes, which is also how they are aligned */
#define NODE_TYPE(entry) ((u32)((entry) >> 3) & 15)
enum { NODE_LEAF_64 = 1, NODE_RANGE_64, NODE_ARANGE_64 }; /* enum maple_type */

/* What the node's entry holds for `index`; 0: nothing, or no such node. */
__noinline u64 ww_tree_step(u64 entry, u64 index)
{
	u32 type = NODE_TYPE(entry), pivots = 15, i;
	u64 at = entry & ~255ull;

	if (!ww_look(at, sizeof(struct ww_piece)))
		return 0;
	u32 pivot = WORD(maple_range_64, pivot), slot = WORD(maple_range_64, slot);
	u32 meta = bpf_core_field_offset(struct maple_range_64, meta);
	if (type == NODE_ARANGE_64) {
		pivot = WORD(maple_arange_64, pivot);
		slot = WORD(maple_arange_64, slot);
		meta = bpf_core_field_offset(struct maple_arange_64, meta);
		pivots = 9;
	} else if (type != NODE_LEAF_64 && type != NODE_RANGE_64) {
		return 0;
	}
	/* The word of the last pivot is in a full node the last pivot, else 0; then the node says where it ends. */
	u32 end = pivots;
	if (type == NODE_ARANGE_64 || !ww_look_word(at, pivot + pivots - 1))
		end = ww_look_word(at, meta / 8) >> meta % 8 * 8 & 255;
#pragma nounroll
	for (i = 0; i < 15; i++)
		if (i >= end || ww_look_word(at, pivot + i) >= index)
			break;
	return ww_look_word(at, slot + i);
}

static __always_inline void ww_vma_set(struct ww_fault_at *at, u64 start, u64 end, u64 pgoff, u64 flags, u64 file)
{
	at->start = start;
	at->end = end;
	at->flags = flags;
	at->file = file;
	if (file)
		at->offset = at->address - start + (pgoff << 12);
}

static long ww_fault_vma(struct task_struct *t, struct vm_area_struct *vma, void *data)
{
	ww_vma_set(data, BPF_CORE_READ(vma, vm_start), BPF_CORE_READ(vma, vm_end), BPF_CORE_READ(vma, vm_pgoff),
		   BPF_CORE_READ(vma, vm_flags), (u64)BPF_CORE_READ(vma, vm_file));
	return 0;
}

#define VMA_WORD(at, member) LOOK(at, vm_area_struct, member)

/* A function of its own, of whose stack those that are called later have no part. 1: found. */
__noinline int ww_tree_walk(u64 mm, struct ww_fault_at *at)
{
	if (!at)
		return 0;
	u64 entry = WW_GET(mm_struct, mm, mm_mt.ma_root), address = at->address;
	u32 bytes = (WORD_MAX(WORD(vm_area_struct, vm_file), WORD(vm_area_struct, vm_pgoff)) + 1) * 8;
	bool leaf = (entry & 3) != 2;

#pragma nounroll
	for (u32 i = 0; i < NODE_LEVELS && !leaf; i++) {
		leaf = NODE_TYPE(entry) <= NODE_LEAF_64;
		entry = ww_tree_step(entry, address);
	}
	if (!entry || entry & 7 || !ww_look(entry, bytes))
		return 0;
	if (VMA_WORD(entry, vm_mm) != mm || address < VMA_WORD(entry, vm_start) || address >= VMA_WORD(entry, vm_end))
		return 0;
	ww_vma_set(at, VMA_WORD(entry, vm_start), VMA_WORD(entry, vm_end), VMA_WORD(entry, vm_pgoff), VMA_WORD(entry, vm_flags),
		   VMA_WORD(entry, vm_file));
	return 1;
}

/* The mappings that this CPU's faults were in last. Each change of a mapping is made under the address space's lock,
 * which counts how often it was taken for writing: while its number is the same, so are the mappings. An address space
 * begins to count anew where another was in memory before; then there was an exec or an exit in between. */
#define AREAS      32
#define AREA_SHIFT 17 /* neighbours in one of so many bytes share a place */
struct ww_area {
	u64 mm, start, end, offset, flags, file;
	u64 ino;
	u32 dev, seq, tgid, lives;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, AREAS);
	__type(key, u32);
	__type(value, struct ww_area);
} ww_areas SEC(".maps");

/* Fills at->f and at->offset from at->address. at is on the stack, as bpf_find_vma wants it. */
static __always_inline void ww_fault_where(struct task_struct *t, struct ww_fault_at *at)
{
	struct mm_struct *mm = t->mm;
	u32 seq = 0, i = at->address >> AREA_SHIFT & (AREAS - 1), lives = READ_ONCE(ww_shared.lives);
	struct ww_area *a = bpf_map_lookup_elem(&ww_areas, &i);
	bool counted = ww_mm_seq(mm, &seq);

	if (counted && a && a->mm == (u64)mm && a->seq == seq && a->tgid == t->tgid && a->lives == lives &&
	    at->address - a->start < a->end - a->start) {
		at->start = a->start;
		at->end = a->end;
		at->flags = a->flags;
		at->file = a->file;
		at->f.dev = a->dev;
		at->f.ino = a->ino;
		at->offset = a->file ? at->address - a->start + a->offset : 0;
		return;
	}
	if (!ww_tree_walk(WW_GET(task_struct, t, mm), at))
		bpf_find_vma(t, at->address, ww_fault_vma, at, 0);
	if (at->file)
		ww_file_at(at->file, &at->f);
	if (!counted || !a || READ_ONCE(ww_shared.frozen)) /* then the file has not been named */
		return;
	a->mm = (u64)mm;
	a->start = at->start;
	a->end = at->end;
	a->offset = at->offset - (at->address - at->start);
	a->flags = at->flags;
	a->file = at->file;
	a->dev = at->f.dev;
	a->ino = at->f.ino;
	a->seq = seq;
	a->tgid = t->tgid;
	a->lives = lives;
}

#endif
