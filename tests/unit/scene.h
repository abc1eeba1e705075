/* scene.h - facts laid by hand for tests of the analyses and views; the picture stands in
 * analysis_report.c. */
#ifndef WW_SCENE_H
#define WW_SCENE_H

#include "analysis/report.h"

static __attribute__((unused)) uint32_t str(struct ww_facts *f, const char *s)
{
	return ww_strtab_intern_cstr(&f->strs, s);
}

static __attribute__((unused)) uint32_t add_thread(struct ww_facts *f, int32_t tid, int32_t pid, const char *comm, int64_t start, int64_t end,
			   uint32_t parent, uint32_t flags)
{
	struct ww_thread t = {.tid = tid, .pid = pid, .vtid = -1, .comm = str(f, comm), .start_ts_ns = start,
			      .end_ts_ns = end, .parent = parent, .process = WW_NONE, .renamed = WW_NONE, .flags = flags};
	return ww_thread_push(f, &t);
}

static __attribute__((unused)) struct ww_state_full state(uint32_t t, int64_t start, int64_t end, enum ww_thread_state st, enum ww_cause ca)
{
	return (struct ww_state_full){.is = {.thread = t, .start_ts_ns = start, .dur_ns = end - start, .state = st, .cause = ca,
					     .cpu = 0, .syscall = WW_NONE}, .has = WW_STATE_MORE_NONE};
}

static __attribute__((unused)) void add(struct ww_facts *f, struct ww_state_full s)
{
	ww_state_full_push(f, s);
}

static __attribute__((unused)) uint32_t add_syscall(struct ww_facts *f, uint32_t t, const char *name, int64_t start, int64_t end, int fd,
			    uint32_t file)
{
	struct ww_syscall s = {.thread = t, .start_ts_ns = start, .dur_ns = end - start, .number = -1,
			       .name = str(f, name), .fd = fd, .file = file, .file_out = WW_NONE, .known = 15};
	return ww_syscall_push(f, &s);
}

static __attribute__((unused)) uint32_t add_wakeup(struct ww_facts *f, int64_t ts, uint32_t wakee, enum ww_waker kind, uint32_t waker,
			   uint32_t fact)
{
	struct ww_wakeup w = {.ts_ns = ts, .wakee = wakee, .target_cpu = WW_NONE, .kind = kind, .waker = waker,
			      .current_thread = WW_NONE, .fact = fact, .vector = -1, .syscall = WW_NONE};
	return ww_wakeup_push(f, &w);
}

struct scene {
	struct ww_facts f;
	uint32_t a, b;
};

static __attribute__((unused)) void build(struct scene *s)
{
	struct ww_facts *f = &s->f;
	struct ww_state_full x;

	ww_facts_init(f);
	f->begin_ts_ns = 0;
	f->end_ts_ns = 100;
	f->knows.switches = f->knows.waking = true;
	s->a = add_thread(f, 1, 1, "reader", 0, 100, WW_NONE, WW_TF_TARGET);
	s->b = add_thread(f, 2, 2, "writer", 5, 100, s->a, WW_TF_FORKED);
	f->target = s->a;
	struct ww_file pipe = {.kind = WW_FK_PIPE, .name = str(f, "pipe:[7]"), .peer = WW_NONE};
	struct ww_file disk = {.kind = WW_FK_REG, .name = str(f, "/tmp/x"), .peer = WW_NONE};
	uint32_t fp = ww_file_push(f, &pipe), fd = ww_file_push(f, &disk);
	struct ww_device dev = {.dev = 8 << 20, .name = str(f, "vda")};
	ww_device_push(f, &dev);
	struct ww_block_io io = {.dev = 8 << 20, .sector = 64, .bytes = 4096, .write = 1, .queued_ts_ns = 72,
				 .issued_ts_ns = 74, .completed_ts_ns = 90, .submitter = s->a, .file = fd};
	uint32_t io0 = ww_block_io_push(f, &io);

	uint32_t rd = add_syscall(f, s->a, "read", 10, 62, 3, fp), fs = add_syscall(f, s->a, "fsync", 68, 91, 4, fd);
	uint32_t ns = add_syscall(f, s->b, "nanosleep", 20, 43, -1, WW_NONE);
	uint32_t w_a = add_wakeup(f, 60, s->a, WW_WK_THREAD, s->b, WW_NONE);
	uint32_t w_b = add_wakeup(f, 40, s->b, WW_WK_TIMER, s->b, WW_NONE);
	uint32_t w_d = add_wakeup(f, 90, s->a, WW_WK_BLOCK, s->a, io0);

	add(f, state(s->a, 0, 10, WW_ST_RUNNING_USER, WW_CA_NONE));
	x = state(s->a, 10, 60, WW_ST_BLOCKED, WW_CA_PIPE);
	x.is.syscall = rd, x.has.wakeup = w_a, x.has.file = fp;
	add(f, x);
	x = state(s->a, 60, 62, WW_ST_RUNQUEUE, WW_CA_NONE);
	x.has.other = s->b, x.is.syscall = rd;
	add(f, x);
	add(f, state(s->a, 62, 68, WW_ST_RUNNING_USER, WW_CA_NONE));
	x = state(s->a, 68, 70, WW_ST_RUNNING_KERNEL, WW_CA_NONE);
	x.is.syscall = fs;
	add(f, x);
	x = state(s->a, 70, 90, WW_ST_BLOCKED, WW_CA_DISK);
	x.is.syscall = fs, x.has.wakeup = w_d, x.has.file = fd;
	add(f, x);
	add(f, state(s->a, 90, 97, WW_ST_RUNNING_USER, WW_CA_NONE)); /* and nothing for 97..100 */

	add(f, state(s->b, 5, 20, WW_ST_RUNNING_USER, WW_CA_NONE));
	x = state(s->b, 20, 40, WW_ST_BLOCKED, WW_CA_TIMER);
	x.is.syscall = ns, x.has.wakeup = w_b;
	add(f, x);
	add(f, state(s->b, 40, 42, WW_ST_RUNQUEUE, WW_CA_NONE));
	add(f, state(s->b, 42, 100, WW_ST_RUNNING_USER, WW_CA_NONE));
	ww_facts_seal(f, NULL);
}

#endif
