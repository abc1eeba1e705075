/* pd_header.c - what stands before the events: who recorded what, and how records are laid out.
 *
 * File mode: a header of 104 bytes points at the attributes and at the data section; the feature
 * sections' table follows the data. Pipe mode: 16 bytes, then everything comes as records, the
 * descriptive ones before the first sample. Both end in the same functions.
 */
#include "format/perfdata/perfdata_private.h"

#define HOST_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
#define MAX_EVENT_FORMATS 65536
#define MAX_FORMAT_BYTES (1u << 20)

static struct ww_span span_at(const struct perfdata *t, uint64_t off, uint64_t len)
{
	if (off > t->map_len || len > t->map_len - off)
		return (struct ww_span){.bad = true};
	struct ww_span s = ww_span_of(t->map + off, (size_t)len);
	s.swap = t->swap;
	return s;
}

/* struct perf_header_string: a length that includes padding, then bytes with a NUL among them. */
static const char *read_string(struct perfdata *t, struct ww_span *s)
{
	uint32_t len = ww_span_u32(s);
	const char *p = ww_span_bytes(s, len);

	return p ? ww_arena_strndup(&t->mem, p, strnlen(p, len)) : "";
}

static void env_push(struct perfdata *t, const char *name, const char *value)
{
	*ww_vec_push(&t->env) = (struct ww_env){name, value};
}

/* ---- attributes ---- */

/* Bitfields are allocated from the other end on big-endian machines. */
static bool attr_flag(const struct perfdata *t, uint64_t flags, unsigned bit)
{
	return flags >> (t->big_endian ? 63 - bit : bit) & 1;
}

/* Reads an attribute of `avail` bytes at p. Returns its size in the file, 0 when it is damaged. */
static uint32_t attr_read(struct perfdata *t, const uint8_t *p, size_t avail, struct pd_attr *ret)
{
	uint8_t buf[PD_ATTR_VER0 * 2] = {0};

	if (avail < PD_ATTR_VER0)
		return 0;
	uint32_t size = pd_u32(t, p + PD_ATTR_SIZE);
	size = size ? size : PD_ATTR_VER0;
	if (size < PD_ATTR_VER0 || size > avail || size > PD_ATTR_MAX)
		return 0;
	memcpy(buf, p, WW_MIN(size, sizeof(buf)));
	*ret = (struct pd_attr){
		.type = pd_u32(t, buf + PD_ATTR_TYPE),
		.config = pd_u64(t, buf + PD_ATTR_CONFIG),
		.sample_type = pd_u64(t, buf + PD_ATTR_SAMPLE_TYPE),
		.read_format = pd_u64(t, buf + PD_ATTR_READ_FORMAT),
		.branch_type = pd_u64(t, buf + PD_ATTR_BRANCH),
		.regs_user_count = (uint32_t)__builtin_popcountll(pd_u64(t, buf + PD_ATTR_REGS_USER)),
		.regs_intr_count = (uint32_t)__builtin_popcountll(pd_u64(t, buf + PD_ATTR_REGS_INTR)),
		.clockid = (int32_t)pd_u32(t, buf + PD_ATTR_CLOCKID),
		.cls = WW_NONE,
	};
	uint64_t flags = pd_u64(t, buf + PD_ATTR_FLAGS);
	ret->sample_id_all = attr_flag(t, flags, PD_FLAG_SAMPLE_ID_ALL);
	ret->use_clockid = attr_flag(t, flags, PD_FLAG_USE_CLOCKID);
	pd_attr_layout(ret);
	return size;
}

static void id_add(struct perfdata *t, uint64_t id, uint32_t attr)
{
	if (!t->nids) /* the kernel counts them up, from its start on */
		t->dense_from = id - WW_MIN(id, PD_DENSE_IDS / 16);
	if (id - t->dense_from < PD_DENSE_IDS)
		t->dense[id - t->dense_from] = attr;
	else
		ww_u64map_put(&t->ids, id, attr);
	t->nids++;
}

static int ids_add(struct perfdata *t, struct ww_span *s, uint32_t attr)
{
	while (!s->bad && ww_span_left(s) >= 8)
		id_add(t, ww_span_u64(s), attr);
	return s->bad ? -WW_ECORRUPT : 0;
}

static int attrs_read(struct perfdata *t, uint64_t off, uint64_t size, uint64_t each, struct ww_err *err)
{
	struct ww_span all = span_at(t, off, size);
	const char *path = t->pub.info.path;

	if (all.bad)
		return ww_err_set(err, WW_ETRUNC, path, 24, "the attribute section lies outside the file");
	if (each < PD_ATTR_VER0 + 16 || each > PD_ATTR_MAX || size / each > PD_MAX_ATTRS)
		return ww_err_set(err, WW_ECORRUPT, path, 16,
				  "attributes of %" PRIu64 " bytes, %" PRIu64 " in all", each, size);
	for (uint64_t at = 0; at + each <= size; at += each) {
		const uint8_t *p = all.p + at;
		struct pd_attr a;

		if (!attr_read(t, p, each - 16, &a))
			return ww_err_set(err, WW_ECORRUPT, path, off + at, "event attribute is damaged");
		*ww_vec_push(&t->attrs) = a;
		struct ww_span ids = span_at(t, pd_u64(t, p + each - 16), pd_u64(t, p + each - 8));
		if (ids_add(t, &ids, (uint32_t)t->attrs.n - 1))
			return ww_err_set(err, WW_ECORRUPT, path, off + at + each - 16,
					  "event ids lie outside the file");
	}
	return 0;
}

/* ---- event formats: what trace.dat calls its header, as perf copies it ---- */

static int formats_read_events(struct perfdata *t, struct ww_span *s, struct ww_err *err)
{
	uint32_t nsys = ww_span_u32(s);

	for (uint32_t i = 0; i < nsys && !s->bad; i++) {
		const char *sys = ww_span_cstr(s);
		uint32_t n = ww_span_u32(s);

		for (uint32_t k = 0; k < n && !s->bad; k++) {
			uint64_t len = ww_span_u64(s);
			const char *text = len <= MAX_FORMAT_BYTES ? ww_span_bytes(s, (size_t)len) : NULL;
			struct ww_tep_event *e;

			if (!text || t->teps.n >= MAX_EVENT_FORMATS) {
				s->bad = true;
				break;
			}
			struct ww_err why = {0};
			int rc = ww_tep_parse(&t->mem, text, (size_t)len, sys, t->long_size, &e, &why);
			if (rc) {
				uint64_t at = (uint64_t)((const uint8_t *)text - t->map) + why.offset;
				rc = pd_damage(t, why.code, at, err, "%s", why.message);
				if (rc)
					return rc;
				continue;
			}
			*ww_vec_push(&t->teps) = e;
			ww_u64map_put(&t->tep_of_id, e->id, t->teps.n - 1);
		}
	}
	return 0;
}

static int formats_read(struct perfdata *t, struct ww_span s, struct ww_err *err)
{
	uint64_t base = s.p ? (uint64_t)(s.p - t->map) : 0;
	const char *magic = ww_span_bytes(&s, 10);

	if (!magic || memcmp(magic, "\x17\x08\x44tracing", 10))
		return pd_damage(t, WW_ECORRUPT, base, err, "the event formats do not begin with their magic");
	ww_span_cstr(&s); /* version */
	bool big = ww_span_u8(&s) != 0;
	s.swap = big != HOST_BIG_ENDIAN;
	t->long_size = ww_span_u8(&s);
	ww_span_skip(&s, 4); /* page size */
	ww_span_skip(&s, 12); /* "header_page" */
	uint64_t len = ww_span_u64(&s);
	ww_span_skip(&s, (size_t)WW_MIN(len, SIZE_MAX));
	ww_span_skip(&s, 13); /* "header_event" */
	len = ww_span_u64(&s);
	ww_span_skip(&s, (size_t)WW_MIN(len, SIZE_MAX));
	uint32_t nftrace = ww_span_u32(&s);
	for (uint32_t i = 0; i < nftrace && !s.bad; i++) {
		len = ww_span_u64(&s);
		ww_span_skip(&s, (size_t)WW_MIN(len, SIZE_MAX));
	}
	int rc = formats_read_events(t, &s, err);
	if (!rc && s.bad)
		rc = pd_damage(t, WW_ETRUNC, base + s.pos, err, "the event formats end early");
	return rc;
}

/* ---- feature sections ---- */

static void feature_cmdline(struct perfdata *t, struct ww_span *s)
{
	uint32_t n = ww_span_u32(s);
	const char *line = "";

	for (uint32_t i = 0; i < n && i < 4096 && !s->bad; i++) {
		const char *arg = read_string(t, s);
		line = i ? ww_arena_printf(&t->mem, "%s %s", line, arg) : arg;
		if (strlen(line) > 65536)
			break;
	}
	env_push(t, "cmdline", line);
}

/* Names by the id of the first instance, else by position. */
static void feature_event_desc(struct perfdata *t, struct ww_span *s)
{
	uint32_t n = ww_span_u32(s), attr_size = ww_span_u32(s);

	for (uint32_t i = 0; i < n && !s->bad; i++) {
		ww_span_skip(s, attr_size);
		uint32_t nids = ww_span_u32(s);
		const char *name = read_string(t, s);
		uint32_t attr = i;

		if (nids && ww_span_left(s) >= 8 && !s->bad) {
			struct ww_span first = *s;
			uint32_t known = pd_attr_of_id(t, ww_span_u64(&first));
			attr = known != WW_NONE ? known : i;
		}
		if (nids > ww_span_left(s) / 8)
			s->bad = true;
		ww_span_skip(s, 8 * (size_t)nids);
		if (!s->bad && attr < t->attrs.n)
			t->attrs.v[attr].name = name;
	}
}

static void feature_clock_data(struct perfdata *t, struct ww_span *s)
{
	struct ww_clock *c = &t->pub.info.clock;

	ww_span_u32(s); /* version */
	ww_span_u32(s); /* clock id: attributes say the same */
	uint64_t wall = ww_span_u64(s), clock = ww_span_u64(s);
	if (s->bad || wall > INT64_MAX || clock > INT64_MAX)
		return;
	c->offset_ns = (int64_t)wall - (int64_t)clock;
	c->epoch_known = true;
}

static int feature_read(struct perfdata *t, unsigned feat, struct ww_span s, struct ww_err *err)
{
	struct ww_trace_info *info = &t->pub.info;
	uint64_t at = s.p ? (uint64_t)(s.p - t->map) : 0;

	switch (feat) {
	case PD_FEAT_TRACING_DATA:
		return formats_read(t, s, err);
	case PD_FEAT_HOSTNAME:
		info->hostname = read_string(t, &s);
		break;
	case PD_FEAT_OSRELEASE:
		info->kernel_release = read_string(t, &s);
		break;
	case PD_FEAT_VERSION:
		info->tracer = ww_arena_printf(&t->mem, "perf %s", read_string(t, &s));
		break;
	case PD_FEAT_ARCH:
		info->arch = read_string(t, &s);
		break;
	case PD_FEAT_NRCPUS: {
		uint32_t available = ww_span_u32(&s), online = ww_span_u32(&s);
		info->ncpus = WW_MIN(WW_MAX(available, online), PD_MAX_CPUS);
		break;
	}
	case PD_FEAT_CPUDESC:
		env_push(t, "cpudesc", read_string(t, &s));
		break;
	case PD_FEAT_CMDLINE:
		feature_cmdline(t, &s);
		break;
	case PD_FEAT_EVENT_DESC:
		feature_event_desc(t, &s);
		break;
	case PD_FEAT_CLOCK_DATA:
		feature_clock_data(t, &s);
		break;
	default:
		return 0;
	}
	if (s.bad)
		return pd_damage(t, WW_ETRUNC, at, err, "feature section %u ends early", feat);
	return 0;
}

static bool has_feature(const struct perfdata *t, unsigned feat)
{
	return t->features[feat / 8] >> feat % 8 & 1;
}

/* The bitmap is an array of `long`, so files of the other byte order have words of 8 or of 4 bytes
 * swapped; the host name is always there and tells which. */
static void features_load(struct perfdata *t, const uint8_t *p)
{
	for (unsigned width = 8; width >= 4; width /= 2) {
		for (unsigned i = 0; i < sizeof(t->features); i++)
			t->features[i] = p[t->big_endian ? i / width * width + width - 1 - i % width : i];
		if (!t->big_endian || has_feature(t, PD_FEAT_HOSTNAME))
			return;
	}
}

static int features_read(struct perfdata *t, struct ww_err *err)
{
	uint64_t at = t->feat_pos;
	int rc = 0;

	for (unsigned feat = 1; feat < PD_FEAT_N && !rc; feat++) {
		if (!has_feature(t, feat))
			continue;
		struct ww_span entry = span_at(t, at, 16);
		uint64_t off = ww_span_u64(&entry), size = ww_span_u64(&entry);
		struct ww_span s = span_at(t, off, size);

		if (entry.bad || s.bad)
			rc = pd_damage(t, WW_ETRUNC, at, err, "feature section %u lies outside the file",
				       feat);
		else
			rc = feature_read(t, feat, s, err);
		if (entry.bad)
			break;
		at += 16;
	}
	return rc;
}

/* ---- pipe mode ---- */

uint64_t pd_record_extra(const struct perfdata *t, const uint8_t *rec, uint32_t size)
{
	uint32_t type = PD_TYPE(t, rec);

	if (type == PD_REC_HEADER_TRACING_DATA && size >= 12)
		return ((uint64_t)pd_u32(t, rec + 8) + 7) & ~7ull;
	if (type == PD_REC_AUXTRACE && size >= 16)
		return pd_u64(t, rec + 8);
	return 0;
}

static int record_event_update(struct perfdata *t, struct ww_span *s)
{
	enum { UPDATE_NAME = 2 };
	uint64_t type = ww_span_u64(s), id = ww_span_u64(s);
	uint32_t attr = pd_attr_of_id(t, id);

	if (s->bad || type != UPDATE_NAME || attr == WW_NONE)
		return 0;
	const char *p = (const char *)s->p + s->pos;
	t->attrs.v[attr].name = ww_arena_strndup(&t->mem, p, strnlen(p, ww_span_left(s)));
	return 0;
}

int pd_header_record(struct perfdata *t, const uint8_t *rec, uint64_t offset, struct ww_err *err)
{
	uint32_t size = PD_SIZE(t, rec);
	struct ww_span s = ww_span_of(rec, size);

	s.swap = t->swap;
	s.pos = PD_REC_HEADER_BYTES;
	switch (PD_TYPE(t, rec)) {
	case PD_REC_HEADER_ATTR: {
		struct pd_attr a;
		uint32_t n = attr_read(t, rec + s.pos, size - s.pos, &a);
		if (!n || t->attrs.n >= PD_MAX_ATTRS)
			return ww_err_set(err, n ? WW_ELIMIT : WW_ECORRUPT, t->pub.info.path, offset,
					  "event attribute is damaged");
		*ww_vec_push(&t->attrs) = a;
		ww_span_skip(&s, n);
		return ids_add(t, &s, (uint32_t)t->attrs.n - 1);
	}
	case PD_REC_EVENT_UPDATE:
		return record_event_update(t, &s);
	case PD_REC_HEADER_TRACING_DATA:
		return formats_read(t, span_at(t, offset + size, pd_record_extra(t, rec, size)), err);
	case PD_REC_HEADER_FEATURE: {
		uint64_t feat = ww_span_u64(&s);
		return feat < PD_FEAT_N ? feature_read(t, (unsigned)feat, s, err) : 0;
	}
	default:
		return 0;
	}
}

/* Reads the descriptive records in front of the first sample. */
static int pipe_read(struct perfdata *t, struct ww_err *err)
{
	uint64_t pos = t->data_pos;
	int rc = 0;

	while (!rc && t->map_len - pos >= PD_REC_HEADER_BYTES) {
		const uint8_t *rec = t->map + pos;
		uint32_t size = PD_SIZE(t, rec), type = PD_TYPE(t, rec);

		if (size < PD_REC_HEADER_BYTES || size > t->map_len - pos || type == PD_REC_SAMPLE ||
		    type == PD_REC_COMPRESSED || type == PD_REC_COMPRESSED2)
			break;
		uint64_t extra = pd_record_extra(t, rec, size);
		if (extra > t->map_len - pos - size)
			break;
		rc = pd_header_record(t, rec, pos, err);
		pos += size + extra;
	}
	return rc;
}

static int file_read(struct perfdata *t, struct ww_err *err)
{
	struct ww_span h = span_at(t, 0, PD_FILE_HEADER_BYTES);
	const char *path = t->pub.info.path;
	int rc;

	if (h.bad)
		return ww_err_set(err, WW_ETRUNC, path, t->map_len, "the file header ends early");
	h.pos = 16;
	uint64_t attr_size = ww_span_u64(&h), attrs_off = ww_span_u64(&h), attrs_size = ww_span_u64(&h);
	uint64_t data_off = ww_span_u64(&h), data_size = ww_span_u64(&h);

	rc = attrs_read(t, attrs_off, attrs_size, attr_size, err);
	if (rc)
		return rc;
	if (data_off > t->map_len)
		return ww_err_set(err, WW_ETRUNC, path, 40, "the data section lies outside the file");
	t->data_pos = data_off;
	if (!data_size || data_size > t->map_len - data_off) {
		/* perf was killed before it wrote the header for good, or the end is missing: the
		 * events are there, but names and formats, which follow them, are not. */
		t->data_end = t->map_len;
		return pd_damage(t, WW_ETRUNC, 48, err, "%s: the names and formats of the events, which stand last, are missing",
				 data_size ? "the file is cut" : "perf did not finish writing");
	}
	t->data_end = data_off + data_size;
	t->feat_pos = t->data_end;
	features_load(t, t->map + 72);
	t->dir = has_feature(t, PD_FEAT_DIR_FORMAT);
	return features_read(t, err);
}

int pd_header_read(struct perfdata *t, struct ww_err *err)
{
	const char *path = t->pub.info.path;

	if (t->map_len < PD_PIPE_HEADER_BYTES)
		return ww_err_set(err, WW_ETRUNC, path, t->map_len, "the file header ends early");
	if (!memcmp(t->map, PD_MAGIC_V1, 8)) {
		ww_err_set(err, WW_EUNSUPPORTED, path, 0, "perf.data of version 1 (before Linux 3.4)");
		return ww_err_hint(err, "convert it with: perf inject -i FILE -o NEW");
	}
	t->swap = !memcmp(t->map, PD_MAGIC_SWAPPED, 8);
	if (!t->swap && memcmp(t->map, PD_MAGIC, 8))
		return ww_err_set(err, WW_EFORMAT, path, 0, "not a perf.data file");
	t->big_endian = t->swap != HOST_BIG_ENDIAN;
	uint64_t size = pd_u64(t, t->map + 8);
	if (size == PD_PIPE_HEADER_BYTES) {
		t->pipe = true;
		t->data_pos = PD_PIPE_HEADER_BYTES;
		t->data_end = t->map_len;
		return pipe_read(t, err);
	}
	if (size != PD_FILE_HEADER_BYTES)
		return ww_err_set(err, WW_ECORRUPT, path, 8, "a file header of %" PRIu64 " bytes", size);
	return file_read(t, err);
}
