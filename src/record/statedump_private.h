/* statedump_private.h - between the files of the state dump only: statedump.c writes the events, statedump_iter.c
 * and statedump_proc.c find out what there is.
 */
#ifndef WW_STATEDUMP_PRIVATE_H
#define WW_STATEDUMP_PRIVATE_H

#include "record/bpf/event_ids.h"
#include "record/statedump.h"

#define WW_PF_KTHREAD 0x00200000u

/* lttng-modules: enum lttng_process_status. */
enum ww_dump_status {
	WW_DS_UNNAMED = 0, WW_DS_WAIT_CPU = 2, WW_DS_ZOMBIE = 4, WW_DS_WAIT = 5, WW_DS_DEAD = 7
};

struct ww_dump {
	struct ww_ctf_out *o;
	struct ww_err *err;
	struct ww_dump_socks socks;
	struct ww_u64map named;  /* hash of (dev, ino) already named */
	struct ww_u64map seen;   /* processes that the iterators gave */
	struct ww_u64map vpids;  /* pid -> innermost pid */
	struct ww_u64map pid_ns; /* pid -> its pid namespace */
};

struct ww_dump_task {
	int32_t tid, pid, ppid;
	char comm[16];
	enum ww_dump_status status;
	uint32_t flags, cpu; /* PF_* */
};

struct ww_dump_fd {
	int32_t pid, fd;
	uint32_t flags, mode; /* O_*, FMODE_* */
	uint8_t kind;         /* enum ww_dump_kind */
	uint32_t dev;
	uint64_t ino;
	const char *link;     /* as /proc/PID/fd shows it */
	const char *name;     /* what to call the file; often the same */
};

int ww_dump_task_write(struct ww_dump *d, const struct ww_dump_task *t);
/* level 0 is the first namespace, in which the recorder's ids are. */
int ww_dump_pid_ns_write(struct ww_dump *d, int32_t tid, int32_t vtid, int32_t vpid, int32_t vppid, uint32_t level,
			 uint32_t inum);
/* The descriptor, and its file when that is met the first time. */
int ww_dump_fd_write(struct ww_dump *d, const struct ww_dump_fd *f);
/* The first time that the file is met. */
int ww_dump_file_write(struct ww_dump *d, uint8_t kind, uint32_t dev, uint64_t ino, const char *name);
/* The first time that (space, number) is met. */
bool ww_dump_is_new(struct ww_dump *d, uint64_t space, uint64_t number);

/* The thread (group: all of its process) is in this cgroup; tid 0 only names it. */
int ww_dump_cgroup_write(struct ww_dump *d, int32_t tid, bool group, uint64_t id, const char *path);
/* The names of all cgroups of the second version's hierarchy; nothing where it is not mounted. */
int ww_dump_cgroups(struct ww_dump *d);

/* What the kernel gives; on kernels without iterators nothing. */
int ww_dump_from_iters(struct ww_dump *d, const struct ww_dump_iters *it);
/* The processes that were not seen: all, or those that the kernel keeps from its iterators. */
int ww_dump_from_proc(struct ww_dump *d);

#endif
