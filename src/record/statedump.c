/* statedump.c - what the state dump is made of, as events; where it comes from is statedump_iter.c's affair (the
 * kernel's iterators) or, where there are none, statedump_proc.c's.
 *
 * A file is named once (whywait_file), however many descriptors name it. Devices come last.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "record/statedump_private.h"

/* lttng-modules: enum lttng_execution_mode. */
enum { MODE_UNKNOWN = 5, SUBMODE_NONE = 0 };

uint64_t ww_dump_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int ww_dump_read(int dirfd, const char *path, char *buf, size_t size)
{
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;

	if (fd < 0)
		return -1;
	while (n < size - 1) {
		ssize_t r = read(fd, buf + n, size - 1 - n);
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			break;
		n += (size_t)r;
	}
	close(fd);
	while (n && buf[n - 1] == '\n')
		n--;
	buf[n] = 0;
	return (int)n;
}

void ww_dump_visit_cpus(void)
{
	const struct sched_param first = {.sched_priority = sched_get_priority_max(SCHED_FIFO)}, none = {0};
	const size_t cpus = 4096, size = CPU_ALLOC_SIZE(cpus);
	cpu_set_t *home = CPU_ALLOC(cpus), *one = CPU_ALLOC(cpus);

	if (home && one && sched_getscheduler(0) == SCHED_OTHER && !sched_getaffinity(0, size, home) &&
	    !sched_setscheduler(0, SCHED_FIFO, &first)) {
		for (size_t i = 0; i < cpus; i++) {
			CPU_ZERO_S(size, one);
			CPU_SET_S(i, size, one);
			/* We are there when it returns, so somebody had to leave. */
			if (CPU_ISSET_S(i, size, home))
				(void)!sched_setaffinity(0, size, one);
		}
		(void)!sched_setaffinity(0, size, home);
		(void)!sched_setscheduler(0, SCHED_OTHER, &none);
	}
	CPU_FREE(home);
	CPU_FREE(one);
}

/* ---- single events ---- */

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void ww_dump_clock(struct ww_ctf_out *o, struct ww_err *err)
{
	uint64_t mono = 0, boot = 0, real = 0, tai = 0, raw = 0, best = UINT64_MAX;

	/* One instant: of three tries the one that took the least time, so an interrupt does not skew it. */
	for (int i = 0; i < 3; i++) {
		uint64_t m0 = clock_ns(CLOCK_MONOTONIC), b = clock_ns(CLOCK_BOOTTIME),
			 r = clock_ns(CLOCK_REALTIME), t = clock_ns(CLOCK_TAI), w = clock_ns(CLOCK_MONOTONIC_RAW),
			 m1 = clock_ns(CLOCK_MONOTONIC);
		if (m1 - m0 >= best)
			continue;
		best = m1 - m0;
		mono = m0 + best / 2;
		boot = b, real = r, tai = t, raw = w;
	}
	if (ww_ctf_rec_begin(o, WW_EV_WHYWAIT_CLOCK, ww_dump_now_ns(), err))
		return;
	ww_ctf_rec_u64(o, mono);
	ww_ctf_rec_u64(o, boot);
	ww_ctf_rec_u64(o, real);
	ww_ctf_rec_u64(o, tai);
	ww_ctf_rec_u64(o, raw);
	ww_ctf_rec_end(o);
}

void ww_dump_cost(struct ww_ctf_out *o, uint64_t cpu_ns, uint64_t bytes, struct ww_err *err)
{
	if (ww_ctf_rec_begin(o, WW_EV_WHYWAIT_COST, ww_dump_now_ns(), err))
		return;
	ww_ctf_rec_u64(o, cpu_ns);
	ww_ctf_rec_u64(o, bytes);
	ww_ctf_rec_end(o);
}

void ww_dump_recorder(struct ww_ctf_out *o, int32_t tid, struct ww_err *err)
{
	if (ww_ctf_rec_begin(o, WW_EV_WHYWAIT_RECORDER, ww_dump_now_ns(), err))
		return;
	ww_ctf_rec_i32(o, tid);
	ww_ctf_rec_end(o);
}

void ww_dump_target(struct ww_ctf_out *o, uint64_t ts_ns, int32_t tid, bool begin, int32_t status,
		    const char *comm, const char *cmdline, struct ww_err *err)
{
	if (ww_ctf_rec_begin(o, WW_EV_WHYWAIT_TARGET, ts_ns, err))
		return;
	ww_ctf_rec_i32(o, tid);
	ww_ctf_rec_i32(o, tid); /* a main thread: its process has the same number */
	ww_ctf_rec_u8(o, begin);
	ww_ctf_rec_i32(o, status);
	ww_ctf_rec_str(o, comm);
	ww_ctf_rec_str(o, cmdline);
	ww_ctf_rec_end(o);
}

/* ---- tasks and files ---- */

int ww_dump_task_write(struct ww_dump *d, const struct ww_dump_task *t)
{
	int rc = ww_ctf_rec_begin(d->o, WW_EV_LTTNG_STATEDUMP_PROCESS_STATE, ww_dump_now_ns(), d->err);

	if (rc)
		return rc;
	ww_ctf_rec_i32(d->o, t->tid);
	ww_ctf_rec_i32(d->o, t->pid);
	ww_ctf_rec_i32(d->o, t->ppid);
	ww_ctf_rec_text(d->o, t->comm, 16);
	ww_ctf_rec_i32(d->o, t->flags & WW_PF_KTHREAD ? 1 : 0);
	ww_ctf_rec_i32(d->o, MODE_UNKNOWN);
	ww_ctf_rec_i32(d->o, SUBMODE_NONE);
	ww_ctf_rec_i32(d->o, (int32_t)t->status);
	ww_ctf_rec_u32(d->o, t->cpu);
	ww_ctf_rec_u64(d->o, (uint64_t)t->pid);
	ww_ctf_rec_end(d->o);
	return 0;
}

int ww_dump_pid_ns_write(struct ww_dump *d, int32_t tid, int32_t vtid, int32_t vpid, int32_t vppid, uint32_t level,
			 uint32_t inum)
{
	int rc = ww_ctf_rec_begin(d->o, WW_EV_LTTNG_STATEDUMP_PROCESS_PID_NS, ww_dump_now_ns(), d->err);

	if (rc)
		return rc;
	ww_ctf_rec_i32(d->o, tid);
	ww_ctf_rec_i32(d->o, vtid);
	ww_ctf_rec_i32(d->o, vpid);
	ww_ctf_rec_i32(d->o, vppid);
	ww_ctf_rec_i32(d->o, (int32_t)level);
	ww_ctf_rec_u32(d->o, inum);
	ww_ctf_rec_end(d->o);
	return 0;
}

bool ww_dump_is_new(struct ww_dump *d, uint64_t space, uint64_t number)
{
	bool is_new;

	ww_u64map_get(&d->named, ww_hash_mix(space, number), 1, &is_new);
	return is_new;
}

int ww_dump_file_write(struct ww_dump *d, uint8_t kind, uint32_t dev, uint64_t ino, const char *name)
{
	if (!ww_dump_is_new(d, dev, ino))
		return 0;
	int rc = ww_ctf_rec_begin(d->o, WW_EV_WHYWAIT_FILE, ww_dump_now_ns(), d->err);
	if (rc)
		return rc;
	ww_ctf_rec_u8(d->o, kind);
	ww_ctf_rec_u32(d->o, dev);
	ww_ctf_rec_u64(d->o, ino);
	ww_ctf_rec_str(d->o, name);
	ww_ctf_rec_end(d->o);
	return 0;
}

int ww_dump_fd_write(struct ww_dump *d, const struct ww_dump_fd *f)
{
	int rc = ww_ctf_rec_begin(d->o, WW_EV_LTTNG_STATEDUMP_FILE_DESCRIPTOR, ww_dump_now_ns(), d->err);

	if (rc)
		return rc;
	ww_ctf_rec_u64(d->o, (uint64_t)f->pid);
	ww_ctf_rec_i32(d->o, f->fd);
	ww_ctf_rec_u32(d->o, f->flags);
	ww_ctf_rec_u32(d->o, f->mode);
	ww_ctf_rec_str(d->o, f->link);
	ww_ctf_rec_end(d->o);
	rc = ww_dump_file_write(d, f->kind, f->dev, f->ino, f->name);
	if (!rc)
		rc = ww_ctf_rec_begin(d->o, WW_EV_WHYWAIT_FD, ww_dump_now_ns(), d->err);
	if (rc)
		return rc;
	ww_ctf_rec_i32(d->o, f->pid);
	ww_ctf_rec_i32(d->o, f->fd);
	ww_ctf_rec_u8(d->o, f->kind);
	ww_ctf_rec_u32(d->o, f->dev);
	ww_ctf_rec_u64(d->o, f->ino);
	ww_ctf_rec_end(d->o);
	return 0;
}

static int write_mark(struct ww_dump *d, uint32_t id)
{
	int rc = ww_ctf_rec_begin(d->o, id, ww_dump_now_ns(), d->err);

	if (!rc)
		ww_ctf_rec_end(d->o);
	return rc;
}

int ww_statedump_write(struct ww_ctf_out *o, const struct ww_dump_iters *it, struct ww_err *err)
{
	struct ww_dump d = {.o = o, .err = err};
	int rc = write_mark(&d, WW_EV_LTTNG_STATEDUMP_START);

	if (!rc)
		rc = ww_dump_cgroups(&d);
	if (!rc && it)
		rc = ww_dump_from_iters(&d, it);
	if (!rc)
		rc = ww_dump_from_proc(&d);
	if (!rc)
		rc = ww_dump_devices_write(o, err);
	if (!rc)
		rc = write_mark(&d, WW_EV_LTTNG_STATEDUMP_END);
	ww_dump_socks_release(&d.socks);
	ww_u64map_release(&d.named);
	ww_u64map_release(&d.seen);
	ww_u64map_release(&d.vpids);
	ww_u64map_release(&d.pid_ns);
	return rc;
}
