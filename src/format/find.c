/* find.c - the trace that a path holds: the formats' probes on it, and for a directory on what is in it. */
#include "format/find.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"

#define MAX_DEPTH 3
#define MAX_ENTRIES 20000 /* looked at, of all folders together: a home directory is not searched through */

struct search {
	WW_VEC(struct ww_found) found;
	uint32_t entries;
};

static bool has_magic(const uint8_t *p, size_t n, const char *magic, size_t len, size_t at)
{
	return n >= at + len && !memcmp(p + at, magic, len);
}

/* What to do with a path that no format knows. */
static int unknown(const char *path, const struct stat *st, struct ww_err *err)
{
	uint8_t b[512] = {0};
	ssize_t n = 0;
	int fd = S_ISREG(st->st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		n = read(fd, b, sizeof(b));
		close(fd);
	}
	size_t len = n > 0 ? (size_t)n : 0;
	bool packed = has_magic(b, len, "\x1f\x8b", 2, 0) || has_magic(b, len, "\x28\xb5\x2f\xfd", 4, 0) ||
		      has_magic(b, len, "\xfd" "7zXZ", 5, 0) || has_magic(b, len, "BZh", 3, 0) ||
		      has_magic(b, len, "PK\3\4", 4, 0) || has_magic(b, len, "ustar", 5, 257);

	(void)ww_err_set(err, WW_EFORMAT, path, WW_ERR_NO_OFFSET, "%s",
			 S_ISDIR(st->st_mode) ? "no trace in this directory" : packed ? "packed, not a trace" :
			 S_ISREG(st->st_mode) && !st->st_size ? "the file is empty" : "not a trace in a format that is read");
	if (packed)
		(void)ww_err_hint(err, "unpack it (tar -xf; gunzip, unxz or unzstd a single file) and name what comes out");
	else if (has_magic(b, len, "\xc1\x1f\xfc\xc1", 4, 0) || has_magic(b, len, "\xc1\xfc\x1f\xc1", 4, 0))
		(void)ww_err_hint(err, "it is one stream of a CTF trace: name its directory, with the metadata file");
	else if (S_ISDIR(st->st_mode))
		(void)ww_err_hint(err, "name the directory of a CTF trace (it or one below it holds 'metadata'), a trace.dat or a perf.data");
	else
		(void)ww_err_hint(err, "a CTF directory, a trace.dat of trace-cmd or a perf.data of perf can be read");
	return -WW_EFORMAT;
}

static const struct ww_format *format_of(const char *path)
{
	for (size_t i = 0; ww_formats[i]; i++)
		if (ww_formats[i]->probe(path))
			return ww_formats[i];
	return NULL;
}

static void add(struct search *s, const struct ww_format *fmt, const char *path)
{
	*ww_vec_push(&s->found) = (struct ww_found){.fmt = fmt, .path = ww_xstrdup(path)};
}

static void clear(struct search *s)
{
	for (size_t i = 0; i < s->found.n; i++)
		free(s->found.v[i].path);
	ww_vec_clear(&s->found);
}

/* The files in a directory that are traces, and when `folders`, the same of the folders in it. */
static void look_in(struct search *s, const char *dir, bool folders, int depth)
{
	struct dirent **list = NULL;
	int n = scandir(dir, &list, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		char *path = ww_xasprintf("%s/%s", dir, list[i]->d_name);
		struct stat st;
		bool look = list[i]->d_name[0] != '.' && s->entries++ < MAX_ENTRIES && lstat(path, &st) == 0;
		const struct ww_format *fmt = NULL;
		if (look && (S_ISREG(st.st_mode) || (folders && S_ISDIR(st.st_mode)))) {
			/* A file that is called metadata belongs to its directory. */
			fmt = S_ISREG(st.st_mode) && !strcmp(list[i]->d_name, "metadata") ? NULL : format_of(path);
			if (fmt)
				add(s, fmt, path);
			else if (S_ISDIR(st.st_mode) && depth < MAX_DEPTH)
				look_in(s, path, true, depth + 1);
		}
		free(path);
		free(list[i]);
	}
	free(list);
}

static int several(const struct search *s, const char *path, struct ww_err *err)
{
	char text[200] = "";
	size_t len = 0, shown = 0;

	while (shown < s->found.n && len + strlen(s->found.v[shown].path) + 2 < sizeof(text)) {
		len += (size_t)snprintf(text + len, sizeof(text) - len, " %s", s->found.v[shown].path);
		shown++;
	}
	ww_err_set(err, WW_EUNSUPPORTED, path, WW_ERR_NO_OFFSET, "%zu traces in this directory", s->found.n);
	return ww_err_hint(err, "name one, or several by themselves:%s%s", text, shown < s->found.n ? " ..." : "");
}

int ww_trace_find(const char *path, struct ww_found *ret, struct ww_err *err)
{
	const struct ww_format *fmt = format_of(path);
	struct search s = {0};
	struct stat st;
	int rc = 0;

	if (stat(path, &st))
		return ww_err_errno(err, path, "cannot open");
	if (S_ISDIR(st.st_mode)) {
		/* What stands beside a CTF trace's own metadata are its streams. */
		char *meta = ww_xasprintf("%s/metadata", path);
		if (!fmt || access(meta, F_OK))
			look_in(&s, path, !fmt, 0);
		free(meta);
	}
	if (fmt && !s.found.n) {
		add(&s, fmt, path);
	} else if (fmt) { /* beside others: each by its own name */
		clear(&s);
		look_in(&s, path, true, 0);
	}
	if (s.found.n == 1) {
		*ret = s.found.v[0];
		s.found.v[0].path = NULL;
	} else {
		rc = s.found.n ? several(&s, path, err) : unknown(path, &st, err);
	}
	clear(&s);
	ww_vec_free(&s.found);
	return rc;
}
