/* symbols.c - kallsyms: read at the first address that somebody looks at, as most readers never do.
 * Lines are "ffffffff81000000 T name" and, for modules, "\t[module]". */
#include "format/tracedat/private.h"

#define FAR_BYTES (1u << 20) /* an address further behind a symbol is not in it */

struct symbol {
	uint64_t addr;
	const char *name;
};

struct td_symbols {
	struct symbol *v;
	size_t n;
	char *text;
};

void td_symbols_free(struct td_symbols *s)
{
	if (!s)
		return;
	free(s->v);
	free(s->text);
	free(s);
}

static int by_addr(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* One line, NUL-terminated in place. */
static bool parse_line(char *line, struct symbol *ret)
{
	char *end;

	ret->addr = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ' || !ret->addr)
		return false;
	ret->name = end + 3;
	end[3 + strcspn(end + 3, "\t ")] = 0;
	return ret->name[0] != 0;
}

static struct td_symbols *load(struct td_file *f)
{
	struct ww_span s = f->kallsyms;
	void *heap = NULL;

	if (f->version == 7) {
		if (!f->kallsyms_at || td_section(f, f->kallsyms_at, TD_OPT_KALLSYMS, &s, &heap, NULL))
			return NULL;
		uint32_t n = ww_span_u32(&s);
		s = ww_span_sub(&s, WW_MIN(n, ww_span_left(&s)));
	}
	if (!s.len || s.bad) {
		free(heap);
		return NULL;
	}
	struct td_symbols *r = ww_xcalloc(1, sizeof(*r));
	WW_VEC(struct symbol) v = {0};
	r->text = ww_xmalloc(s.len + 1);
	memcpy(r->text, s.p, s.len);
	r->text[s.len] = 0;
	free(heap);
	for (char *p = r->text, *next; *p; p = next) {
		struct symbol sym;
		next = p + strcspn(p, "\n");
		if (*next)
			*next++ = 0;
		if (parse_line(p, &sym))
			*ww_vec_push(&v) = sym;
	}
	r->v = v.v;
	r->n = v.n;
	if (r->n)
		qsort(r->v, r->n, sizeof(*r->v), by_addr);
	return r;
}

/* Fields that hold places in code rather than functions' addresses. */
static bool is_place(const char *name)
{
	static const char *const names[] = {"func", "ip", "parent_ip", "caller", "call_site", "callsite"};

	for (size_t i = 0; i < WW_ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

const char *td_symbol(struct td_trace *t, const struct ww_tep_field *f, const struct ww_value *v)
{
	unsigned bits = t->file.long_size * 8u;

	/* the kernel's half of the addresses; all else is no reason to read the symbols */
	if (v->kind != WW_V_UINT || f->size * 8u != bits || !(v->u >> (bits - 1)))
		return NULL;
	if (!t->symbols_tried) {
		t->symbols_tried = true;
		t->symbols = load(&t->file);
	}
	const struct td_symbols *s = t->symbols;
	if (!s || !s->n || v->u < s->v[0].addr)
		return NULL;
	size_t lo = 0, hi = s->n;
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;
		if (s->v[mid].addr <= v->u)
			lo = mid;
		else
			hi = mid;
	}
	uint64_t far = v->u - s->v[lo].addr;
	return !far || (is_place(f->name) && far < FAR_BYTES) ? s->v[lo].name : NULL;
}
