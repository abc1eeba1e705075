/* opts.c - the options that all commands share. One table makes the parser and --help. */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/commands.h"
#include "cmd/opts.h"

static const struct common {
	unsigned group; /* 0: always */
	const char *name;
	char letter;
	const char *arg, *doc;
} common[] = {
	{WW_OG_TARGET, "tid", 't', "TID", "the thread to explain"},
	{WW_OG_TARGET, "pid", 'p', "PID", "the process whose main thread to explain"},
	{WW_OG_TARGET, "comm", 'c', "NAME", "the thread of that name (the busiest when several)"},
	{WW_OG_SELECT, "tid", 't', "TID", "only this thread"},
	{WW_OG_SELECT, "pid", 'p', "PID", "only the threads of this process"},
	{WW_OG_SELECT, "comm", 'c', "NAME", "only threads of this name"},
	{WW_OG_TARGET | WW_OG_SELECT, "cgroup", 0, "NAME", "threads in this cgroup or below: /a/b, or a name in its path"},
	{WW_OG_RANGE, "from", 0, "WHEN", "from +1.5s (after the begin), 13:02:59.5, seconds or ns since the epoch, or the first event with this text"},
	{WW_OG_RANGE, "to", 0, "WHEN", "to the same kinds of time"},
	{WW_OG_JSON, "json", 'j', NULL, "JSON (docs/json.md)"},
	{WW_OG_JSON, "no-color", 0, NULL, "no colour on a terminal either"},
	{WW_OG_CHAIN, "min-dur", 0, "DUR", "leave out waits shorter than this (2ms, 50us)"},
	{WW_OG_CHAIN, "depth", 'd', "N", "follow chains this deep"},
	{WW_OG_TOP, "top", 'n', "N", "only the first N, in the order that they have (or --sort); 0: all"},
	{WW_OG_THREADS, "threads", 0, NULL, "each thread and child of the target in full"},
	{WW_OG_THREADS, "all", 'a', NULL, "the same as --threads"},
	{WW_OG_FACTS, "no-cache", 0, NULL, "read the trace; neither use nor write its facts file"},
	{0, "quiet", 'q', NULL, "no notes, no progress"},
	{0, "verbose", 'v', NULL, "say more"},
	{0, "help", 'h', NULL, "this text"},
};

void ww_opts_default(struct ww_opts *o)
{
	*o = (struct ww_opts){.tid = -1, .pid = -1, .min_dur_ns = -1, .depth = -1, .top = -1,
			      .traces = {WW_DEFAULT_TRACE}, .ntraces = 1};
}

bool ww_opts_color(const struct ww_opts *o, FILE *out)
{
	const char *no = getenv("NO_COLOR");

	return !o->no_color && !o->json && !(no && *no) && isatty(fileno(out));
}

int ww_opts_fail(const struct ww_err *err)
{
	char buf[1200];

	ww_err_format(err, buf, sizeof(buf));
	fprintf(stderr, "whywait: %s\n", buf);
	return err->code == WW_EUSAGE ? WW_EXIT_USAGE : WW_EXIT_FAILED;
}

static void help_line(FILE *out, char letter, const char *name, const char *arg, const char *doc)
{
	char head[64];

	snprintf(head, sizeof(head), "%c%c%c --%s%s%s", letter ? '-' : ' ', letter ? letter : ' ',
		 letter ? ',' : ' ', name, !arg ? "" : strchr(arg, ' ') ? " " : "=", arg ? arg : "");
	fprintf(out, "  %-24s %s\n", head, doc);
}

static void help(FILE *out, const struct ww_opts_spec *spec)
{
	fprintf(out, "usage: whywait%s%s [OPTIONS] %s\n%s\n\n", *spec->name ? " " : "", spec->name, spec->args, spec->summary);
	for (const struct ww_opt_extra *e = spec->extra; e && e->name; e++)
		help_line(out, e->letter, e->name, e->arg, e->doc);
	for (size_t i = 0; i < WW_ARRAY_SIZE(common); i++)
		if (!common[i].group || (common[i].group & spec->groups))
			help_line(out, common[i].letter, common[i].name, common[i].arg, common[i].doc);
	if (spec->more_help)
		spec->more_help(spec->ctx, out);
	if (strstr(spec->args, "[TRACE"))
		fprintf(out, "\nTRACE is %s unless named.", WW_DEFAULT_TRACE);
	if (spec->max_traces)
		fputs("\nExit status: 0 done, 1 could not, 2 wrong arguments, 3 the answer is partial (events lost, trace "
		      "damaged).\n", out);
}

static bool parse_int(const char *s, int32_t *ret)
{
	char *end;

	errno = 0;
	long v = strtol(s, &end, 10);
	if (errno || end == s || *end || v < 0 || v > INT32_MAX)
		return false;
	*ret = (int32_t)v;
	return true;
}

static bool set_common(struct ww_opts *o, const char *name, const char *arg)
{
	if (!strcmp(name, "tid"))
		return parse_int(arg, &o->tid);
	if (!strcmp(name, "pid"))
		return parse_int(arg, &o->pid);
	if (!strcmp(name, "depth"))
		return parse_int(arg, &o->depth);
	if (!strcmp(name, "top"))
		return parse_int(arg, &o->top);
	if (!strcmp(name, "min-dur"))
		return ww_dur_parse(arg, &o->min_dur_ns) && o->min_dur_ns >= 0;
	if (!strcmp(name, "comm"))
		o->comm = arg;
	else if (!strcmp(name, "cgroup"))
		o->cgroup = arg;
	else if (!strcmp(name, "from"))
		o->from = arg;
	else if (!strcmp(name, "to"))
		o->to = arg;
	else if (!strcmp(name, "json"))
		o->json = true;
	else if (!strcmp(name, "no-color"))
		o->no_color = true;
	else if (!strcmp(name, "threads") || !strcmp(name, "all"))
		o->threads = true;
	else if (!strcmp(name, "no-cache"))
		o->no_cache = true;
	else if (!strcmp(name, "quiet"))
		o->quiet = true;
	else if (!strcmp(name, "verbose"))
		o->verbose++;
	return true;
}

#define MAX_OPTIONS 64
#define EXTRA_BASE 1000
#define COMMON_BASE 2000

/* getopt's two tables, out of ours. */
struct table {
	struct option longs[MAX_OPTIONS];
	char shorts[MAX_OPTIONS * 2 + 2];
	int of_letter[128]; /* value of the long option with this letter */
	int n;
};

static void table_add(struct table *t, const char *name, char letter, const char *arg, int value)
{
	WW_ASSERT(t->n < MAX_OPTIONS - 1);
	t->longs[t->n++] = (struct option){name, arg ? required_argument : no_argument, NULL, value};
	if (letter && !t->of_letter[(unsigned char)letter & 127]) {
		size_t len = strlen(t->shorts);
		t->shorts[len++] = letter;
		if (arg)
			t->shorts[len++] = ':';
		t->shorts[len] = 0;
		t->of_letter[(unsigned char)letter & 127] = value;
	}
}

/* "whywait record", or "whywait" where no subcommand was written. */
static char *full_name(const struct ww_opts_spec *spec, char *buf, size_t size)
{
	snprintf(buf, size, "whywait%s%s", *spec->name ? " " : "", spec->name);
	return buf;
}

static int usage_error(const struct ww_opts_spec *spec, const char *what, const char *arg)
{
	char name[64];

	full_name(spec, name, sizeof(name));
	if (what)
		fprintf(stderr, "%s: %s '%s'\n", name, what, arg);
	fprintf(stderr, "`%s --help` lists the options.\n", *spec->name ? name : "whywait record");
	return WW_EXIT_USAGE;
}

static int value_error(const struct ww_opts_spec *spec, const char *option, const char *arg)
{
	char what[128];

	snprintf(what, sizeof(what), "--%s: not a value for this option:", option);
	return usage_error(spec, what, arg ? arg : "");
}

/* The newest snapshot of a flight recorder's directory; 0: it is none, or has none. */
static unsigned newest_snapshot(const char *dir)
{
	char *meta = ww_xasprintf("%s/metadata", dir);
	DIR *d = access(meta, F_OK) ? opendir(dir) : NULL;
	unsigned best = 0;

	free(meta);
	for (struct dirent *e; d && (e = readdir(d));) {
		unsigned n;
		char end;
		if (sscanf(e->d_name, "snapshot-%9u%c", &n, &end) != 1 || n <= best)
			continue;
		meta = ww_xasprintf("%s/%s/metadata", dir, e->d_name);
		if (!access(meta, F_OK))
			best = n;
		free(meta);
	}
	if (d)
		closedir(d);
	return best;
}

/* Each is a trace of its own time: together they would be one with holes that nobody sees. */
void ww_opts_choose_snapshots(struct ww_opts *o)
{
	static char *names[WW_OPTS_MAX_TRACES]; /* the options' */

	for (int i = 0; i < o->ntraces; i++) {
		unsigned n = newest_snapshot(o->traces[i]);
		if (!n)
			continue;
		size_t len = strlen(o->traces[i]);
		free(names[i]);
		names[i] = ww_xasprintf("%s%ssnapshot-%u", o->traces[i], len && o->traces[i][len - 1] == '/' ? "" : "/", n);
		if (!o->quiet)
			fprintf(stderr, "whywait: %s holds snapshots of a flight recorder; this is the newest, %s\n",
				o->traces[i], names[i]);
		o->traces[i] = names[i];
	}
}

static int parse_operands(struct ww_opts *o, int argc, char **argv, const struct ww_opts_spec *spec)
{
	int n = argc - optind;

	if (n > spec->max_traces)
		return usage_error(spec, "one argument too many:", argv[optind + spec->max_traces]);
	for (int i = 0; i < n && i < WW_OPTS_MAX_TRACES; i++)
		o->traces[i] = argv[optind + i];
	if (n > 0)
		o->ntraces = WW_MIN(n, WW_OPTS_MAX_TRACES);
	if (spec->max_traces && !spec->dir_itself)
		ww_opts_choose_snapshots(o);
	return -1;
}

/* -1: go on. */
static int parse_options(struct ww_opts *o, int argc, char **argv, const struct ww_opts_spec *spec, const struct table *t)
{
	optind = 0;
	opterr = 1;
	for (;;) {
		int v = getopt_long(argc, argv, t->shorts, t->longs, NULL);
		if (v == -1)
			return -1;
		if (v == '?')
			return usage_error(spec, NULL, NULL);
		if (v < 128)
			v = t->of_letter[v];
		if (v >= COMMON_BASE) {
			const struct common *c = &common[v - COMMON_BASE];
			if (!strcmp(c->name, "help")) {
				help(stdout, spec);
				return WW_EXIT_DONE;
			}
			if (!set_common(o, c->name, optarg))
				return value_error(spec, c->name, optarg);
		} else if (!spec->on_extra || !spec->on_extra(spec->ctx, v - EXTRA_BASE, optarg)) {
			return value_error(spec, spec->extra[v - EXTRA_BASE].name, optarg);
		}
	}
}

int ww_opts_parse(struct ww_opts *o, int argc, char **argv, const struct ww_opts_spec *spec)
{
	struct table t = {.shorts = ""};
	char name[64], *first = argv[0];

	for (int i = 0; spec->extra && spec->extra[i].name; i++)
		table_add(&t, spec->extra[i].name, spec->extra[i].letter, spec->extra[i].arg, EXTRA_BASE + i);
	for (size_t i = 0; i < WW_ARRAY_SIZE(common); i++)
		if (!common[i].group || (common[i].group & spec->groups))
			table_add(&t, common[i].name, common[i].letter, common[i].arg, COMMON_BASE + (int)i);
	ww_opts_default(o);
	argv[0] = full_name(spec, name, sizeof(name)); /* getopt's own messages begin with it */
	int rc = parse_options(o, argc, argv, spec, &t);
	argv[0] = first;
	return rc >= 0 ? rc : parse_operands(o, argc, argv, spec);
}
