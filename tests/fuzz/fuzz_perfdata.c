/* fuzz_perfdata.c - src/format/perfdata on arbitrary bytes: opens, reads and visits everything.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/format.h"

#include "visit.h"

static void read_all(const char *path)
{
	static const char *const fields[] = {"prev_comm", "pid", "args", "comm", "callchain", "ctx.tid", "raw",
					     "ctx.weight"};
	struct ww_trace *t;
	struct ww_event ev;

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
			visit_value(NULL, NULL, &ev.v[i], NULL, 10);
		t->fmt->visit(t, &ev, &visit_visitor, NULL, NULL);
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
