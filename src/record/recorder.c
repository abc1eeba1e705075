/* recorder.c - open (load.c) -> attach -> poll -> stop, in that order, one straight line each. */
#include "record/recorder_private.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"

#define FLUSH_NS             WW_NS_PER_S
#define FLUSH_MISS_NS        (WW_NS_PER_S / 1000)
#define NAP_NS               (50 * 1000 * 1000LL)
#define NAP_BUSY_NS          (2 * 1000 * 1000LL)
#define NAP_BYTES_PER_S      (80ll << 20) /* what a ring has to take meanwhile */

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * WW_NS_PER_S + ts.tv_nsec;
}

/* Programs that the kernel skipped because they ran on the CPU already: the sum, which costs no CPU anything. */
static uint64_t misses_read(struct ww_recorder *rec)
{
	struct bpf_program *p;
	uint64_t sum = 0;
	size_t at = 0;

	bpf_object__for_each_program(p, rec->skel->obj) {
		struct bpf_prog_info info = {0};
		uint32_t len = sizeof(info);
		int fd = bpf_program__fd(p);

		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) || !info.recursion_misses)
			continue;
		sum += info.recursion_misses;
		if (at < sizeof(rec->missed))
			at += (size_t)snprintf(rec->missed + at, sizeof(rec->missed) - at, "%s%s %" PRIu64, at ? ", " : "",
					       bpf_program__name(p), (uint64_t)info.recursion_misses);
	}
	return sum;
}

/* Fails for a CPU that is offline, which has nothing to look at. */
static void run_on_each_cpu(struct ww_recorder *rec, const struct bpf_program *p)
{
	int fd = bpf_program__fd(p);

	for (uint32_t i = 0; fd >= 0 && i < rec->rings.ncpu; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, o, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = i);

		bpf_prog_test_run_opts(fd, &o);
	}
}

/* When there are new ones, each CPU looks at its own; what no CPU finds is shown in CPU 0's packets. True: there were. */
static bool misses_look(struct ww_recorder *rec)
{
	uint64_t sum = misses_read(rec), found = 0;

	if (sum == rec->misses_seen)
		return false;
	rec->misses_seen = sum;
	run_on_each_cpu(rec, rec->skel->progs.ww_look_at_misses);
	for (uint32_t i = 0; i < rec->rings.ncpu; i++)
		found += __atomic_load_n(&rec->rings.ctl[i].missed, __ATOMIC_RELAXED);
	rec->rings.extra_lost = sum > found ? sum - found : 0;
	return true;
}

/* The same, and none came meanwhile: false when they come too fast. */
static bool misses_look_quiet(struct ww_recorder *rec)
{
	for (int i = 0; i < 3; i++) {
		misses_look(rec);
		if (misses_read(rec) == rec->misses_seen)
			return true;
	}
	return false;
}

/* Runs an iterator program over all that it iterates over. */
static void iterate(struct bpf_program *p)
{
	struct bpf_link *l = bpf_program__attach_iter(p, NULL);
	int fd = l ? bpf_iter_create(bpf_link__fd(l)) : -1;
	char buf[64];

	while (fd >= 0 && read(fd, buf, sizeof(buf)) > 0)
		;
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(l);
}

/* Tells the programs where the kernel counts their misses; without it they are known in sum only. */
static void misses_prepare(struct ww_recorder *rec)
{
	struct whywait_bpf__bss *bss = rec->skel->bss;
	struct bpf_map_info map = {0};
	uint32_t len = sizeof(map);
	struct bpf_program *p;

	bpf_object__for_each_program(p, rec->skel->obj) {
		struct bpf_prog_info info = {0};
		uint32_t n = sizeof(info);
		int fd = bpf_program__fd(p);

		if (fd >= 0 && bss->ww_prog_count < WW_MAX_PROGS && !bpf_obj_get_info_by_fd(fd, &info, &n))
			bss->ww_prog_ids[bss->ww_prog_count++] = info.id;
	}
	if (bpf_obj_get_info_by_fd(bpf_map__fd(rec->skel->maps.ww_percpu_mark), &map, &len))
		return;
	bss->ww_mark_id = map.id;
	iterate(rec->skel->progs.ww_find_stats);
	iterate(rec->skel->progs.ww_find_mark);
}

void ww_recorder_write_to(struct ww_recorder *rec, const char *outdir)
{
	snprintf(rec->rings.outdir, sizeof(rec->rings.outdir), "%s", outdir);
}

int ww_recorder_open(const struct ww_recorder_opts *opts, struct ww_recorder **ret, struct ww_err *err)
{
	struct ww_recorder *rec = ww_xcalloc(1, sizeof(*rec));
	int r;

	ww_load_clear();
	rec->opts = *opts;
	rec->opts.outdir = NULL;
	memcpy(rec->rings.uuid, opts->uuid, sizeof(rec->rings.uuid));
	if (opts->outdir && !opts->flight_bytes)
		ww_recorder_write_to(rec, opts->outdir);
	r = ww_load_sizes(rec, err);
	if (!r)
		r = ww_load_programs(rec, NULL, err);
	if (!r) {
		rec->rings.ctl = (struct ww_ring_ctl *)rec->skel->data_ctl->ww_ctl;
		r = ww_ring_set_init(&rec->rings, bpf_map__fd(rec->skel->maps.ww_rings), err);
	}
	if (r) {
		ww_recorder_close(rec);
		return r;
	}
	misses_prepare(rec);
	LIBBPF_OPTS(bpf_test_run_opts, once);
	bpf_prog_test_run_opts(bpf_program__fd(rec->skel->progs.ww_find_functions), &once);
	rec->lost_per_cpu = ww_xcalloc(rec->rings.ncpu, sizeof(uint64_t));
	*ret = rec;
	return 0;
}

int ww_recorder_process(int32_t tid, uint32_t *ret_pid, struct ww_err *err)
{
	char path[64], line[128];
	uint32_t pid = (uint32_t)tid;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	FILE *f = fopen(path, "re");
	if (!f)
		return ww_err_set(err, WW_ENOENT, NULL, WW_ERR_NO_OFFSET, "there is no process %d", tid);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %u", &pid) == 1)
			break;
	fclose(f);
	*ret_pid = pid;
	return 0;
}

int ww_recorder_target_add(struct ww_recorder *rec, int32_t pid, struct ww_err *err)
{
	uint32_t tgid, one = 1;
	int r = ww_recorder_process(pid, &tgid, err);

	if (r)
		return r;
	if (bpf_map_update_elem(bpf_map__fd(rec->skel->maps.ww_targets), &tgid, &one, BPF_ANY))
		return ww_err_errno(err, NULL, "cannot follow process %d", pid);
	run_on_each_cpu(rec, rec->skel->progs.ww_look_at_tree);
	return 0;
}

/* The end of a page fault has no tracepoint; the software events of a finished fault do. They are a luxury:
 * a kernel that refuses them (perf_event_paranoid, no perf) is recorded without. */
static void faults_attach(struct ww_recorder *rec)
{
	static const uint64_t config[2] = {PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_COUNT_SW_PAGE_FAULTS_MAJ};

	for (int k = 0; k < 2; k++) {
		for (uint32_t cpu = 0; cpu < rec->rings.ncpu; cpu++) {
			struct perf_event_attr a = {
				.type = PERF_TYPE_SOFTWARE, .size = sizeof(a), .config = config[k],
				.sample_period = 1,
			};
			int fd = (int)syscall(SYS_perf_event_open, &a, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
			if (fd < 0)
				continue; /* a CPU that is offline */
			LIBBPF_OPTS(bpf_perf_event_opts, o, .bpf_cookie = (uint64_t)k); /* major */
			struct bpf_link *l = bpf_program__attach_perf_event_opts(rec->skel->progs.ww_fault_end, fd, &o);
			if (!l) {
				close(fd);
				return;
			}
			rec->fault_links[k * WW_MAX_CPUS + cpu] = l;
		}
	}
}

static void faults_detach(struct ww_recorder *rec)
{
	for (size_t i = 0; i < WW_ARRAY_SIZE(rec->fault_links); i++) {
		if (rec->fault_links[i])
			bpf_link__destroy(rec->fault_links[i]);
		rec->fault_links[i] = NULL;
	}
}

int ww_recorder_start(struct ww_recorder *rec, struct ww_err *err)
{
	ww_load_clear();
	/* Until the first switch says whose the CPU is. */
	for (uint32_t i = 0; i < rec->rings.ncpu; i++)
		rec->rings.ctl[i].in_tree = rec->opts.all_syscalls;
	/* Attaching takes its time, program by program; all of them begin at one time. */
	__atomic_store_n(&rec->skel->data_ctl->ww_shared.frozen, WW_FROZEN_OUTSIDE, __ATOMIC_SEQ_CST);
	int r = whywait_bpf__attach(rec->skel);
	if (!r && !rec->opts.syscalls_only)
		faults_attach(rec);
	if (r)
		return ww_load_failed(r, err);
	__atomic_store_n(&rec->skel->data_ctl->ww_shared.frozen, 0, __ATOMIC_SEQ_CST);
	rec->started = true;
	rec->flushed_ns = now_ns();
	return 0;
}

static int drain(struct ww_recorder *rec, struct ww_err *err)
{
	int64_t older = -1;

	if (!rec->rings.outdir[0] || rec->opts.flight_bytes)
		return 0;
	if (now_ns() - rec->flushed_ns >= FLUSH_NS / 4) {
		rec->flushed_ns = now_ns();
		/* A miss lies somewhere in its packet, all of which a reader has to doubt: the packet ends now. */
		older = misses_look(rec) ? FLUSH_MISS_NS : FLUSH_NS;
	}
	return ww_ring_set_drain(&rec->rings, older, err);
}

/* A small ring is looked at more often. */
static int64_t nap_ns(const struct ww_ring_set *s)
{
	int64_t full_ns = (int64_t)s->nsub * s->sub_bytes * (int64_t)WW_NS_PER_S / NAP_BYTES_PER_S;

	return ww_ring_set_busy(s) ? NAP_BUSY_NS : WW_MAX(WW_MIN(full_ns, NAP_NS), NAP_BUSY_NS);
}

int ww_recorder_poll(struct ww_recorder *rec, int timeout_ms, struct ww_err *err)
{
	int64_t end = now_ns() + (int64_t)timeout_ms * 1000000;
	int ret = drain(rec, err);

	for (;;) {
		int64_t left = end - now_ns();

		if (left <= 0)
			return ret;
		struct timespec ts = {.tv_nsec = WW_MIN(left, nap_ns(&rec->rings))};
		bool woken = clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL) == EINTR;
		int r = drain(rec, err);
		ret = ret ? ret : r;
		if (woken || (rec->opts.max_bytes && rec->rings.bytes >= rec->opts.max_bytes))
			return ret;
	}
}

/* Programs that were running when the rings were frozen may still be filling; they end within microseconds. */
static void settle(void)
{
	struct timespec ts = {.tv_nsec = 5000000};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

int ww_recorder_stop(struct ww_recorder *rec, struct ww_err *err)
{
	int ret = 0, r;

	if (!rec->started || rec->stopped)
		return 0;
	/* All CPUs end at one time. Detaching takes its time, program by program: what some still see then and others do
	 * not would look like a wait, or a busy CPU. */
	__atomic_store_n(&rec->skel->data_ctl->ww_shared.frozen, WW_FROZEN_OUTSIDE, __ATOMIC_SEQ_CST);
	rec->rings.end_ts_ns = (uint64_t)now_ns();
	settle();
	bool known = misses_look_quiet(rec);
	rec->stopped = true;
	faults_detach(rec);
	whywait_bpf__detach(rec->skel);
	if (!known)
		misses_look(rec);
	if (rec->rings.outdir[0]) {
		ret = ww_ring_set_drain(&rec->rings, 0, err);
		r = ww_ring_set_finish(&rec->rings, err);
		ret = ret ? ret : r;
		r = ww_ring_set_close_files(&rec->rings, err);
		ret = ret ? ret : r;
	}
	return ret;
}

int ww_recorder_snapshot(struct ww_recorder *rec, const char *outdir, const uint8_t uuid[16], struct ww_err *err)
{
	struct ww_ring_set *s = &rec->rings;
	int ret, r;

	if (!rec->opts.flight_bytes)
		return ww_err_set(err, WW_EUSAGE, NULL, WW_ERR_NO_OFFSET, "not in flight mode");
	snprintf(s->outdir, sizeof(s->outdir), "%s", outdir);
	memcpy(s->uuid, uuid, sizeof(s->uuid));
	ww_ring_set_mark(s);
	__atomic_store_n(&rec->skel->data_ctl->ww_shared.frozen, WW_FROZEN_SNAPSHOT, __ATOMIC_SEQ_CST);
	settle();
	for (uint32_t i = 0; i < s->ncpu; i++)
		s->cpu[i].seq = 0;
	ret = ww_ring_set_dump(s, err);
	__atomic_store_n(&rec->skel->data_ctl->ww_shared.frozen, 0, __ATOMIC_SEQ_CST);
	rec->unseen += ww_ring_set_marked(s);
	r = ww_ring_set_close_files(s, err);
	s->outdir[0] = 0;
	return ret ? ret : r;
}

uint64_t ww_recorder_oldest_ts_ns(const struct ww_recorder *rec)
{
	return rec->rings.oldest_ts_ns;
}

bool ww_recorder_function(const struct ww_recorder *rec, uint32_t i, uint64_t *ret_address, const char **ret_name)
{
	if (i >= WW_FUNCTIONS)
		return false;
	*ret_address = rec->skel->bss->ww_functions[i].address;
	*ret_name = rec->skel->bss->ww_functions[i].name;
	return true;
}

void ww_recorder_stats(struct ww_recorder *rec, struct ww_recorder_stats *ret)
{
	struct ww_ring_set *s = &rec->rings;

	*ret = (struct ww_recorder_stats){
		.events = s->events, .bytes = s->bytes, .packets = s->packets, .cpus = s->ncpu,
		.misses = rec->stopped ? rec->misses_seen : misses_read(rec), .missed = rec->missed, .lost_per_cpu = rec->lost_per_cpu,
	};
	for (uint32_t i = 0; i < s->ncpu; i++) {
		rec->lost_per_cpu[i] = ww_ring_lost(s, i);
		ret->lost += rec->lost_per_cpu[i];
		ret->events -= s->cpu[i].dropped;
	}
	ret->unseen = rec->unseen;
	ret->lost -= WW_MIN(ret->lost, rec->unseen);
}

void ww_recorder_close(struct ww_recorder *rec)
{
	if (!rec)
		return;
	ww_recorder_stop(rec, NULL);
	faults_detach(rec);
	ww_ring_set_release(&rec->rings);
	whywait_bpf__destroy(rec->skel);
	free(rec->lost_per_cpu);
	free(rec);
}

uint32_t ww_recorder_cpus(const struct ww_recorder *rec)
{
	return rec->rings.ncpu;
}

int ww_recorder_iter_open(struct ww_recorder *rec, enum ww_recorder_iter what)
{
	struct bpf_link *const links[] = {rec->skel->links.ww_iter_tasks, rec->skel->links.ww_iter_files,
					  rec->skel->links.ww_iter_maps};
	struct bpf_link *l = links[what];
	int fd = l ? bpf_iter_create(bpf_link__fd(l)) : -1;

	return fd < 0 ? -1 : fd;
}

const char *const *ww_recorder_missing(const struct ww_recorder *rec)
{
	return rec->missing;
}
