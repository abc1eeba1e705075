/* Fuzz target: a trace.dat of any bytes is opened, read to its end with every field, or refused. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/format.h"

#include "visit.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const char *const fields[] = {"a", "s", "n[1]", "prev_pid", "common_pid"};
	const struct ww_format *f = &ww_format_tracedat;
	static int fd = -1;
	static char path[64];
	struct ww_trace *t = NULL;
	struct ww_event ev;
	struct ww_err err = {0};

	if (fd < 0) {
		fd = memfd_create("trace.dat", 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (ftruncate(fd, 0) || pwrite(fd, p, n, 0) != (ssize_t)n)
		return 0;
	if (!f->probe(path) || f->open(path, NULL, &t, &err))
		return 0;
	for (uint32_t i = 0; i < t->info.nclasses; i++)
		f->want(t, i, fields, WW_ARRAY_SIZE(fields), NULL);
	for (uint32_t i = 0; i < 1000000 && f->next(t, &ev, &err) == 1; i++)
		f->visit(t, &ev, &visit_visitor, NULL, NULL);
	f->close(t);
	return 0;
}
