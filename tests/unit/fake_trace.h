/* fake_trace.h - a trace in memory, for tests of what stands on the reader: events as text rows.
 *
 *   struct fake *k = fake_new("lttng-modules 2.13");
 *   fake_event(k, 1000, 0, "sched_switch", "prev_tid=0 next_tid=10 prev_state=0");
 *   struct ww_trace *t = fake_open(k);      after the last event; fake_free(k) when done
 * A field is name=VALUE: 12, -3, 0x1f an integer; 'text' a string; #7f000001 bytes; [1,2] an array;
 * <fd=5,raw_events=1> an array of one structure. Names may be dotted paths.
 * Rows must be given in time order, as a reader delivers them.
 */
#ifndef WW_FAKE_TRACE_H
#define WW_FAKE_TRACE_H

#include <ctype.h>
#include <stdio.h>

#include "base/vec.h"
#include "format/format.h"

struct fake_field {
	char name[64];
	struct ww_value v;
	char text[96]; /* what v.p points to, or the inside of an array */
	char shape;    /* 'i' 's' '#' '[' '<' */
};

struct fake_row {
	int64_t ts, gap_begin;
	uint64_t lost;
	int32_t cpu;
	uint32_t cls, nfields;
	struct fake_field *fields;
};

struct fake_class {
	struct ww_class pub;
	const char *names[40];
	const char *const *want;
	uint32_t nwant;
	bool ignored;
};

struct fake {
	struct ww_trace base;
	WW_VEC(struct fake_class *) classes;
	WW_VEC(struct fake_row) rows;
	size_t next;
	struct ww_value v[64];
};

static uint32_t fake_class_of(struct fake *k, const char *name)
{
	for (size_t i = 0; i < k->classes.n; i++)
		if (!strcmp(k->classes.v[i]->pub.name, name))
			return (uint32_t)i;
	struct fake_class *c = ww_xcalloc(1, sizeof(*c));
	c->pub.name = ww_xstrdup(name);
	c->pub.field_names = c->names;
	*ww_vec_push(&k->classes) = c;
	return (uint32_t)k->classes.n - 1;
}

static void fake_declare(struct fake_class *c, const char *path)
{
	size_t n = strcspn(path, ".");

	for (uint32_t i = 0; i < c->pub.nfields; i++)
		if (strlen(c->names[i]) == n && !memcmp(c->names[i], path, n))
			return;
	if (c->pub.nfields < 40)
		c->names[c->pub.nfields++] = ww_xasprintf("%.*s", (int)n, path);
}

static const char *fake_parse_value(struct fake_field *f, const char *s)
{
	static const char closers[] = {['\''] = '\'', ['['] = ']', ['<'] = '>'};
	const char *end;

	f->shape = strchr("'[<#", *s) && *s ? *s : 'i';
	if (f->shape == 'i') {
		f->v.kind = *s == '-' ? WW_V_INT : WW_V_UINT;
		f->v.i = *s == '-' ? strtoll(s, (char **)&end, 0) : (int64_t)strtoull(s, (char **)&end, 0);
		return end;
	}
	if (f->shape == '#') {
		uint32_t n = 0;

		for (s++; isxdigit((unsigned char)s[0]) && isxdigit((unsigned char)s[1]); s += 2) {
			char hex[3] = {s[0], s[1], 0};

			f->text[n++] = (char)strtol(hex, NULL, 16);
		}
		f->v.kind = WW_V_BYTES;
		f->v.len = n;
		return s;
	}
	end = strchr(s + 1, closers[(int)f->shape]);
	snprintf(f->text, sizeof(f->text), "%.*s", (int)(end - s - 1), s + 1);
	f->v.kind = f->shape == '\'' ? WW_V_STR : WW_V_ARRAY;
	f->v.len = (uint32_t)strlen(f->text);
	return end + 1;
}

__attribute__((unused)) static void fake_event(struct fake *k, int64_t ts, int32_t cpu, const char *name,
					       const char *text)
{
	struct fake_row r = {.ts = ts, .cpu = cpu, .cls = fake_class_of(k, name)};
	WW_VEC(struct fake_field) fields = {0};

	for (const char *s = text; *s;) {
		struct fake_field *f = ww_vec_push(&fields);
		size_t n = strcspn(s, "=");

		snprintf(f->name, sizeof(f->name), "%.*s", (int)n, s);
		s = fake_parse_value(f, s + n + 1);
		s += *s == ' ';
		fake_declare(k->classes.v[r.cls], f->name);
	}
	for (size_t i = 0; i < fields.n; i++)
		if (fields.v[i].shape != 'i')
			fields.v[i].v.p = fields.v[i].text;
	r.fields = fields.v;
	r.nfields = (uint32_t)fields.n;
	*ww_vec_push(&k->rows) = r;
}

__attribute__((unused)) static void fake_gap(struct fake *k, int64_t begin, int64_t end, int32_t cpu, uint64_t lost)
{
	struct fake_row r = {.ts = end, .gap_begin = begin, .lost = lost, .cpu = cpu, .cls = WW_CLS_GAP};

	*ww_vec_push(&k->rows) = r;
	k->base.stats.lost_events += lost;
}

/* ---- the format ---- */
static const struct ww_class *fake_get_class(const struct ww_trace *t, uint32_t cls)
{
	return &((const struct fake *)t)->classes.v[cls]->pub;
}

static uint32_t fake_damage(const struct ww_trace *t, const struct ww_damage **ret)
{
	(void)t, (void)ret;
	return 0;
}

static int fake_want(struct ww_trace *t, uint32_t cls, const char *const *fields, uint32_t n, struct ww_err *err)
{
	struct fake_class *c = ((struct fake *)t)->classes.v[cls];

	(void)err;
	c->want = fields;
	c->nwant = n;
	return 0;
}

static void fake_ignore(struct ww_trace *t, uint32_t cls)
{
	((struct fake *)t)->classes.v[cls]->ignored = true;
}

static int fake_next(struct ww_trace *t, struct ww_event *ret, struct ww_err *err)
{
	struct fake *k = (struct fake *)t;

	(void)err;
	for (; k->next < k->rows.n; k->next++) {
		const struct fake_row *r = &k->rows.v[k->next];
		bool gap = r->cls == WW_CLS_GAP;
		const struct fake_class *c = gap ? NULL : k->classes.v[r->cls];

		if (!t->stats.events++)
			t->stats.begin_ts_ns = r->ts;
		t->stats.end_ts_ns = r->ts;
		if (c && c->ignored)
			continue;
		*ret = (struct ww_event){.ts_ns = r->ts, .cls = r->cls, .cpu = r->cpu, .v = k->v,
					 .nval = gap ? 2 : c->nwant};
		t->from.priv = r;
		if (gap) {
			k->v[0] = (struct ww_value){.u = r->lost, .kind = WW_V_UINT};
			k->v[1] = (struct ww_value){.i = r->gap_begin, .kind = WW_V_INT};
		}
		for (uint32_t i = 0; c && i < c->nwant; i++) {
			k->v[i] = (struct ww_value){.kind = WW_V_NONE};
			for (uint32_t j = 0; j < r->nfields; j++)
				if (!strcmp(r->fields[j].name, c->want[i]))
					k->v[i] = r->fields[j].v;
		}
		k->next++;
		return 1;
	}
	return 0;
}

static void fake_visit_array(const struct fake_field *f, const struct ww_visitor *v, void *ctx)
{
	v->begin(ctx, f->name, true);
	if (f->shape == '<')
		v->begin(ctx, NULL, false);
	for (const char *s = f->text; *s; s += *s == ',') {
		char name[32];
		size_t n = f->shape == '<' ? strcspn(s, "=") : 0;
		struct ww_value e = {.kind = WW_V_INT};

		snprintf(name, sizeof(name), "%.*s", (int)n, s);
		e.i = strtoll(s + n + (n > 0), (char **)&s, 0);
		v->value(ctx, n ? name : NULL, &e, NULL, 10);
	}
	if (f->shape == '<')
		v->end(ctx);
	v->end(ctx);
}

static int fake_visit(struct ww_trace *t, const struct ww_event *ev, const struct ww_visitor *v, void *ctx,
		      struct ww_err *err)
{
	const struct fake_row *r = t->from.priv;

	(void)t, (void)err;
	for (uint32_t i = 0; i < r->nfields; i++)
		if (r->fields[i].v.kind == WW_V_ARRAY)
			fake_visit_array(&r->fields[i], v, ctx);
		else
			v->value(ctx, r->fields[i].name, &r->fields[i].v, NULL, 10);
	return 0;
}

static void fake_close(struct ww_trace *t)
{
	t->will_visit = NULL; /* freed just before; the fake may be opened again */
}

static const struct ww_format fake_format = {
	.name = "fake", .close = fake_close, .get_class = fake_get_class, .damage = fake_damage,
	.want = fake_want, .ignore = fake_ignore, .next = fake_next, .visit = fake_visit};

__attribute__((unused)) static struct fake *fake_new(const char *tracer)
{
	struct fake *k = ww_xcalloc(1, sizeof(*k));

	k->base.fmt = &fake_format;
	k->base.info = (struct ww_trace_info){.path = "fake", .format = "ctf 1.8", .hostname = "fake",
					      .tracer = tracer, .kernel_release = "6.1", .arch = "x86_64",
					      .clock = {.name = "monotonic", .uuid = "", .freq_hz = 1000000000},
					      .ncpus = 2};
	return k;
}

__attribute__((unused)) static struct ww_trace *fake_open(struct fake *k)
{
	k->base.info.nclasses = (uint32_t)k->classes.n;
	k->next = 0;
	k->base.stats.events = 0;
	for (size_t i = 0; i < k->classes.n; i++)
		k->classes.v[i]->ignored = false;
	return &k->base;
}

__attribute__((unused)) static void fake_free(struct fake *k)
{
	for (size_t i = 0; i < k->classes.n; i++) {
		for (uint32_t j = 0; j < k->classes.v[i]->pub.nfields; j++)
			free((char *)k->classes.v[i]->names[j]);
		free((char *)k->classes.v[i]->pub.name);
		free(k->classes.v[i]);
	}
	for (size_t i = 0; i < k->rows.n; i++)
		free(k->rows.v[i].fields);
	ww_vec_free(&k->classes);
	ww_vec_free(&k->rows);
	free(k->base.will_visit);
	free(k);
}

#endif
