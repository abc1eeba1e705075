/* load.c - open -> rodata -> which programs -> load: from the object in the program to verified programs. */
#include "record/recorder_private.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/syscalls.h"
#include "record/tracepoints.h"

#define RING_BYTES_DEFAULT   (8u << 20)
#define SUBBUF_BYTES_DEFAULT (256u << 10)

/* The last thing that libbpf complained about; it prints nothing by itself. */
static _Thread_local char complaint[256];
static FILE *log_file;

static int complain(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char line[256];

	if (level != LIBBPF_WARN)
		return 0;
	if (log_file) {
		va_list again;

		va_copy(again, ap);
		vfprintf(log_file, fmt, again); /* the verifier's log among it */
		va_end(again);
	}
	vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = 0;
	if (strstr(line, "-- BEGIN PROG LOAD LOG") || !line[0])
		return 0;
	if (!complaint[0])
		memcpy(complaint, line, sizeof(line));
	return 0;
}

void ww_recorder_log(FILE *f)
{
	log_file = f;
}

void ww_load_clear(void)
{
	complaint[0] = 0;
	libbpf_set_print(complain);
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

int ww_load_sizes(struct ww_recorder *rec, struct ww_err *err)
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
	for (size_t i = 0; i < WW_SC_TABLE; i++)
		if (skel->rodata_exit->ww_sc_exit[i].seq)
			skel->rodata->ww_fd_calls[i] &= (uint16_t)~WW_FC_READY;
}

static bool wanted(const struct ww_recorder *rec, const char *name)
{
	if (!strncmp(name, "ww_find_", 8) || !strncmp(name, "ww_look_at_", 11))
		return true;
	if (!strncmp(name, "ww_sys_", 7))
		return !rec->opts.light;
	return !rec->opts.syscalls_only;
}

/* True when the kernel has the program's tracepoint, in the form that the program expects. */
static bool tracepoint_fits(const struct ww_tracepoints *t, const struct bpf_program *p)
{
	const char *name = bpf_program__name(p);
	uint32_t args = ww_tracepoints_args(t, bpf_program__section_name(p) + 7);

	if (!strcmp(name, "ww_io_uring_complete"))
		return args == 4;
	if (!strcmp(name, "ww_io_uring_complete_old"))
		return args > 4;
	return args;
}

#define NEXTS 5
/* The programs that the two at the system call tracepoints go on with: entered by a tail call, attached nowhere. */
static struct next {
	struct bpf_program *prog;
	struct bpf_map *map;
	uint32_t index;
} *next_get(struct whywait_bpf *skel, struct next ret[NEXTS])
{
	ret[0] = (struct next){skel->progs.ww_sys_enter_rest, skel->maps.ww_enter_next, 0};
	ret[1] = (struct next){skel->progs.ww_sys_exit_rest, skel->maps.ww_exit_next, 0};
	ret[2] = (struct next){skel->progs.ww_sys_exit_fds, skel->maps.ww_exit_next, 1};
	ret[3] = (struct next){skel->progs.ww_sys_exit_ready, skel->maps.ww_exit_next, 2};
	ret[4] = (struct next){skel->progs.ww_sys_exit_fd, skel->maps.ww_exit_next, 3};
	return ret;
}

static int next_set(struct whywait_bpf *skel)
{
	struct next rows[NEXTS], *n = next_get(skel, rows);

	for (int i = 0; i < NEXTS; i++) {
		int fd = bpf_program__fd(n[i].prog);

		if (fd >= 0 && bpf_map_update_elem(bpf_map__fd(n[i].map), &n[i].index, &fd, BPF_ANY))
			return -errno;
	}
	return 0;
}

/* Programs that this kernel has no tracepoint for, or that the options leave out, are not loaded. */
static void programs_choose(struct ww_recorder *rec, const struct ww_tracepoints *t)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, rec->skel->obj) {
		const char *sec = bpf_program__section_name(p);

		if (!wanted(rec, bpf_program__name(p))) {
			bpf_program__set_autoload(p, false);
			continue;
		}
		if (strncmp(sec, "tp_btf/", 7))
			continue;
		if (tracepoint_fits(t, p))
			continue;
		bpf_program__set_autoload(p, false);
		if (rec->nmissing < WW_PROGRAMS_MAX)
			rec->missing[rec->nmissing++] = sec + 7;
	}
}

int ww_load_failed(int r, struct ww_err *err)
{
	if (r == -EPERM) {
		ww_err_set(err, WW_EPERM, NULL, WW_ERR_NO_OFFSET,
			   "the kernel does not let us load eBPF programs (%s)", complaint);
		return ww_err_hint(err, "a seccomp profile or a security module forbids bpf(2): record on the host");
	}
	return ww_err_set(err, WW_EKERNEL, NULL, WW_ERR_NO_OFFSET,
			  "the kernel refused our eBPF programs: %s (%s)", strerror(-r), complaint);
}

int ww_load_programs(struct ww_recorder *rec, const char *only, struct ww_err *err)
{
	struct ww_ring_set *s = &rec->rings;
	struct ww_tracepoints *t;
	int r = ww_tracepoints_new(&t, err); /* before the object is opened, whose programs ask for it */

	if (r)
		return r;
	struct whywait_bpf *skel = whywait_bpf__open();
	if (!skel) {
		ww_tracepoints_free(t);
		return ww_load_failed(-errno, err);
	}
	rec->skel = skel;
	skel->rodata->ww_sub_mask = s->sub_bytes - 1;
	skel->rodata->ww_sub_shift = s->sub_shift;
	skel->rodata->ww_nsub = s->nsub;
	skel->rodata->ww_overwrite = rec->opts.flight_bytes != 0;
	skel->rodata->ww_all_syscalls = rec->opts.all_syscalls;
	skel->rodata->ww_calls_only = rec->opts.syscalls_only;
	skel->rodata->ww_light = rec->opts.light;
	skel->rodata->ww_stacks = rec->opts.stacks;
	skel->rodata->ww_casts = ww_tracepoints_casts(t);
	skel->rodata->ww_own_tgid = (uint32_t)getpid();
	layouts_set(skel);
	bpf_map__set_value_size(skel->maps.ww_rings, s->sub_bytes + WW_TAIL);
	bpf_map__set_max_entries(skel->maps.ww_rings, s->ncpu * s->nsub);
	programs_choose(rec, t);
	struct next rows[NEXTS];
	next_get(skel, rows);
	for (int i = 0; i < NEXTS; i++)
		bpf_program__set_autoattach(rows[i].prog, false);
	struct bpf_program *p;
	bpf_object__for_each_program(p, skel->obj)
		if (only && strcmp(only, bpf_program__name(p)))
			bpf_program__set_autoload(p, false);
	bpf_program__set_autoattach(skel->progs.ww_find_stats, false);
	bpf_program__set_autoattach(skel->progs.ww_find_mark, false);
	bpf_program__set_autoattach(skel->progs.ww_find_functions, false);
	bpf_program__set_autoattach(skel->progs.ww_look_at_misses, false);
	bpf_program__set_autoattach(skel->progs.ww_look_at_tree, false);
	r = whywait_bpf__load(skel);
	ww_tracepoints_free(t);
	if (!r)
		r = next_set(skel);
	if (r)
		return ww_load_failed(r, err);
	return 0;
}

int ww_recorder_try(const char *only, struct ww_err *err)
{
	struct ww_recorder rec = {.opts.ring_bytes = 8192, .opts.subbuf_bytes = 4096};

	ww_load_clear();
	int r = ww_load_sizes(&rec, err);
	if (!r)
		r = ww_load_programs(&rec, only, err);
	whywait_bpf__destroy(rec.skel);
	return r;
}
