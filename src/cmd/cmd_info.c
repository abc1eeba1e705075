/* cmd_info.c - `whywait info`: what a trace is, who recorded it, what is in it. */
#include <stdio.h>

#include "base/jsonout.h"
#include "base/strtab.h"
#include "base/u64map.h"
#include "base/units.h"
#include "base/vec.h"
#include "cmd/commands.h"
#include "cmd/event_print.h"
#include "cmd/load.h"
#include "cmd/opts.h"

struct name_count {
	const char *name;
	uint64_t events;
};

struct counts {
	WW_VEC(struct name_count) rows; /* most frequent first */
};

static int by_events(const void *a, const void *b)
{
	const struct name_count *x = a, *y = b;

	if (x->events != y->events)
		return x->events > y->events ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Classes of one name (a chunk each, a buffer each) are one row. */
static void count_names(struct ww_trace *t, const uint64_t *per_class, struct counts *c)
{
	struct ww_strtab names;
	struct ww_u64map rows = {0};

	ww_strtab_init(&names);
	for (uint32_t i = 0; i < ww_trace_info(t)->nclasses; i++) {
		const char *name = ww_trace_class(t, i)->name;
		bool fresh;
		if (!per_class[i])
			continue;
		uint64_t *row = ww_u64map_get(&rows, ww_strtab_intern_cstr(&names, name), c->rows.n, &fresh);
		if (fresh)
			ww_vec_push(&c->rows)->name = name;
		c->rows.v[*row].events += per_class[i];
	}
	if (c->rows.n)
		qsort(c->rows.v, c->rows.n, sizeof(c->rows.v[0]), by_events);
	ww_u64map_release(&rows);
	ww_strtab_release(&names);
}

static int count(struct ww_trace *t, struct counts *c, struct ww_err *err)
{
	uint64_t *per_class = ww_xcalloc(ww_trace_info(t)->nclasses + 1, sizeof(*per_class));
	int rc = ww_trace_count(t, per_class, err);

	count_names(t, per_class, c);
	free(per_class);
	return rc;
}

static void print_json(struct ww_trace *t, const struct counts *c)
{
	const struct ww_trace_info *i = ww_trace_info(t);
	const struct ww_trace_stats *st = ww_trace_stats(t);
	const int64_t offset = ww_event_offset_ns(i);
	struct ww_json j;

	ww_json_init(&j, stdout, true);
	ww_json_obj(&j, NULL);
	ww_json_str(&j, "whywait", "info");
	ww_json_i64(&j, "version", 1);
	ww_json_str(&j, "trace", i->path);
	ww_json_str(&j, "format", i->format);
	ww_json_str(&j, "tracer", i->tracer);
	ww_json_arr(&j, "hosts");
	ww_json_obj(&j, NULL);
	ww_json_str(&j, "name", i->hostname);
	ww_json_str(&j, "kernel_release", i->kernel_release);
	ww_json_str(&j, "arch", i->arch);
	ww_json_u64(&j, "cpus", i->ncpus);
	ww_json_end(&j);
	ww_json_end(&j);
	ww_json_obj(&j, "clock");
	ww_json_str(&j, "name", i->clock.name);
	ww_json_str(&j, "uuid", i->clock.uuid);
	ww_json_u64(&j, "freq_hz", i->clock.freq_hz);
	ww_json_i64(&j, "offset_ns", offset);
	ww_json_bool(&j, "epoch_known", i->clock.epoch_known);
	ww_json_end(&j);
	ww_json_u64(&j, "events", st->events);
	ww_json_u64(&j, "lost", st->lost_events);
	ww_json_u64(&j, "bad_packets", st->bad_packets);
	ww_json_u64(&j, "out_of_order", st->out_of_order);
	if (st->events) {
		ww_json_i64(&j, "begin_ns", st->begin_ts_ns + offset);
		ww_json_i64(&j, "end_ns", st->end_ts_ns + offset);
	} else {
		ww_json_null(&j, "begin_ns");
		ww_json_null(&j, "end_ns");
	}
	ww_json_u64(&j, "streams", i->nstreams);
	ww_json_u64(&j, "bytes", st->bytes);
	ww_json_obj(&j, "by_name");
	for (size_t k = 0; k < c->rows.n; k++)
		ww_json_u64(&j, c->rows.v[k].name, c->rows.v[k].events);
	ww_json_end(&j);
	ww_json_obj(&j, "env");
	for (uint32_t k = 0; k < i->nenv; k++)
		ww_json_str(&j, i->env[k].name, i->env[k].value);
	ww_json_end(&j);
	ww_json_end(&j);
	ww_json_finish(&j);
}

static void row(const char *key, const char *value)
{
	if (*value)
		printf("%-9s %s\n", key, value);
}

static void print_text(struct ww_trace *t, const struct counts *c, bool all)
{
	const struct ww_trace_info *i = ww_trace_info(t);
	const struct ww_trace_stats *st = ww_trace_stats(t);
	size_t shown = all ? c->rows.n : WW_MIN(c->rows.n, (size_t)20);
	char dur[32], bytes[32];

	row("trace", i->path);
	row("format", i->format);
	row("recorder", i->tracer);
	if (*i->hostname || *i->kernel_release)
		printf("%-9s %s%s%s%s%s\n", "host", *i->hostname ? i->hostname : "(not named)",
		       *i->kernel_release ? ", Linux " : "", i->kernel_release, *i->arch ? ", " : "", i->arch);
	if (ww_clock_counts_cycles(&i->clock))
		printf("%-9s %s, counts cycles; how long one is, is not known\n", "clock", i->clock.name);
	else if (*i->clock.name)
		printf("%-9s %s, %" PRIu64 " Hz%s\n", "clock", i->clock.name, i->clock.freq_hz,
		       i->clock.epoch_known ? "" : ", its offset to the date is not known");
	if (st->events) {
		printf("%-9s ", "time");
		ww_event_print_time(stdout, i, st->begin_ts_ns);
		fputs(" to ", stdout);
		ww_event_print_time(stdout, i, st->end_ts_ns);
		printf(", %s\n", ww_event_dur_format(i, st->end_ts_ns - st->begin_ts_ns, dur, sizeof(dur)));
	}
	printf("%-9s %" PRIu64 " in %u streams, %u CPUs, %s\n", "events", st->events, i->nstreams, i->ncpus,
	       ww_bytes_format(st->bytes, bytes, sizeof(bytes)));
	printf("%-9s %" PRIu64 " events, %" PRIu64 " damaged places, %" PRIu64 " events out of order\n", "loss",
	       st->lost_events, st->bad_packets, st->out_of_order);
	putchar('\n');
	for (size_t k = 0; k < shown; k++)
		printf("%10" PRIu64 "  %s\n", c->rows.v[k].events, c->rows.v[k].name);
	if (shown < c->rows.n)
		printf("%10s  %zu more names (-v)\n", "", c->rows.n - shown);
}

int cmd_info(int argc, char **argv)
{
	const struct ww_opts_spec spec = {
		.name = "info", .args = "[TRACE...]",
		.summary = "What a trace is, who recorded it, what is in it and what is missing.",
		.groups = WW_OG_JSON, .max_traces = WW_OPTS_MAX_TRACES,
	};
	struct ww_opts o;
	int rc = ww_opts_parse(&o, argc, argv, &spec), worst = WW_EXIT_DONE;

	if (rc >= 0)
		return rc;
	for (int k = 0; k < o.ntraces; k++) {
		struct ww_err err = {0};
		struct counts c = {0};
		struct ww_trace *t = NULL;
		rc = ww_trace_open(o.traces[k], NULL, &t, &err);
		if (!rc)
			rc = count(t, &c, &err);
		if (!rc)
			ww_load_note_state(o.traces[k], &o);
		if (rc < 0) {
			worst = ww_exit_worse(worst, ww_opts_fail(&err));
		} else {
			if (k && !o.json)
				putchar('\n');
			if (o.json)
				print_json(t, &c);
			else
				print_text(t, &c, o.verbose);
			fflush(stdout);
			worst = ww_exit_worse(worst, ww_trace_note_damage(t, o.quiet, o.verbose));
		}
		ww_vec_free(&c.rows);
		ww_trace_close(t);
	}
	return worst;
}
