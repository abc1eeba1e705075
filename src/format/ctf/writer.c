/* writer.c - CTF 1.8 out: metadata text from a class table, and packets from user space. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "format/ctf/writer.h"

#define META_PACKET_BYTES 4096
#define PACKET_BYTES (256 * 1024) /* when this much is buffered, it is written */
#define RECORD_MAX_BYTES (64 * 1024)
#define EXTENDED_ID 65535

/* CTF 1.8 7.1: a metadata packet's own header. */
struct meta_header {
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t checksum;
	uint32_t content_bits, packet_bits;
	uint8_t compression, encryption, checksum_scheme, major, minor;
} __attribute__((packed));
_Static_assert(sizeof(struct meta_header) == 37, "on-disk layout");

static const char head_types[] =
	"typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	"typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := unsigned long;\n"
	"typealias integer { size = 5; align = 1; signed = false; } := uint5_t;\n"
	"typealias integer { size = 27; align = 1; signed = false; } := uint27_t;\n\n";

static const char packet_header[] =
	"\tpacket.header := struct {\n"
	"\t\tuint32_t magic;\n"
	"\t\tuint8_t  uuid[16];\n"
	"\t\tuint32_t stream_id;\n"
	"\t\tuint64_t stream_instance_id;\n"
	"\t};\n"
	"};\n\n";

static const char clock_types[] =
	"typealias integer {\n"
	"\tsize = 27; align = 1; signed = false;\n"
	"\tmap = clock.monotonic.value;\n"
	"} := uint27_clock_monotonic_t;\n\n"
	"typealias integer {\n"
	"\tsize = 32; align = 8; signed = false;\n"
	"\tmap = clock.monotonic.value;\n"
	"} := uint32_clock_monotonic_t;\n\n"
	"typealias integer {\n"
	"\tsize = 64; align = 8; signed = false;\n"
	"\tmap = clock.monotonic.value;\n"
	"} := uint64_clock_monotonic_t;\n\n";

static const char stream_types[] =
	"struct packet_context {\n"
	"\tuint64_clock_monotonic_t timestamp_begin;\n"
	"\tuint64_clock_monotonic_t timestamp_end;\n"
	"\tuint64_t content_size;\n"
	"\tuint64_t packet_size;\n"
	"\tuint64_t packet_seq_num;\n"
	"\tunsigned long events_discarded;\n"
	"\tuint32_t cpu_id;\n"
	"};\n\n"
	"struct event_header_compact {\n"
	"\tenum : uint5_t { compact = 0 ... 30, extended = 31 } id;\n"
	"\tvariant <id> {\n"
	"\t\tstruct {\n"
	"\t\t\tuint27_clock_monotonic_t timestamp;\n"
	"\t\t} compact;\n"
	"\t\tstruct {\n"
	"\t\t\tuint32_t id;\n"
	"\t\t\tuint64_clock_monotonic_t timestamp;\n"
	"\t\t} extended;\n"
	"\t} v;\n"
	"} align(8);\n\n"
	"struct event_header_large {\n"
	"\tenum : uint16_t { compact = 0 ... 65534, extended = 65535 } id;\n"
	"\tvariant <id> {\n"
	"\t\tstruct {\n"
	"\t\t\tuint32_clock_monotonic_t timestamp;\n"
	"\t\t} compact;\n"
	"\t\tstruct {\n"
	"\t\t\tuint32_t id;\n"
	"\t\t\tuint64_clock_monotonic_t timestamp;\n"
	"\t\t} extended;\n"
	"\t} v;\n"
	"} align(8);\n\n"
	"stream {\n"
	"\tid = 0;\n"
	"\tevent.header := struct event_header_large;\n"
	"\tpacket.context := struct packet_context;\n"
	"};\n\n";

/* A TSDL string literal; what would end it or a line is escaped. */
static void print_quoted(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', f);
		if (*s == '\n')
			fputs("\\n", f);
		else
			fputc(*s, f);
	}
	fputc('"', f);
}

static void print_env_text(FILE *f, const char *name, const char *value)
{
	fprintf(f, "\t%s = ", name);
	print_quoted(f, value);
	fputs(";\n", f);
}

static void print_uuid(FILE *f, const uint8_t u[16])
{
	for (int i = 0; i < 16; i++)
		fprintf(f, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
}

static void print_env(FILE *f, const struct ww_ctf_meta *m)
{
	struct utsname u;

	uname(&u);
	fputs("env {\n", f);
	print_env_text(f, "hostname", u.nodename);
	print_env_text(f, "domain", "kernel");
	print_env_text(f, "sysname", u.sysname);
	print_env_text(f, "kernel_release", u.release);
	print_env_text(f, "kernel_version", u.version);
	/* Readers choose their handlers by these: the events are those of this version of LTTng. */
	fputs("\ttracer_name = \"lttng-modules\";\n"
	      "\ttracer_major = 2;\n"
	      "\ttracer_minor = 13;\n"
	      "\ttracer_patchlevel = 9;\n"
	      "\ttrace_buffering_scheme = \"global\";\n", f);
	print_env_text(f, "trace_name", m->trace_name);
	print_env_text(f, "trace_creation_datetime", m->creation);
	for (const struct ww_ctf_env *e = m->env; e && e->name; e++)
		print_env_text(f, e->name, e->value);
	fputs("};\n\n", f);
}

static void print_class(FILE *f, const struct ww_ctf_class *c)
{
	fprintf(f, "event {\n\tname = \"%s\";\n\tid = %u;\n\tstream_id = 0;\n\tfields := struct {\n", c->name,
		c->id);
	for (const char *p = c->fields; *p;) {
		size_t n = strcspn(p, "\n");
		if (n)
			fprintf(f, "\t\t%.*s\n", (int)n, p);
		p += n + (p[n] == '\n');
	}
	fputs("\t};\n};\n\n", f);
}

static void print_meta(FILE *f, const struct ww_ctf_meta *m)
{
	fputs(head_types, f);
	fputs("trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"", f);
	print_uuid(f, m->uuid);
	fputs("\";\n\tbyte_order = le;\n", f);
	fputs(packet_header, f);
	print_env(f, m);
	fprintf(f,
		"clock {\n"
		"\tname = \"monotonic\";\n"
		"\tuuid = \"%s\";\n"
		"\tdescription = \"Monotonic Clock\";\n"
		"\tfreq = 1000000000; /* Frequency, in Hz */\n"
		"\t/* clock value offset from Epoch is: offset * (1/freq) */\n"
		"\toffset = %" PRId64 ";\n"
		"};\n\n",
		m->clock_uuid, m->clock_offset_ns);
	fputs(clock_types, f);
	fputs(stream_types, f);
	for (uint32_t i = 0; i < m->nclasses; i++)
		print_class(f, &m->classes[i]);
}

static int write_all(int fd, const void *p, size_t n)
{
	while (n) {
		ssize_t r = write(fd, p, n);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -1;
		if (r == 0) {
			errno = ENOSPC;
			return -1;
		}
		p = (const char *)p + r;
		n -= (size_t)r;
	}
	return 0;
}

static int write_meta_packets(int fd, const uint8_t uuid[16], const char *text, size_t len)
{
	uint8_t pkt[META_PACKET_BYTES];
	const size_t room = sizeof(pkt) - sizeof(struct meta_header);

	for (size_t at = 0; at < len; at += room) {
		size_t n = WW_MIN(room, len - at);
		struct meta_header h = {.magic = WW_CTF_META_MAGIC, .major = 1, .minor = 8,
					.content_bits = (uint32_t)(sizeof(h) + n) * 8,
					.packet_bits = sizeof(pkt) * 8};
		memcpy(h.uuid, uuid, 16);
		memset(pkt, 0, sizeof(pkt));
		memcpy(pkt, &h, sizeof(h));
		memcpy(pkt + sizeof(h), text + at, n);
		if (write_all(fd, pkt, sizeof(pkt)))
			return -1;
	}
	return 0;
}

int ww_ctf_meta_write(int dirfd, const char *name, const struct ww_ctf_meta *m, struct ww_err *err)
{
	char *text = NULL;
	size_t len = 0;
	char part[64];
	FILE *f = open_memstream(&text, &len);
	int rc = 0;

	if (!f)
		return ww_err_errno(err, name, "cannot make the metadata");
	print_meta(f, m);
	if (fclose(f)) {
		free(text);
		return ww_err_errno(err, name, "cannot make the metadata");
	}
	snprintf(part, sizeof(part), "%s.part", name);
	int fd = openat(dirfd, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (fd < 0)
		rc = ww_err_errno(err, name, "cannot create");
	else if (write_meta_packets(fd, m->uuid, text, len))
		rc = ww_err_errno(err, name, "cannot write");
	if (fd >= 0 && close(fd) && !rc)
		rc = ww_err_errno(err, name, "cannot write");
	if (!rc && syscall(SYS_renameat2, dirfd, part, dirfd, name, 1 /* RENAME_NOREPLACE */))
		rc = ww_err_errno(err, name, "cannot create");
	if (rc && fd >= 0)
		unlinkat(dirfd, part, 0);
	free(text);
	return rc;
}

int ww_ctf_uuid_make(uint8_t uuid[16], struct ww_err *err)
{
	if (getrandom(uuid, 16, 0) != 16)
		return ww_err_errno(err, "", "no random numbers for the trace's uuid");
	uuid[6] = (uint8_t)((uuid[6] & 0x0f) | 0x40);
	uuid[8] = (uint8_t)((uuid[8] & 0x3f) | 0x80);
	return 0;
}

/* ---- packets ---- */

int ww_ctf_out_open(struct ww_ctf_out *o, int dirfd, const char *name, const uint8_t uuid[16],
		    uint64_t instance, uint32_t cpu, struct ww_err *err)
{
	struct ww_packet_file f;
	int rc = ww_packet_file_open(&f, dirfd, name, O_EXCL, 0640, err);

	if (rc)
		return rc;
	*o = (struct ww_ctf_out){.file = f, .cpu = cpu, .instance = instance};
	memcpy(o->uuid, uuid, 16);
	o->cap = PACKET_BYTES + RECORD_MAX_BYTES;
	o->buf = aligned_alloc(WW_PACKET_ALIGN, o->cap);
	WW_ASSERT(o->buf);
	o->len = sizeof(struct ww_ctf_packet_header);
	return 0;
}

void ww_ctf_rec_bytes(struct ww_ctf_out *o, const void *p, size_t n)
{
	if (o->rec_bad || n > o->cap - o->len) {
		o->rec_bad = true;
		return;
	}
	if (n)
		memcpy(o->buf + o->len, p, n);
	o->len += n;
}

void ww_ctf_rec_u8(struct ww_ctf_out *o, uint8_t v)
{
	ww_ctf_rec_bytes(o, &v, sizeof(v));
}

void ww_ctf_rec_u16(struct ww_ctf_out *o, uint16_t v)
{
	ww_ctf_rec_bytes(o, &v, sizeof(v));
}

void ww_ctf_rec_u32(struct ww_ctf_out *o, uint32_t v)
{
	ww_ctf_rec_bytes(o, &v, sizeof(v));
}

void ww_ctf_rec_i32(struct ww_ctf_out *o, int32_t v)
{
	ww_ctf_rec_bytes(o, &v, sizeof(v));
}

void ww_ctf_rec_u64(struct ww_ctf_out *o, uint64_t v)
{
	ww_ctf_rec_bytes(o, &v, sizeof(v));
}

void ww_ctf_rec_str(struct ww_ctf_out *o, const char *s)
{
	ww_ctf_rec_bytes(o, s, strlen(s) + 1);
}

void ww_ctf_rec_text(struct ww_ctf_out *o, const char *s, size_t n)
{
	size_t len = strnlen(s, n);

	ww_ctf_rec_bytes(o, s, len);
	for (; len < n; len++)
		ww_ctf_rec_u8(o, 0);
}

int ww_ctf_rec_begin(struct ww_ctf_out *o, uint32_t class_id, uint64_t ts_ns, struct ww_err *err)
{
	if (o->len >= PACKET_BYTES) {
		int rc = ww_ctf_out_flush(o, err);
		if (rc)
			return rc;
	}
	ts_ns = WW_MAX(ts_ns, o->last_ts_ns);
	o->last_ts_ns = ts_ns;
	if (o->len == sizeof(struct ww_ctf_packet_header))
		o->begin_ts_ns = ts_ns;
	o->rec_at = o->len;
	o->rec_bad = false;
	ww_ctf_rec_u16(o, EXTENDED_ID); /* whole stamps: these events can be far apart */
	ww_ctf_rec_u32(o, class_id);
	ww_ctf_rec_u64(o, ts_ns);
	return 0;
}

void ww_ctf_rec_end(struct ww_ctf_out *o)
{
	if (!o->rec_bad)
		return;
	o->len = o->rec_at;
	o->discarded++;
}

int ww_ctf_out_flush(struct ww_ctf_out *o, struct ww_err *err)
{
	size_t len = o->len, whole = ww_packet_round(len);
	struct ww_ctf_packet_header h = {
		.magic = WW_CTF_MAGIC, .stream_instance_id = o->instance,
		.begin_ts_ns = o->begin_ts_ns, .end_ts_ns = o->last_ts_ns,
		.content_bits = (uint64_t)len * 8, .packet_bits = (uint64_t)whole * 8,
		.seq = o->seq, .discarded = o->discarded, .cpu = o->cpu};

	if (len == sizeof(h))
		return 0;
	memcpy(h.uuid, o->uuid, 16);
	memcpy(o->buf, &h, sizeof(h));
	memset(o->buf + len, 0, whole - len);
	o->len = sizeof(h);
	int rc = ww_packet_file_append(&o->file, o->buf, whole, err);
	if (rc)
		return rc;
	o->bytes = o->file.bytes;
	o->seq++;
	return 0;
}

int ww_ctf_out_close(struct ww_ctf_out *o, struct ww_err *err)
{
	if (!o->buf)
		return 0;
	int rc = ww_ctf_out_flush(o, err);
	int rc2 = ww_packet_file_close(&o->file, err);

	free(o->buf);
	*o = (struct ww_ctf_out){.file.fd = -1};
	return rc ? rc : rc2;
}
