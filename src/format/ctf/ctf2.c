/* ctf2.c - CTF 2's metadata: the fragments of a JSON text sequence, in order.
 *
 *   RS {"type": "preamble", "version": 2} LF
 *   RS {"type": "clock-class", "id": "c", "frequency": 1000000000, ...} LF
 *   RS {"type": "data-stream-class", ...} LF  RS {"type": "event-record-class", ...} LF
 * A fragment refers only to those before it. What we do not know and need not (attributes) is passed over;
 * extensions can change everything, so any of them is refused.
 * source CTF2-SPEC-2.0, sections 5.4 to 5.9; RFC 7464
 */
#include "format/ctf/ctf2.h"

#define RS 0x1e

static struct ctf_type *root(struct ctf2 *p, const struct ctf2_json *j, const char *key, enum ctf_scope scope,
			     const struct ctf_clock *clock)
{
	const struct ctf2_json *c = p->failed ? NULL : ctf2_find(j, key);
	struct ctf_type *t = ctf2_type(p, c, 1);

	if (t && t->kind != CTF_STRUCT) {
		ctf2_fail(p, c->off, WW_ECORRUPT, "`%s` must be a structure", key);
		return NULL;
	}
	ctf_type_roles_keep(t, scope, clock);
	return t;
}

static void preamble(struct ctf2 *p, const struct ctf2_json *j)
{
	const struct ctf2_json *version = ctf2_need(p, j, "version", J_INT), *uuid = ctf2_get(p, j, "uuid", J_ARRAY);
	unsigned n = 0;

	if (p->has_preamble)
		ctf2_fail(p, j->off, WW_ECORRUPT, "a second preamble");
	p->has_preamble = true;
	if (version && version->u != 2)
		ctf2_fail(p, version->off, WW_EUNSUPPORTED, "CTF %" PRId64 "; 1.8 and 2 are read", (int64_t)version->u);
	for (const struct ctf2_json *b = uuid ? uuid->first : NULL; b; b = b->next, n++) {
		if (uuid->n != 16 || b->kind != J_INT || b->u > 255) {
			ctf2_fail(p, uuid->off, WW_ECORRUPT, "a UUID is 16 numbers from 0 to 255");
			return;
		}
		p->m->uuid[n] = (uint8_t)b->u;
	}
	p->m->has_uuid = n == 16;
}

static void trace_class(struct ctf2 *p, const struct ctf2_json *j)
{
	struct ctf_meta *m = p->m;
	const struct ctf2_json *env = ctf2_get(p, j, "environment", J_OBJECT);

	if (m->has_trace || p->has_stream)
		ctf2_fail(p, j->off, WW_ECORRUPT, m->has_trace ? "a second trace class" : "the trace class comes after a data stream class");
	m->has_trace = true;
	for (const struct ctf2_json *e = env ? env->first : NULL; e && !p->failed; e = e->next) {
		if (e->kind != J_STRING && e->kind != J_INT) {
			ctf2_fail(p, e->off, WW_ECORRUPT, "`%.60s` of the environment is neither an integer nor a string", e->key);
			return;
		}
		struct ww_env *v = ww_vec_push(&m->env);
		v->name = e->key;
		v->value = e->kind == J_STRING ? e->s :
			   e->negative ? ww_arena_printf(&m->mem, "%" PRId64, (int64_t)e->u) :
					 ww_arena_printf(&m->mem, "%" PRIu64, e->u);
	}
	m->packet_header = root(p, j, "packet-header-field-class", CTF_PACKET_HEADER, NULL);
}

static struct ctf_clock *find_clock(const struct ctf_meta *m, const char *id)
{
	for (size_t i = 0; i < m->clocks.n; i++)
		if (!strcmp(m->clocks.v[i]->id, id))
			return m->clocks.v[i];
	return NULL;
}

static void clock_class(struct ctf2 *p, const struct ctf2_json *j)
{
	struct ctf_clock *c = WW_ARENA_NEW(&p->m->mem, struct ctf_clock);
	const struct ctf2_json *id = ctf2_need(p, j, "id", J_STRING), *freq = ctf2_need(p, j, "frequency", J_INT),
			       *off = ctf2_get(p, j, "offset-from-origin", J_OBJECT), *origin = ctf2_find(j, "origin"),
			       *seconds = ctf2_get(p, off, "seconds", J_INT);

	if (p->failed)
		return;
	c->id = id->s;
	c->name = ctf2_string(p, j, "name", id->s);
	c->uuid = ctf2_string(p, j, "uid", "");
	c->freq_hz = ctf2_unsigned(p, j, "frequency", 0);
	c->offset_s = seconds ? (int64_t)seconds->u : 0;
	c->offset_cycles = ctf2_unsigned(p, off, "cycles", 0);
	if (!c->freq_hz)
		ctf2_fail(p, freq->off, WW_ECORRUPT, "a clock of 0 Hz");
	else if (c->offset_cycles >= c->freq_hz)
		ctf2_fail(p, off->off, WW_ECORRUPT, "an offset of %" PRIu64 " cycles is over a second", c->offset_cycles);
	else if ((seconds && !seconds->negative && seconds->u > INT64_MAX) || !ctf_clock_fits(c))
		ctf2_fail(p, off->off, WW_EUNSUPPORTED, "a clock's offset of over 285 years");
	if (origin && origin->kind == J_STRING) {
		c->absolute = !strcmp(origin->s, "unix-epoch");
		if (!c->absolute)
			ctf2_fail(p, origin->off, WW_ECORRUPT, "no origin is called '%.60s'", origin->s);
	} else if (origin) {
		(void)ctf2_need(p, origin, "name", J_STRING);
		(void)ctf2_need(p, origin, "uid", J_STRING);
	}
	if (find_clock(p->m, c->id))
		ctf2_fail(p, id->off, WW_ECORRUPT, "a second clock class with the id '%.60s'", c->id);
	if (p->m->clocks.n >= CTF_MAX_STREAMS)
		ctf2_fail(p, j->off, WW_ELIMIT, "over %u clock classes", CTF_MAX_STREAMS);
	*ww_vec_push(&p->m->clocks) = c;
}

static void stream_class(struct ctf2 *p, const struct ctf2_json *j)
{
	struct ctf_stream_class *c = WW_ARENA_NEW(&p->m->mem, struct ctf_stream_class);
	const struct ctf2_json *clock = ctf2_get(p, j, "default-clock-class-id", J_STRING);

	p->has_stream = true;
	c->id = ctf2_unsigned(p, j, "id", 0);
	if (clock && !(c->clock = find_clock(p->m, clock->s)))
		ctf2_fail(p, clock->off, WW_ECORRUPT, "no clock class before this has the id '%.60s'", clock->s);
	if (!p->failed && ctf_meta_stream(p->m, c->id))
		ctf2_fail(p, j->off, WW_ECORRUPT, "a second data stream class with the id %" PRIu64, c->id);
	if (p->m->streams.n >= CTF_MAX_STREAMS)
		ctf2_fail(p, j->off, WW_ELIMIT, "over %u data stream classes", CTF_MAX_STREAMS);
	c->packet_context = root(p, j, "packet-context-field-class", CTF_PACKET_CONTEXT, c->clock);
	c->event_header = root(p, j, "event-record-header-field-class", CTF_EVENT_HEADER, c->clock);
	c->event_context = root(p, j, "event-record-common-context-field-class", CTF_STREAM_CONTEXT, NULL);
	*ww_vec_push(&p->m->streams) = c;
}

static void event_class(struct ctf2 *p, const struct ctf2_json *j)
{
	struct ctf_event_class *e = WW_ARENA_NEW(&p->m->mem, struct ctf_event_class);

	e->off = (uint32_t)j->off;
	e->has_id = true;
	e->pub.id = ctf2_unsigned(p, j, "id", 0);
	e->stream_id = ctf2_unsigned(p, j, "data-stream-class-id", 0);
	e->pub.name = ctf2_string(p, j, "name", "");
	if (!p->failed && !ctf_meta_stream(p->m, e->stream_id))
		ctf2_fail(p, j->off, WW_ECORRUPT, "no data stream class before this has the id %" PRIu64, e->stream_id);
	if (p->m->events.n >= CTF_MAX_CLASSES)
		ctf2_fail(p, j->off, WW_ELIMIT, "over %u event record classes", CTF_MAX_CLASSES);
	e->context = root(p, j, "specific-context-field-class", CTF_EVENT_CONTEXT, NULL);
	e->payload = root(p, j, "payload-field-class", CTF_PAYLOAD, NULL);
	*ww_vec_push(&p->m->events) = e;
}

static void fragment(struct ctf2 *p)
{
	static const struct {
		const char *type;
		void (*read)(struct ctf2 *p, const struct ctf2_json *j);
	} fragments[] = {{"preamble", preamble},       {"field-class-alias", ctf2_alias_add}, {"trace-class", trace_class},
			 {"clock-class", clock_class}, {"data-stream-class", stream_class},   {"event-record-class", event_class}};
	const struct ctf2_json *j = ctf2_json_parse(p);
	const struct ctf2_json *type = ctf2_need(p, j, "type", J_STRING);
	size_t i = 0;

	if (j && j->kind != J_OBJECT)
		ctf2_fail(p, j->off, WW_ECORRUPT, "a fragment is a JSON object");
	if (!type || p->failed)
		return;
	while (i < WW_ARRAY_SIZE(fragments) && strcmp(fragments[i].type, type->s))
		i++;
	if (i == WW_ARRAY_SIZE(fragments))
		ctf2_fail(p, type->off, WW_EUNSUPPORTED, "a fragment of type '%.60s' is not known", type->s);
	else if (i && !p->has_preamble)
		ctf2_fail(p, type->off, WW_ECORRUPT, "the first fragment is no preamble");
	ctf2_no_extensions(p, j);
	if (!p->failed)
		fragments[i].read(p, j);
}

int ctf2_parse(struct ctf_meta *m, struct ww_err *err)
{
	struct ctf2 p = {.m = m, .err = err};
	size_t at = 0;

	ww_arena_init(&p.tree);
	while (!p.failed && at < m->text_len) {
		if (m->text[at] != RS) {
			ctf2_fail(&p, at, WW_ECORRUPT, "a fragment begins with the character RS (0x1e)");
			break;
		}
		const char *next = memchr(m->text + at + 1, RS, m->text_len - at - 1);
		p.pos = at + 1;
		p.end = next ? (size_t)(next - m->text) : m->text_len;
		at = p.end;
		fragment(&p);
		ww_arena_reset(&p.tree);
	}
	if (!p.failed && !m->streams.n)
		ctf2_fail(&p, m->text_len, WW_ETRUNC, "the metadata has no data stream class");
	ww_arena_release(&p.tree);
	ww_vec_free(&p.aliases);
	return p.failed ? p.rc : 0;
}
