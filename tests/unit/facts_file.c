/* facts_file.c - facts that were kept and read again against those in memory; files that are damaged, cut off, of another
 * key, or not writable: refused with an error, or read as what they were, and never anything else. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tap.h"
#include "base/pack.h"
#include "facts/facts_file.h"
#include "facts_random.h"

#define LARGE (UINT64_C(1) << 40)
static struct ww_facts_key key = {1, 2, 3, LARGE}; /* of a small trace the facts are squeezed */
static char dir[100], file[200];
static const struct ww_facts_again *again; /* NULL: all at once */

static int save(const struct ww_facts *f, struct ww_err *err)
{
	struct ww_facts_notes notes = {0};

	ww_facts_notes_add(&notes, "a note");
	ww_facts_notes_add(&notes, "");
	int rc = ww_facts_save(f, &key, &notes, file, err);
	ww_facts_notes_release(&notes);
	return rc;
}

/* What differs, or the error. */
static const char *reopen(const struct ww_facts *f, const struct ww_facts_key *k, struct ww_err *err)
{
	struct ww_facts_notes notes = {0};
	struct ww_facts g;
	const char *what;

	ww_facts_init(&g);
	if (ww_facts_open(&g, k, file, again, &notes, err)) {
		what = g.sealed || g.thread.n || notes.n ? "it fails and leaves something" : "error";
	} else {
		what = random_differ(f, &g);
		if (!what && (notes.n != 2 || strcmp(notes.line[0], "a note") || *notes.line[1]))
			what = "the notes";
	}
	ww_facts_notes_release(&notes);
	ww_facts_release(&g);
	return what;
}

static void round_trip(uint32_t rows, const char *what)
{
	struct ww_err err = {0};
	struct ww_facts f;
	struct stat st;

	random_facts(&f, rows);
	int rc = save(&f, &err);
	const char *differs = rc ? err.message : reopen(&f, &key, &err);
	stat(file, &st);
	ok(!rc && !differs, "%s are the same from a file of %ld bytes: %s %s", what, (long)st.st_size, differs ? differs : "yes", err.message);
	ww_facts_release(&f);
}

static uint8_t *read_file(size_t *ret_n)
{
	struct stat st;
	int fd = open(file, O_RDONLY);

	fstat(fd, &st);
	uint8_t *p = ww_xmalloc((size_t)st.st_size);
	*ret_n = (size_t)read(fd, p, (size_t)st.st_size);
	close(fd);
	return p;
}

static void write_file(const uint8_t *p, size_t n)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (write(fd, p, n) != (ssize_t)n)
		abort();
	close(fd);
}

static void damage(void)
{
	uint32_t refused = 0, same = 0, wrong = 0;
	const char *first = NULL;
	struct ww_facts f;
	size_t n;

	random_facts(&f, 700);
	save(&f, NULL);
	uint8_t *p = read_file(&n);
	/* each byte of the head and of the directory at the end, and a thousand others */
	for (size_t i = 0; i < n; i += i < 300 || i + 6000 > n ? 1 : 1 + random_below((uint32_t)n / 500)) {
		const uint8_t was = p[i];

		p[i] ^= (uint8_t)(1u << random_below(8));
		write_file(p, n);
		const char *what = reopen(&f, &key, NULL);
		refused += what && !strcmp(what, "error");
		same += !what;
		wrong += what && strcmp(what, "error");
		first = first || !what || !strcmp(what, "error") ? first : what;
		p[i] = was;
	}
	ok(refused > 5000 && !wrong, "a changed byte is found: %u refused, %u unchanged, %u believed%s%s", refused, same, wrong,
	   first ? ": " : "", first ? first : "");
	refused = wrong = 0;
	for (size_t cut = 0; cut < n; cut += cut < 300 || cut + 300 > n ? 1 : 1 + random_below((uint32_t)n / 200)) {
		write_file(p, cut);
		const char *what = reopen(&f, &key, NULL);
		refused += what && !strcmp(what, "error");
		wrong += !what || strcmp(what, "error");
	}
	ok(refused > 500 && !wrong, "a file that is cut off is refused: %u refused, %u not", refused, wrong);
	free(p);
	ww_facts_release(&f);
}

/* Bytes changed by one who knows the checksums: no crash (under the sanitizers), and indexes that are rows. */
static void hostile(void)
{
	uint32_t opened = 0, refused = 0, wild = 0;
	struct ww_facts f, g;
	size_t n;

	random_facts(&f, 700);
	save(&f, NULL);
	uint8_t *p = read_file(&n);
	uint64_t head[15];
	for (int round = 0; round < 3000; round++) {
		uint8_t *q = ww_xmalloc(n);

		memcpy(q, p, n);
		memcpy(head, q, sizeof(head));
		/* head: 6 file_bytes, 7 meta offset, 8 bytes, 9 sum, 10 directory offset, 11 bytes, 12 sum, 13 blocks, 14 sum */
		const size_t dir_at = head[10], ndir = head[11] / 16, ncols = ndir - head[13];
		const int what = round % 4;
		if (what == 0)
			q[head[7] + random_below((uint32_t)head[8])] = (uint8_t)random_u64();
		else if (what == 1)
			q[dir_at + random_below((uint32_t)head[11])] = (uint8_t)random_u64();
		else if (what == 2)
			head[6 + random_below(8)] += random_below(3) ? random_below(100) - 50u : random_u64();
		const size_t b = ncols + random_below((uint32_t)head[13] ? (uint32_t)(ndir - ncols) : 1);
		uint64_t offset, bytes_sum;
		memcpy(&offset, q + dir_at + b * 16, 8);
		memcpy(&bytes_sum, q + dir_at + b * 16 + 8, 8);
		uint32_t bytes = (uint32_t)bytes_sum;
		if (what == 3 && offset + bytes <= n && bytes) {
			for (int k = 0; k < 4; k++)
				q[offset + random_below(random_below(2) ? WW_MIN(bytes, 20u) : bytes)] = (uint8_t)random_u64();
			bytes_sum = bytes | (uint64_t)(uint32_t)ww_checksum(q + offset, bytes) << 32;
			memcpy(q + dir_at + b * 16 + 8, &bytes_sum, 8);
		}
		if (what != 2) {
			head[9] = ww_checksum(q + head[7], head[8]);
			head[12] = ww_checksum(q + head[10], head[11]);
		}
		head[14] = ww_checksum(head, 14 * 8);
		memcpy(q, head, sizeof(head));
		write_file(q, n);
		free(q);
		struct ww_facts_notes notes = {0};
		ww_facts_init(&g);
		if (ww_facts_open(&g, &key, file, NULL, &notes, NULL)) {
			refused++;
		} else {
			opened++;
			for (uint32_t i = 0; i < g.state.n; i++)
				wild += g.state.thread[i] >= g.thread.n || g.state.state[i] >= WW_ST_N ||
					(ww_state_wakeup(&g, i) >= g.wakeup.n && ww_state_wakeup(&g, i) != WW_NONE);
			for (uint32_t i = 0; i < g.run.n; i++)
				wild += g.run_of_cpu[i] >= g.run.n || g.run.cpu[i] >= g.host.ncpus;
			for (uint32_t t = 0; t < g.thread.n; t++)
				wild += g.state_first[t] > g.state_first[t + 1] || g.state_first[t + 1] > g.state.n;
		}
		ww_facts_notes_release(&notes);
		ww_facts_release(&g);
	}
	ok(opened && refused && !wild, "what an enemy wrote is refused or harmless: %u refused, %u opened, %u wild indexes", refused, opened, wild);
	free(p);
	ww_facts_release(&f);
}

static void keys(void)
{
	struct ww_facts_key other[4] = {key, key, key, key};
	struct ww_err err = {0};
	struct ww_facts f;
	uint32_t bad = 0;

	random_facts(&f, 100);
	save(&f, NULL);
	other[0].trace++, other[1].program++, other[2].layout++, other[3].bytes++;
	for (int i = 0; i < 4; i++) {
		ww_err_clear(&err);
		reopen(&f, &other[i], &err);
		bad += err.code != WW_EFORMAT;
	}
	is_i64(bad, 0, "facts of another trace, program or layout are not read");
	unlink(file);
	ww_err_clear(&err);
	reopen(&f, &key, &err);
	is_i64(err.code, WW_ENOENT, "no file is no facts");
	ww_facts_release(&f);
}

/* ---- unpacked when it is read ---- */

static const struct ww_facts *source; /* that the facts are made of again */
static uint32_t made;

static void make(void *ctx, const struct ww_facts *damaged, struct ww_facts *ret)
{
	made++;
	random_seed = 4711;
	random_facts(ret, 200000);
	if (!ww_facts_same_shape(source, ret) || !ww_facts_same_shape(damaged, ret))
		abort();
}

static void *compare_backwards(void *arg)
{
	const struct ww_facts *g = arg;
	uintptr_t wrong = 0;

	for (uint32_t i = g->state.n; i--;)
		wrong += g->state.start_ts_ns[i] != source->state.start_ts_ns[i] || g->state.state[i] != source->state.state[i];
	return (void *)wrong;
}

static void at_random(const struct ww_facts *f, const struct ww_facts *g, uint32_t n)
{
	uint32_t wrong = 0;
	pthread_t t;
	void *backwards;

	pthread_create(&t, NULL, compare_backwards, (void *)(uintptr_t)g);
	for (uint32_t k = 0; k < n; k++) {
		const uint32_t i = random_below(f->state.n), j = random_below(f->syscall.n), r = random_below(f->run.n);

		wrong += g->state.start_ts_ns[i] != f->state.start_ts_ns[i] || g->state.cause[i] != f->state.cause[i] ||
			 ww_state_wakeup(g, i) != ww_state_wakeup(f, i) || g->syscall.arg1[j] != f->syscall.arg1[j] ||
			 g->syscall.name[j] != f->syscall.name[j] || g->run_of_cpu[r] != f->run_of_cpu[r];
	}
	pthread_join(t, &backwards);
	ok(!wrong && !backwards, "rows at random and backwards, by two threads at once: %u and %u wrong", wrong, (uint32_t)(uintptr_t)backwards);
}

static void lazy(void)
{
	const struct ww_facts_again when_read = {.make = make, .min_bytes = 1, .budget_bytes = 5u << 20};
	struct ww_facts_notes notes = {0};
	struct ww_err err = {0};
	struct ww_facts f, g;
	const char *what;
	size_t n;

	random_seed = 4711;
	random_facts(&f, 200000);
	source = &f;
	save(&f, NULL);
	again = &when_read;
	what = reopen(&f, &key, &err);
	made = 0;
	ok(!what, "facts that are unpacked when they are read are the same: %s %s", what ? what : "yes", err.message);
	ww_facts_init(&g);
	TAP_NEED(!ww_facts_open(&g, &key, file, again, &notes, &err), "the file is opened: %s", err.message);
	ww_facts_notes_release(&notes);
	if (!g.lazy) {
		tap_skip(3, "this system has no userfaultfd");
	} else {
		at_random(&f, &g, 200000);
		ww_facts_release(&g);
		uint8_t *p = read_file(&n);
		for (size_t i = 0; i < 10; i++)
			p[n / 12 * (i + 1)] ^= 16;
		write_file(p, n);
		free(p);
		what = reopen(&f, &key, &err);
		ok(!what && made == 1, "damage that is found when rows are read has the facts made again: %s, %u", what ? what : "the same", made);
		is_i64(ww_facts_open(&g, &key, file, NULL, &notes, NULL), -WW_ECORRUPT, "and at once where all is unpacked at once");
	}
	ww_facts_release(&g);
	ww_facts_release(&f);
	again = NULL;
}

/* Killed at any moment: afterwards there is no file, or all of it. */
static void killed(void)
{
	uint32_t none = 0, whole = 0, bad = 0;
	struct ww_err err;
	struct ww_facts f;

	random_facts(&f, 60000);
	for (int round = 0; round < 60; round++) {
		unlink(file);
		pid_t pid = fork();
		if (!pid) {
			save(&f, NULL);
			_exit(0);
		}
		usleep(random_below(round < 50 ? 120000 : 2000000));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		ww_err_clear(&err);
		const char *what = reopen(&f, &key, &err);
		none += err.code == WW_ENOENT;
		whole += !what;
		bad += what && err.code != WW_ENOENT;
	}
	ok(!bad && none, "a writer that is killed leaves none or a whole file: %u none, %u whole", none, whole);
	is_i64(save(&f, NULL), 0, "and what it leaves behind is in nobody's way");
	ok(!reopen(&f, &key, NULL), "the next writer's file is whole");
	ww_facts_release(&f);
}

static void refused(void)
{
	struct rlimit small = {200000, RLIM_INFINITY};
	struct ww_err err = {0};
	struct ww_facts f;
	int status;

	random_facts(&f, 60000);
	unlink(file);
	pid_t pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_FSIZE, &small);
		int rc = save(&f, NULL);
		_exit(rc == -WW_EIO && access(file, F_OK) ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	is_i64(status, 0, "no room: an error, no signal, no file");
	ww_state_set_wakeup(&f, 7, f.wakeup.n + 5);
	is_i64(save(&f, &err), -WW_ELIMIT, "facts that no reader would believe are not written");
	ok(access(file, F_OK), "nor is there a part of them");
	ww_facts_release(&f);
}

int main(void)
{
	/* in memory: thousands of files are written */
	snprintf(dir, sizeof(dir), "%s/facts-test-XXXXXX", access("/dev/shm", W_OK) ? "/var/tmp" : "/dev/shm");
	TAP_NEED(mkdtemp(dir), "a directory");
	snprintf(file, sizeof(file), "%s/.whywait/facts", dir);
	round_trip(0, "no facts");
	round_trip(1, "facts of one row");
	round_trip(1000, "facts of 1000 rows");
	round_trip(4096, "facts of a whole block");
	round_trip(70000, "facts of many blocks");
	keys();
	damage();
	hostile();
	lazy();
	key.bytes = 4;
	round_trip(1, "squeezed facts of one row");
	round_trip(70000, "squeezed facts of many blocks");
	damage();
	hostile();
	lazy();
	key.bytes = LARGE;
	killed();
	refused();
	char *all = ww_xasprintf("rm -rf %s", dir);
	TAP_NEED(!system(all), "the directory goes");
	free(all);
	return done_testing();
}
