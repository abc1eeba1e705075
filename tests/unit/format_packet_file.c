/* format_packet_file.c - a writer killed at random moments, over and over: its file ends at a packet's end, and
 * every packet in it is whole. Once with plain writes, which must be seen to fail: else nothing is tested. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/ctf/packet_file.h"
#include "format/ctf/writer.h"
#include "../tap.h"

#define PACKET_BYTES (256u << 10)
#define KILLS 60
#define FILE_BYTES_MAX (64u << 20)

static _Alignas(WW_PACKET_ALIGN) uint8_t packet[PACKET_BYTES];

/* Packets of one page and of many, until killed. */
static void write_forever(const char *dir, bool plain)
{
	struct ww_packet_file f;
	struct ww_ctf_packet_header h = {.magic = WW_CTF_MAGIC};

	if (ww_packet_file_open(&f, AT_FDCWD, dir, O_TRUNC, 0600, NULL))
		_exit(1);
	if (plain)
		fcntl(f.fd, F_SETFL, 0);
	for (uint64_t i = 0;; i++) {
		size_t n = i % 4 ? PACKET_BYTES : WW_PACKET_ALIGN;

		h.seq = i;
		h.content_bits = n * 8 - 80;
		h.packet_bits = n * 8;
		memset(packet, (int)(i % 251) + 1, n);
		memcpy(packet, &h, sizeof(h));
		if (f.bytes > FILE_BYTES_MAX)
			pause();
		if (plain) {
			if (write(f.fd, packet, n) != (ssize_t)n)
				_exit(1);
			f.bytes += n;
		} else if (ww_packet_file_append(&f, packet, n, NULL)) {
			_exit(1);
		}
	}
}

/* "": sound; else what is wrong. */
static const char *file_fault(const char *path, uint64_t *ret_packets)
{
	struct ww_ctf_packet_header h;
	struct stat st;
	uint64_t at = 0;
	int fd = open(path, O_RDONLY);
	const char *bad = fd < 0 || fstat(fd, &st) ? "no file" : "";

	while (!*bad && at < (uint64_t)st.st_size) {
		uint64_t n;

		if (pread(fd, &h, sizeof(h), (off_t)at) != sizeof(h))
			bad = "half a head";
		else if (h.magic != WW_CTF_MAGIC)
			bad = "no magic";
		else if (n = h.packet_bits / 8, n < WW_PACKET_ALIGN || n > PACKET_BYTES || at + n > (uint64_t)st.st_size)
			bad = "half a packet";
		else if (h.content_bits != sizeof(h) * 8) {
			uint8_t want = (uint8_t)(h.seq % 251) + 1;

			if (pread(fd, packet, n, (off_t)at) != (ssize_t)n)
				bad = "half a packet";
			for (uint64_t i = sizeof(h); !*bad && i < n; i++)
				if (packet[i] != want)
					bad = "a packet with another's bytes";
			++*ret_packets;
		}
		at += *bad ? 0 : n;
	}
	if (fd >= 0)
		close(fd);
	return bad;
}

static void kill_many(const char *dir, bool plain, const char *what)
{
	char path[128];
	uint64_t packets = 0;
	int bad = 0;
	const char *last = "";

	snprintf(path, sizeof(path), "%s/stream", dir);
	srandom((unsigned)getpid());
	close(open(path, O_CREAT | O_WRONLY, 0600)); /* on a busy machine the first writer may be killed before it opens it */
	for (int i = 0; i < KILLS && !(plain && bad); i++) {
		pid_t pid = fork();

		if (!pid)
			write_forever(path, plain);
		usleep(2000 + (unsigned)random() % 8000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		const char *f = file_fault(path, &packets);
		bad += *f != 0;
		last = *f ? f : last;
	}
	unlink(path);
	if (plain)
		ok(bad > 0, "%s: plain writes are torn by a kill: %s", what, last);
	else
		ok(!bad && packets > 0, "%s: %d of %d files torn (%s), %" PRIu64 " packets", what, bad, KILLS, last, packets);
}

static void in_directory(const char *base, const char *what)
{
	char dir[64];
	struct ww_packet_file f;

	snprintf(dir, sizeof(dir), "%s/ww-packet-XXXXXX", base);
	if (!mkdtemp(dir)) {
		ok(true, "%s # SKIP no directory there", what);
		return;
	}
	char path[80];
	snprintf(path, sizeof(path), "%s/x", dir);
	int r = ww_packet_file_open(&f, AT_FDCWD, path, O_EXCL, 0600, NULL);
	ok(!r, "%s: opened, direct writes: %s", what, !r && f.direct ? "yes" : "no");
	ww_packet_file_close(&f, NULL);
	unlink(path);
	kill_many(dir, true, what);
	kill_many(dir, false, what);
	rmdir(dir);
}

int main(void)
{
	in_directory("/var/tmp", "/var/tmp");
	in_directory("/dev/shm", "/dev/shm");
	return done_testing();
}
