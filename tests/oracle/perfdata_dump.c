/* perfdata_dump.c - every event of a perf.data file as a line of JSON, for perfdata.py to compare.
 *
 * {"name":..., "ts":ns, "cpu":n, "offset":n, "f":{fields}, "ctx":{fields}}; bytes are hex strings.
 * With --count it only reads, wanting the fields that a scheduler model needs, and prints totals.
 */
#include <stdio.h>

#include "base/jsonout.h"
#include "format/format.h"

static void on_begin(void *ctx, const char *name, bool array)
{
	if (array)
		ww_json_arr(ctx, name);
	else
		ww_json_obj(ctx, name);
}

static void on_end(void *ctx)
{
	ww_json_end(ctx);
}

static void on_value(void *ctx, const char *name, const struct ww_value *v, const char *label, int base)
{
	(void)label;
	(void)base;
	if (v->kind == WW_V_UINT) {
		ww_json_u64(ctx, name, v->u);
	} else if (v->kind == WW_V_INT) {
		ww_json_i64(ctx, name, v->i);
	} else if (v->kind == WW_V_STR) {
		ww_json_strn(ctx, name, v->p, v->len);
	} else if (v->kind == WW_V_BYTES) {
		char *hex = ww_xmalloc(2 * (size_t)v->len + 1);
		for (uint32_t i = 0; i < v->len; i++)
			sprintf(hex + 2 * i, "%02x", (unsigned char)v->p[i]);
		hex[2 * (size_t)v->len] = 0;
		ww_json_str(ctx, name, hex);
		free(hex);
	}
}

static void dump_event(struct ww_trace *t, const struct ww_event *ev)
{
	static const struct ww_visitor visitor = {on_begin, on_end, on_value};
	struct ww_json j;

	ww_json_init(&j, stdout, false);
	ww_json_obj(&j, NULL);
	ww_json_i64(&j, "ts", ev->ts_ns);
	ww_json_i64(&j, "cpu", ev->cpu);
	ww_json_u64(&j, "offset", t->from.offset);
	if (ev->cls == WW_CLS_GAP) {
		ww_json_str(&j, "name", "GAP");
		ww_json_u64(&j, "lost", ev->v[0].u);
		ww_json_i64(&j, "begin", ev->v[1].i);
	} else {
		ww_json_str(&j, "name", t->fmt->get_class(t, ev->cls)->name);
		ww_json_obj(&j, "f");
		t->fmt->visit(t, ev, &visitor, &j, NULL);
		ww_json_end(&j);
	}
	ww_json_end(&j);
	ww_json_finish(&j);
}

static void dump_info(struct ww_trace *t)
{
	const struct ww_trace_info *i = &t->info;
	const struct ww_trace_stats *s = &t->stats;
	const struct ww_damage *d;
	uint32_t n = t->fmt->damage(t, &d);

	fprintf(stderr, "%s | %s | %s | %s | %s | %s %d %lld | cpus %u classes %u\n", i->format, i->tracer,
		i->hostname, i->kernel_release, i->arch, i->clock.name, i->clock.epoch_known,
		(long long)i->clock.offset_ns, i->ncpus, i->nclasses);
	for (uint32_t k = 0; k < i->nenv; k++)
		fprintf(stderr, "%s = %s\n", i->env[k].name, i->env[k].value);
	fprintf(stderr, "events %llu lost %llu bad %llu disorder %llu from %lld to %lld\n",
		(unsigned long long)s->events, (unsigned long long)s->lost_events,
		(unsigned long long)s->bad_packets, (unsigned long long)s->out_of_order,
		(long long)s->begin_ts_ns, (long long)s->end_ts_ns);
	for (uint32_t k = 0; k < n && k < 20; k++)
		fprintf(stderr, "damage at %llu: %s\n", (unsigned long long)d[k].err.offset, d[k].err.message);
}

static void want_fields(struct ww_trace *t)
{
	static const char *const fields[] = {"prev_pid", "prev_state", "next_pid", "pid", "target_cpu", "id",
		"ret", "args", "vec", "irq"};

	for (uint32_t c = 0; c < t->info.nclasses; c++)
		t->fmt->want(t, c, fields, WW_ARRAY_SIZE(fields), NULL);
}

int main(int argc, char **argv)
{
	struct ww_err err = {0};
	struct ww_trace *t;
	struct ww_event ev;
	bool count = argc == 3 && !strcmp(argv[1], "--count");
	char text[800];
	int rc;

	if (argc != 2 && !count) {
		fprintf(stderr, "usage: perfdata_dump [--count] FILE\n");
		return 2;
	}
	rc = ww_format_perfdata.open(argv[argc - 1], NULL, &t, &err);
	if (!rc) {
		if (count)
			want_fields(t);
		while ((rc = t->fmt->next(t, &ev, &err)) > 0)
			if (!count)
				dump_event(t, &ev);
		dump_info(t);
		t->fmt->close(t);
	}
	if (rc < 0) {
		ww_err_format(&err, text, sizeof(text));
		fprintf(stderr, "%s\n", text);
		return 1;
	}
	return 0;
}
