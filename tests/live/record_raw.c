/* record_raw.c - records with the recorder alone, no state dump: for tests of the rings and for bench.
 *
 * usage: record_raw [-alsk] [-r RING_BYTES] [-b SUBBUF_BYTES] [-f FLIGHT_BYTES] DIR -- CMD...
 *        record_raw -t PROGRAM     loads that program alone
 * Prints one line: events, bytes, packets, lost, misses. Its exit status is CMD's.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "format/ctf/writer.h"
#include "record/classes.h"
#include "record/recorder.h"
#include <fcntl.h>

static int die(const struct ww_err *err)
{
	char text[1200];

	ww_err_format(err, text, sizeof(text));
	fprintf(stderr, "record_raw: %s\n", text);
	return 125;
}

static int meta_write(const char *dir, const uint8_t uuid[16], struct ww_err *err)
{
	struct ww_ctf_class *c = ww_xcalloc(ww_classes_count, sizeof(*c));
	struct timespec real, mono;

	for (size_t i = 0; i < ww_classes_count; i++)
		c[i] = (struct ww_ctf_class){ww_classes[i].id, ww_classes[i].name, ww_classes[i].body};
	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	struct ww_ctf_meta m = {
		.clock_uuid = "da73ec23-9747-4445-b5bd-43ebe3b277a8",
		.clock_offset_ns = (real.tv_sec - mono.tv_sec) * WW_NS_PER_S + real.tv_nsec - mono.tv_nsec,
		.trace_name = "raw", .creation = "20260101T000000+0000",
		.classes = c, .nclasses = (uint32_t)ww_classes_count,
	};
	memcpy(m.uuid, uuid, 16);
	int fd = open(dir, O_RDONLY | O_DIRECTORY);
	int r = ww_ctf_meta_write(fd, "metadata", &m, err);
	close(fd);
	free(c);
	return r;
}

static int try(const char *program)
{
	struct ww_err err = {0};

	ww_recorder_log(stderr);
	return ww_recorder_try(program, &err) ? die(&err) : 0;
}

/* Until the child sleeps in its only blocking call: the recording then always begins at that call's
 * return, and the same program makes the same number of events each time. */
static void wait_asleep(pid_t pid)
{
	char path[64], state = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	for (int i = 0; i < 1000 && state != 'S'; i++) {
		FILE *f = fopen(path, "r");

		if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			state = 0;
		if (f)
			fclose(f);
		usleep(1000);
	}
}

int main(int argc, char **argv)
{
	struct ww_recorder_opts o = {0};
	struct ww_recorder_stats st;
	struct ww_recorder *rec;
	struct ww_err err = {0};
	int c, go[2], status, r;

	while ((c = getopt(argc, argv, "+alskr:b:f:t:")) != -1) {
		switch (c) {
		case 'a': o.all_syscalls = true; break;
		case 'l': o.light = true; break;
		case 's': o.syscalls_only = true; break;
		case 'k': o.stacks = true; break;
		case 'r': o.ring_bytes = strtoull(optarg, NULL, 0); break;
		case 'b': o.subbuf_bytes = (uint32_t)strtoul(optarg, NULL, 0); break;
		case 'f': o.flight_bytes = strtoull(optarg, NULL, 0); break;
		case 't': return try(optarg);
		default: return 2;
		}
	}
	if (argc - optind < 2)
		return 2;
	o.outdir = argv[optind];
	if (!strcmp(argv[optind + 1], "--"))
		argv[optind + 1] = argv[optind], optind++;
	mkdir(o.outdir, 0755);
	if (ww_ctf_uuid_make(o.uuid, &err) || meta_write(o.outdir, o.uuid, &err) ||
	    ww_recorder_open(&o, &rec, &err))
		return die(&err);
	if (pipe(go))
		return 125;
	pid_t pid = fork();
	if (!pid) {
		char b;

		close(go[1]);
		if (read(go[0], &b, 1) != 1)
			_exit(125);
		close(go[0]);
		execvp(argv[optind + 1], argv + optind + 1);
		_exit(127);
	}
	close(go[0]);
	wait_asleep(pid);
	if (ww_recorder_target_add(rec, pid, &err) || ww_recorder_start(rec, &err))
		return die(&err);
	if (write(go[1], "x", 1) != 1)
		return 125;
	close(go[1]);
	while (!waitpid(pid, &status, WNOHANG))
		if (ww_recorder_poll(rec, 50, &err))
			break;
	if (o.flight_bytes)
		ww_recorder_snapshot(rec, o.outdir, o.uuid, &err);
	r = ww_recorder_stop(rec, &err);
	ww_recorder_stats(rec, &st);
	fprintf(stderr, "events %" PRIu64 " bytes %" PRIu64 " packets %" PRIu64 " lost %" PRIu64 " misses %" PRIu64
		"\n", st.events, st.bytes, st.packets, st.lost, st.misses);
	if (st.misses)
		fprintf(stderr, "missed: %s\n", st.missed);
	if (r || err.code)
		die(&err);
	ww_recorder_close(rec);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
