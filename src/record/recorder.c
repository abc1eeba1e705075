/* recorder.c - open -> rodata -> load -> attach -> poll -> stop, in that order, one straight line each. */
#include "record/recorder.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/syscalls.h"
#include "base/units.h"
#include "record/ring.h"
#include "record/whywait.skel.h"

#define RING_BYTES_DEFAULT   (8u << 20)
#define SUBBUF_BYTES_DEFAULT (256u << 10)
#define FLUSH_NS             WW_NS_PER_S
#define NAP_NS               (20 * 1000 * 1000LL)
#define NAP_BUSY_NS          (2 * 1000 * 1000LL)
#define PROGRAMS_MAX         128

struct ww_recorder {
	struct whywait_bpf *skel;
	struct ww_ring_set rings;
	struct ww_recorder_opts opts;
	bool started, stopped;
	uint64_t *lost_per_cpu;
	const char *missing[PROGRAMS_MAX + 1];
	size_t nmissing;
	int64_t flushed_ns;
	struct bpf_link *fault_links[2 * WW_MAX_CPUS];
};

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * WW_NS_PER_S + ts.tv_nsec;
}

/* The last thing that libbpf complained about; it prints nothing by itself. */
static _Thread_local char complaint[256];

static int complain(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char line[256];

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = 0;
	if (strstr(line, "-- BEGIN PROG LOAD LOG") || !line[0])
		return 0;
	if (!complaint[0])
		memcpy(complaint, line, sizeof(line));
	return 0;
}

static uint32_t cpus_present(void)
{
	FILE *f = fopen("/sys/devices/system/cpu/present", "re");
	uint32_t last = 0, a, b;
	int n = libbpf_num_possible_cpus();

	if (f) {
		/* "0-3,8": the highest decides. */
		while (fscanf(f, "%u", &a) == 1) {
			last = WW_MAX(last, a);
			if (fscanf(f, "-%u", &b) == 1)
				last = WW_MAX(last, b);
			if (fgetc(f) != ',')
				break;
		}
		fclose(f);
	}
	if (!last && n > 0)
		last = (uint32_t)n - 1;
	return WW_MIN(last + 1, (uint32_t)WW_MAX_CPUS);
}

static uint64_t pow2_floor(uint64_t v)
{
	return v ? 1ull << (63 - __builtin_clzll(v)) : 0;
}

static int sizes_set(struct ww_recorder *rec, struct ww_err *err)
{
	const struct ww_recorder_opts *o = &rec->opts;
	uint64_t ring = o->flight_bytes ? o->flight_bytes : o->ring_bytes ? o->ring_bytes : RING_BYTES_DEFAULT;
	uint64_t sub = o->subbuf_bytes ? o->subbuf_bytes : SUBBUF_BYTES_DEFAULT;
	struct ww_ring_set *s = &rec->rings;

	if (!o->subbuf_bytes)
		while (sub > 4096 && sub * 4 > ring)
			sub /= 2;
	if (sub < 4096 || sub > (1u << 20) || sub != pow2_floor(sub))
		return ww_err_set(err, WW_EUSAGE, NULL, WW_ERR_NO_OFFSET,
				  "a sub-buffer of %" PRIu64 " bytes: 4096 to 1 MiB, a power of two", sub);
	s->ncpu = cpus_present();
	s->sub_bytes = (uint32_t)sub;
	s->sub_shift = (uint32_t)__builtin_ctzll(sub);
	s->nsub = (uint32_t)WW_MAX(pow2_floor(ring / sub), 2);
	if ((uint64_t)s->ncpu * s->nsub * sub > (8ull << 30))
		return ww_err_set(err, WW_ELIMIT, NULL, WW_ERR_NO_OFFSET,
				  "rings of %" PRIu64 " bytes on %u CPUs are over 8 GiB", ring, s->ncpu);
	return 0;
}

static const struct { const char *name; uint16_t flags; } fd_calls[] = {
#include "record/fd_calls.inc"
};

/* True when eight bytes stored at any field but the last stay inside the event: ww_put_ints. */
static bool fields_wide(const struct ww_sc_layout *l)
{
	uint32_t off = 0;

	for (uint32_t i = 0; i + 1 < l->n; i++) {
		if (off + 8 > l->fixed)
			return false;
		off += l->f[i].size;
	}
	return true;
}

static void layouts_set(struct whywait_bpf *skel)
{
	static const struct { const char *name; bool compat, exit; struct ww_sc_layout l; } rows[] = {
#include "record/syscall_layouts.inc"
	};
#if defined(__aarch64__)
	enum ww_abi native = WW_ABI_AARCH64;
#else
	enum ww_abi native = WW_ABI_X86_64;
#endif
	for (size_t i = 0; i < WW_ARRAY_SIZE(rows); i++) {
		int64_t nr = ww_syscall_number(rows[i].compat ? WW_ABI_I386 : native, rows[i].name);

		if (nr < 0 || nr > 511)
			continue;
		nr |= rows[i].compat ? 512 : 0;
		struct ww_sc_layout *l = rows[i].exit ? (struct ww_sc_layout *)&skel->rodata_exit->ww_sc_exit[nr] :
							(struct ww_sc_layout *)&skel->rodata_entry->ww_sc_entry[nr];
		memcpy(l, &rows[i].l, sizeof(*l));
		l->slow |= l->seq || !fields_wide(l);
	}
	for (size_t i = 0; i < WW_ARRAY_SIZE(fd_calls); i++) {
		int64_t a = ww_syscall_number(native, fd_calls[i].name);
		int64_t b = ww_syscall_number(WW_ABI_I386, fd_calls[i].name);

		if (a >= 0 && a < 512)
			skel->rodata->ww_fd_calls[a] = fd_calls[i].flags;
		if (b >= 0 && b < 512)
			skel->rodata->ww_fd_calls[512 + b] = fd_calls[i].flags;
	}
}

/* Addresses of two timer functions; hidden ones (kptr_restrict) stay 0 and cost us the sleeper's name. */
static void symbols_set(struct whywait_bpf *skel)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[256], name[128];
	unsigned long long at;
	int left = 2;

	if (!f)
		return;
	while (left && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx %*c %127s", &at, name) != 2)
			continue;
		if (!strcmp(name, "hrtimer_wakeup"))
			skel->rodata->ww_fn_hrtimer_wakeup = at, left--;
		else if (!strcmp(name, "process_timeout"))
			skel->rodata->ww_fn_process_timeout = at, left--;
	}
	fclose(f);
}

static bool wanted(const struct ww_recorder *rec, const char *name)
{
	if (!strncmp(name, "ww_sys_", 7))
		return !rec->opts.light;
	return !rec->opts.syscalls_only;
}

/* The number of a tracepoint's arguments, its own data pointer among them; 0 when there is no such. */
static uint32_t tracepoint_args(const struct btf *btf, const char *name)
{
	char type[96];

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	int32_t id = btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF);
	if (id <= 0)
		return 0;
	const struct btf_type *t = btf__type_by_id(btf, (uint32_t)id);
	t = btf__type_by_id(btf, t->type);                /* pointer */
	t = t ? btf__type_by_id(btf, t->type) : NULL;     /* to a function */
	return t && btf_is_func_proto(t) ? btf_vlen(t) : 1;
}

/* True when the kernel has the program's tracepoint, in the form that the program expects. */
static bool tracepoint_fits(const struct btf *btf, const struct bpf_program *p)
{
	const char *name = bpf_program__name(p);
	uint32_t args = tracepoint_args(btf, bpf_program__section_name(p) + 7);

	if (!strcmp(name, "ww_io_uring_complete"))
		return args == 4;
	if (!strcmp(name, "ww_io_uring_complete_old"))
		return args > 4;
	return args;
}

/* The programs that the two at the system call tracepoints go on with: entered by a tail call, attached nowhere. */
static struct next {
	struct bpf_program *prog;
	struct bpf_map *map;
	uint32_t index;
} *next_get(struct whywait_bpf *skel, struct next ret[3])
{
	ret[0] = (struct next){skel->progs.ww_sys_enter_rest, skel->maps.ww_enter_next, 0};
	ret[1] = (struct next){skel->progs.ww_sys_exit_rest, skel->maps.ww_exit_next, 0};
	ret[2] = (struct next){skel->progs.ww_sys_exit_fds, skel->maps.ww_exit_next, 1};
	return ret;
}

static int next_set(struct whywait_bpf *skel)
{
	struct next rows[3], *n = next_get(skel, rows);

	for (int i = 0; i < 3; i++) {
		int fd = bpf_program__fd(n[i].prog);

		if (fd >= 0 && bpf_map_update_elem(bpf_map__fd(n[i].map), &n[i].index, &fd, BPF_ANY))
			return -errno;
	}
	return 0;
}

/* Programs that this kernel has no tracepoint for, or that the options leave out, are not loaded. */
static int programs_choose(struct ww_recorder *rec, struct ww_err *err)
{
	struct btf *btf = btf__load_vmlinux_btf();
	struct bpf_program *p;

	if (!btf)
		return ww_err_set(err, WW_EKERNEL, "/sys/kernel/btf/vmlinux", WW_ERR_NO_OFFSET,
				  "this kernel has no type information (BTF)");
	bpf_object__for_each_program(p, rec->skel->obj) {
		const char *sec = bpf_program__section_name(p);

		if (!wanted(rec, bpf_program__name(p))) {
			bpf_program__set_autoload(p, false);
			continue;
		}
		if (strncmp(sec, "tp_btf/", 7))
			continue;
		if (tracepoint_fits(btf, p))
			continue;
		bpf_program__set_autoload(p, false);
		if (rec->nmissing < PROGRAMS_MAX)
			rec->missing[rec->nmissing++] = sec + 7;
	}
	btf__free(btf);
	return 0;
}

static int load_failed(int r, struct ww_err *err)
{
	if (r == -EPERM) {
		ww_err_set(err, WW_EPERM, NULL, WW_ERR_NO_OFFSET,
			   "the kernel does not let us load eBPF programs (%s)", complaint);
		return ww_err_hint(err, "run as root, or with CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN");
	}
	return ww_err_set(err, WW_EKERNEL, NULL, WW_ERR_NO_OFFSET,
			  "the kernel refused our eBPF programs: %s (%s)", strerror(-r), complaint);
}

static int skeleton_load(struct ww_recorder *rec, struct ww_err *err)
{
	struct ww_ring_set *s = &rec->rings;
	struct whywait_bpf *skel = whywait_bpf__open();

	if (!skel)
		return load_failed(-errno, err);
	rec->skel = skel;
	skel->rodata->ww_sub_mask = s->sub_bytes - 1;
	skel->rodata->ww_sub_shift = s->sub_shift;
	skel->rodata->ww_nsub = s->nsub;
	skel->rodata->ww_overwrite = rec->opts.flight_bytes != 0;
	skel->rodata->ww_all_syscalls = rec->opts.all_syscalls;
	skel->rodata->ww_calls_only = rec->opts.syscalls_only;
	skel->rodata->ww_light = rec->opts.light;
	skel->rodata->ww_stacks = rec->opts.stacks;
	skel->rodata->ww_own_tgid = (uint32_t)getpid();
	layouts_set(skel);
	symbols_set(skel);
	bpf_map__set_value_size(skel->maps.ww_rings, s->sub_bytes + WW_TAIL);
	bpf_map__set_max_entries(skel->maps.ww_rings, s->ncpu * s->nsub);
	int r = programs_choose(rec, err);
	if (r)
		return r;
	struct next rows[3];
	next_get(skel, rows);
	for (int i = 0; i < 3; i++)
		bpf_program__set_autoattach(rows[i].prog, false);
	r = whywait_bpf__load(skel);
	if (!r)
		r = next_set(skel);
	if (r)
		return load_failed(r, err);
	s->ctl = (struct ww_ring_ctl *)skel->data_ctl->ww_ctl;
	return ww_ring_set_init(s, bpf_map__fd(skel->maps.ww_rings), err);
}

int ww_recorder_open(const struct ww_recorder_opts *opts, struct ww_recorder **ret, struct ww_err *err)
{
	struct ww_recorder *rec = ww_xcalloc(1, sizeof(*rec));
	int r;

	complaint[0] = 0;
	libbpf_set_print(complain);
	rec->opts = *opts;
	rec->opts.outdir = NULL;
	memcpy(rec->rings.uuid, opts->uuid, sizeof(rec->rings.uuid));
	if (opts->outdir && !opts->flight_bytes)
		snprintf(rec->rings.outdir, sizeof(rec->rings.outdir), "%s", opts->outdir);
	r = sizes_set(rec, err);
	if (!r)
		r = skeleton_load(rec, err);
	if (r) {
		ww_recorder_close(rec);
		return r;
	}
	rec->lost_per_cpu = ww_xcalloc(rec->rings.ncpu, sizeof(uint64_t));
	*ret = rec;
	return 0;
}

int ww_recorder_target_add(struct ww_recorder *rec, int32_t pid, struct ww_err *err)
{
	char path[64], line[128];
	uint32_t tgid = (uint32_t)pid, one = 1;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return ww_err_set(err, WW_ENOENT, NULL, WW_ERR_NO_OFFSET, "there is no process %d", pid);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %u", &tgid) == 1)
			break;
	fclose(f);
	if (bpf_map_update_elem(bpf_map__fd(rec->skel->maps.ww_targets), &tgid, &one, BPF_ANY))
		return ww_err_errno(err, NULL, "cannot follow process %d", pid);
	return 0;
}

/* The end of a page fault has no tracepoint; the software events of a finished fault do. They are a luxury:
 * a kernel that refuses them (perf_event_paranoid, no perf) is recorded without. */
static void faults_attach(struct ww_recorder *rec)
{
	static const uint64_t config[2] = {PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_COUNT_SW_PAGE_FAULTS_MAJ};
	struct bpf_program *prog[2] = {rec->skel->progs.ww_fault_minor, rec->skel->progs.ww_fault_major};

	for (int k = 0; k < 2; k++) {
		for (uint32_t cpu = 0; cpu < rec->rings.ncpu; cpu++) {
			struct perf_event_attr a = {
				.type = PERF_TYPE_SOFTWARE, .size = sizeof(a), .config = config[k],
				.sample_period = 1,
			};
			int fd = (int)syscall(SYS_perf_event_open, &a, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
			if (fd < 0)
				continue; /* a CPU that is offline */
			struct bpf_link *l = bpf_program__attach_perf_event(prog[k], fd);
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
	complaint[0] = 0;
	/* Until the first switch says whose the CPU is. */
	for (uint32_t i = 0; i < rec->rings.ncpu; i++)
		rec->rings.ctl[i].in_tree = rec->opts.all_syscalls;
	int r = whywait_bpf__attach(rec->skel);
	if (!r && !rec->opts.syscalls_only)
		faults_attach(rec);
	if (r)
		return load_failed(r, err);
	rec->started = true;
	rec->flushed_ns = now_ns();
	return 0;
}

/* Programs that the kernel skipped because they ran on the CPU already. */
static uint64_t misses_read(struct ww_recorder *rec)
{
	struct bpf_program *p;
	uint64_t sum = 0;

	bpf_object__for_each_program(p, rec->skel->obj) {
		struct bpf_prog_info info = {0};
		uint32_t len = sizeof(info);
		int fd = bpf_program__fd(p);

		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len))
			sum += info.recursion_misses;
	}
	return sum;
}

static int drain(struct ww_recorder *rec, struct ww_err *err)
{
	int64_t older = -1;

	if (!rec->rings.outdir[0] || rec->opts.flight_bytes)
		return 0;
	if (now_ns() - rec->flushed_ns >= FLUSH_NS / 4) {
		rec->flushed_ns = now_ns();
		rec->rings.extra_lost = misses_read(rec);
		older = FLUSH_NS;
	}
	return ww_ring_set_drain(&rec->rings, older, err);
}

int ww_recorder_poll(struct ww_recorder *rec, int timeout_ms, struct ww_err *err)
{
	int64_t end = now_ns() + (int64_t)timeout_ms * 1000000;
	int ret = drain(rec, err);

	for (;;) {
		int64_t left = end - now_ns();
		int64_t nap = ww_ring_set_busy(&rec->rings) ? NAP_BUSY_NS : NAP_NS;

		if (left <= 0)
			return ret;
		struct timespec ts = {.tv_nsec = WW_MIN(left, nap)};
		bool woken = clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL) == EINTR;
		int r = drain(rec, err);
		ret = ret ? ret : r;
		if (woken)
			return ret;
	}
}

/* Programs that were running when we detached may still be filling; they end within microseconds. */
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
	rec->stopped = true;
	faults_detach(rec);
	whywait_bpf__detach(rec->skel);
	settle();
	rec->rings.extra_lost = misses_read(rec);
	if (rec->rings.outdir[0]) {
		ret = ww_ring_set_drain(&rec->rings, 0, err);
		r = ww_ring_set_finish(&rec->rings, err);
		ret = ret ? ret : r;
		r = ww_ring_set_close_files(&rec->rings, err);
		ret = ret ? ret : r;
	}
	return ret;
}

int ww_recorder_snapshot(struct ww_recorder *rec, const char *outdir, struct ww_err *err)
{
	struct ww_ring_set *s = &rec->rings;
	int ret, r;

	if (!rec->opts.flight_bytes)
		return ww_err_set(err, WW_EUSAGE, NULL, WW_ERR_NO_OFFSET, "not in flight mode");
	snprintf(s->outdir, sizeof(s->outdir), "%s", outdir);
	__atomic_store_n(&rec->skel->bss->ww_frozen, 1, __ATOMIC_SEQ_CST);
	settle();
	for (uint32_t i = 0; i < s->ncpu; i++)
		s->cpu[i].seq = 0;
	ret = ww_ring_set_dump(s, err);
	__atomic_store_n(&rec->skel->bss->ww_frozen, 0, __ATOMIC_SEQ_CST);
	r = ww_ring_set_close_files(s, err);
	s->outdir[0] = 0;
	return ret ? ret : r;
}

void ww_recorder_stats(struct ww_recorder *rec, struct ww_recorder_stats *ret)
{
	struct ww_ring_set *s = &rec->rings;

	*ret = (struct ww_recorder_stats){
		.events = s->events, .bytes = s->bytes, .packets = s->packets, .cpus = s->ncpu,
		.misses = misses_read(rec), .lost_per_cpu = rec->lost_per_cpu,
	};
	for (uint32_t i = 0; i < s->ncpu; i++) {
		rec->lost_per_cpu[i] = ww_ring_lost(s, i);
		ret->lost += rec->lost_per_cpu[i];
		ret->events -= s->cpu[i].dropped;
	}
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
	struct bpf_link *l = what == WW_ITER_TASKS ? rec->skel->links.ww_iter_tasks : rec->skel->links.ww_iter_files;
	int fd = l ? bpf_iter_create(bpf_link__fd(l)) : -1;

	return fd < 0 ? -1 : fd;
}

const char *const *ww_recorder_missing(const struct ww_recorder *rec)
{
	return rec->missing;
}
