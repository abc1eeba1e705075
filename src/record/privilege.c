/* privilege.c - the invoking user, and capabilities. Raw capset(2): one call does not need a library. */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/privilege.h"

static bool env_id(const char *name, unsigned long *ret)
{
	const char *s = getenv(name);
	char *end;

	if (!s || *s < '0' || *s > '9')
		return false;
	errno = 0;
	*ret = strtoul(s, &end, 10);
	return !errno && !*end && *ret < UINT32_MAX;
}

bool ww_privilege_invoker(struct ww_invoker *ret)
{
	unsigned long uid, gid;

	if (geteuid() != 0 || !env_id("SUDO_UID", &uid) || !env_id("SUDO_GID", &gid) || uid == 0)
		return false;
	*ret = (struct ww_invoker){.uid = (uid_t)uid, .gid = (gid_t)gid};
	const struct passwd *p = getpwuid(ret->uid);
	if (p) {
		snprintf(ret->name, sizeof(ret->name), "%s", p->pw_name);
		snprintf(ret->home, sizeof(ret->home), "%s", p->pw_dir);
		snprintf(ret->shell, sizeof(ret->shell), "%s", p->pw_shell);
	}
	return true;
}

int ww_privilege_become(const struct ww_invoker *who)
{
	int rc = *who->name ? initgroups(who->name, who->gid) : setgroups(1, &who->gid);

	if (rc || setresgid(who->gid, who->gid, who->gid) || setresuid(who->uid, who->uid, who->uid))
		return errno;
	if (*who->name) {
		setenv("HOME", who->home, 1);
		setenv("USER", who->name, 1);
		setenv("LOGNAME", who->name, 1);
		setenv("SHELL", *who->shell ? who->shell : "/bin/sh", 1);
	}
	return 0;
}

int ww_privilege_drop(unsigned what, struct ww_err *err)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2] = {{0}};
	uint64_t have = ww_privilege_caps(), keep = 0;

	if (what & WW_KEEP_KILL)
		keep |= 1ull << CAP_KILL;
	if (what & WW_KEEP_GIVE)
		keep |= 1ull << CAP_CHOWN;
	if (what & WW_KEEP_PROC)
		keep |= 1ull << CAP_SYS_PTRACE | 1ull << CAP_DAC_READ_SEARCH;
	keep &= have;
	for (int i = 0; i < 2; i++)
		d[i].effective = d[i].permitted = (uint32_t)(keep >> (32 * i));
	if (syscall(SYS_capset, &h, d) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return ww_err_errno(err, "", "cannot give up privileges");
	return 0;
}

uint64_t ww_privilege_caps(void)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2] = {{0}};

	if (syscall(SYS_capget, &h, d))
		return 0;
	return d[0].effective | (uint64_t)d[1].effective << 32;
}

static int check_caps(struct ww_err *err)
{
	const uint64_t have = ww_privilege_caps();
	const bool bpf = have >> CAP_BPF & 1, perfmon = have >> CAP_PERFMON & 1;

	if (have >> CAP_SYS_ADMIN & 1 || (bpf && perfmon))
		return 0;
	ww_err_set(err, WW_EPERM, NULL, WW_ERR_NO_OFFSET, "recording needs %s%s%s, which uid %u does not have here",
		   bpf ? "" : "CAP_BPF", bpf || perfmon ? "" : " and ", perfmon ? "" : "CAP_PERFMON", geteuid());
	return ww_err_hint(err, "%s", geteuid() ? "run it with sudo: sudo whywait -- CMD (CMD still runs as you)"
						 : "a container? give it --cap-add=BPF --cap-add=PERFMON, or record on the host");
}

/* PROC_PID_INIT_INO: the first namespace, whose ids the kernel's events have. */
static int check_pid_namespace(struct ww_err *err)
{
	char ns[64];
	ssize_t n = readlink("/proc/self/ns/pid", ns, sizeof(ns) - 1);

	if (n < 0)
		return ww_err_set(err, WW_EKERNEL, "/proc", WW_ERR_NO_OFFSET, "/proc is not mounted");
	ns[n] = 0;
	if (!strcmp(ns, "pid:[4026531836]"))
		return 0;
	ww_err_set(err, WW_EKERNEL, NULL, WW_ERR_NO_OFFSET,
		   "this is a process namespace of its own (%s): process ids here are not the kernel's", ns);
	return ww_err_hint(err, "record on the host, or give the container the host's process ids: --pid=host");
}

static int check_btf(struct ww_err *err)
{
	if (!access("/sys/kernel/btf/vmlinux", R_OK))
		return 0;
	if (errno == ENOENT && access("/sys/kernel", X_OK)) {
		ww_err_set(err, WW_EKERNEL, "/sys/kernel/btf/vmlinux", WW_ERR_NO_OFFSET, "/sys is not mounted");
		return ww_err_hint(err, "mount -t sysfs sysfs /sys");
	}
	if (errno != ENOENT)
		return ww_err_errno(err, "/sys/kernel/btf/vmlinux", "cannot read");
	ww_err_set(err, WW_EKERNEL, "/sys/kernel/btf/vmlinux", WW_ERR_NO_OFFSET,
		   "this kernel does not describe its types (BTF)");
	return ww_err_hint(err, "it needs CONFIG_DEBUG_INFO_BTF=y; the kernels of Debian, Ubuntu, Fedora and Arch have it");
}

int ww_privilege_check(struct ww_err *err)
{
	int rc = check_caps(err);

	if (!rc)
		rc = check_pid_namespace(err);
	return rc ? rc : check_btf(err);
}
