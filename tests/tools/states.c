/* states.c - prints every state of every thread, for the tests that take knowledge away.
 *
 *   states TRACE [EVENT...]     as if the named events (canonical names, model/vocab.h) were absent
 *
 * One line a state: tid start dur state cause waker-kind waker-tid certainty. Times are the trace's own.
 */
#include <stdio.h>

#include "model/model.h"

static void print_states(const struct ww_facts *f)
{
	for (uint32_t i = 0; i < f->state.n; i++) {
		struct ww_state s = ww_state_get(f, i);
		const char *kind = "-";
		int32_t tid = -1;

		if (f->thread.flags[s.thread] & WW_TF_IDLE)
			continue;
		if (ww_state_wakeup(f, i) != WW_NONE) {
			struct ww_wakeup w = ww_wakeup_get(f, ww_state_wakeup(f, i));

			kind = ww_waker_name(w.kind);
			if (w.waker != WW_NONE)
				tid = f->thread.tid[w.waker];
		}
		printf("%d %" PRId64 " %" PRId64 " %s %s %s %d %d\n", f->thread.tid[s.thread], s.start_ts_ns, s.dur_ns,
		       ww_state_name(s.state), s.cause ? ww_cause_name(s.cause) : "-", kind, tid, s.certainty);
	}
}

int main(int argc, char **argv)
{
	struct ww_model_opts opts = {.without = (const char *const *)argv + 2};
	struct ww_trace *trace = NULL;
	struct ww_err err = {0};
	struct ww_facts f;
	char text[1100];
	int rc;

	if (argc < 2) {
		fprintf(stderr, "usage: states TRACE [EVENT...]\n");
		return 2;
	}
	ww_facts_init(&f);
	rc = ww_trace_open(argv[1], NULL, &trace, &err);
	if (!rc)
		rc = ww_model_run(trace, &opts, &f, &err);
	if (rc) {
		ww_err_format(&err, text, sizeof(text));
		fprintf(stderr, "states: %s\n", text);
	} else {
		print_states(&f);
	}
	ww_trace_close(trace);
	ww_facts_release(&f);
	return rc ? 1 : 0;
}
