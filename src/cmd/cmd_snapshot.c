/* cmd_snapshot.c - `whywait snapshot [DIR]`: asks the flight recorder that writes to DIR to save what it
 * holds, and waits until it has.
 *
 * The recorder's process id is in DIR/flight.pid; SIGUSR1 is the request; its answer is the next directory
 * DIR/snapshot-N, which gets this name when it is complete.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/opts.h"

#define WAIT_MS 60000

static int fail(const char *dir, const char *what, const char *hint)
{
	fprintf(stderr, "whywait snapshot: %s: %s. %s\n", dir, what, hint);
	return WW_EXIT_FAILED;
}

static bool is_recorder(pid_t pid)
{
	char path[64], comm[32] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	bool ok = fgets(comm, sizeof(comm), f) && !strncmp(comm, "whywait", 7);
	fclose(f);
	return ok;
}

static pid_t read_pid(const char *dir)
{
	char path[4200];
	int pid = 0;

	snprintf(path, sizeof(path), "%s/flight.pid", dir);
	FILE *f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%d", &pid) != 1)
		pid = 0;
	fclose(f);
	return pid;
}

static int next_number(const char *dir)
{
	struct stat st;
	char path[4200];

	for (int n = 1;; n++) {
		snprintf(path, sizeof(path), "%s/snapshot-%d", dir, n);
		if (stat(path, &st))
			return n;
	}
}

int cmd_snapshot(int argc, char **argv)
{
	struct ww_opts o;
	struct ww_opts_spec spec = {.name = "snapshot", .args = "[DIR]", .max_traces = 1,
				    .summary = "Save what the flight recorder (record --flight) of DIR holds."};
	char path[4200];
	int rc = ww_opts_parse(&o, argc, argv, &spec);

	if (rc >= 0)
		return rc;
	const char *dir = o.traces[0];
	pid_t pid = read_pid(dir);
	if (pid <= 0)
		return fail(dir, "no flight recorder writes here", "Start one with `whywait record --flight 64M -a -o DIR`");
	if (!is_recorder(pid))
		return fail(dir, "its flight recorder has ended", "What it saved are the directories snapshot-N in there");
	snprintf(path, sizeof(path), "%s/snapshot-%d", dir, next_number(dir));
	if (kill(pid, SIGUSR1))
		return fail(dir, strerror(errno), "Run it as the user who records, or with sudo");
	for (int ms = 0; ms < WAIT_MS; ms += 20) {
		struct stat st;
		if (!stat(path, &st)) {
			printf("%s\n", path);
			return WW_EXIT_DONE;
		}
		if (!is_recorder(pid))
			return fail(dir, "the flight recorder ended before it had saved", "");
		nanosleep(&(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL);
	}
	return fail(dir, "no answer for a minute", "The recorder's own messages say why");
}
