/* tsdl_parse.c - TSDL types: specifiers, declarators, structures, variants, names in scopes.
 *
 *   typealias integer { size = 8; } := uint8_t;      a name in the current scope
 *   struct { uint8_t n; string s[n]; } f;            a copy of the alias for n; a sequence for s
 */
#include "format/ctf/tsdl.h"

struct ctf_type *tsdl_new_type(struct tsdl *p, enum ctf_kind kind)
{
	if (p->m->nnodes >= CTF_MAX_NODES)
		tsdl_fail(p, WW_ELIMIT, "over %u types", CTF_MAX_NODES);
	return ctf_type_new(p->m, kind, p->tok.off);
}

static struct ctf_type *type_copy(struct tsdl *p, const struct ctf_type *t)
{
	if (p->failed || !t)
		return NULL;
	struct ctf_type *c = ctf_type_copy(p->m, t);
	if (!c)
		tsdl_fail(p, WW_ELIMIT, "over %u types", CTF_MAX_NODES);
	return c;
}

static void set_depth(struct tsdl *p, struct ctf_type *t, const struct ctf_type *child)
{
	if (!child)
		return;
	if (child->depth + 1u > CTF_MAX_DEPTH)
		tsdl_fail(p, WW_ELIMIT, "types are nested over %u deep", CTF_MAX_DEPTH);
	else
		t->depth = WW_MAX(t->depth, (uint8_t)(child->depth + 1));
}

/* ---- scopes ---- */

void tsdl_scope_push(struct tsdl *p, struct tsdl_scope *s)
{
	*s = (struct tsdl_scope){.up = p->scope};
	p->scope = s;
}

void tsdl_scope_pop(struct tsdl *p)
{
	struct tsdl_scope *s = p->scope;

	p->scope = s->up;
	ww_vec_free(&s->names);
}

static const struct ctf_type *find_name(struct tsdl *p, char space, const char *name)
{
	for (struct tsdl_scope *s = p->scope; s; s = s->up)
		for (size_t i = s->names.n; i-- > 0;)
			if (s->names.v[i].space == space && !strcmp(s->names.v[i].name, name))
				return s->names.v[i].type;
	return NULL;
}

static void add_name(struct tsdl *p, char space, const char *name, struct ctf_type *t)
{
	if (p->failed || !t)
		return;
	if (++p->naliases > CTF_MAX_ALIASES) {
		tsdl_fail(p, WW_ELIMIT, "over %u names of types", CTF_MAX_ALIASES);
		return;
	}
	*ww_vec_push(&p->scope->names) = (struct tsdl_name){space, name, t};
}

static struct ctf_type *use_name(struct tsdl *p, char space, const char *name)
{
	const struct ctf_type *t = find_name(p, space, name);

	if (!t)
		tsdl_fail(p, WW_ECORRUPT, "no type is called '%s' here", name);
	return type_copy(p, t);
}

/* ---- values ---- */

struct tsdl_value tsdl_value(struct tsdl *p)
{
	struct tsdl_value v = {.s = ""};

	if (tsdl_accept(p, '-'))
		v.negative = true;
	else
		(void)tsdl_accept(p, '+');
	if (p->tok.kind == T_INT) {
		v.is_int = true;
		v.u = v.negative ? -p->tok.val : p->tok.val;
		if (v.negative && p->tok.val > (uint64_t)INT64_MAX + 1)
			tsdl_fail(p, WW_ECORRUPT, "a number is over 64 bits");
		tsdl_next(p);
	} else if (p->tok.kind == T_STRING) {
		v.is_string = true;
		v.s = p->tok.str;
		tsdl_next(p);
	} else {
		v.s = tsdl_path(p);
	}
	return v;
}

/* ---- declarators ---- */

static struct ctf_type *array_of(struct tsdl *p, struct ctf_type *elem, uint64_t length, const char *ref)
{
	struct ctf_type *t = tsdl_new_type(p, ref ? CTF_SEQUENCE : CTF_ARRAY);

	t->elem = elem;
	t->length = length;
	t->ref = ref;
	set_depth(p, t, elem);
	return t;
}

/* [4][n]: outermost first; `t` is the innermost element. */
static struct ctf_type *dimensions(struct tsdl *p, struct ctf_type *t)
{
	if (!tsdl_accept(p, '['))
		return t;
	uint64_t length = 0;
	const char *ref = NULL;
	if (p->tok.kind == T_INT) {
		length = p->tok.val;
		if (length > UINT32_MAX)
			tsdl_fail(p, WW_ELIMIT, "an array is over 2^32 long");
		tsdl_next(p);
	} else {
		ref = tsdl_path(p);
	}
	tsdl_expect(p, ']');
	if (++p->depth > CTF_MAX_DEPTH)
		tsdl_fail(p, WW_ELIMIT, "over %u dimensions", CTF_MAX_DEPTH);
	struct ctf_type *inner = dimensions(p, t);
	p->depth--;
	return array_of(p, inner, length, ref);
}

/* Type names that C makes of several words. */
static bool c_type_word(const char *s)
{
	static const char *const words[] = {"unsigned", "signed", "long",  "short",    "int",     "char", "float",
					    "double",   "_Bool",  "void", "_Complex", "_Imaginary"};
	for (size_t i = 0; i < WW_ARRAY_SIZE(words); i++)
		if (!strcmp(s, words[i]))
			return true;
	return false;
}

static const char *alias_name(struct tsdl *p)
{
	const char *s = tsdl_ident(p);

	while (c_type_word(s) || !strcmp(s, "const")) {
		if (!strcmp(s, "const"))
			s = tsdl_ident(p);
		else
			break;
		if (p->failed)
			return "";
	}
	if (!c_type_word(s))
		return s;
	while (p->tok.kind == T_IDENT && c_type_word(p->tok.str) && !p->failed)
		s = ww_arena_printf(&p->m->mem, "%s %s", s, tsdl_ident(p));
	return s;
}

static void push_field(struct tsdl *p, void *vec, const char *name, struct ctf_type *t)
{
	WW_VEC(struct ctf_field) *fields = vec;

	if (p->failed || !t)
		return;
	struct ctf_field *f = ww_vec_push(fields);
	f->raw = name;
	f->name = name[0] == '_' ? name + 1 : name;
	f->type = t;
}

/* TYPE a, b[4]; with the type read already. */
static void declarators(struct tsdl *p, struct ctf_type *t, void *fields)
{
	for (bool first = true; !p->failed; first = false) {
		if (tsdl_accept(p, '*'))
			tsdl_fail(p, WW_EUNSUPPORTED, "pointers have no layout");
		const char *name = tsdl_ident(p);
		struct ctf_type *mine = first ? t : type_copy(p, t);
		push_field(p, fields, name, dimensions(p, mine));
		if (!tsdl_accept(p, ','))
			break;
	}
	tsdl_expect(p, ';');
}

static bool plain_decl(struct tsdl *p);

/* { members }, into t->fields */
static void body(struct tsdl *p, struct ctf_type *t)
{
	struct tsdl_scope scope;
	WW_VEC(struct ctf_field) fields = {0};

	tsdl_expect(p, '{');
	tsdl_scope_push(p, &scope);
	while (!p->failed && p->tok.kind != '}') {
		if (tsdl_is(p, "typealias") || tsdl_is(p, "typedef")) {
			plain_decl(p);
			continue;
		}
		struct ctf_type *m = tsdl_type(p);
		if (!tsdl_accept(p, ';'))
			declarators(p, m, &fields);
	}
	tsdl_expect(p, '}');
	tsdl_scope_pop(p);
	t->fields = WW_ARENA_ARRAY(&p->m->mem, struct ctf_field, fields.n + 1);
	if (fields.n)
		memcpy(t->fields, fields.v, fields.n * sizeof(fields.v[0]));
	t->nfields = (uint32_t)fields.n;
	for (size_t i = 0; i < fields.n; i++)
		set_depth(p, t, fields.v[i].type);
	ww_vec_free(&fields);
}

static void alignment(struct tsdl *p, struct ctf_type *t)
{
	if (!tsdl_is(p, "align"))
		return;
	tsdl_next(p);
	tsdl_expect(p, '(');
	uint64_t a = p->tok.val;
	if (p->tok.kind != T_INT || !a || (a & (a - 1)) || a > CTF_MAX_ALIGN)
		tsdl_fail(p, WW_ECORRUPT, "an alignment is a power of two up to %u", CTF_MAX_ALIGN);
	tsdl_expect(p, T_INT);
	tsdl_expect(p, ')');
	t->align = WW_MAX(t->align, (uint32_t)a);
}

static struct ctf_type *structure(struct tsdl *p)
{
	const char *name = p->tok.kind == T_IDENT && !tsdl_is(p, "align") ? tsdl_ident(p) : NULL;

	if (name && p->tok.kind != '{') {
		struct ctf_type *t = use_name(p, 's', name);
		if (t)
			alignment(p, t);
		return t;
	}
	struct ctf_type *t = tsdl_new_type(p, CTF_STRUCT);
	body(p, t);
	alignment(p, t);
	if (name)
		add_name(p, 's', name, t);
	return name ? type_copy(p, t) : t;
}

static struct ctf_type *variant(struct tsdl *p)
{
	const char *name = p->tok.kind == T_IDENT ? tsdl_ident(p) : NULL, *tag = NULL;
	struct ctf_type *t;

	if (tsdl_accept(p, '<')) {
		tag = tsdl_path(p);
		tsdl_expect(p, '>');
	}
	if (name && p->tok.kind != '{') {
		t = use_name(p, 'v', name);
	} else {
		t = tsdl_new_type(p, CTF_VARIANT);
		body(p, t);
		if (name) {
			add_name(p, 'v', name, t);
			t = type_copy(p, t);
		}
	}
	if (t && tag)
		t->ref = tag;
	return t;
}

static struct ctf_type *enumeration(struct tsdl *p)
{
	const char *name = p->tok.kind == T_IDENT ? tsdl_ident(p) : NULL;

	if (name && p->tok.kind != '{' && p->tok.kind != ':')
		return use_name(p, 'e', name);
	struct ctf_type *t = tsdl_enum(p);
	if (name)
		add_name(p, 'e', name, t);
	return name ? type_copy(p, t) : t;
}

struct ctf_type *tsdl_type(struct tsdl *p)
{
	struct ctf_type *t;

	if (p->tok.kind == T_IDENT && !strcmp(p->tok.str, "const"))
		tsdl_next(p);
	if (p->tok.kind != T_IDENT) {
		tsdl_expect(p, T_IDENT);
		return NULL;
	}
	if (++p->depth > CTF_MAX_DEPTH)
		tsdl_fail(p, WW_ELIMIT, "types are nested over %u deep", CTF_MAX_DEPTH);
	if (tsdl_is(p, "integer")) {
		tsdl_next(p);
		t = tsdl_integer(p);
	} else if (tsdl_is(p, "floating_point")) {
		tsdl_next(p);
		t = tsdl_float(p);
	} else if (tsdl_is(p, "string")) {
		tsdl_next(p);
		t = tsdl_string(p);
	} else if (tsdl_is(p, "struct")) {
		tsdl_next(p);
		t = structure(p);
	} else if (tsdl_is(p, "variant")) {
		tsdl_next(p);
		t = variant(p);
	} else if (tsdl_is(p, "enum")) {
		tsdl_next(p);
		t = enumeration(p);
	} else {
		t = use_name(p, 'a', alias_name(p));
	}
	p->depth--;
	return p->failed ? NULL : t;
}

/* typealias TYPE := NAME;  typedef TYPE NAME[4]; */
static bool plain_decl(struct tsdl *p)
{
	if (tsdl_is(p, "typealias")) {
		tsdl_next(p);
		struct ctf_type *t = dimensions(p, tsdl_type(p));
		tsdl_expect(p, T_ASSIGN);
		const char *name = alias_name(p);
		while (tsdl_accept(p, '*'))
			name = ww_arena_printf(&p->m->mem, "%s *", name);
		add_name(p, 'a', name, t);
		tsdl_expect(p, ';');
		return true;
	}
	if (tsdl_is(p, "typedef")) {
		WW_VEC(struct ctf_field) names = {0};
		tsdl_next(p);
		declarators(p, tsdl_type(p), &names);
		for (size_t i = 0; i < names.n; i++)
			add_name(p, 'a', names.v[i].raw, names.v[i].type);
		ww_vec_free(&names);
		return true;
	}
	return false;
}

bool tsdl_type_decl(struct tsdl *p)
{
	if (plain_decl(p))
		return true;
	if (tsdl_is(p, "struct") || tsdl_is(p, "variant") || tsdl_is(p, "enum")) {
		(void)tsdl_type(p);
		tsdl_expect(p, ';');
		return true;
	}
	return false;
}

int ctf_tsdl_parse(struct ctf_meta *m, struct ww_err *err)
{
	struct tsdl p = {.m = m, .err = err};
	struct tsdl_scope root;

	tsdl_scope_push(&p, &root);
	tsdl_next(&p);
	while (!p.failed && p.tok.kind != T_EOF) {
		if (tsdl_accept(&p, ';') || tsdl_type_decl(&p) || tsdl_block(&p))
			continue;
		if (!p.failed)
			tsdl_fail(&p, WW_ECORRUPT, "neither a block nor a type begins here");
	}
	tsdl_scope_pop(&p);
	return p.failed ? p.rc : 0;
}
