/* facts_key.c - is this still that trace, and this still that program? and where their facts file is.
 *
 * A trace is known by its files: name below the trace, size, time of change, first bytes; metadata as a whole. The
 * sum over the files does not depend on their order. Hidden files are no part of a trace. Of the program its build id,
 * which the linker makes of all code and data.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/pack.h"
#include "base/place.h"
#include "base/u64map.h"
#include "facts/facts_file.h"

#define MAX_DEPTH 16
#define HEAD_BYTES 4096u
#define METADATA_BYTES (64u << 20)

struct walk {
	struct ww_facts_key *key;
	struct ww_err *err;
	size_t skip; /* length of the trace's own path */
	uint32_t files;
};

static int add_content(struct walk *w, const char *path, size_t limit, uint64_t *h)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	uint8_t buf[HEAD_BYTES];

	if (fd < 0)
		return ww_err_errno(w->err, path, "cannot open");
	for (size_t left = limit; left;) {
		ssize_t n = read(fd, buf, WW_MIN(left, sizeof(buf)));
		if (n <= 0)
			break;
		*h = ww_hash_mix(*h, ww_checksum(buf, (size_t)n));
		left -= (size_t)n;
	}
	close(fd);
	return 0;
}

static int add_file(struct walk *w, const char *path, const struct stat *st)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	const bool metadata = !strcmp(name, "metadata");
	uint64_t h = ww_checksum(path + w->skip, strlen(path + w->skip));

	h = ww_hash_mix(h, (uint64_t)st->st_size);
	h = ww_hash_mix(h, (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec);
	int rc = add_content(w, path, metadata ? METADATA_BYTES : HEAD_BYTES, &h);
	w->key->trace += ww_hash_mix(h, 1);
	w->key->bytes += (uint64_t)st->st_size;
	w->files++;
	return rc;
}

static int add(struct walk *w, const char *path, int depth)
{
	struct dirent *e;
	struct stat st;
	int rc = 0;

	if (stat(path, &st))
		return ww_err_errno(w->err, path, "cannot read");
	if (S_ISREG(st.st_mode))
		return add_file(w, path, &st);
	if (!S_ISDIR(st.st_mode) || depth > MAX_DEPTH)
		return 0;
	DIR *d = opendir(path);
	if (!d)
		return ww_err_errno(w->err, path, "cannot read the directory");
	while (!rc && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		char *below = ww_xasprintf("%s/%s", path, e->d_name);
		rc = add(w, below, depth + 1);
		free(below);
	}
	closedir(d);
	return rc;
}

/* ---- this program ---- */

/* The note that the linker made, of the first object: the program itself. */
static int find_build_id(struct dl_phdr_info *info, size_t size, void *ret)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		const char *p = (const char *)(info->dlpi_addr + h->p_vaddr);

		for (size_t at = 0; h->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) <= h->p_memsz;) {
			const ElfW(Nhdr) *n = (const void *)(p + at);
			size_t name = (n->n_namesz + 3u) & ~3u, desc = (n->n_descsz + 3u) & ~3u;

			if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && !memcmp(n + 1, "GNU", 4))
				*(uint64_t *)ret = ww_checksum((const char *)(n + 1) + name, n->n_descsz);
			at += sizeof(*n) + name + desc;
		}
	}
	return 1;
}

static uint64_t program(void)
{
	uint64_t id = 0;
	struct stat st;

	dl_iterate_phdr(find_build_id, &id);
	if (!id && !stat("/proc/self/exe", &st)) /* linked without one */
		id = ww_hash_mix((uint64_t)st.st_size, (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec);
	return id;
}

static uint64_t layout(void)
{
	uint64_t h = ww_hash_mix(ww_fact_desc_count, (uint64_t)WW_STATE_MARK_ROWS << 32 | WW_RUN_MARK_ROWS);

	for (uint32_t i = 0; i < ww_fact_desc_count; i++)
		for (uint32_t c = 0; c < ww_fact_descs[i].ncols; c++) {
			const struct ww_column_desc *d = &ww_fact_descs[i].cols[c];

			h = ww_hash_mix(h, ww_checksum(ww_fact_descs[i].name, strlen(ww_fact_descs[i].name)));
			h = ww_hash_mix(h, ww_checksum(d->name, strlen(d->name)));
			h = ww_hash_mix(h, ww_checksum(d->unit, strlen(d->unit)));
			h = ww_hash_mix(h, d->size * 2 + d->is_signed);
		}
	return h;
}

int ww_facts_key_make(const char *trace_path, struct ww_facts_key *ret, struct ww_err *err)
{
	struct ww_facts_key key = {.program = program(), .layout = layout()};
	struct walk w = {.key = &key, .err = err, .skip = strlen(trace_path)};
	int rc = add(&w, trace_path, 0);

	if (rc)
		return rc;
	key.trace = ww_hash_mix(key.trace, w.files);
	*ret = key;
	return 0;
}

bool ww_facts_key_equal(const struct ww_facts_key *a, const struct ww_facts_key *b)
{
	return a->trace == b->trace && a->program == b->program && a->layout == b->layout && a->bytes == b->bytes;
}

/* ---- places ---- */

/* A .whywait in a directory that all may write to may be anybody's: read are one's own and root's, root reads all. */
static bool readable(const struct stat *st)
{
	return S_ISDIR(st->st_mode) && (st->st_uid == geteuid() || !st->st_uid || !geteuid());
}

void ww_facts_places_make(const char *trace_path, struct ww_facts_places *ret)
{
	char real[PATH_MAX], cache[PATH_MAX];
	struct stat st;

	*ret = (struct ww_facts_places){ww_xstrdup(""), ww_xstrdup(""), false};
	if (!realpath(trace_path, real) || stat(real, &st) || (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)))
		return;
	if (ww_place_cache("facts", real, ".facts", cache, sizeof(cache))) {
		free(ret->cache);
		ret->cache = ww_xstrdup(cache);
	}
	const char *name = S_ISDIR(st.st_mode) ? NULL : strrchr(real, '/') + 1;
	char *dir = name ? ww_xasprintf("%.*s", (int)WW_MAX(name - 1 - real, 1), real) : ww_xstrdup(real);
	char *hidden = ww_xasprintf("%s/.whywait", strcmp(dir, "/") ? dir : "");

	const bool there = !lstat(hidden, &st);
	if (there ? readable(&st) : ww_place_writable(dir)) {
		free(ret->beside);
		ret->beside = name ? ww_xasprintf("%s/%s.facts", hidden, name) : ww_xasprintf("%s/facts", hidden);
		ret->write_beside = ww_place_writable(there ? hidden : dir) && ww_place_writable(dir);
	}
	free(hidden);
	free(dir);
}

void ww_facts_places_release(struct ww_facts_places *p)
{
	free(p->beside);
	free(p->cache);
	*p = (struct ww_facts_places){0};
}
