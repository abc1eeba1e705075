/* tepfmt.c - see tepfmt.h. The text that is read here looks like
 *
 *   name: sched_waking
 *   ID: 316
 *   format:
 *   	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
 *
 *   	field:char comm[16];	offset:8;	size:16;	signed:0;
 *   	field:__data_loc char[] name;	offset:24;	size:4;	signed:1;
 *   print fmt: "comm=%s", REC->comm
 *
 * A declaration is C, but not worth a C parser: its name is the last identifier before the array's
 * bracket, and the sizes of everything are given. Only the elements of arrays need their type.
 */
#include "format/tepfmt/tepfmt.h"

#include "base/vec.h"

#define TEP_MAX_FIELDS 4096

struct text {
	const char *p;
	size_t len;
};

static bool text_starts(struct text t, const char *s)
{
	size_t n = strlen(s);
	return t.len >= n && !memcmp(t.p, s, n);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

static struct text text_trim(struct text t)
{
	while (t.len && is_space(t.p[0]))
		t.p++, t.len--;
	while (t.len && (is_space(t.p[t.len - 1]) || t.p[t.len - 1] == '\r'))
		t.len--;
	return t;
}

static struct text text_from(struct text t, size_t pos)
{
	return (struct text){t.p + pos, t.len - pos};
}

static bool text_has(struct text t, const char *s)
{
	return memmem(t.p, t.len, s, strlen(s)) != NULL;
}

static bool is_ident(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Decimal number at the start; false when there is none or it exceeds u32. */
static bool text_u32(struct text t, uint32_t *ret)
{
	uint64_t v = 0;
	size_t i = 0;
	for (; i < t.len && t.p[i] >= '0' && t.p[i] <= '9'; i++) {
		v = v * 10 + (uint64_t)(t.p[i] - '0');
		if (v > UINT32_MAX)
			return false;
	}
	*ret = (uint32_t)v;
	return i > 0;
}

/* The value of "key:" among "offset:0; size:2; signed:0;". */
static bool find_attr(struct text t, const char *key, uint32_t *ret)
{
	const char *p = memmem(t.p, t.len, key, strlen(key));
	if (!p)
		return false;
	size_t pos = (size_t)(p - t.p) + strlen(key);
	return text_u32(text_from(t, pos), ret);
}

/* Bytes of one element, by the words of its type; 0 for a structure. */
static unsigned type_size(struct text type, unsigned long_size)
{
	static const struct {
		const char *word;
		uint8_t size;
	} words[] = {
		{"char", 1},   {"u8", 1},     {"s8", 1},      {"bool", 1},    {"int8", 1},   {"u16", 2},
		{"s16", 2},    {"short", 2},  {"be16", 2},    {"le16", 2},    {"int16", 2},  {"u64", 8},
		{"s64", 8},    {"be64", 8},   {"le64", 8},    {"int64", 8},   {"long long", 8},
		{"u32", 4},    {"s32", 4},    {"be32", 4},    {"le32", 4},    {"int", 4},    {"pid_t", 4},
		{"uid_t", 4},  {"gid_t", 4},  {"dev_t", 4},   {"enum", 4},    {"gfp_t", 4},
	};
	if (text_has(type, "*"))
		return long_size;
	if (text_has(type, "struct ") || text_has(type, "union "))
		return 0;
	if (text_has(type, "long") && !text_has(type, "long long"))
		return long_size;
	if (text_has(type, "size_t") || text_has(type, "cpumask"))
		return long_size;
	for (size_t i = 0; i < WW_ARRAY_SIZE(words); i++)
		if (text_has(type, words[i].word))
			return words[i].size;
	return text_has(type, "unsigned") ? 4 : 0;
}

static bool type_is_char(struct text type)
{
	return text_has(type, "char") && !text_has(type, "unsigned") && !text_has(type, "*");
}

/* What the field is, from its type words, whether it has brackets, and its size. */
static void classify(struct ww_tep_field *f, struct text type, bool array, unsigned long_size)
{
	unsigned elem = type_size(type, long_size);

	f->base = text_has(type, "*") ? 16 : 10;
	if (!array && f->where == WW_TEP_FIXED) {
		bool plain = f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8;
		f->kind = plain ? WW_TEP_INT : WW_TEP_BYTES;
		return;
	}
	if (type_is_char(type))
		f->kind = WW_TEP_CHARS;
	else if (elem == 2 || elem == 4 || elem == 8)
		f->kind = WW_TEP_ARRAY;
	else
		f->kind = WW_TEP_BYTES;
	f->elem_size = (uint8_t)elem;
	if (f->kind == WW_TEP_ARRAY && f->where == WW_TEP_FIXED && f->size % elem)
		f->kind = WW_TEP_BYTES;
}

/* "__data_loc char[] name", "unsigned long args[6]", "void (*fn)(int)" -> name, type, array. */
static bool parse_decl(struct ww_arena *mem, struct text decl, struct ww_tep_field *f,
		       unsigned long_size)
{
	decl = text_trim(decl);
	if (text_starts(decl, "__data_loc")) {
		f->where = WW_TEP_DATA_LOC;
		decl = text_trim(text_from(decl, 10));
	} else if (text_starts(decl, "__rel_loc")) {
		f->where = WW_TEP_REL_LOC;
		decl = text_trim(text_from(decl, 9));
	}

	size_t end = decl.len;
	bool array = false;
	if (end && decl.p[end - 1] == ']') {
		const char *open = memrchr(decl.p, '[', end);
		if (!open)
			return false;
		array = true;
		end = (size_t)(open - decl.p);
	}
	const char *paren = memmem(decl.p, end, "(*", 2);
	if (paren) { /* a function pointer's name stands inside */
		size_t at = (size_t)(paren - decl.p) + 2, to = at;
		while (to < end && is_ident(decl.p[to]))
			to++;
		f->name = ww_arena_strndup(mem, decl.p + at, to - at);
		classify(f, (struct text){"*", 1}, array, long_size);
		return to > at;
	}
	while (end && is_space(decl.p[end - 1]))
		end--;
	size_t begin = end;
	while (begin && is_ident(decl.p[begin - 1]))
		begin--;
	if (begin == end)
		return false;
	f->name = ww_arena_strndup(mem, decl.p + begin, end - begin);

	struct text type = text_trim((struct text){decl.p, begin});
	if (type.len && type.p[type.len - 1] == ']') {
		const char *open = memrchr(type.p, '[', type.len);
		if (!open)
			return false;
		array = true;
		type.len = (size_t)(open - type.p);
	}
	classify(f, type, array, long_size);
	return true;
}

static bool parse_field(struct ww_arena *mem, struct text line, struct ww_tep_field *f,
			unsigned long_size)
{
	const char *semi = memchr(line.p, ';', line.len);
	uint32_t is_signed = 0;

	if (!semi)
		return false;
	size_t dlen = (size_t)(semi - line.p);
	struct text attrs = text_from(line, dlen);
	if (!find_attr(attrs, "offset:", &f->offset) || !find_attr(attrs, "size:", &f->size))
		return false;
	find_attr(attrs, "signed:", &is_signed);
	f->is_signed = is_signed != 0;
	if (!parse_decl(mem, (struct text){line.p, dlen}, f, long_size))
		return false;
	f->is_common = !strncmp(f->name, "common_", 7);
	return f->where == WW_TEP_FIXED || f->size == 4;
}

/* Line by line. Returns false with *ret_pos set at the line that is wrong. */
static int parse_lines(struct ww_arena *mem, struct text text, unsigned long_size,
		       struct ww_tep_event *e, size_t *ret_pos)
{
	WW_VEC(struct ww_tep_field) fields = {0};
	bool have_id = false;
	int rc = 0;

	for (size_t pos = 0; pos < text.len && !rc;) {
		const char *nl = memchr(text.p + pos, '\n', text.len - pos);
		size_t end = nl ? (size_t)(nl - text.p) : text.len;
		struct text line = text_trim((struct text){text.p + pos, end - pos});

		*ret_pos = pos;
		pos = end + 1;
		if (text_starts(line, "name:")) {
			line = text_trim(text_from(line, 5));
			e->name = ww_arena_strndup(mem, line.p, line.len);
		} else if (text_starts(line, "ID:")) {
			have_id = text_u32(text_trim(text_from(line, 3)), &e->id);
		} else if (text_starts(line, "field:") || text_starts(line, "field special:")) {
			size_t skip = line.p[5] == ':' ? 6 : 14;
			struct ww_tep_field f = {0};
			if (fields.n >= TEP_MAX_FIELDS)
				rc = -WW_ELIMIT;
			else if (!parse_field(mem, text_from(line, skip), &f, long_size))
				rc = -WW_ECORRUPT;
			else
				*ww_vec_push(&fields) = f;
		} else if (text_starts(line, "print fmt:")) {
			line = text_trim(text_from(line, 10));
			e->print_fmt = ww_arena_strndup(mem, line.p, line.len);
		}
	}
	if (!rc && (!e->name || !have_id)) {
		*ret_pos = 0;
		rc = -WW_ECORRUPT;
	}
	if (!rc) { /* the common fields first, as the header promises */
		e->fields = WW_ARENA_ARRAY(mem, struct ww_tep_field, fields.n + 1);
		for (size_t i = 0; i < fields.n; i++)
			if (fields.v[i].is_common)
				e->fields[e->nfields++] = fields.v[i];
		e->ncommon = e->nfields;
		for (size_t i = 0; i < fields.n; i++)
			if (!fields.v[i].is_common)
				e->fields[e->nfields++] = fields.v[i];
	}
	ww_vec_free(&fields);
	return rc;
}

int ww_tep_parse(struct ww_arena *mem, const char *text, size_t len, const char *system,
		 unsigned long_size, struct ww_tep_event **ret, struct ww_err *err)
{
	struct ww_tep_event *e = WW_ARENA_NEW(mem, struct ww_tep_event);
	size_t pos = 0;

	e->print_fmt = "";
	e->system = ww_arena_strdup(mem, system);
	int rc = parse_lines(mem, (struct text){text, len}, long_size == 4 ? 4 : 8, e, &pos);
	if (rc == -WW_ELIMIT)
		return ww_err_set(err, WW_ELIMIT, NULL, pos, "event format of %s:%s has over %d fields",
				  system, e->name ? e->name : "?", TEP_MAX_FIELDS);
	if (rc)
		return ww_err_set(err, WW_ECORRUPT, NULL, pos, "event format of %s:%s is damaged", system,
				  e->name ? e->name : "?");
	*ret = e;
	return 0;
}

const struct ww_tep_field *ww_tep_field_find(const struct ww_tep_event *e, const char *name)
{
	for (uint32_t i = 0; i < e->nfields; i++)
		if (!strcmp(e->fields[i].name, name))
			return &e->fields[i];
	return NULL;
}

/* Where the bytes of the field are; false when the record is too short. */
static bool locate(const struct ww_tep_field *f, const uint8_t *raw, size_t len, bool swap,
		   size_t *ret_off, size_t *ret_len)
{
	uint64_t off = f->offset, n = f->size;

	if (f->where != WW_TEP_FIXED) {
		uint32_t loc;
		if (off + 4 > len)
			return false;
		memcpy(&loc, raw + off, 4);
		loc = swap ? __builtin_bswap32(loc) : loc;
		off = (loc & 0xffff) + (f->where == WW_TEP_REL_LOC ? off + 4 : 0);
		n = loc >> 16;
	} else if (n == 0) {
		n = off <= len ? len - off : 0;
	}
	if (off > len || n > len - off)
		return false;
	*ret_off = (size_t)off;
	*ret_len = (size_t)n;
	return true;
}

void ww_tep_get_slow(const struct ww_tep_field *f, const uint8_t *raw, size_t len, bool swap,
		     struct ww_value *ret)
{
	size_t off, n;

	*ret = (struct ww_value){.kind = WW_V_NONE};
	if (!locate(f, raw, len, swap, &off, &n))
		return;
	ret->p = (const char *)raw + off;
	if (f->kind == WW_TEP_CHARS) {
		ret->len = (uint32_t)strnlen(ret->p, n);
		ret->kind = WW_V_STR;
	} else if (f->kind == WW_TEP_ARRAY) {
		ret->len = (uint32_t)(n / f->elem_size);
		ret->kind = WW_V_ARRAY;
	} else {
		ret->len = (uint32_t)n;
		ret->kind = WW_V_BYTES;
	}
}

void ww_tep_elem(const struct ww_tep_field *f, const struct ww_value *array, uint32_t i, bool swap,
		 struct ww_value *ret)
{
	struct ww_tep_field elem = {
		.kind = WW_TEP_INT, .size = f->elem_size, .is_signed = f->is_signed};

	WW_DASSERT(i < array->len);
	elem.offset = 0;
	ww_tep_get(&elem, (const uint8_t *)array->p + (size_t)i * f->elem_size, f->elem_size, swap, ret);
}

void ww_tep_visit_field(const struct ww_tep_field *f, const uint8_t *raw, size_t len, bool swap,
			const struct ww_visitor *v, void *ctx)
{
	struct ww_value val, elem;

	ww_tep_get(f, raw, len, swap, &val);
	if (val.kind == WW_V_NONE)
		return;
	if (val.kind != WW_V_ARRAY) {
		v->value(ctx, f->name, &val, NULL, f->base);
		return;
	}
	v->begin(ctx, f->name, true);
	for (uint32_t i = 0; i < val.len; i++) {
		ww_tep_elem(f, &val, i, swap, &elem);
		v->value(ctx, NULL, &elem, NULL, f->base);
	}
	v->end(ctx);
}

void ww_tep_visit(const struct ww_tep_event *e, const uint8_t *raw, size_t len, bool swap, bool common,
		  const struct ww_visitor *v, void *ctx)
{
	uint32_t from = common ? 0 : e->ncommon, to = common ? e->ncommon : e->nfields;

	for (uint32_t i = from; i < to; i++)
		ww_tep_visit_field(&e->fields[i], raw, len, swap, v, ctx);
}
