/* Fuzz target: a CTF trace, by its metadata of version 2 (seeds tsdl*: 1.8). What stands before the first NUL is its metadata, what comes after is a stream. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/ctf/meta.h"
#include "format/format.h"

#include "visit.h"

static bool put(const char *dir, const char *name, const void *p, size_t n)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	bool good = f && fwrite(p, 1, n, f) == n;
	return f && !fclose(f) && good;
}

/* Wants the first fields of every class by their names, what they hold too. */
static void want(struct ww_trace *t)
{
	static char paths[16][256];
	const char *fields[WW_ARRAY_SIZE(paths) + 1];

	for (uint32_t i = 0; i < ww_trace_info(t)->nclasses; i++) {
		const struct ww_class *c = ww_trace_class(t, i);
		uint32_t n = 0;
		for (uint32_t f = 0; f < c->nfields && n + 1 < WW_ARRAY_SIZE(paths); f++) {
			snprintf(paths[n], sizeof(paths[0]), "%s", c->field_names[f]);
			fields[n] = paths[n];
			n++;
			snprintf(paths[n], sizeof(paths[0]), "%s.a", c->field_names[f]);
			fields[n] = paths[n];
			n++;
		}
		fields[n++] = "ctx.a";
		/* The strings must stay: one class's names serve all that have the same. */
		if (i == 0)
			ww_trace_want(t, i, fields, n, NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static char dir[64];
	const uint8_t *nul = n ? memchr(p, 0, n) : NULL;
	size_t meta = nul ? (size_t)(nul - p) : n;
	struct ctf_meta *m = NULL;
	struct ww_err err = {0};
	struct ww_trace *t = NULL;

	if (ctf_meta_parse("metadata", p, meta, &m, &err)) {
		WW_ASSERT(err.code && *err.message && *err.hint && err.offset <= meta);
		return 0;
	}
	ctf_meta_free(m);
	if (!*dir) {
		snprintf(dir, sizeof(dir), "/dev/shm/ww-fuzz-ctf2-%d", (int)getpid());
		if (mkdir(dir, 0700))
			abort();
	}
	if (!nul || !put(dir, "metadata", p, meta) || !put(dir, "s", nul + 1, n - meta - 1) ||
	    ww_trace_open(dir, NULL, &t, NULL))
		return 0;
	want(t);
	visit_all(t);
	ww_trace_close(t);
	return 0;
}
