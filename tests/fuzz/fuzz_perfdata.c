/* fuzz_perfdata.c - src/format/perfdata on arbitrary bytes: opens, reads and visits everything.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/format.h"

static void on_begin(void *ctx, const char *name, bool array)
{
	(void)name;
	(void)array;
	++*(uint64_t *)ctx;
}

static void on_end(void *ctx)
{
	++*(uint64_t *)ctx;
}

/* Touches every byte of a value, so that a sanitizer sees one that is out of bounds. */
static void on_value(void *ctx, const char *name, const struct ww_value *v, const char *label, int base)
{
	uint64_t sum = 0;

	(void)name;
	(void)label;
	(void)base;
	if (v->kind == WW_V_STR || v->kind == WW_V_BYTES)
		for (uint32_t i = 0; i < v->len; i++)
			sum += (uint8_t)v->p[i];
	*(uint64_t *)ctx += sum;
}

static void read_all(const char *path)
{
	static const struct ww_visitor visitor = {on_begin, on_end, on_value};
	static const char *const fields[] = {"prev_comm", "pid", "args", "comm", "callchain", "ctx.tid", "raw",
					     "ctx.weight"};
	struct ww_trace *t;
	struct ww_event ev;
	uint64_t sum = 0;

	if (ww_format_perfdata.open(path, NULL, &t, NULL))
		return;
	for (uint32_t c = 0; c < t->info.nclasses; c++) {
		if (c % 3 != 2)
			t->fmt->want(t, c, fields, WW_ARRAY_SIZE(fields), NULL);
		if (c % 5 == 4)
			t->fmt->ignore(t, c);
	}
	while (t->fmt->next(t, &ev, NULL) > 0) {
		for (uint32_t i = 0; i < ev.nval; i++)
			on_value(&sum, NULL, &ev.v[i], NULL, 10);
		t->fmt->visit(t, &ev, &visitor, &sum, NULL);
	}
	t->fmt->close(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[64];

	if (fd < 0) {
		fd = memfd_create("fuzz", 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		return 0;
	read_all(path);
	return 0;
}
