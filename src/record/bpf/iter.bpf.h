/* iter.bpf.h - what is there when recording begins, walked by the kernel itself: every task, every open file.
 *
 * User space reads the records (struct ww_iter_task, struct ww_iter_file of wire.h) from the iterators'
 * descriptors and writes the state dump's events. Of a task that sleeps, the record says in which system call,
 * from its saved registers, as whywait_block does at a switch.
 */
#ifndef WW_ITER_BPF_H
#define WW_ITER_BPF_H

#include "mm.bpf.h"

struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
} __attribute__((preserve_access_index));
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} __attribute__((preserve_access_index));
struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
} __attribute__((preserve_access_index));

/* One iteration runs at a time, in one process: a single element is enough. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ww_iter_task);
} ww_iter_task_room SEC(".maps");

struct ww_iter_file_room {
	struct ww_iter_file f;
	char slack[256];
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ww_iter_file_room);
} ww_iter_file_room SEC(".maps");

/* The ids in each namespace that the task is seen from, outermost first. */
static __always_inline void ww_iter_ids(struct ww_iter_task *r, struct task_struct *t)
{
	struct pid *tid = BPF_CORE_READ(t, thread_pid), *pid = BPF_CORE_READ(t, group_leader, thread_pid);
	struct pid *parent = BPF_CORE_READ(t, real_parent, group_leader, thread_pid);
	u32 above = BPF_CORE_READ(parent, level);

	r->levels = BPF_CORE_READ(tid, level) + 1;
	if (r->levels > WW_ITER_LEVELS)
		r->levels = WW_ITER_LEVELS;
#pragma unroll
	for (u32 i = 0; i < WW_ITER_LEVELS; i++) {
		r->vtid[i] = r->vpid[i] = r->vppid[i] = r->ns_inum[i] = 0;
		if (i >= r->levels)
			continue;
		struct pid_namespace *ns = BPF_CORE_READ(tid, numbers[i].ns);
		r->vtid[i] = BPF_CORE_READ(tid, numbers[i].nr);
		r->vpid[i] = BPF_CORE_READ(pid, numbers[i].nr);
		r->ns_inum[i] = BPF_CORE_READ(ns, ns.inum);
		if (i <= above && BPF_CORE_READ(parent, numbers[i].ns) == ns)
			r->vppid[i] = BPF_CORE_READ(parent, numbers[i].nr);
	}
}

/* The call in which a sleeping task is, and the file that the call's descriptor names. */
static __always_inline void ww_iter_call(struct ww_iter_task *r, struct task_struct *t)
{
	struct ww_call c = {.nr = -1};
	struct ww_file f = {};

	if (ww_current_call(t, &c) && ww_fd_call(&c) & WW_FC_FIRST) {
		struct file *file = ww_task_fd(t, c.arg[0]);

		if (file)
			ww_file_fill((u64)file, &f);
	}
	r->nr = c.nr;
	r->abi = c.abi;
	r->fd_kind = f.kind;
	r->dev = f.dev;
	r->ino = f.ino;
#pragma unroll
	for (int i = 0; i < 6; i++)
		r->arg[i] = c.arg[i];
}

SEC("iter/task")
int ww_iter_tasks(struct bpf_iter__task *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *t = ctx->task;
	u32 zero = 0;
	struct ww_iter_task *r = bpf_map_lookup_elem(&ww_iter_task_room, &zero);

	if (!t || !r)
		return 0;
	r->tid = t->pid;
	r->pid = t->tgid;
	r->ppid = BPF_CORE_READ(t, real_parent, tgid);
	r->flags = t->flags;
	r->state = t->__state;
	r->exit_state = t->exit_state;
	r->cpu = t->thread_info.cpu;
	r->iowait = BPF_CORE_READ_BITFIELD(t, in_iowait);
	r->cgroup = BPF_CORE_READ(t, cgroups, dfl_cgrp, kn, id);
	bpf_probe_read_kernel(r->comm, 16, t->comm);
	ww_iter_ids(r, t);
	ww_iter_call(r, t);
	bpf_seq_write(seq, r, sizeof(*r));
	return 0;
}

/* The name that a unix socket is bound to; abstract ones begin with a zero byte. */
static __always_inline u32 ww_iter_unix_name(struct sock *sk, char *to)
{
	struct unix_sock *u = (void *)sk;
	struct unix_address *a = sk ? BPF_CORE_READ(u, addr) : NULL;
	s32 len = a ? BPF_CORE_READ(a, len) - 2 : 0; /* without the family */

	if (len <= 0 || len > 108)
		return 0;
	bpf_core_read(to, len & 127, &a->name[0].sun_path);
	return len;
}

static __always_inline void ww_iter_sock(struct ww_iter_file *r, struct sock *sk)
{
	r->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	r->type = BPF_CORE_READ(sk, sk_type);
	r->proto = BPF_CORE_READ(sk, sk_protocol);
	if (r->family == 2 || r->family == 10) {
		r->sport = BPF_CORE_READ(sk, __sk_common.skc_num);
		r->dport = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	}
	if (r->family == 2) {
		bpf_core_read(r->saddr, 4, &sk->__sk_common.skc_rcv_saddr);
		bpf_core_read(r->daddr, 4, &sk->__sk_common.skc_daddr);
	} else if (r->family == 10) {
		bpf_core_read(r->saddr, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_core_read(r->daddr, 16, &sk->__sk_common.skc_v6_daddr);
	} else if (r->family == 1) {
		struct unix_sock *u = (void *)sk;
		struct sock *peer = BPF_CORE_READ(u, peer);

		if (peer)
			r->peer_ino = ww_socket_ino((u64)BPF_CORE_READ(peer, sk_socket));
		r->bound = ww_iter_unix_name(sk, r->unix_name);
		if (!r->bound)
			r->bound = ww_iter_unix_name(peer, r->unix_name);
	}
}

static __always_inline bool ww_fd_cloexec(struct task_struct *t, u32 fd)
{
	struct fdtable *fdt = BPF_CORE_READ(t, files, fdt);
	unsigned long word = 0;

	if (!fdt || fd >= BPF_CORE_READ(fdt, max_fds))
		return false;
	bpf_probe_read_kernel(&word, sizeof(word), BPF_CORE_READ(fdt, close_on_exec) + fd / 64);
	return word >> (fd & 63) & 1;
}

SEC("iter/task_file")
int ww_iter_files(struct bpf_iter__task_file *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *t = ctx->task;
	struct file *file = ctx->file;
	struct ww_file f = {};
	u32 zero = 0;
	u64 at = 0;
	struct ww_iter_file *r = bpf_map_lookup_elem(&ww_iter_file_room, &zero);

	if (!t || !file || !r || t->pid != t->tgid)
		return 0;
	bpf_probe_read_kernel(r, WW_ITER_FILE_HEAD, NULL); /* zeros */
	r->name[0] = 0;
	/* A number for a function that is not static, which takes no typed pointers. */
	bpf_probe_read_kernel(&at, sizeof(at), &file);
	ww_file_fill(at, &f);
	r->pid = t->tgid;
	r->fd = ctx->fd;
	r->flags = file->f_flags | (ww_fd_cloexec(t, ctx->fd) ? 02000000 : 0); /* O_CLOEXEC, as LTTng shows it */
	r->mode = file->f_mode;
	r->kind = f.kind;
	r->dev = f.dev;
	r->ino = f.ino;
	if (f.sk)
		ww_iter_sock(r, f.sk);
	long n = bpf_d_path(&file->f_path, r->name, sizeof(r->name));
	r->name_bytes = n > 0 && n <= (long)sizeof(r->name) ? n : 1;
	bpf_seq_write(seq, r, sizeof(*r));
	return 0;
}

struct bpf_iter__task_vma {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct vm_area_struct *vma;
} __attribute__((preserve_access_index));

/* The code that the targets have mapped already; only --stacks asks. */
SEC("iter/task_vma")
int ww_iter_maps(struct bpf_iter__task_vma *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *t = ctx->task;
	struct vm_area_struct *vma = ctx->vma;
	struct ww_iter_map r = {};
	struct ww_file f = {};
	u64 at = 0;

	if (!t || !vma || t->pid != t->tgid || !ww_in_tree(t->tgid))
		return 0;
	struct file *file = vma->vm_file;
	if (!file || !(vma->vm_flags & VM_EXEC))
		return 0;
	bpf_probe_read_kernel(&at, sizeof(at), &file);
	ww_file_fill(at, &f);
	r.pid = t->tgid;
	r.start = BPF_CORE_READ(vma, vm_start);
	r.end = BPF_CORE_READ(vma, vm_end);
	r.offset = BPF_CORE_READ(vma, vm_pgoff) << 12;
	r.dev = f.dev;
	r.ino = f.ino;
	bpf_d_path(&file->f_path, r.name, sizeof(r.name));
	bpf_seq_write(seq, &r, sizeof(r));
	return 0;
}

#endif
