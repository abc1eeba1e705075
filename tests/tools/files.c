/* files.c - prints what the model thinks each system call's descriptor names, for the tests of descriptors.
 *
 *   files TRACE      one line a call with a descriptor: tid call fd kind ino name
 */
#include <stdio.h>

#include "model/model.h"

static void print_files(const struct ww_facts *f)
{
	for (uint32_t i = 0; i < f->syscall.n; i++) {
		struct ww_syscall s = ww_syscall_get(f, i);
		struct ww_file file = {0};

		if (s.fd < 0)
			continue;
		if (s.file != WW_NONE)
			file = ww_file_get(f, s.file);
		printf("%d %s %d %s %" PRIu64 " %s\n", f->thread.tid[s.thread], ww_facts_str(f, s.name), s.fd,
		       s.file == WW_NONE ? "none" : ww_file_kind_name(file.kind), file.ino,
		       ww_facts_str(f, file.name));
	}
}

int main(int argc, char **argv)
{
	struct ww_trace *trace = NULL;
	struct ww_err err = {0};
	struct ww_facts f;
	char text[1100];

	if (argc != 2) {
		fprintf(stderr, "usage: files TRACE\n");
		return 2;
	}
	ww_facts_init(&f);
	int rc = ww_trace_open(argv[1], NULL, &trace, &err);
	if (!rc)
		rc = ww_model_run(trace, NULL, &f, &err);
	if (rc) {
		ww_err_format(&err, text, sizeof(text));
		fprintf(stderr, "files: %s\n", text);
	} else {
		print_files(&f);
	}
	ww_trace_close(trace);
	ww_facts_release(&f);
	return rc ? 1 : 0;
}
