/* meta.c - the contents of the metadata: ring-buffer headers, event formats, saved thread names. The
 * same bytes in both versions, in place or in a section. */
#include "format/tracedat/private.h"

static uint64_t at(const struct td_trace *t, const struct ww_span *s)
{
	const uint8_t *p = s->p, *map = t->file.map;
	/* in a section that was uncompressed the file has no such place */
	return p >= map && p <= map + t->file.bytes ? (uint64_t)(p - map) + s->pos : WW_ERR_NO_OFFSET;
}

/* "NAME\0", u64 size, text. */
static int named_text(struct td_trace *t, struct ww_span *s, const char *name, struct ww_span *ret,
		      struct ww_err *err)
{
	uint64_t off = at(t, s);
	const char *got = ww_span_cstr(s);

	if (!got || strcmp(got, name))
		return ww_err_set(err, got ? WW_ECORRUPT : WW_ETRUNC, t->file.path, off, "%s is missing", name);
	uint64_t n = ww_span_u64(s);
	if (s->bad || n > ww_span_left(s))
		return ww_err_set(err, WW_ETRUNC, t->file.path, off, "%s has %" PRIu64 " bytes, %zu are left",
				  name, n, ww_span_left(s));
	*ret = ww_span_sub(s, n);
	return 0;
}

/* The number behind "key:" in the line that has "word". */
static bool header_number(const struct ww_span *text, const char *word, const char *key, uint32_t *ret)
{
	const char *p = (const char *)text->p, *end = p + text->len;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *stop = nl ? nl : end;
		const char *w = memmem(p, (size_t)(stop - p), word, strlen(word));
		const char *k = w ? memmem(w, (size_t)(stop - w), key, strlen(key)) : NULL;
		if (k) {
			uint64_t v = 0;
			k += strlen(key);
			const char *digits = k;
			for (; k < stop && *k >= '0' && *k <= '9' && v < UINT32_MAX; k++)
				v = v * 10 + (uint64_t)(*k - '0');
			*ret = (uint32_t)v;
			return k > digits && v < UINT32_MAX;
		}
		p = stop + 1;
	}
	return false;
}

int td_meta_headers(struct td_trace *t, struct ww_span *s, struct ww_err *err)
{
	struct td_file *f = &t->file;
	struct ww_span page, event;
	uint64_t off = at(t, s);
	uint32_t data_size = 0;
	int rc = named_text(t, s, "header_page", &page, err);

	if (!rc)
		rc = named_text(t, s, "header_event", &event, err);
	if (rc)
		return rc;
	bool fine = header_number(&page, " timestamp;", "offset:", &f->ts_off) &&
		    header_number(&page, " commit;", "offset:", &f->commit_off) &&
		    header_number(&page, " commit;", "size:", &f->commit_size) &&
		    header_number(&page, " data;", "offset:", &f->data_off) &&
		    header_number(&page, " data;", "size:", &data_size);
	if (!fine || (f->commit_size != 4 && f->commit_size != 8))
		return ww_err_set(err, WW_ECORRUPT, f->path, off, "header_page does not describe a page");
	uint64_t all = (uint64_t)f->data_off + data_size;
	if (all > TD_MAX_PAGE_BYTES || f->data_off > 4096 || (uint64_t)f->ts_off + 8 > f->data_off ||
	    (uint64_t)f->commit_off + f->commit_size > f->data_off)
		return ww_err_set(err, WW_ELIMIT, f->path, off,
				  "header_page: a page of %" PRIu64 " bytes, data at %u", all, f->data_off);
	f->sub_buffer_bytes = (uint32_t)all;
	f->long_size = (uint8_t)f->commit_size;
	if (!memmem(event.p, event.len, "type_len", 8)) {
		ww_err_set(err, WW_EUNSUPPORTED, f->path, off, "the ring buffer's format is that of Linux 2.6.30");
		return ww_err_hint(err, "kernels since 2.6.31 are read");
	}
	return 0;
}

/* u64 size, format text. A format that cannot be read costs its own events only. */
static int one_format(struct td_trace *t, struct ww_span *s, const char *system, struct ww_err *err)
{
	uint64_t off = at(t, s), n = ww_span_u64(s);
	struct ww_err why = {0};

	if (s->bad || n > ww_span_left(s))
		return ww_err_set(err, WW_ETRUNC, t->file.path, off,
				  "an event format of %s has %" PRIu64 " bytes, %zu are left", system, n,
				  ww_span_left(s));
	if (n > TD_MAX_FORMAT_BYTES)
		return ww_err_set(err, WW_ELIMIT, t->file.path, off, "an event format of %s has %" PRIu64 " bytes",
				  system, n);
	const char *text = ww_span_bytes(s, n);
	int rc = td_class_add(t, system, text, n, &why);
	if (!rc)
		return 0;
	return td_damage(t, -1, off, -rc, err, "%s", why.message);
}

int td_meta_ftrace(struct td_trace *t, struct ww_span *s, struct ww_err *err)
{
	uint64_t off = at(t, s);
	uint32_t n = ww_span_u32(s);
	int rc = 0;

	if (s->bad || n > TD_MAX_EVENTS)
		return ww_err_set(err, s->bad ? WW_ETRUNC : WW_ELIMIT, t->file.path, off, "%u ftrace events", n);
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = one_format(t, s, "ftrace", err);
	return rc;
}

int td_meta_events(struct td_trace *t, struct ww_span *s, struct ww_err *err)
{
	uint64_t off = at(t, s);
	uint32_t systems = ww_span_u32(s);
	int rc = 0;

	if (s->bad || systems > TD_MAX_EVENTS)
		return ww_err_set(err, s->bad ? WW_ETRUNC : WW_ELIMIT, t->file.path, off, "%u systems of events",
				  systems);
	for (uint32_t i = 0; i < systems && !rc; i++) {
		off = at(t, s);
		const char *system = ww_span_cstr(s);
		uint32_t n = ww_span_u32(s);
		if (s->bad || n > TD_MAX_EVENTS)
			return ww_err_set(err, s->bad ? WW_ETRUNC : WW_ELIMIT, t->file.path, off,
					  "a system of %u events", n);
		for (uint32_t k = 0; k < n && !rc; k++)
			rc = one_format(t, s, system, err);
	}
	return rc;
}

/* Lines "PID COMM". */
int td_meta_cmdlines(struct td_trace *t, struct ww_span *s, struct ww_err *err)
{
	struct td_file *f = &t->file;
	uint64_t off = at(t, s), n = ww_span_u64(s);

	if (s->bad || n > ww_span_left(s))
		return ww_err_set(err, WW_ETRUNC, f->path, off, "the saved thread names have %" PRIu64 " bytes", n);
	const char *p = ww_span_bytes(s, n), *end = p + n;
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *stop = nl ? nl : end;
		int64_t tid = 0;
		const char *q = p;
		for (; q < stop && *q >= '0' && *q <= '9' && tid < INT32_MAX; q++)
			tid = tid * 10 + (*q - '0');
		if (q > p && q + 1 < stop && *q == ' ' && tid <= INT32_MAX && f->comms.n < TD_MAX_EVENTS) {
			const char *comm = ww_arena_strndup(&t->mem, q + 1, (size_t)(stop - q - 1));
			*ww_vec_push(&f->comms) = (struct ww_saved_comm){.tid = (int32_t)tid, .comm = comm};
		}
		p = stop + 1;
	}
	return 0;
}
