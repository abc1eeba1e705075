/* doctor.c - one function a check, one table of checks. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "record/doctor.h"
#include "record/privilege.h"
#include "record/recorder.h"
#include "record/statedump.h"

#define INIT_PID_NS "pid:[4026531836]"
#define RING_MIB 8

static void say(struct ww_doctor_row *r, enum ww_doctor_level level, const char *fmt, ...) WW_PRINTF(3, 4);
static void say(struct ww_doctor_row *r, enum ww_doctor_level level, const char *fmt, ...)
{
	va_list ap;

	r->level = level;
	va_start(ap, fmt);
	vsnprintf(r->found, sizeof(r->found), fmt, ap);
	va_end(ap);
}

static void advise(struct ww_doctor_row *r, const char *fmt, ...) WW_PRINTF(2, 3);
static void advise(struct ww_doctor_row *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->todo, sizeof(r->todo), fmt, ap);
	va_end(ap);
}

/* A number in a file of /proc/sys; -1 when it is not there. */
static long sysctl_number(const char *path)
{
	char buf[64];

	return ww_dump_read(AT_FDCWD, path, buf, sizeof(buf)) > 0 ? strtol(buf, NULL, 10) : -1;
}

static bool may(int cap)
{
	return ww_privilege_caps() >> cap & 1;
}

/* ---- the checks ---- */

static void check_kernel(struct ww_doctor_row *r)
{
	struct utsname u;
	unsigned major = 0, minor = 0;

	uname(&u);
	(void)sscanf(u.release, "%u.%u", &major, &minor);
	say(r, WW_DOCTOR_OK, "Linux %s on %s", u.release, u.machine);
	/* bpf_loop came with 5.17. */
	if (major < 5 || (major == 5 && minor < 17)) {
		r->level = WW_DOCTOR_BAD;
		advise(r, "Recording needs Linux 5.17 or later (6.1 and later are tested)");
	}
}

static void check_user(struct ww_doctor_row *r)
{
	struct ww_invoker who;

	if (may(CAP_SYS_ADMIN) || (may(CAP_BPF) && may(CAP_PERFMON))) {
		if (ww_privilege_invoker(&who))
			say(r, WW_DOCTOR_OK, "root for uid %u (%s); commands run as %s", who.uid, who.name, who.name);
		else
			say(r, WW_DOCTOR_OK, "uid %u with the capabilities that recording needs", geteuid());
		if (!may(CAP_SYS_PTRACE)) {
			r->level = WW_DOCTOR_NOTE;
			advise(r, "Without CAP_SYS_PTRACE the open files of other users' processes are not known");
		}
		return;
	}
	say(r, WW_DOCTOR_BAD, "uid %u without CAP_BPF and CAP_PERFMON", geteuid());
	advise(r, geteuid() ? "Run it with sudo: sudo whywait -- CMD (CMD itself still runs as you)"
			    : "Root's capabilities are cut here (a container?); see the row container");
}

static void check_bpf(struct ww_doctor_row *r)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ww_doctor", 4, 4096, 1, &opts);
	int e = errno;

	if (fd >= 0) {
		close(fd);
		say(r, WW_DOCTOR_OK, "bpf(2) is allowed");
		return;
	}
	say(r, WW_DOCTOR_BAD, "bpf(2) is refused: %s", strerror(e));
	if (e == ENOSYS)
		advise(r, "This kernel is built without CONFIG_BPF_SYSCALL; use a distribution kernel");
	else
		advise(r, geteuid() ? "Run it with sudo"
				    : "A container's or sandbox's seccomp profile forbids it; record on the host");
}

static void check_btf(struct ww_doctor_row *r)
{
	struct stat st;

	if (!stat("/sys/kernel/btf/vmlinux", &st) && !access("/sys/kernel/btf/vmlinux", R_OK)) {
		say(r, WW_DOCTOR_OK, "the kernel describes its types (BTF, %ld KB)", (long)(st.st_size / 1024));
		return;
	}
	say(r, WW_DOCTOR_BAD, "/sys/kernel/btf/vmlinux: %s", strerror(errno));
	advise(r, "The kernel needs CONFIG_DEBUG_INFO_BTF=y (Debian, Ubuntu, Fedora, Arch kernels have it); "
		  "is /sys mounted?");
}

/* As the recorder attaches them: by their name in BTF. */
static const struct tracepoint {
	const char *name;
	bool required;
	const char *without; /* what is not known without it */
} tracepoints[] = {
	{"sched_switch", true, ""},
	{"sched_waking", true, ""},
	{"sched_wakeup_new", true, ""},
	{"sched_process_fork", true, ""},
	{"sched_process_exec", true, ""},
	{"sched_process_exit", true, ""},
	{"sched_wakeup", false, "when a woken task reached its run queue"},
	{"sched_migrate_task", false, "migrations"},
	{"sys_enter", false, "system calls"},
	{"sys_exit", false, "system calls"},
	{"irq_handler_entry", false, "device interrupts"},
	{"irq_handler_exit", false, "device interrupts"},
	{"softirq_entry", false, "softirqs"},
	{"softirq_exit", false, "softirqs"},
	{"hrtimer_start", false, "who armed a timer"},
	{"hrtimer_expire_entry", false, "timers that expire"},
	{"timer_start", false, "who armed a timer"},
	{"timer_expire_entry", false, "timers that expire"},
	{"block_rq_issue", false, "disk requests"},
	{"block_rq_complete", false, "disk requests"},
	{"net_dev_queue", false, "packets sent"},
	{"netif_receive_skb", false, "packets received"},
	{"workqueue_queue_work", false, "who queued a kernel worker's work"},
	{"workqueue_execute_start", false, "what kernel workers do"},
	{"page_fault_user", false, "page faults"},
	{"io_uring_complete", false, "io_uring requests"},
	{"contention_begin", false, "locks in the kernel"},
};

static void check_tracepoints(struct ww_doctor_row *r)
{
	struct btf *btf = btf__parse("/sys/kernel/btf/vmlinux", NULL);
	char missing[240] = "", less[200] = "";
	int absent = 0;
	bool bad = false;

	if (!btf) {
		say(r, WW_DOCTOR_BAD, "tracepoints cannot be listed without BTF");
		advise(r, "See the row btf");
		return;
	}
	for (size_t i = 0; i < WW_ARRAY_SIZE(tracepoints); i++) {
		const struct tracepoint *t = &tracepoints[i];
		char type[64];
		snprintf(type, sizeof(type), "btf_trace_%s", t->name);
		if (btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF) > 0)
			continue;
		size_t n = strlen(missing), k = strlen(less);
		snprintf(missing + n, sizeof(missing) - n, "%s%s", n ? ", " : "", t->name);
		if (*t->without && !strstr(less, t->without))
			snprintf(less + k, sizeof(less) - k, "%s%s", k ? ", " : "", t->without);
		absent++;
		bad |= t->required;
	}
	btf__free(btf);
	if (!absent) {
		say(r, WW_DOCTOR_OK, "all %zu tracepoints are there", WW_ARRAY_SIZE(tracepoints));
		return;
	}
	say(r, bad ? WW_DOCTOR_BAD : WW_DOCTOR_NOTE, "missing: %s", missing);
	if (bad)
		advise(r, "The kernel needs CONFIG_TRACEPOINTS and CONFIG_FTRACE");
	else
		advise(r, "Not known on this kernel: %s. Such waits are told as unknown", less);
}

/* What a kernel takes cannot be told from its version: the verifier is asked. */
static void check_programs(struct ww_doctor_row *r)
{
	struct ww_err err = {0};

	if (!may(CAP_SYS_ADMIN) && !(may(CAP_BPF) && may(CAP_PERFMON))) {
		say(r, WW_DOCTOR_NOTE, "not tried: loading programs needs privileges");
		advise(r, "See the row user");
		return;
	}
	if (!ww_recorder_try(NULL, &err)) {
		say(r, WW_DOCTOR_OK, "the kernel accepts all of our programs");
		return;
	}
	say(r, WW_DOCTOR_BAD, "%.290s", err.message);
	advise(r, "whywait doctor -v shows the kernel's reasons");
}

static void check_lockdown(struct ww_doctor_row *r)
{
	char buf[128];

	if (ww_dump_read(AT_FDCWD, "/sys/kernel/security/lockdown", buf, sizeof(buf)) < 0 ||
	    !strstr(buf, "[confidentiality]")) {
		say(r, WW_DOCTOR_OK, "the kernel is not locked down against tracing");
		return;
	}
	say(r, WW_DOCTOR_BAD, "kernel lockdown is in mode confidentiality");
	advise(r, "It forbids reading kernel memory with BPF; boot with lockdown=integrity or without it");
}

static void check_jit(struct ww_doctor_row *r)
{
	if (sysctl_number("/proc/sys/net/core/bpf_jit_enable") == 0) {
		say(r, WW_DOCTOR_NOTE, "BPF programs are interpreted, which costs several times as much");
		advise(r, "sysctl net.core.bpf_jit_enable=1");
		return;
	}
	say(r, WW_DOCTOR_OK, "BPF programs run as machine code");
}

static void check_memory(struct ww_doctor_row *r)
{
	struct rlimit l;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	long mib = sysconf(_SC_AVPHYS_PAGES) / 1024 * (sysconf(_SC_PAGESIZE) / 1024);

	getrlimit(RLIMIT_MEMLOCK, &l);
	say(r, WW_DOCTOR_OK, "rings take %ld MiB (%d for each of %ld CPUs), %ld MiB are free", RING_MIB * cpus,
	    RING_MIB, cpus, mib);
	if (mib < 2 * RING_MIB * cpus) {
		r->level = WW_DOCTOR_NOTE;
		advise(r, "Use smaller rings: --ring 1M; more events may be lost");
	} else if (l.rlim_cur != RLIM_INFINITY && !may(CAP_SYS_RESOURCE) && !may(CAP_IPC_LOCK)) {
		r->level = WW_DOCTOR_NOTE;
		advise(r, "Kernels before 5.11 count them as locked memory: ulimit -l unlimited");
	}
}

static void check_perf(struct ww_doctor_row *r)
{
	long v = sysctl_number("/proc/sys/kernel/perf_event_paranoid");

	if (v < 0) {
		say(r, WW_DOCTOR_NOTE, "no perf events in this kernel");
		advise(r, "The end of page faults is not known (CONFIG_PERF_EVENTS)");
	} else if (v > 1 && !may(CAP_PERFMON) && !may(CAP_SYS_ADMIN)) {
		say(r, WW_DOCTOR_NOTE, "kernel.perf_event_paranoid is %ld", v);
		advise(r, "Page faults need perf events: run with sudo, or sysctl kernel.perf_event_paranoid=1");
	} else {
		say(r, WW_DOCTOR_OK, "perf events are allowed (kernel.perf_event_paranoid is %ld)", v);
	}
}

static void check_tracefs(struct ww_doctor_row *r)
{
	if (!access("/sys/kernel/tracing/events/sched", F_OK) || !access("/sys/kernel/debug/tracing/events/sched", F_OK))
		say(r, WW_DOCTOR_OK, "tracefs is mounted");
	else
		say(r, WW_DOCTOR_OK, "tracefs is not mounted or not readable; recording does not need it");
}

static void check_container(struct ww_doctor_row *r)
{
	char ns[64] = "", name[64] = "";
	ssize_t n = readlink("/proc/self/ns/pid", ns, sizeof(ns) - 1);

	ns[WW_MAX(n, 0)] = 0;
	if (ww_dump_read(AT_FDCWD, "/run/systemd/container", name, sizeof(name)) <= 0)
		snprintf(name, sizeof(name), "%s",
			 !access("/.dockerenv", F_OK)		 ? "docker"
			 : !access("/run/.containerenv", F_OK) ? "podman"
							       : "");
	if (!strcmp(ns, INIT_PID_NS)) {
		say(r, WW_DOCTOR_OK, "%s%s%s", *name ? "a container (" : "not in a container",
		    name, *name ? ") with the host's process ids" : "");
		return;
	}
	say(r, WW_DOCTOR_BAD, "in a process namespace of its own%s%s%s", *name ? " (" : "", name, *name ? ")" : "");
	advise(r, "Process ids here are not the kernel's: record on the host, or run the container with "
		  "--pid=host --privileged");
}

static void check_clock(struct ww_doctor_row *r)
{
	char buf[64] = "?";

	ww_dump_read(AT_FDCWD, "/sys/devices/system/clocksource/clocksource0/current_clocksource", buf,
		     sizeof(buf));
	say(r, WW_DOCTOR_OK, "clock source %s", buf);
	if (!strcmp(buf, "hpet") || !strcmp(buf, "acpi_pm") || !strcmp(buf, "jiffies") || !strcmp(buf, "refined-jiffies")) {
		r->level = WW_DOCTOR_NOTE;
		advise(r, "Reading it takes about a microsecond, twice an event: recording is slow. Why did the "
			  "kernel give up the CPU's own clock? dmesg | grep -i clocksource");
	}
}

static const struct check {
	const char *id;
	void (*run)(struct ww_doctor_row *r);
} checks[] = {
	{"kernel", check_kernel},       {"user", check_user},	    {"container", check_container},
	{"bpf", check_bpf},             {"btf", check_btf},	    {"tracepoints", check_tracepoints},
	{"programs", check_programs},   {"lockdown", check_lockdown},
	{"jit", check_jit},             {"perf", check_perf},
	{"tracefs", check_tracefs},     {"memory", check_memory},   {"clock", check_clock},
};
_Static_assert(WW_ARRAY_SIZE(checks) <= WW_DOCTOR_MAX, "room for every row");

void ww_doctor_examine(struct ww_doctor *ret)
{
	*ret = (struct ww_doctor){.can_record = true};
	for (size_t i = 0; i < WW_ARRAY_SIZE(checks); i++) {
		struct ww_doctor_row *r = &ret->rows[ret->n++];
		r->id = checks[i].id;
		checks[i].run(r);
		if (r->level == WW_DOCTOR_BAD)
			ret->can_record = false;
	}
}

const char *ww_doctor_level_name(enum ww_doctor_level l)
{
	static const char *const names[] = {"ok", "note", "bad"};

	return names[l];
}
