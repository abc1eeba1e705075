/* metadata.c - the metadata file: packets or plain text -> one text -> classes.
 *
 * A metadata packet is a header of 37 bytes, text, padding; sizes are in bits, in the byte order that
 * the magic number has. A text that begins with RS (0x1e) is CTF 2's sequence of JSON fragments, else it is
 * TSDL. source CTF 1.8.3 specification, section 7.1; CTF2-SPEC-2.0, section 5
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/span.h"
#include "format/ctf/meta.h"

#define META_MAGIC 0x75D11D57u
#define META_HEADER_BYTES 37u

size_t ctf_meta_file_offset(const struct ctf_meta *m, size_t text_off)
{
	size_t i = m->norigins;

	while (i > 0 && m->origins[i - 1].text > text_off)
		i--;
	return i ? m->origins[i - 1].file + (text_off - m->origins[i - 1].text) : text_off;
}

static bool is_packets(const uint8_t *p, size_t len, bool *ret_swap)
{
	uint32_t magic;

	if (len < 4)
		return false;
	memcpy(&magic, p, 4);
	*ret_swap = magic == __builtin_bswap32(META_MAGIC);
	return magic == META_MAGIC || *ret_swap;
}

/* Plain text metadata has no signature that must be there; the first word is one of few. */
static bool is_text(const uint8_t *p, size_t len)
{
	static const char *const begins[] = {"typealias", "trace",  "typedef", "struct", "env",   "clock",
					     "stream",    "event", "enum",    "variant", "callsite"};
	size_t i = 0;

	while (i < len && (p[i] == ' ' || p[i] == '\n' || p[i] == '\t' || p[i] == '\r'))
		i++;
	if (len - i >= 2 && p[i] == '/' && (p[i + 1] == '*' || p[i + 1] == '/'))
		return memmem(p, len, "CTF 1", 5) || memmem(p, len, "trace", 5);
	for (size_t k = 0; k < WW_ARRAY_SIZE(begins); k++) {
		size_t n = strlen(begins[k]);
		if (len - i > n && !memcmp(p + i, begins[k], n))
			return memchr(p + i, '{', len - i) != NULL;
	}
	return false;
}

static int probe_bytes(const uint8_t *p, size_t len)
{
	bool swap;

	if (len >= 2 && p[0] == 0x1e && (p[1] == '{' || p[1] == ' ' || p[1] == '\n'))
		return 2;
	return is_packets(p, len, &swap) || is_text(p, len) ? 1 : 0;
}

int ctf_metadata_probe(const char *path)
{
	uint8_t buf[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return 0;
	ssize_t n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, buf, sizeof(buf)) : 0;
	close(fd);
	return n > 0 ? probe_bytes(buf, (size_t)n) : 0;
}

static void add_text(struct ctf_meta *m, const void *p, size_t n, size_t file_off)
{
	m->origins = ww_xrealloc(m->origins, (m->norigins + 1) * sizeof(*m->origins));
	m->origins[m->norigins].text = m->text_len;
	m->origins[m->norigins++].file = file_off;
	memcpy(m->text + m->text_len, p, n);
	m->text_len += n;
}

static int unpack(struct ctf_meta *m, const uint8_t *bytes, size_t len, bool swap, struct ww_err *err)
{
	struct ww_span s = ww_span_of(bytes, len);

	s.swap = swap;
	while (ww_span_left(&s) > 0) {
		size_t at = s.pos;
		uint32_t magic = ww_span_u32(&s);
		const uint8_t *uuid = ww_span_bytes(&s, 16);
		ww_span_skip(&s, 4); /* checksum */
		uint64_t content = ww_span_u32(&s), packet = ww_span_u32(&s);
		uint8_t compression = ww_span_u8(&s), encryption = ww_span_u8(&s);
		ww_span_skip(&s, 1); /* kind of checksum */
		uint8_t major = ww_span_u8(&s), minor = ww_span_u8(&s);

		if (s.bad)
			return ww_err_set(err, WW_ETRUNC, m->path, at, "the header of a metadata packet is cut off");
		if (magic != META_MAGIC)
			return ww_err_set(err, WW_ECORRUPT, m->path, at, "0x%08x is not a metadata packet's magic number", magic);
		if (compression || encryption)
			return ww_err_set(err, WW_EUNSUPPORTED, m->path, at + 32, "compressed or encrypted metadata");
		if (major != 1 && major != 2)
			return ww_err_set(err, WW_EUNSUPPORTED, m->path, at + 35, "metadata of CTF %u.%u; 1.8 and 2 are read",
					  major, minor);
		if (content % 8 || packet % 8 || content < META_HEADER_BYTES * 8 || content > packet)
			return ww_err_set(err, WW_ECORRUPT, m->path, at + 24,
					  "a metadata packet of %" PRIu64 " bits with %" PRIu64 " bits of content", packet, content);
		if (content / 8 > len - at)
			return ww_err_set(err, WW_ETRUNC, m->path, at + 24, "a metadata packet of %" PRIu64 " bytes is cut off",
					  content / 8);
		if (!m->has_uuid) {
			memcpy(m->uuid, uuid, 16);
			m->has_uuid = true;
		} else if (memcmp(m->uuid, uuid, 16)) {
			return ww_err_set(err, WW_ECORRUPT, m->path, at + 4, "a metadata packet of another trace (UUID)");
		}
		add_text(m, bytes + s.pos, content / 8 - META_HEADER_BYTES, s.pos);
		s.pos = WW_MIN(at + packet / 8, len);
	}
	m->has_uuid = false; /* the trace block says it */
	return 0;
}

/* The default for errors whose place says no more than the code does. */
static void add_hint(struct ww_err *err)
{
	static const char *const hints[] = {
		[WW_ECORRUPT] = "the metadata was damaged, or its producer does not keep to the format; copy or record the trace again",
		[WW_ETRUNC] = "the metadata was cut off: copy the trace again, or stop the recording before it is read",
		[WW_ELIMIT] = "the metadata is far larger than a tracer writes; is it what it says?",
		[WW_EUNSUPPORTED] = "convert the trace, as with `babeltrace2 --output-format=ctf`",
	};

	if (err && err->code < (int)WW_ARRAY_SIZE(hints) && hints[err->code] && !*err->hint)
		(void)ww_err_hint(err, "%s", hints[err->code]);
}

int ctf_meta_parse(const char *path, const void *bytes, size_t len, struct ctf_meta **ret, struct ww_err *err)
{
	struct ctf_meta *m = ww_xcalloc(1, sizeof(*m));
	bool swap = false;
	int rc = 0;

	ww_arena_init(&m->mem);
	m->path = ww_arena_strdup(&m->mem, path);
	m->order = CTF_LE;
	if (len > CTF_MAX_METADATA) {
		rc = ww_err_set(err, WW_ELIMIT, path, CTF_MAX_METADATA, "metadata of over %u MB", CTF_MAX_METADATA >> 20);
		goto out;
	}
	m->text = ww_xmalloc(len + 1);
	if (is_packets(bytes, len, &swap))
		rc = unpack(m, bytes, len, swap, err);
	else
		add_text(m, bytes, len, 0);
	if (rc)
		goto out;
	m->text[m->text_len] = 0;
	m->version = m->text_len && m->text[0] == 0x1e ? 2 : 1;
	rc = m->version == 2 ? ctf2_parse(m, err) : ctf_tsdl_parse(m, err);
	if (!rc && m->version == 1 && !m->has_trace)
		rc = ww_err_set(err, WW_ECORRUPT, path, ctf_meta_file_offset(m, m->text_len), "no trace block");
	if (!rc)
		rc = ctf_resolve(m, err);
out:
	if (rc) {
		add_hint(err);
		ctf_meta_free(m);
		return rc;
	}
	*ret = m;
	return 0;
}

int ctf_meta_read(const char *path, struct ctf_meta **ret, struct ww_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;
	struct stat st;
	uint8_t *buf = NULL;
	size_t n = 0;

	if (fd < 0 || fstat(fd, &st) < 0) {
		rc = ww_err_errno(err, path, "cannot open");
		goto out;
	}
	if (st.st_size > (off_t)CTF_MAX_METADATA) {
		rc = ww_err_set(err, WW_ELIMIT, path, CTF_MAX_METADATA, "metadata of over %u MB", CTF_MAX_METADATA >> 20);
		add_hint(err);
		goto out;
	}
	buf = ww_xmalloc((size_t)st.st_size + 1);
	while (n < (size_t)st.st_size) {
		ssize_t r = read(fd, buf + n, (size_t)st.st_size - n);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0) {
			rc = ww_err_errno(err, path, "cannot read");
			goto out;
		}
		if (!r)
			break;
		n += (size_t)r;
	}
	rc = ctf_meta_parse(path, buf, n, ret, err);
out:
	free(buf);
	if (fd >= 0)
		close(fd);
	return rc;
}

void ctf_meta_free(struct ctf_meta *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->streams.n; i++)
		ww_u64map_release(&m->streams.v[i]->by_id);
	ww_vec_free(&m->env);
	ww_vec_free(&m->clocks);
	ww_vec_free(&m->streams);
	ww_vec_free(&m->events);
	free(m->text);
	free(m->origins);
	ww_arena_release(&m->mem);
	free(m);
}

const struct ctf_stream_class *ctf_meta_stream(const struct ctf_meta *m, uint64_t id)
{
	for (size_t i = 0; i < m->streams.n; i++)
		if (m->streams.v[i]->id == id)
			return m->streams.v[i];
	return NULL;
}

const char *ctf_meta_env(const struct ctf_meta *m, const char *name)
{
	for (size_t i = 0; i < m->env.n; i++)
		if (!strcmp(m->env.v[i].name, name))
			return m->env.v[i].value;
	return "";
}
