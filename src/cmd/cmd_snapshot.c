/* cmd_snapshot.c - `whywait snapshot [DIR]`: asks the flight recorder that writes to DIR to save what it
 * holds, and waits until it has.
 *
 * The recorder's process id is in DIR/flight.pid, locked while it lives; SIGUSR1 is the request; its answer is the next directory
 * DIR/snapshot-N, which gets this name when it is complete.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/opts.h"

#define WAIT_MS 60000

static int fail(const char *dir, const char *what, const char *hint)
{
	fprintf(stderr, "whywait snapshot: %s: %s%s%s\n", dir, what, *hint ? "; " : "", hint);
	return WW_EXIT_FAILED;
}

/* The recorder holds a lock on the file while it lives; its number alone may be another process's by now.
 * out  ret_fd  the open file, to ask is_alive with; the process's number, or 0 */
static pid_t read_pid(const char *dir, int *ret_fd)
{
	char path[4200], text[32] = "";

	snprintf(path, sizeof(path), "%s/flight.pid", dir);
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*ret_fd < 0 || read(*ret_fd, text, sizeof(text) - 1) <= 0)
		return 0;
	return (pid_t)strtol(text, NULL, 10);
}

static bool is_alive(int fd)
{
	if (flock(fd, LOCK_SH | LOCK_NB))
		return errno == EWOULDBLOCK;
	flock(fd, LOCK_UN);
	return false;
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
	struct ww_opts_spec spec = {.name = "snapshot", .args = "[DIR]", .max_traces = 1, .dir_itself = true,
				    .summary = "Save what the flight recorder (record --flight) of DIR holds."};
	char path[4200];
	int rc = ww_opts_parse(&o, argc, argv, &spec);

	if (rc >= 0)
		return rc;
	const char *dir = o.traces[0];
	int fd;
	pid_t pid = read_pid(dir, &fd);
	if (pid <= 0)
		return fail(dir, "no flight recorder writes here", "start one with `whywait record --flight 64M -a -o DIR`");
	if (!is_alive(fd))
		return fail(dir, "its flight recorder has ended", "what it saved are the directories snapshot-N in there");
	snprintf(path, sizeof(path), "%s/snapshot-%d", dir, next_number(dir));
	if (kill(pid, SIGUSR1))
		return fail(dir, strerror(errno), "run it as the user who records, or with sudo");
	for (int ms = 0; ms < WAIT_MS; ms += 20) {
		struct stat st;
		if (!stat(path, &st)) {
			printf("%s\n", path);
			return WW_EXIT_DONE;
		}
		if (!is_alive(fd))
			return fail(dir, "the flight recorder ended before it had saved", "");
		nanosleep(&(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL);
	}
	return fail(dir, "no answer for a minute", "the recorder's own messages say why");
}
