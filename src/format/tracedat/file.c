/* file.c - the beginning of the file, and what stands where in the two versions. Version 6 is one row
 * of parts without a table of contents; version 7 has sections that options point to. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "format/tracedat/private.h"

static const uint8_t magic[10] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};

bool td_file_probe(const char *path)
{
	uint8_t buf[sizeof(magic)];
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return false;
	bool yes = !fstat(fd, &st) && S_ISREG(st.st_mode) && read(fd, buf, sizeof(buf)) == sizeof(buf) &&
		   !memcmp(buf, magic, sizeof(magic));
	close(fd);
	return yes;
}

void td_env(struct td_trace *t, const char *name, const char *value)
{
	*ww_vec_push(&t->file.env) = (struct ww_env){.name = name, .value = value};
}

static int map_file(struct td_file *f, const char *path, struct ww_err *err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	f->path = path;
	if (fd < 0)
		return ww_err_errno(err, path, "cannot open");
	if (fstat(fd, &st)) {
		int rc = ww_err_errno(err, path, "cannot stat");
		close(fd);
		return rc;
	}
	f->bytes = (size_t)st.st_size;
	if (f->bytes) {
		void *p = mmap(NULL, f->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p == MAP_FAILED) {
			int rc = ww_err_errno(err, path, "cannot map");
			close(fd);
			return rc;
		}
		f->map = p;
	}
	close(fd);
	return 0;
}

void td_file_close(struct td_file *f)
{
	if (f->map)
		munmap((void *)(uintptr_t)f->map, f->bytes);
	ZSTD_freeDCtx(f->dctx);
	ww_vec_free(&f->buffers);
	ww_vec_free(&f->cpus);
	ww_vec_free(&f->env);
	ww_vec_free(&f->comms);
}

/* Magic, version, byte order, sizes. */
static int read_start(struct td_file *f, struct ww_span *s, struct ww_err *err)
{
	const void *m = ww_span_bytes(s, sizeof(magic));

	if (!m || memcmp(m, magic, sizeof(magic)))
		return ww_err_set(err, WW_EFORMAT, f->path, 0, "this is not a trace.dat file");
	size_t at = s->pos;
	const char *version = ww_span_cstr(s);
	if (!version)
		return ww_err_set(err, WW_ETRUNC, f->path, at, "the file ends in its version");
	if (strcmp(version, "6") && strcmp(version, "7")) {
		ww_err_set(err, WW_EUNSUPPORTED, f->path, at, "trace.dat of version \"%.20s\"", version);
		return ww_err_hint(err, "versions 6 and 7 are read; trace-cmd convert makes one of another");
	}
	f->version = version[0] - '0';
	uint8_t big = ww_span_u8(s), long_size = ww_span_u8(s);
	f->big = big != 0;
	f->swap = f->big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	s->swap = f->swap;
	f->page_bytes = ww_span_u32(s);
	if (s->bad)
		return ww_err_set(err, WW_ETRUNC, f->path, s->len, "the file ends in its first header");
	if (big > 1 || (long_size != 4 && long_size != 8))
		return ww_err_set(err, WW_ECORRUPT, f->path, at + 2, "byte order %u, size of long %u", big,
				  long_size);
	if (f->page_bytes < 64 || f->page_bytes > TD_MAX_PAGE_BYTES)
		return ww_err_set(err, WW_ELIMIT, f->path, at + 4, "a page size of %u bytes", f->page_bytes);
	f->long_size = long_size;
	return 0;
}

/* Version 6: a size and so many bytes. */
static int sized(struct td_file *f, struct ww_span *s, unsigned size_bytes, const char *what,
		 struct ww_span *ret, struct ww_err *err)
{
	size_t at = s->pos;
	uint64_t n = size_bytes == 8 ? ww_span_u64(s) : ww_span_u32(s);

	*ret = n > ww_span_left(s) ? (struct ww_span){.bad = true} : ww_span_sub(s, n);
	if (s->bad || ret->bad)
		return ww_err_set(err, WW_ETRUNC, f->path, at, "%s has %" PRIu64 " bytes, the file only %zu more",
				  what, n, ww_span_left(s));
	return 0;
}

static int open_v6(struct td_trace *t, struct ww_span *s, struct ww_err *err)
{
	struct td_file *f = &t->file;
	struct ww_span part;
	int rc = td_meta_headers(t, s, err);

	if (!rc)
		rc = td_meta_ftrace(t, s, err);
	if (!rc)
		rc = td_meta_events(t, s, err);
	if (!rc)
		rc = sized(f, s, 4, "kallsyms", &f->kallsyms, err);
	if (!rc)
		rc = sized(f, s, 4, "the printk formats", &part, err);
	if (!rc)
		rc = td_meta_cmdlines(t, s, err);
	if (rc)
		return rc;
	f->cpu_count = ww_span_u32(s);
	if (s->bad || f->cpu_count > TD_MAX_CPUS)
		return ww_err_set(err, s->bad ? WW_ETRUNC : WW_ELIMIT, f->path, s->pos, "%u CPUs", f->cpu_count);
	*ww_vec_push(&f->buffers) = (struct td_buffer){.name = "", .clock = "", .page_bytes = f->page_bytes};
	return td_options_v6(t, s, err);
}

static int open_v7(struct td_trace *t, struct ww_span *s, struct ww_err *err)
{
	struct td_file *f = &t->file;
	size_t at = s->pos;
	const char *name = ww_span_cstr(s);

	ww_span_cstr(s); /* the compression library's version */
	uint64_t options = ww_span_u64(s);
	if (s->bad)
		return ww_err_set(err, WW_ETRUNC, f->path, at, "the file ends in its first header");
	if (!strcmp(name, "zstd"))
		f->compression = TD_ZSTD;
	else if (!strcmp(name, "zlib"))
		f->compression = TD_ZLIB;
	else if (strcmp(name, "none")) {
		ww_err_set(err, WW_EUNSUPPORTED, f->path, at, "compressed by \"%.40s\"", name);
		return ww_err_hint(err, "zstd and zlib are read; trace-cmd convert --compression zstd");
	}
	return td_options_v7(t, options, err);
}

int td_file_open(struct td_trace *t, const char *path, struct ww_err *err)
{
	struct td_file *f = &t->file;
	int rc = map_file(f, path, err);

	if (rc)
		return rc;
	struct ww_span s = ww_span_of(f->map, f->bytes);
	rc = read_start(f, &s, err);
	if (!rc)
		rc = f->version == 6 ? open_v6(t, &s, err) : open_v7(t, &s, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < f->buffers.n; i++) {
		struct td_buffer *b = &f->buffers.v[i];
		b->page_bytes = WW_MAX(b->page_bytes, f->sub_buffer_bytes);
	}
	return 0;
}
