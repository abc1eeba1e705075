/* tsdl_block.c - the blocks of TSDL: trace, env, clock, stream, event, callsite. */
#include "format/ctf/tsdl.h"

/* One statement of a block: KEY = VALUE; or KEY := TYPE; */
struct statement {
	const char *key;
	struct tsdl_value v;
	struct ctf_type *type; /* NULL: it is a value */
};

/* False at the closing brace. Names of types are kept in the block's own scope. */
static bool statement(struct tsdl *p, struct statement *s)
{
	*s = (struct statement){.key = "", .v.s = ""};
	while (!p->failed && p->tok.kind != '}' && (tsdl_accept(p, ';') || tsdl_type_decl(p)))
		;
	if (p->failed || tsdl_accept(p, '}'))
		return false;
	s->key = p->tok.kind == T_STRING ? p->tok.str : NULL;
	if (s->key)
		tsdl_next(p);
	else
		s->key = tsdl_path(p);
	if (tsdl_accept(p, T_ASSIGN)) {
		s->type = tsdl_type(p);
	} else {
		tsdl_expect(p, '=');
		s->v = tsdl_value(p);
	}
	tsdl_expect(p, ';');
	return !p->failed;
}

static bool parse_uuid(const char *s, uint8_t out[16])
{
	int n = 0;

	for (; *s && n < 32; s++) {
		int d = *s >= '0' && *s <= '9' ? *s - '0' : *s >= 'a' && *s <= 'f' ? *s - 'a' + 10 :
			*s >= 'A' && *s <= 'F' ? *s - 'A' + 10 : -1;
		if (d < 0 && *s != '-')
			return false;
		if (d < 0)
			continue;
		out[n / 2] = (uint8_t)(n % 2 ? out[n / 2] | d : d << 4);
		n++;
	}
	return n == 32 && !*s;
}

static void need_struct(struct tsdl *p, const struct statement *s)
{
	if (s->type && s->type->kind != CTF_STRUCT)
		tsdl_fail(p, WW_ECORRUPT, "%s must be a structure", s->key);
}

static void block_trace(struct tsdl *p)
{
	struct ctf_meta *m = p->m;
	struct statement s;

	if (m->has_trace)
		tsdl_fail(p, WW_ECORRUPT, "a second trace block");
	m->has_trace = true;
	while (statement(p, &s)) {
		if (tsdl_same(s.key, "major"))
			m->major = s.v.u;
		else if (tsdl_same(s.key, "minor"))
			m->minor = s.v.u;
		else if (tsdl_same(s.key, "byte_order"))
			m->order = !strcmp(s.v.s, "be") || !strcmp(s.v.s, "network") ? CTF_BE : CTF_LE;
		else if (tsdl_same(s.key, "uuid")) {
			m->has_uuid = parse_uuid(s.v.s, m->uuid);
			if (!m->has_uuid)
				tsdl_fail(p, WW_ECORRUPT, "'%s' is no UUID", s.v.s);
		} else if (tsdl_same(s.key, "packet.header")) {
			need_struct(p, &s);
			m->packet_header = s.type;
		}
	}
	if (!p->failed && m->major != 1)
		tsdl_fail(p, WW_EUNSUPPORTED, "CTF %" PRIu64 ".%" PRIu64 "; 1.8 is read", m->major, m->minor);
}

static void block_env(struct tsdl *p)
{
	struct statement s;

	while (statement(p, &s)) {
		struct ww_env *e = ww_vec_push(&p->m->env);
		e->name = s.key;
		e->value = !s.v.is_int ? s.v.s :
			   s.v.negative ? ww_arena_printf(&p->m->mem, "%" PRId64, (int64_t)s.v.u) :
					  ww_arena_printf(&p->m->mem, "%" PRIu64, s.v.u);
	}
}

static void block_clock(struct tsdl *p)
{
	struct ctf_clock *c = WW_ARENA_NEW(&p->m->mem, struct ctf_clock);
	struct statement s;
	uint64_t below = 0; /* cycles before zero */

	c->name = c->uuid = c->id = "";
	c->freq_hz = 1000000000;
	while (statement(p, &s)) {
		if (tsdl_same(s.key, "name"))
			c->name = s.v.s;
		else if (tsdl_same(s.key, "uuid"))
			c->uuid = s.v.s;
		else if (tsdl_same(s.key, "freq"))
			c->freq_hz = s.v.u;
		else if (tsdl_same(s.key, "offset_s"))
			c->offset_s = (int64_t)s.v.u, c->has_offset = true;
		else if (tsdl_same(s.key, "offset"))
			c->offset_cycles = s.v.negative ? 0 : s.v.u, below = s.v.negative ? -s.v.u : 0, c->has_offset = true;
		else if (tsdl_same(s.key, "absolute"))
			c->absolute = s.v.is_int ? s.v.u != 0 : !strcasecmp(s.v.s, "true");
	}
	if (!p->failed && !c->freq_hz)
		tsdl_fail(p, WW_ECORRUPT, "a clock of 0 Hz");
	if (!p->failed && below) {
		uint64_t seconds = below / c->freq_hz + (below % c->freq_hz != 0);
		c->offset_cycles = seconds * c->freq_hz - below;
		if (seconds > 9000000000 || __builtin_sub_overflow(c->offset_s, (int64_t)seconds, &c->offset_s))
			c->offset_s = INT64_MIN;
	}
	if (!p->failed && !ctf_clock_fits(c))
		tsdl_fail(p, WW_EUNSUPPORTED, "a clock's offset of over 285 years");
	*ww_vec_push(&p->m->clocks) = c;
}

static void block_stream(struct tsdl *p)
{
	struct ctf_stream_class *c = WW_ARENA_NEW(&p->m->mem, struct ctf_stream_class);
	struct statement s;

	if (p->m->streams.n >= CTF_MAX_STREAMS)
		tsdl_fail(p, WW_ELIMIT, "over %u stream blocks", CTF_MAX_STREAMS);
	while (statement(p, &s)) {
		if (s.type)
			need_struct(p, &s);
		if (tsdl_same(s.key, "id"))
			c->id = s.v.u;
		else if (tsdl_same(s.key, "packet.context"))
			c->packet_context = s.type;
		else if (tsdl_same(s.key, "event.header"))
			c->event_header = s.type;
		else if (tsdl_same(s.key, "event.context"))
			c->event_context = s.type;
	}
	if (!p->failed && ctf_meta_stream(p->m, c->id))
		tsdl_fail(p, WW_ECORRUPT, "a second stream block with id %" PRIu64, c->id);
	*ww_vec_push(&p->m->streams) = c;
}

static void block_event(struct tsdl *p)
{
	struct ctf_event_class *e = WW_ARENA_NEW(&p->m->mem, struct ctf_event_class);
	struct statement s;

	e->pub.name = "";
	e->off = (uint32_t)p->tok.off;
	if (p->m->events.n >= CTF_MAX_CLASSES)
		tsdl_fail(p, WW_ELIMIT, "over %u event classes", CTF_MAX_CLASSES);
	while (statement(p, &s)) {
		if (s.type)
			need_struct(p, &s);
		if (tsdl_same(s.key, "id"))
			e->pub.id = s.v.u, e->has_id = true;
		else if (tsdl_same(s.key, "name"))
			e->pub.name = s.v.s;
		else if (tsdl_same(s.key, "stream_id"))
			e->stream_id = s.v.u;
		else if (tsdl_same(s.key, "context"))
			e->context = s.type;
		else if (tsdl_same(s.key, "fields"))
			e->payload = s.type;
	}
	*ww_vec_push(&p->m->events) = e;
}

static void block_callsite(struct tsdl *p)
{
	struct statement s;

	while (statement(p, &s))
		;
}

bool tsdl_block(struct tsdl *p)
{
	static const struct {
		const char *word;
		void (*parse)(struct tsdl *p);
	} blocks[] = {{"trace", block_trace},   {"env", block_env},     {"clock", block_clock},
		      {"stream", block_stream}, {"event", block_event}, {"callsite", block_callsite}};

	for (size_t i = 0; i < WW_ARRAY_SIZE(blocks); i++) {
		struct tsdl_scope scope;
		if (!tsdl_is(p, blocks[i].word))
			continue;
		tsdl_next(p);
		tsdl_expect(p, '{');
		tsdl_scope_push(p, &scope);
		blocks[i].parse(p);
		tsdl_scope_pop(p);
		tsdl_expect(p, ';');
		return true;
	}
	return false;
}
