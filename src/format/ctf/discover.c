/* discover.c - a path -> the CTF traces below it and their files.
 *
 * LTTng makes trees: kernel/ and ust/uid/0/64-bit/, chunks of a rotated session, snapshots. All that is of
 * one host is one trace, but for two recordings of the kernel, which are told apart by their UUIDs: each has its own
 * beginning, end and losses. A trace whose text begins with another's text and has its UUID is a chunk of
 * the same: it shares its classes.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/ctf/ctf.h"

#define MAX_TREE_DEPTH 12

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names in a directory, sorted, without hidden ones. */
static char **list(const char *dir, size_t *ret_n)
{
	DIR *d = opendir(dir);
	WW_VEC(char *) names = {0};
	struct dirent *e;

	while (d && (e = readdir(d)) && names.n < CTF_MAX_FILES)
		if (e->d_name[0] != '.')
			*ww_vec_push(&names) = ww_xstrdup(e->d_name);
	if (d)
		closedir(d);
	if (names.n)
		qsort(names.v, names.n, sizeof(names.v[0]), by_name);
	*ret_n = names.n;
	return names.v;
}

static void list_free(char **names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Is there a metadata file in this tree? */
static bool tree_probe(const char *path, int depth)
{
	char *meta = ww_xasprintf("%s/metadata", path);
	bool found = ctf_metadata_probe(meta) != 0;
	size_t n = 0;

	free(meta);
	if (found || depth >= MAX_TREE_DEPTH)
		return found;
	char **names = list(path, &n);
	for (size_t i = 0; i < n && !found; i++) {
		char *sub = ww_xasprintf("%s/%s", path, names[i]);
		struct stat st;
		/* No symbolic links below the path: they can make rings. */
		found = lstat(sub, &st) == 0 && S_ISDIR(st.st_mode) && tree_probe(sub, depth + 1);
		free(sub);
	}
	list_free(names, n);
	return found;
}

bool ctf_probe(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (is_dir(path))
		return tree_probe(path, 0);
	return !strcmp(slash ? slash + 1 : path, "metadata") && ctf_metadata_probe(path);
}

static int map_file(struct ctf_reader *r, struct ctf_sub *sub, const char *path, struct ww_err *err)
{
	struct stat st;
	struct ctf_file f = {.sub = sub};
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0) {
		int rc = ww_err_errno(err, path, "cannot open");
		if (fd >= 0)
			close(fd);
		return rc;
	}
	f.size = (size_t)st.st_size;
	if (f.size) {
		void *p = mmap(NULL, f.size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p == MAP_FAILED) {
			close(fd);
			return ww_err_errno(err, path, "cannot map");
		}
		(void)madvise(p, f.size, MADV_SEQUENTIAL);
		f.map = p;
	}
	close(fd);
	f.path = ww_xstrdup(path);
	r->t.stats.bytes += f.size;
	*ww_vec_push(&r->files) = f;
	return 0;
}

static int add_files(struct ctf_reader *r, struct ctf_sub *sub, struct ww_err *err)
{
	size_t n = 0;
	char **names = list(sub->dir, &n);
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		char *path = ww_xasprintf("%s/%s", sub->dir, names[i]);
		struct stat st;
		if (strcmp(names[i], "metadata") && stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
			if (r->files.n >= CTF_MAX_FILES)
				rc = ww_err_set(err, WW_ELIMIT, sub->dir, WW_ERR_NO_OFFSET, "over %u stream files",
						CTF_MAX_FILES);
			else
				rc = map_file(r, sub, path, err);
		}
		free(path);
	}
	list_free(names, n);
	return rc;
}

/* A stream's file of which only LTTng's index is left stands in the list as an empty one: its packets are missed. */
static void add_lost_files(struct ctf_reader *r, struct ctf_sub *sub)
{
	size_t n = 0;
	char *dir = ww_xasprintf("%s/index", sub->dir), **names = list(dir, &n);

	for (size_t i = 0; i < n && r->files.n < CTF_MAX_FILES; i++) {
		size_t len = strlen(names[i]);
		if (len < 5 || strcmp(names[i] + len - 4, ".idx"))
			continue;
		char *path = ww_xasprintf("%s/%.*s", sub->dir, (int)len - 4, names[i]);
		if (access(path, F_OK) && errno == ENOENT)
			*ww_vec_push(&r->files) = (struct ctf_file){.sub = sub, .path = path};
		else
			free(path);
	}
	free(dir);
	list_free(names, n);
}

/* Classes of a chunk whose metadata is the begin of another chunk's (or the other way round). */
static void share_metadata(struct ctf_reader *r, struct ctf_sub *sub)
{
	for (size_t i = 0; i < r->subs.n; i++) {
		struct ctf_sub *o = r->subs.v[i];
		struct ctf_meta *a = o->m, *b = sub->m;
		size_t n = WW_MIN(a->text_len, b->text_len);
		if (!o->owns_meta || !a->has_uuid || !b->has_uuid || memcmp(a->uuid, b->uuid, 16) ||
		    memcmp(a->text, b->text, n))
			continue;
		if (b->text_len > a->text_len) {
			for (size_t k = 0; k < r->subs.n; k++)
				if (r->subs.v[k]->m == a && k != i)
					r->subs.v[k]->m = b;
			o->m = b;
			ctf_meta_free(a);
		} else {
			ctf_meta_free(b);
			sub->m = a;
		}
		sub->owns_meta = false;
		return;
	}
}

/* What to name instead of a tree of several hosts, or recordings: the folders in it that hold traces. */
static void hint_folders(const char *root, const char *what, struct ww_err *err)
{
	char text[200] = "";
	size_t n = 0, len = 0, shown = 0, found = 0;
	char **names = list(root, &n);

	for (size_t i = 0; i < n; i++) {
		char *sub = ww_xasprintf("%s/%s", root, names[i]);
		if (is_dir(sub) && tree_probe(sub, 0)) {
			found++;
			if (len + strlen(sub) + 2 < sizeof(text)) {
				len += (size_t)snprintf(text + len, sizeof(text) - len, " %s", sub);
				shown++;
			}
		}
		free(sub);
	}
	list_free(names, n);
	if (found > 1)
		(void)ww_err_hint(err, "name one %s, or several by themselves:%s%s", what, text, shown < found ? " ..." : "");
	else
		(void)ww_err_hint(err, "name the folder of each %s by itself", what);
}

static bool is_kernel(const struct ctf_meta *m)
{
	return m->has_uuid && !strcmp(ctf_meta_env(m, "domain"), "kernel");
}

/* The trace may not be one with those that were found before. */
static int check_others(const struct ctf_reader *r, const struct ctf_sub *sub, struct ww_err *err)
{
	const char *host = ctf_meta_env(sub->m, "hostname");

	for (size_t i = 0; i < r->subs.n; i++) {
		const struct ctf_sub *o = r->subs.v[i];
		const char *other = ctf_meta_env(o->m, "hostname");
		if (*host && *other && strcmp(host, other)) {
			ww_err_set(err, WW_EUNSUPPORTED, sub->dir, WW_ERR_NO_OFFSET,
				   "traces of several hosts ('%s', '%s') in one tree", other, host);
			hint_folders(r->t.info.path, "host", err);
			return -WW_EUNSUPPORTED;
		}
		if (is_kernel(sub->m) && is_kernel(o->m) && memcmp(sub->m->uuid, o->m->uuid, 16)) {
			ww_err_set(err, WW_EUNSUPPORTED, sub->dir, WW_ERR_NO_OFFSET,
				   "several recordings in one tree: this one and %s", o->dir);
			hint_folders(r->t.info.path, "recording", err);
			return -WW_EUNSUPPORTED;
		}
	}
	return 0;
}

static int add_trace(struct ctf_reader *r, const char *dir, const char *meta, struct ww_err *err)
{
	struct ctf_sub *sub = ww_xcalloc(1, sizeof(*sub));
	int rc = ctf_meta_read(meta, &sub->m, err);

	if (rc) {
		free(sub);
		return rc;
	}
	sub->dir = ww_xstrdup(dir);
	sub->owns_meta = true;
	rc = check_others(r, sub, err);
	share_metadata(r, sub);
	*ww_vec_push(&r->subs) = sub;
	if (!rc)
		rc = add_files(r, sub, err);
	if (!rc)
		add_lost_files(r, sub);
	return rc;
}

static int tree(struct ctf_reader *r, const char *path, int depth, struct ww_err *err)
{
	char *meta = ww_xasprintf("%s/metadata", path);
	size_t n = 0;
	int rc = 0;

	if (ctf_metadata_probe(meta))
		rc = add_trace(r, path, meta, err);
	free(meta);
	if (rc || depth >= MAX_TREE_DEPTH)
		return rc;
	char **names = list(path, &n);
	for (size_t i = 0; i < n && !rc; i++) {
		char *sub = ww_xasprintf("%s/%s", path, names[i]);
		struct stat st;
		if (lstat(sub, &st) == 0 && S_ISDIR(st.st_mode))
			rc = tree(r, sub, depth + 1, err);
		free(sub);
	}
	list_free(names, n);
	return rc;
}

int ctf_discover(struct ctf_reader *r, const char *path, struct ww_err *err)
{
	int rc;

	r->t.info.path = ww_arena_strdup(&r->mem, path);

	if (is_dir(path)) {
		rc = tree(r, path, 0, err);
	} else {
		const char *slash = strrchr(path, '/');
		char *dir = slash ? ww_xasprintf("%.*s", (int)(slash - path), path) : ww_xstrdup(".");
		rc = add_trace(r, *dir ? dir : "/", path, err);
		free(dir);
	}
	if (!rc && !r->subs.n)
		return ww_err_set(err, WW_EFORMAT, path, WW_ERR_NO_OFFSET, "no CTF metadata in this tree");
	return rc;
}
