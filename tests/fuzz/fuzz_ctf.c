/* Fuzz target: any bytes as the stream of a CTF trace whose metadata has every kind of type. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/format.h"

#include "visit.h"

static const char metadata[] =
	"/* CTF 1.8 */ typealias integer { size = 8; } := u8; typealias integer { size = 32; } := u32;"
	"typealias integer { size = 64; } := u64; trace { major = 1; minor = 8; byte_order = le;"
	"packet.header := struct { u32 magic; u32 stream_id; }; }; clock { name = c; freq = 1000000; };"
	"stream { id = 0; packet.context := struct { u64 timestamp_begin; u64 timestamp_end; u64 content_size;"
	"u64 packet_size; u64 events_discarded; u32 cpu_id; }; event.header := struct { enum : integer { size = 5; }"
	"{ compact = 0 ... 30, extended = 31 } id; variant <id> { struct { integer { size = 27; map = clock.c.value; }"
	"timestamp; } compact; struct { u32 id; integer { size = 64; map = clock.c.value; } timestamp; } extended; } v; }"
	"align(8); event.context := struct { u8 n; u8 b[n]; }; };"
	"event { id = 0; name = a; stream_id = 0; fields := struct { u32 n; struct { u8 k; string s[k]; } a[n]; }; };"
	"event { id = 1; name = b; stream_id = 0; fields := struct { enum : u8 { x, y = 1 ... 9, z = 200 } t;"
	"variant <t> { string x; struct { integer { size = 3; signed = true; } q; integer { size = 61; byte_order = be; } w; } y;"
	"floating_point { exp_dig = 11; mant_dig = 53; align = 64; } z; } v; string tail; }; };"
	"event { id = 2; name = c; stream_id = 0; fields := struct { u32 n; struct { } a[n]; u32 c[2][3]; }; };"
	"event { id = 3; name = d; stream_id = 0; fields := struct { integer { size = 8; encoding = UTF8; } comm[16];"
	"u32 tid; u64 state; }; };";

static bool put(const char *dir, const char *name, const void *p, size_t n)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	bool good = f && fwrite(p, 1, n, f) == n;
	return f && !fclose(f) && good;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const char *const fields[] = {"n", "a", "v.x", "v.y.w", "v.z", "tail", "c", "comm", "tid", "ctx.b", "none"};
	static char dir[64];
	struct ww_trace *t = NULL;

	if (!*dir) {
		snprintf(dir, sizeof(dir), "/dev/shm/ww-fuzz-ctf-%d", (int)getpid());
		if (mkdir(dir, 0700) || !put(dir, "metadata", metadata, sizeof(metadata) - 1))
			abort();
	}
	if (!put(dir, "s", p, n) || ww_trace_open(dir, NULL, &t, NULL))
		return 0;
	for (uint32_t i = 0; i < ww_trace_info(t)->nclasses; i++)
		ww_trace_want(t, i, fields, WW_ARRAY_SIZE(fields), NULL);
	visit_all(t);
	ww_trace_close(t);
	return 0;
}
