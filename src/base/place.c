/* place.c - the rules for files beside a trace and in the cache directory. */
#include "base/place.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/u64map.h"
#include "base/vec.h"

bool ww_place_writable(const char *dir)
{
	struct stat st;

	return !stat(dir, &st) && S_ISDIR(st.st_mode) && (st.st_mode & 0222) && !access(dir, W_OK);
}

void ww_place_make_parents(char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = 0;
		mkdir(path, 0755);
		*p = '/';
	}
}

static uint64_t hash_text(const char *s)
{
	uint64_t h = 0;

	for (; *s; s++)
		h = ww_hash_mix(h, (uint8_t)*s);
	return h;
}

bool ww_place_cache(const char *kind, const char *real, const char *suffix, char *buf, size_t size)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	bool own = cache && *cache == '/';

	if (!own && (!home || *home != '/'))
		return false;
	int n = snprintf(buf, size, "%s%s/whywait/%s/%016" PRIx64 "%s", own ? cache : home, own ? "" : "/.cache", kind,
			 hash_text(real), suffix);
	return n > 0 && (size_t)n < size;
}

/* ---- what was kept long enough ---- */

#define BEING_WRITTEN_S 3600 /* a half-written file of this age has no writer any more */

struct kept {
	char name[NAME_MAX + 1];
	int64_t used_ns;
	uint64_t bytes;
};
typedef WW_VEC(struct kept) kept_files;

static bool ends_with(const char *name, const char *suffix, const char *more)
{
	const size_t n = strlen(name), a = strlen(suffix), b = strlen(more);

	return n > a + b && !memcmp(name + n - a - b, suffix, a) && !strcmp(name + n - b, more);
}

static int oldest_first(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	return x->used_ns < y->used_ns ? -1 : x->used_ns > y->used_ns;
}

/* The files that may go, and what all together take. */
static uint64_t look(DIR *d, const char *stays, const char *suffix, kept_files *ret)
{
	const int64_t now_s = time(NULL);
	uint64_t all = 0;
	struct stat st;

	for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
		const bool half = ends_with(e->d_name, suffix, ".new");

		if ((!half && !ends_with(e->d_name, suffix, "")) || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode) || st.st_uid != geteuid())
			continue;
		all += (uint64_t)st.st_blocks * 512;
		if (!strcmp(e->d_name, stays) || (half && now_s - st.st_mtim.tv_sec < BEING_WRITTEN_S))
			continue;
		struct kept *k = ww_vec_push(ret);
		k->used_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
		k->bytes = (uint64_t)st.st_blocks * 512;
		snprintf(k->name, sizeof(k->name), "%s", e->d_name);
	}
	return all;
}

void ww_place_prune(const char *file, const char *suffix, uint64_t bytes)
{
	const char *slash = strrchr(file, '/');
	char *dir = ww_xasprintf("%.*s", slash ? (int)WW_MAX(slash - file, 1) : 1, slash ? file : ".");
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	kept_files kept = {0};

	free(dir);
	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	uint64_t all = look(d, slash ? slash + 1 : file, suffix, &kept);
	if (kept.n)
		qsort(kept.v, kept.n, sizeof(*kept.v), oldest_first);
	for (size_t i = 0; i < kept.n && all > bytes; i++)
		if (!unlinkat(dirfd(d), kept.v[i].name, 0))
			all -= kept.v[i].bytes;
	ww_vec_free(&kept);
	closedir(d);
}

uint64_t ww_place_cache_bytes(void)
{
	const char *s = getenv("WHYWAIT_CACHE_MB");
	char *end;

	if (s && *s >= '0' && *s <= '9') {
		unsigned long long mb = strtoull(s, &end, 10);
		if (!*end && mb < 1ull << 40)
			return mb << 20;
	}
	return UINT64_C(4096) << 20;
}
