/* throttled.c - computes in a control group that may use a part of a CPU: what it may not run is `throttled`, and
 * the kernel's own cpu.stat says how long that was. */
#include "truth.h"

#include <sys/resource.h>
#include <sys/stat.h>

enum { WORKER };
static char dir[128];
static bool v2;

static bool put(const char *file, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));
	close(fd);
	return n > 0;
}

/* A figure of the group's cpu.stat; it has one thread, so its CPU's time is the thread's. */
static int64_t figure(const char *key)
{
	char path[256], b[1024], *p;

	snprintf(path, sizeof(path), "%s/cpu.stat", dir);
	int fd = T_TRY(open(path, O_RDONLY | O_CLOEXEC));
	ssize_t n = read(fd, b, sizeof(b) - 1);
	close(fd);
	b[n > 0 ? n : 0] = 0;
	p = strstr(b, key);
	return p ? strtoll(p + strlen(key), NULL, 10) : -1;
}

static int64_t throttled_ns(void)
{
	return v2 ? figure("throttled_usec ") * 1000 : figure("throttled_time ");
}

static void make_group(void)
{
	snprintf(dir, sizeof(dir), "/sys/fs/cgroup/cpu/truth-throttled-%d", (int)getpid());
	v2 = mkdir(dir, 0755) != 0;
	if (v2) {
		snprintf(dir, sizeof(dir), "/sys/fs/cgroup/truth-throttled-%d", (int)getpid());
		int fd = open("/sys/fs/cgroup/cgroup.subtree_control", O_WRONLY | O_CLOEXEC);
		if (fd >= 0)
			(void)!write(fd, "+cpu", 4);
		close(fd);
		if (mkdir(dir, 0755))
			T_skip("no control group for CPU time may be made here");
	}
	char quota[64];
	int64_t us = T_rand(4, 9) * 1000;
	snprintf(quota, sizeof(quota), v2 ? "%" PRId64 " 100000" : "%" PRId64, us);
	if (!put(v2 ? "cpu.max" : "cpu.cfs_quota_us", quota)) {
		rmdir(dir);
		T_skip("control groups do not limit CPU time here");
	}
}

static void worker(void)
{
	char home[128];
	int64_t t0, n0, t1, n1, times;

	T_pin(0);
	/* Once it may run, nobody else shall keep it from running: that would be another state. */
	T_TRY(setpriority(PRIO_PROCESS, 0, -20));
	if (!put("cgroup.procs", "0"))
		T_die("cgroup.procs");
	T_compute(5 * MS);
	/* Its time is counted when the group may run again: it runs when we look. */
	t0 = T_now();
	n0 = throttled_ns();
	times = figure("nr_throttled ");
	T_compute(T_rand(30, 50) * MS);
	n1 = throttled_ns();
	t1 = T_now();
	times = figure("nr_throttled ") - times;
	/* No event tells when it may run again: it is seen when it does, at the tick at the latest. */
	T_say("{\"t\":\"share\",\"tid\":%d,\"start\":%" PRId64 ",\"end\":%" PRId64 ",\"state\":\"throttled\",\"ns\":%" PRId64
	      ",\"late\":%" PRId64 "}", T_gettid(), t0, t1, n1 - n0, (int64_t)(times * 4 * MS)); /* a tick of 250 Hz */
	snprintf(home, sizeof(home), "%.*s/cgroup.procs", (int)(strrchr(dir, '/') - dir), dir);
	int fd = T_TRY(open(home, O_WRONLY | O_CLOEXEC));
	T_TRY(write(fd, "0", 1));
	close(fd);
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"worker", worker, NULL}};

	T_begin(argc, argv, "throttled", 0);
	make_group();
	T_roles(parts, 1, T_PROCESSES);
	rmdir(dir);
	return T_end();
}
