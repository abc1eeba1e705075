/* place.c - the rules for files beside a trace and in the cache directory. */
#include "base/place.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/u64map.h"

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
