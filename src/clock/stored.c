/* stored.c - one file a trace:
 *
 *   whywait-sync 1
 *   set 1f3c...                          of all traces that were synchronised together
 *   trace CLOCK_UUID BEGIN END PACKETS   what it is of; the uuid "-" when there is none
 *   correction T0 OFFSET DRIFT BOUND ACCURACY
 *   sum 77ab...                          of all the text before: what was cut short or edited is not believed
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/place.h"
#include "base/u64map.h"
#include "clock/stored.h"

#define SUFFIX ".whywait-sync"
#define TEXT_BYTES 1024

static uint64_t set_id(const struct ww_set *s)
{
	uint64_t h = s->reference;

	for (uint32_t i = 0; i < s->nhosts; i++) {
		h = ww_hash_mix(h, (uint64_t)s->who[i].begin_ns);
		h = ww_hash_mix(h, (uint64_t)s->who[i].end_ns);
		h = ww_hash_mix(h, s->who[i].packets);
	}
	return h;
}

/* Beside the trace, and elsewhere; "" where there is none. */
static void places(const char *trace, char beside[PATH_MAX], char cache[PATH_MAX])
{
	char real[PATH_MAX];

	*beside = *cache = 0;
	if (!realpath(trace, real))
		return;
	if (strlen(real) + sizeof(SUFFIX) <= PATH_MAX) {
		memcpy(beside, real, strlen(real) + 1);
		strcat(beside, SUFFIX);
	}
	if (!ww_place_cache("sync", real, SUFFIX, cache, PATH_MAX))
		*cache = 0;
}

static bool is_writable(const char *path)
{
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s", path);
	*strrchr(dir, '/') = 0;
	return ww_place_writable(*dir ? dir : "/");
}

static const char *uuid_of(const struct ww_set_host *w)
{
	return *w->clock_uuid ? w->clock_uuid : "-";
}

static uint64_t sum_of(const char *text, size_t n)
{
	uint64_t h = n;

	for (size_t i = 0; i < n; i++)
		h = ww_hash_mix(h, (uint8_t)text[i]);
	return h;
}

static int write_file(const char *path, uint64_t id, const struct ww_set_host *w, const struct ww_correction *c,
		      struct ww_err *err)
{
	char tmp[PATH_MAX + 8], text[TEXT_BYTES];

	snprintf(tmp, sizeof(tmp), "%s.new", path);
	FILE *f = fopen(tmp, "w");
	if (!f)
		return ww_err_errno(err, tmp, "cannot store the clock's correction");
	int n = snprintf(text, sizeof(text), "whywait-sync 1\nset %016" PRIx64 "\ntrace %.63s %" PRId64 " %" PRId64 " %" PRIu64 "\n"
			 "correction %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %s\n", id, uuid_of(w), w->begin_ns, w->end_ns,
			 w->packets, c->t0_ns, c->offset_ns, c->drift_e15, c->bound_ns, ww_accuracy_name(c->accuracy));
	fprintf(f, "%ssum %016" PRIx64 "\n", text, sum_of(text, (size_t)n));
	bool bad = ferror(f);
	if (fclose(f) || bad || rename(tmp, path)) {
		int rc = ww_err_errno(err, tmp, "cannot store the clock's correction");
		unlink(tmp);
		return rc;
	}
	return 0;
}

int ww_stored_save(const struct ww_set *s, struct ww_err *err)
{
	char beside[PATH_MAX], cache[PATH_MAX];
	int rc = 0;

	if (s->nunreached + 1 >= s->nhosts) /* nothing was found out that an older answer should give way to */
		return 0;
	for (uint32_t h = 0; h < s->nhosts; h++)
		if (s->corrections[h].nbends) /* the file has room for a line; who reads the traces finds the bends again */
			return 0;
	for (uint32_t h = 0; h < s->nhosts && !rc; h++) {
		if (s->corrections[h].accuracy == WW_AC_NONE)
			continue;
		places(s->who[h].path, beside, cache);
		if (*beside && is_writable(beside)) {
			rc = write_file(beside, set_id(s), &s->who[h], &s->corrections[h], err);
		} else if (*cache) {
			ww_place_make_parents(cache);
			rc = write_file(cache, set_id(s), &s->who[h], &s->corrections[h], err);
		}
	}
	return rc;
}

/* A file that this trace's correction may be in; false: none, or of something else. */
static bool read_file(const char *path, const struct ww_set_host *w, uint64_t *ret_id, struct ww_correction *ret)
{
	char text[TEXT_BYTES], uuid[64], accuracy[16], *sum;
	struct ww_correction c = {.via = WW_NONE, .accuracy = WW_AC_N};
	int64_t begin, end;
	uint64_t packets, said;
	FILE *f = *path ? fopen(path, "r") : NULL;

	if (!f)
		return false;
	size_t n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	sum = strstr(text, "\nsum ");
	if (!sum || sscanf(sum + 1, "sum %" SCNx64, &said) != 1 || said != sum_of(text, (size_t)(sum + 1 - text)))
		return false;
	if (sscanf(text, "whywait-sync 1 set %" SCNx64 " trace %63s %" SCNd64 " %" SCNd64 " %" SCNu64
		   " correction %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %15s", ret_id, uuid, &begin, &end, &packets,
		   &c.t0_ns, &c.offset_ns, &c.drift_e15, &c.bound_ns, accuracy) != 10)
		return false;
	for (int a = 0; a < WW_AC_NONE; a++)
		if (!strcmp(accuracy, ww_accuracy_name(a)))
			c.accuracy = (uint8_t)a;
	*ret = c;
	return c.accuracy != WW_AC_N && !strcmp(uuid, uuid_of(w)) && begin == w->begin_ns && end == w->end_ns &&
	       packets == w->packets && c.t0_ns == begin && c.drift_e15 > -WW_DRIFT_ONE / 10 && c.drift_e15 < WW_DRIFT_ONE / 10 &&
	       c.offset_ns > -INT64_MAX / 4 && c.offset_ns < INT64_MAX / 4 && c.bound_ns >= -1 && c.bound_ns < INT64_MAX / 4;
}

bool ww_stored_load(const struct ww_set_host *who, uint32_t n, struct ww_correction *ret)
{
	char beside[PATH_MAX], cache[PATH_MAX];
	uint64_t first = 0, id = 0;

	for (uint32_t h = 0; h < n; h++) {
		places(who[h].path, beside, cache);
		if (!read_file(beside, &who[h], &id, &ret[h]) && !read_file(cache, &who[h], &id, &ret[h]))
			return false;
		if (h && id != first)
			return false;
		first = id;
	}
	return true;
}
