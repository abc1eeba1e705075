/* vma.bpf.h - the file and the place in it of the page that a fault was for.
 *
 * Looking for the mapping (bpf_find_vma) takes the address space's lock with interrupts off, and gives it back from an
 * interrupt that the CPU sends to itself: microseconds, several times a fault's own. So the kernel's own words are
 * used where it has any (tracepoints of the page cache, 6.12), and mappings are remembered:
 *
 *   the page cache gave one page    its file and place
 *   it gave some pages around       the place from a remembered mapping, when that leads to one of these pages
 *   it said nothing                 anonymous, when the remembered mapping is
 *   else                            looked for, and remembered
 *
 * Not told apart: memory of a file without a page cache of its own (shmem) that was mapped over anonymous memory, from
 * that memory; a private page that was there already and is copied, from anonymous memory.
 */
#ifndef WW_VMA_BPF_H
#define WW_VMA_BPF_H

#include "file.bpf.h"

struct ww_fault_at {
	struct ww_file f;
	u64 address, offset;
	u64 start, end, flags;
};

enum { WW_SAID_NOTHING, WW_SAID_PAGE, WW_SAID_AROUND };

/* The fault that a CPU is at, and what the page cache said meanwhile. A task that is moved to another CPU is not met
 * there, and looked after at the end. */
struct ww_fault_seen {
	u64 address, ino;
	u64 first, last; /* pages of the file */
	u32 tid, dev, said, pad;
};
static struct ww_fault_seen ww_faults_seen[WW_MAX_CPUS];
const volatile bool ww_page_cache_tells; /* this kernel has the tracepoints */

struct ww_vma_key {
	u64 mm;
	u64 region; /* address / 2 MiB */
	u32 tgid, pad;
};
struct ww_vma {
	u64 start, end, pgoff, ino;
	u32 dev, anonymous;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct ww_vma_key);
	__type(value, struct ww_vma);
} ww_vmas SEC(".maps");

static __always_inline struct ww_fault_seen *ww_fault_here(void)
{
	return &ww_faults_seen[bpf_get_smp_processor_id() & (WW_MAX_CPUS - 1)];
}

static __always_inline void ww_fault_begins(u64 address)
{
	struct ww_fault_seen *s = ww_fault_here();

	s->tid = bpf_get_current_task_btf()->pid;
	s->address = address;
	s->said = WW_SAID_NOTHING;
}

static __always_inline void ww_page_cache_said(struct address_space *mapping, u64 first, u64 last, u32 what)
{
	struct ww_fault_seen *s = ww_fault_here();

	if (!ww_this_cpu()->in_tree || s->tid != bpf_get_current_task_btf()->pid)
		return;
	s->ino = mapping->host->i_ino;
	s->dev = mapping->host->i_sb->s_dev;
	s->first = first;
	s->last = last;
	s->said = what;
}

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(ww_filemap_fault, struct address_space *mapping, unsigned long index)
{
	ww_page_cache_said(mapping, index, index, WW_SAID_PAGE);
	return 0;
}

SEC("tp_btf/mm_filemap_map_pages")
int BPF_PROG(ww_filemap_map_pages, struct address_space *mapping, unsigned long first, unsigned long last)
{
	ww_page_cache_said(mapping, first, last, WW_SAID_AROUND);
	return 0;
}

static long ww_fault_vma(struct task_struct *t, struct vm_area_struct *vma, void *data)
{
	struct ww_fault_at *at = data;
	struct file *file = BPF_CORE_READ(vma, vm_file);

	at->start = BPF_CORE_READ(vma, vm_start);
	at->end = BPF_CORE_READ(vma, vm_end);
	if (!file)
		return 0;
	at->flags = BPF_CORE_READ(vma, vm_flags);
	at->offset = at->address - at->start + (BPF_CORE_READ(vma, vm_pgoff) << 12);
	ww_file_fill((u64)file, &at->f);
	return 0;
}

/* True: the file is known by what the kernel said. Only files that have their name already. */
static __always_inline bool ww_fault_known(struct ww_fault_at *at, struct ww_fault_seen *s, struct ww_vma *v)
{
	struct ww_file_key key = {.ino = s->ino, .dev = s->dev};
	u64 page = s->first;

	if (s->said == WW_SAID_NOTHING)
		return v && v->anonymous;
	if (!bpf_map_lookup_elem(&ww_named, &key))
		return false;
	if (s->said == WW_SAID_AROUND) {
		if (!v || v->ino != s->ino || v->dev != s->dev)
			return false;
		page = v->pgoff + ((at->address - v->start) >> 12);
		if (page < s->first || page > s->last)
			return false;
	}
	at->f.dev = s->dev;
	at->f.ino = s->ino;
	at->offset = page << 12 | (at->address & 4095);
	return true;
}

/* Fills at->f and at->offset from at->address. at is on the stack, as bpf_find_vma wants it. */
static __always_inline void ww_fault_where(struct ww_fault_at *at)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct ww_fault_seen *s = ww_fault_here();

	bool mine = ww_page_cache_tells && s->tid == t->pid && s->address >> 12 == at->address >> 12;
	struct ww_vma_key key = {.mm = (u64)BPF_CORE_READ(t, mm), .region = at->address >> 21, .tgid = t->tgid};
	struct ww_vma *v = bpf_map_lookup_elem(&ww_vmas, &key);

	s->tid = 0;
	if (v && (at->address < v->start || at->address >= v->end))
		v = NULL;
	if (mine && !(ww_stacks && s->said != WW_SAID_NOTHING) && ww_fault_known(at, s, v))
		return;
	bpf_find_vma(t, at->address, ww_fault_vma, at, 0);
	if (at->f.file)
		ww_name_once(&at->f);
	if (!at->start)
		return;
	struct ww_vma now = {.start = at->start, .end = at->end, .ino = at->f.ino, .dev = at->f.dev,
			     .pgoff = (at->offset - (at->address - at->start)) >> 12, .anonymous = !at->f.file};
	bpf_map_update_elem(&ww_vmas, &key, &now, BPF_ANY);
}

#endif
