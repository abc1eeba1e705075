/* base_test.c - the containers against a naive twin on random input, and the formatters against
 * values worked out by hand. */
#include "../tap.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/jsonout.h"
#include "base/span.h"
#include "base/strtab.h"
#include "base/syscalls.h"
#include "base/u64map.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/words.h"

#define KEYS 97u

/* Every operation on the map is done on a plain array too; few keys, so that runs of probes wrap,
 * collide and are shifted back. */
static void u64map_agrees_with_array(void)
{
	struct ww_u64map m = {0};
	uint64_t twin[KEYS];
	bool has[KEYS] = {false};
	size_t n = 0;
	unsigned wrong = 0;

	srand(7);
	for (int i = 0; i < 200000; i++) {
		unsigned k = (unsigned)rand() % KEYS;
		uint64_t key = (uint64_t)k * 0x100000000u, *v;

		switch (rand() % 3) {
		case 0:
			ww_u64map_put(&m, key, (uint64_t)i);
			n += !has[k];
			has[k] = true;
			twin[k] = (uint64_t)i;
			break;
		case 1:
			wrong += ww_u64map_del(&m, key) != has[k];
			n -= has[k];
			has[k] = false;
			break;
		default:
			v = ww_u64map_find(&m, key);
			wrong += !!v != has[k] || (v && *v != twin[k]);
		}
		wrong += m.n != n;
	}
	ok(wrong == 0, "u64map agrees with an array over 200000 random operations");
	ww_u64map_release(&m);
}

static void strtab_interns(void)
{
	struct ww_strtab t;
	char s[32];
	uint32_t ids[2000];
	unsigned wrong = 0;

	ww_strtab_init(&t);
	for (int i = 0; i < 2000; i++) {
		snprintf(s, sizeof(s), "name-%d", i);
		ids[i] = ww_strtab_intern_cstr(&t, s);
	}
	for (int i = 0; i < 2000; i++) {
		snprintf(s, sizeof(s), "name-%d", i);
		wrong += ww_strtab_intern_cstr(&t, s) != ids[i] || ww_strtab_find(&t, s) != ids[i] ||
			 strcmp(ww_strtab_get(&t, ids[i]), s);
	}
	ok(wrong == 0 && t.n == 2001, "equal strings have equal ids");
	ok(ww_strtab_find(&t, "absent") == WW_NONE, "an absent string is not found");
	ok(ww_strtab_intern(&t, "", 0) == 0, "id 0 is the empty string");
	ww_strtab_release(&t);
}

static void span_stops_at_its_end(void)
{
	const uint8_t bytes[] = {1, 2, 3, 4, 'a', 'b', 0, 9};
	struct ww_span s = ww_span_of(bytes, sizeof(bytes));

	ok(ww_span_u16(&s) == 0x0201, "little endian u16");
	s.swap = true;
	ok(ww_span_u16(&s) == 0x0304, "swapped u16");
	const char *str = ww_span_cstr(&s);
	ok(str && !strcmp(str, "ab"), "string in place");
	ok(ww_span_u32(&s) == 0 && s.bad, "past the end: 0 and bad");
	ok(ww_span_u8(&s) == 0 && s.pos == 7, "bad is sticky, the cursor stays");
}

static bool is_as_printf(int64_t ns)
{
	char exact[32], b[32];

	/* A shorter buffer goes the long way. */
	return !strcmp(ww_dur_format(ns, exact, WW_DUR_BYTES - 1), ww_dur_format(ns, b, sizeof(b)));
}

/* Without a float, and with one. */
static void durations_are_rounded_as_printf_does(void)
{
	static const int64_t borders[] = {9995, 99995, 999500, 999950, 9999500, 99995000, 999500000, 999950000, 9999500000,
					  99995000000, 999950000000, 1000000000000000};
	uint64_t x = 1;
	uint32_t bad = 0;

	for (size_t i = 0; i < WW_ARRAY_SIZE(borders); i++)
		for (int64_t ns = borders[i] - 2; ns <= borders[i] + 2; ns++)
			bad += !is_as_printf(ns);
	for (int64_t ns = 0; ns < 200000; ns++)
		bad += !is_as_printf(ns);
	for (uint32_t i = 0; i < 300000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		bad += !is_as_printf((int64_t)(x >> (14 + i % 50)) / (i % 3 ? 1 : 5) * (i % 3 ? 1 : 5));
	}
	ok(!bad, "durations: %u are not what printf says", bad);
}

static void units_read_well(void)
{
	static const struct {
		int64_t ns;
		const char *text;
	} durs[] = {{0, "0 ns"}, {41, "41 ns"}, {999, "999 ns"}, {2668000, "2.668 ms"}, {1204000000, "1.204 s"},
		    {999999, "1.000 ms"}, {-1500, "-1.500 us"}, {99996000, "100.0 ms"}};
	char b[32];
	int64_t ns;
	uint64_t bytes;

	for (size_t i = 0; i < WW_ARRAY_SIZE(durs); i++)
		ok(!strcmp(ww_dur_format(durs[i].ns, b, sizeof(b)), durs[i].text), "%s", durs[i].text);
	ok(ww_dur_parse("1.5s", &ns) && ns == 1500000000, "1.5s");
	ok(ww_dur_parse("300us", &ns) && ns == 300000, "300us");
	ok(!ww_dur_parse("ms", &ns) && !ww_dur_parse("5x", &ns) && !ww_dur_parse("", &ns), "not durations");
	ok(ww_bytes_parse("64M", &bytes) && bytes == 64u << 20, "64M");
}

static void json_is_escaped(void)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	struct ww_json j;

	ww_json_init(&j, f, false);
	ww_json_obj(&j, NULL);
	ww_json_str(&j, "a\"b", "x\n\x01\xff\xc3\xa9");
	ww_json_arr(&j, "n");
	ww_json_i64(&j, NULL, INT64_MIN);
	ww_json_u64(&j, NULL, UINT64_MAX);
	ww_json_end(&j);
	ww_json_null(&j, "z");
	ww_json_end(&j);
	ok(ww_json_finish(&j) == 0, "finish");
	fclose(f);
	ok(!strcmp(text, "{\"a\\\"b\":\"x\\n\\u0001\xef\xbf\xbd\xc3\xa9\","
			 "\"n\":[-9223372036854775808,18446744073709551615],\"z\":null}\n"), "%s", text);
	free(text);
}

/* As long as it may be, and through the writer's buffer at any place; an array of rows has a line an element. */
static void json_of_rows(void)
{
	static const char want[] = "{\n  \"rows\": [\n    {\"a\": 1, \"b\": [2, {}]},\n    {}\n  ],\n  \"after\": [\n    true\n  ]\n}\n";
	char *text = NULL, big[10000];
	size_t len = 0, at = 0;
	FILE *f = open_memstream(&text, &len);
	struct ww_json j;

	ww_json_init(&j, f, true);
	ww_json_obj(&j, NULL);
	ww_json_rows(&j, "rows");
	ww_json_obj(&j, NULL);
	ww_json_i64(&j, "a", 1);
	ww_json_arr(&j, "b");
	ww_json_i64(&j, NULL, 2);
	ww_json_obj(&j, NULL);
	for (int i = 0; i < 3; i++)
		ww_json_end(&j);
	ww_json_obj(&j, NULL);
	ww_json_end(&j);
	ww_json_end(&j);
	ww_json_arr(&j, "after");
	ww_json_bool(&j, NULL, true);
	ww_json_end(&j);
	ww_json_end(&j);
	ok(!ww_json_finish(&j) && !fflush(f) && !strcmp(text, want), "%s", text);
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = 0;
	rewind(f);
	ww_json_init(&j, f, false);
	ww_json_arr(&j, NULL);
	for (size_t n = 0; n < sizeof(big); n += 37)
		ww_json_strn(&j, NULL, big, n);
	ww_json_end(&j);
	ww_json_finish(&j);
	fclose(f);
	bool same = text[at++] == '[';
	for (size_t n = 0; n < sizeof(big) && same; at += 3 + n, n += 37)
		same = text[at] == '"' && !strncmp(text + at + 1, big, n) && text[at + 1 + n] == '"' && strchr(",]", text[at + 2 + n]);
	ok(same && !strcmp(text + at, "\n"), "strings longer than the buffer");
	free(text);
}

static void errors_keep_the_first_cause(void)
{
	struct ww_err e;
	char b[700];

	ww_err_clear(&e);
	ok(ww_err_set(&e, WW_ECORRUPT, "f", 12, "bad %s", "magic") == -WW_ECORRUPT, "code is negative");
	ww_err_set(&e, WW_EIO, "g", 1, "later");
	ww_err_hint(&e, "do this");
	ww_err_format(&e, b, sizeof(b));
	ok(!strcmp(b, "f: offset 12: bad magic; do this"), "%s", b);
}

static void arena_and_vec(void)
{
	struct ww_arena a;
	WW_VEC(int) v = {0};
	unsigned wrong = 0;

	ww_arena_init(&a);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < 3000; i++) {
			uint8_t *p = ww_arena_alloc(&a, i);

			wrong += (uintptr_t)p % 16 != 0;
			for (size_t k = 0; k < i; k++)
				wrong += p[k] != 0;
			memset(p, 0xff, i);
		}
		ww_arena_reset(&a);
	}
	ok(wrong == 0, "arena memory is zeroed and aligned, after a reset too");
	ww_arena_release(&a);
	for (int i = 0; i < 1000; i++)
		*ww_vec_push(&v) = i;
	for (int i = 0; i < 1000; i++)
		wrong += v.v[i] != i;
	ok(wrong == 0 && v.n == 1000, "vector keeps what was pushed");
	ww_vec_free(&v);
}

static void words_are_found(void)
{
	static const struct {
		int nr;
		const char *name;
	} table[] = {{1, "one"}, {2, NULL}, {3, "three"}, {4, "one"}, {5, ""}};
	static struct ww_words names = WW_WORDS(table, table[0].name);

	ok(ww_words_find(&names, "three") == 2 && ww_words_find(&names, "") == 4, "a word's row");
	ok(ww_words_find(&names, "one") == 0, "of two rows with the word the first");
	ok(ww_words_find(&names, "on") < 0 && ww_words_find(&names, "ones") < 0, "no row has what only begins as a word");
}

int main(void)
{
	u64map_agrees_with_array();
	strtab_interns();
	span_stops_at_its_end();
	units_read_well();
	durations_are_rounded_as_printf_does();
	json_is_escaped();
	json_of_rows();
	errors_keep_the_first_cause();
	arena_and_vec();
	words_are_found();
	static const struct {
		enum ww_abi abi;
		const char *function, *call;
	} names[] = {{WW_ABI_X86_64, "newuname", "uname"}, {WW_ABI_X86_64, "sendfile64", "sendfile"}, {WW_ABI_X86_64, "umount", "umount2"},
		     {WW_ABI_X86_64, "newfstatat", "newfstatat"}, {WW_ABI_X86_64, "pread64", "pread64"}, {WW_ABI_X86_64, "newfstat", "fstat"},
		     {WW_ABI_I386, "nanosleep_time32", "nanosleep"}, {WW_ABI_I386, "sendfile64", "sendfile64"}, {WW_ABI_I386, "llseek", "_llseek"},
		     {WW_ABI_X86_64, "newnothing64", "newnothing64"}, {WW_ABI_X86_64, "new", "new"}};
	char buf[64];
	for (size_t k = 0; k < WW_ARRAY_SIZE(names); k++)
		is_str(ww_syscall_user_name(names[k].abi, names[k].function, buf, sizeof(buf)), names[k].call, names[k].function);
	ok(!strcmp(ww_syscall_name(WW_ABI_X86_64, 0), "read") && ww_syscall_number(WW_ABI_AARCH64, "read") == 63,
	   "read is 0 on x86-64 and 63 on aarch64");
	ok(!strcmp(ww_syscall_name(WW_ABI_X32, 0x40000001), "write") && !ww_syscall_name(WW_ABI_I386, 99999),
	   "x32's bit is taken off; numbers without a name give NULL");
	return done_testing();
}
