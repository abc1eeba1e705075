/* vmlinux_min.h - the kernel structures that we read, and of those only the members that we read.
 *
 * Written by hand: preserve_access_index makes libbpf look up each member's place in the running kernel's
 * own BTF at load time, so that order, size and what is left out do not matter. A name with three
 * underscores (`struct x___old`) is a flavour: the same kernel structure as an older or newer kernel has it.
 */
#ifndef WW_VMLINUX_MIN_H
#define WW_VMLINUX_MIN_H

#include <linux/bpf.h>
#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;
typedef s32 pid_t;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct timespec64 {
	s64 tv_sec;
};

struct thread_info {
	unsigned long flags;
	u32 status; /* x86 */
	u32 cpu;    /* 5.16: bcf9033e5449 */
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r15, r14, r13, r12;
	unsigned long bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	u64 regs[31];
	u64 sp, pc, pstate, orig_x0;
	s32 syscallno;
};
#endif

struct pid_namespace;
struct upid {
	int nr;
	struct pid_namespace *ns;
};
struct pid {
	unsigned int level;
	struct upid numbers[4];
};
struct ns_common {
	unsigned int inum;
};
struct pid_namespace {
	struct ns_common ns;
};
struct nsproxy {
	struct pid_namespace *pid_ns_for_children;
};

struct super_block {
	u32 s_dev;
	unsigned long s_magic;
};
struct inode {
	unsigned short i_mode;
	unsigned long i_ino;
	u32 i_rdev;
	struct super_block *i_sb;
};
struct address_space {
	struct inode *host;
};
struct folio {
	struct address_space *mapping;
	unsigned long index, _flags_1;
};
enum pageflags {
	PG_head = 6,
};
struct qstr {
	u32 len;
	const unsigned char *name;
};
struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
};
struct vfsmount {
	struct dentry *mnt_root;
};
struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};
struct file {
	struct path f_path;
	struct inode *f_inode;
	void *private_data;
	unsigned int f_flags, f_mode;
};
struct fdtable {
	unsigned int max_fds;
	unsigned long *open_fds, *close_on_exec;
	struct file **fd;
};
struct files_struct {
	struct fdtable *fdt;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct rq {
	u64 prev_steal_time_rq;
};
struct cfs_rq {
	int throttle_count;
	struct rq *rq;
};
struct sched_entity {
	struct cfs_rq *cfs_rq;
};

struct maple_metadata {
	unsigned char end;
};
struct maple_range_64 {
	unsigned long pivot[15];
	void *slot[16];
	struct maple_metadata meta;
};
struct maple_arange_64 {
	unsigned long pivot[9];
	void *slot[10];
	struct maple_metadata meta;
};
struct maple_tree {
	void *ma_root;
};
struct mm_struct {
	struct maple_tree mm_mt;
};
/* 6.4: 5e31275cc997, with CONFIG_PER_VMA_LOCK; 6.13 made a sequence count of it. */
struct seqcount {
	unsigned int sequence;
};
struct mm_struct___number {
	int mm_lock_seq;
};
struct mm_struct___seqcount {
	struct seqcount mm_lock_seq;
};
struct vm_area_struct {
	unsigned long vm_start, vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_pgoff, vm_flags;
	struct file *vm_file;
};

struct kernfs_node {
	u64 id;
};
struct cgroup_root {
	int hierarchy_id;
};
struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
};
struct css_set {
	struct cgroup *dfl_cgrp;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	int prio;
	int exit_state;
	unsigned int in_iowait : 1;
	pid_t pid, tgid;
	char comm[16];
	struct pid *thread_pid;
	struct nsproxy *nsproxy;
	struct files_struct *files;
	struct css_set *cgroups;
	struct mm_struct *mm;
	struct task_struct *group_leader, *real_parent;
	struct sched_entity se;
};

struct linux_binprm {
	const char *filename;
};

struct irqaction {
	const char *name;
};

struct timerqueue_node {
	s64 expires;
};
struct hrtimer {
	struct timerqueue_node node;
	s64 _softexpires;
	void *function;
};
struct hrtimer_sleeper {
	struct hrtimer timer;
	struct task_struct *task;
};
struct timer_list {
	unsigned long expires;
	void *function;
	u32 flags;
};
struct process_timer {
	struct timer_list timer;
	struct task_struct *task;
};

struct gendisk {
	int major, first_minor;
};
struct request_queue {
	struct gendisk *disk;
};
struct block_device {
	u32 bd_dev;
};
struct bvec_iter {
	u64 bi_sector;
	unsigned int bi_size;
};
struct bio {
	struct block_device *bi_bdev;
	u32 bi_opf;
	struct bvec_iter bi_iter;
};
struct request {
	struct request_queue *q;
	u32 cmd_flags;
	unsigned int __data_len;
	u64 __sector;
};

struct work_struct {
	void *func;
};

struct in6_addr {
	u8 bytes[16];
};
struct sock_common {
	u32 skc_daddr, skc_rcv_saddr;
	u32 skc_portpair; /* the next two */
	u16 skc_dport, skc_num;
	unsigned short skc_family;
	unsigned char skc_state;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};
struct socket;
struct sock {
	struct sock_common __sk_common;
	struct socket *sk_socket;
	u16 sk_protocol, sk_type;
};
struct sockaddr_un {
	unsigned short sun_family;
	char sun_path[108];
};
struct unix_address {
	int len;
	struct sockaddr_un name[0];
};
struct unix_sock {
	struct sock sk;
	struct unix_address *addr;
	struct sock *peer;
};
struct socket {
	struct sock *sk;
};
struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
};
struct net_device {
	char name[16];
};
struct sk_buff {
	struct net_device *dev;
	struct sock *sk;
	unsigned int len;
	u16 protocol, network_header;
	unsigned char *head, *data;
};

struct kernel_siginfo {
	int si_signo, si_errno, si_code;
};
struct sigaction {
	void *sa_handler;
	unsigned long sa_flags;
};
struct k_sigaction {
	struct sigaction sa;
};

struct io_cqe {
	u64 user_data;
};
struct io_kiocb {
	u8 opcode;
	struct io_cqe cqe;
	void *ctx;
};
struct io_uring_cqe {
	u64 user_data;
	s32 res;
};

struct u64_stats {
	u64 v;
};
struct bpf_prog_stats {
	struct u64_stats misses;
};
struct bpf_prog_aux {
	u32 id;
};
struct bpf_prog {
	struct bpf_prog_stats *stats;
	struct bpf_prog_aux *aux;
};
struct bpf_iter__bpf_prog {
	struct bpf_prog *prog;
};
struct bpf_map {
	u32 id;
};
struct bpf_iter__bpf_map {
	struct bpf_map *map;
};
struct bpf_array {
	void *pptrs[1];
};

#pragma clang attribute pop

#endif
