/* classes.c - event format texts -> classes; wanted fields -> decode plans. */
#include "format/tracedat/private.h"

int td_class_add(struct td_trace *t, const char *system, const char *text, size_t len, struct ww_err *err)
{
	struct ww_tep_event *tep = NULL;
	int rc = ww_tep_parse(&t->mem, text, len, system, t->file.long_size, &tep, err);

	if (rc)
		return rc;
	if (tep->id > UINT16_MAX || t->class_of[tep->id] != WW_NONE)
		return 0; /* the ring buffer's type has 16 bits; a file may say the same thing twice */
	if (!t->classes.n) {
		const struct ww_tep_field *type = ww_tep_field_find(tep, "common_type");
		if (type && type->size == 2 && type->kind == WW_TEP_INT)
			t->type_off = type->offset;
	}
	t->class_of[tep->id] = (uint32_t)t->classes.n;
	struct td_class *c = ww_vec_push(&t->classes);
	c->tep = tep;
	c->pub.name = tep->name;
	c->pub.id = tep->id;
	c->pub.nfields = tep->nfields - tep->ncommon;
	const char **names = WW_ARENA_ARRAY(&t->mem, const char *, c->pub.nfields + 1);
	for (uint32_t i = 0; i < c->pub.nfields; i++)
		names[i] = tep->fields[tep->ncommon + i].name;
	c->pub.field_names = names;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct td_class *x = *(struct td_class *const *)a, *y = *(struct td_class *const *)b;
	return strcmp(x->tep->name, y->tep->name);
}

/* A name that two systems share becomes "system:name" in both. Then the class of events whose type
 * has no format in the file. */
void td_classes_finish(struct td_trace *t)
{
	size_t n = t->classes.n;
	struct td_class **sorted = ww_xcalloc(n + 1, sizeof(*sorted));

	for (size_t i = 0; i < n; i++)
		sorted[i] = &t->classes.v[i];
	qsort(sorted, n, sizeof(*sorted), by_name);
	for (size_t i = 0; i < n; i++) {
		bool same = (i && !by_name(&sorted[i - 1], &sorted[i])) ||
			    (i + 1 < n && !by_name(&sorted[i], &sorted[i + 1]));
		if (same)
			sorted[i]->pub.name = ww_arena_printf(&t->mem, "%s:%s", sorted[i]->tep->system,
							      sorted[i]->tep->name);
	}
	free(sorted);

	t->unknown_class = (uint32_t)t->classes.n;
	struct td_class *c = ww_vec_push(&t->classes);
	c->pub.name = "unknown_event";
	c->pub.id = TD_UNKNOWN_ID;
}

/* "args[2]" or "args.2" is an element of an array. */
static const struct ww_tep_field *find_field(const struct ww_tep_event *e, const char *name, uint16_t *ret_elem)
{
	*ret_elem = 0;
	const struct ww_tep_field *f = ww_tep_field_find(e, name);
	size_t n = strcspn(name, "[.");
	if (f || !name[n])
		return f;
	char *end;
	unsigned long i = strtoul(name + n + 1, &end, 10);
	bool closed = name[n] == '[' ? !strcmp(end, "]") : !*end;
	if (end == name + n + 1 || !closed || i >= UINT16_MAX)
		return NULL;
	for (uint32_t k = 0; k < e->nfields; k++)
		if (!strncmp(e->fields[k].name, name, n) && !e->fields[k].name[n] &&
		    e->fields[k].kind == WW_TEP_ARRAY) {
			*ret_elem = (uint16_t)(i + 1);
			return &e->fields[k];
		}
	return NULL;
}

int td_class_want(struct td_trace *t, uint32_t cls, const char *const *fields, uint32_t n,
		  struct ww_err *err)
{
	if (cls >= t->classes.n)
		return ww_err_set(err, WW_EUSAGE, t->file.path, WW_ERR_NO_OFFSET, "no event class %u", cls);
	struct td_class *c = &t->classes.v[cls];
	uint16_t *elem = WW_ARENA_ARRAY(&t->mem, uint16_t, n + 1);

	c->want = WW_ARENA_ARRAY(&t->mem, const struct ww_tep_field *, n + 1);
	c->nwant = n;
	for (uint32_t i = 0; i < n; i++)
		c->want[i] = c->tep ? find_field(c->tep, fields[i], &elem[i]) : NULL;
	c->elem = elem;
	if (n > t->max_want) {
		t->max_want = n;
		t->values = ww_xrealloc(t->values, n * sizeof(*t->values));
	}
	return 0;
}
