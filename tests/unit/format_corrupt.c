/* format_corrupt.c - damaged files of every format: cut off at every byte, every byte and every word at its extremes,
 * metadata of 100 MB. Each is opened or refused with a code, and if it opens it is read to its end; the damage that
 * was gone past has a place in its file; no memory beyond what small files need. The tables of which damage gives
 * which code at which byte are format_ctf.c's, format_ctf2.c's, format_tracedat.c's and format_perfdata.c's.
 */
#include "../tap.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/ctf/meta.h"
#include "format/format.h"

#define MAX_RSS_KB (256 << 10)

/* AddressSanitizer keeps what was freed and takes its time: fewer places, and no word on the memory. */
#ifdef __SANITIZE_ADDRESS__
#define ASAN 1
#else
#define ASAN 0
#endif

static uint64_t touched; /* so that every value is read */

static void begin(void *ctx, const char *name, bool array)
{
	touched += array;
}

static void end(void *ctx)
{
}

static void value(void *ctx, const char *name, const struct ww_value *v, const char *label, int base)
{
	if (v->kind == WW_V_STR || v->kind == WW_V_BYTES)
		for (uint32_t i = 0; i < v->len; i++)
			touched += (uint8_t)v->p[i];
	else
		touched += v->u;
}

/* What is wrong with how it was read; NULL: nothing. */
static const char *read_path(const char *path)
{
	static const struct ww_visitor v = {begin, end, value};
	struct ww_trace *t = NULL;
	struct ww_event ev;
	struct ww_err err = {0};
	const struct ww_damage *d;
	const char *why = NULL;
	int rc;

	if (ww_trace_open(path, NULL, &t, &err))
		return !err.code ? "refused without a code" : !*err.message ? "refused without a word" : NULL;
	while ((rc = ww_trace_next(t, &ev, &err)) == 1)
		if (ev.cls != WW_CLS_GAP && ww_trace_visit(t, &ev, &v, NULL, &err) && !err.code)
			why = "a field cannot be read, and nothing says why";
	if (rc < 0 && !err.code)
		why = "an error without a code";
	uint32_t n = ww_trace_damage(t, &d);
	for (uint32_t i = 0; i < n; i++) {
		struct stat st;
		if (!d[i].err.code || !*d[i].err.message)
			why = "damage without a code";
		else if (d[i].err.offset != WW_ERR_NO_OFFSET && stat(d[i].err.file, &st) == 0 &&
			 d[i].err.offset > (uint64_t)st.st_size)
			why = "damage behind the end of the file";
	}
	if (n && !ww_trace_stats(t)->bad_packets)
		why = "damage that is not counted";
	ww_trace_close(t);
	return why;
}

static char dir[64], file[128];

static void put(const uint8_t *p, size_t n)
{
	FILE *f = fopen(file, "wb");

	if (!f || fwrite(p, 1, n, f) != n || fclose(f))
		abort();
}

static unsigned wrong;

static void check(const char *path, const uint8_t *p, size_t n, const char *what, size_t at)
{
	put(p, n);
	const char *why = read_path(path);
	if (why && wrong++ < 10)
		printf("# %s at byte %zu: %s\n", what, at, why);
}

/* Cuts `p` off at every byte and sets its bytes and words to their extremes. */
static void damage(const char *path, uint8_t *p, size_t n, const char *name)
{
	static const uint64_t words[] = {0, INT32_MAX, UINT32_MAX, UINT64_MAX};
	static const uint8_t bytes[] = {0, 0x80, 0xff};
	const size_t step = ASAN ? 3 : 1;

	wrong = 0;
	for (size_t i = 0; i <= n; i += step)
		check(path, p, i, "cut off", i);
	for (size_t i = 0; i < n; i += step) {
		uint8_t was = p[i];
		for (size_t k = 0; k < sizeof(bytes); k++) {
			p[i] = bytes[k];
			check(path, p, n, "a byte changed", i);
		}
		p[i] = was;
	}
	for (size_t i = 0; i + 8 <= n; i += 4 * step) {
		uint8_t was[8];
		memcpy(was, p + i, 8);
		for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++) {
			memcpy(p + i, &words[k], words[k] > UINT32_MAX ? 8 : 4);
			check(path, p, n, "a word changed", i);
		}
		memcpy(p + i, was, 8);
	}
	ok(!wrong, "%s: cut off and changed everywhere", name);
}

static uint8_t *load(const char *path, size_t *ret_n)
{
	struct stat st;
	FILE *f = fopen(path, "rb");

	if (!f || stat(path, &st))
		return NULL;
	uint8_t *p = ww_xmalloc((size_t)st.st_size + 1);
	*ret_n = fread(p, 1, (size_t)st.st_size, f);
	p[*ret_n] = 0;
	fclose(f);
	return p;
}

/* Small files of the fuzzers' corpus. */
static void corpus(const char *format, const char *name)
{
	char path[512];
	size_t n;

	snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/%s/%s", getenv("WW_SRC") ? getenv("WW_SRC") : ".", format, name);
	uint8_t *p = load(path, &n);
	TAP_NEED(p != NULL, "read %s", path);
	snprintf(file, sizeof(file), "%s/file", dir);
	snprintf(path, sizeof(path), "%s %s", format, name);
	damage(file, p, n, path);
	unlink(file);
	free(p);
}

/* A trace of CTF 2 or 1.8 as metadata, a NUL, a stream: both are damaged. */
static void corpus_pair(const char *name)
{
	char path[512], what[64];
	size_t n;

	snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/ctf2/%s", getenv("WW_SRC") ? getenv("WW_SRC") : ".", name);
	uint8_t *p = load(path, &n);
	TAP_NEED(p != NULL, "read %s", path);
	size_t meta = strlen((char *)p);
	snprintf(file, sizeof(file), "%s/metadata", dir);
	put(p, meta);
	snprintf(file, sizeof(file), "%s/stream", dir);
	put(p + meta + 1, n - meta - 1);
	TAP_NEED(!read_path(dir), "the whole trace is read");
	snprintf(what, sizeof(what), "ctf %s, stream", name);
	damage(dir, p + meta + 1, n - meta - 1, what);
	put(p + meta + 1, n - meta - 1);
	snprintf(file, sizeof(file), "%s/metadata", dir);
	snprintf(what, sizeof(what), "ctf %s, metadata", name);
	damage(dir, p, meta, what);
	free(p);
}

static void large_metadata(void)
{
	struct ww_err err = {0};
	struct ctf_meta *m = NULL;

	snprintf(file, sizeof(file), "%s/metadata", dir);
	put((const uint8_t *)"\x1e{", 2);
	if (truncate(file, 100 << 20))
		abort();
	ok(ctf_meta_read(file, &m, &err) == -WW_ELIMIT && err.offset == CTF_MAX_METADATA && *err.hint,
	   "metadata of 100 MB is refused at the limit's byte");
	/* Just below the limit: names without end. */
	char *p = ww_xmalloc(CTF_MAX_METADATA);
	size_t n = (size_t)sprintf(p, "trace { major = 1; minor = 8; }; ");
	while (n + 64 < CTF_MAX_METADATA - 8)
		n += (size_t)sprintf(p + n, "typealias integer { size = 8; } := t%zu; ", n);
	err = (struct ww_err){0};
	ok(ctf_meta_parse("metadata", p, n, &m, &err) == -WW_ELIMIT && err.offset < n, "64 MB of names end at a limit");
	free(p);
}

int main(void)
{
	struct rusage u;
	time_t begin_s = time(NULL);

	snprintf(dir, sizeof(dir), "%s/ww-corrupt-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	TAP_NEED(mkdtemp(dir), "a directory for traces");
	corpus("tracedat", "v6");
	corpus("tracedat", "v7-none");
	corpus("perfdata", "unit-le");
	corpus("perfdata", "unit-pipe-be");
	corpus_pair("seed104");
	corpus_pair("tsdl142");
	large_metadata();
	getrusage(RUSAGE_SELF, &u);
	if (!ASAN)
		ok(u.ru_maxrss < MAX_RSS_KB, "all that in %ld MB of memory", u.ru_maxrss >> 10);
	printf("# %ld s\n", (long)(time(NULL) - begin_s));
	char cmd[128];
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	ok(system(cmd) == 0, "clean up");
	return done_testing();
}
