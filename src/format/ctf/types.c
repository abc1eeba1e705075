/* types.c - type nodes, and which members of the headers have a meaning.
 */
#include "format/ctf/meta.h"

struct ctf_type *ctf_type_new(struct ctf_meta *m, enum ctf_kind kind, size_t off)
{
	struct ctf_type *t = WW_ARENA_NEW(&m->mem, struct ctf_type);

	m->nnodes++;
	t->kind = kind;
	t->order = CTF_NATIVE;
	t->align = 1;
	t->base = 10;
	t->slot = t->ref_slot = CTF_NO_SLOT;
	t->depth = 1;
	t->off = (uint32_t)off;
	return t;
}

struct ctf_type *ctf_type_copy(struct ctf_meta *m, const struct ctf_type *t)
{
	struct ctf_type *c = ctf_type_new(m, t->kind, t->off);

	*c = *t;
	if (m->nnodes > CTF_MAX_NODES)
		return NULL;
	if (t->elem && !(c->elem = ctf_type_copy(m, t->elem)))
		return NULL;
	if (t->nfields) {
		c->fields = WW_ARENA_ARRAY(&m->mem, struct ctf_field, t->nfields);
		for (uint32_t i = 0; i < t->nfields; i++) {
			c->fields[i] = t->fields[i];
			if (!(c->fields[i].type = ctf_type_copy(m, t->fields[i].type)))
				return NULL;
		}
	}
	/* Their ranges are clipped in place, once for each use. */
	if (t->nchoices) {
		c->choices = WW_ARENA_ARRAY(&m->mem, struct ctf_choice, t->nchoices);
		memcpy(c->choices, t->choices, t->nchoices * sizeof(*c->choices));
	}
	return c;
}

static const struct {
	const char *name;
	enum ctf_role role;
	enum ctf_scope scope;
} by_name[] = {
	{"magic", CTF_R_MAGIC, CTF_PACKET_HEADER},
	{"uuid", CTF_R_UUID, CTF_PACKET_HEADER},
	{"stream_id", CTF_R_STREAM_ID, CTF_PACKET_HEADER},
	{"stream_instance_id", CTF_R_INSTANCE_ID, CTF_PACKET_HEADER},
	{"timestamp_begin", CTF_R_BEGIN, CTF_PACKET_CONTEXT},
	{"timestamp_end", CTF_R_END, CTF_PACKET_CONTEXT},
	{"content_size", CTF_R_CONTENT, CTF_PACKET_CONTEXT},
	{"packet_size", CTF_R_PACKET, CTF_PACKET_CONTEXT},
	{"packet_seq_num", CTF_R_SEQ, CTF_PACKET_CONTEXT},
	{"events_discarded", CTF_R_DISCARDED, CTF_PACKET_CONTEXT},
	{"cpu_id", CTF_R_CPU, CTF_PACKET_CONTEXT},
	{"id", CTF_R_EVENT_ID, CTF_EVENT_HEADER},
};

static bool is_integer(const struct ctf_type *t)
{
	return t->kind == CTF_INT || t->kind == CTF_ENUM || t->kind == CTF_VARINT;
}

void ctf_type_roles_by_name(struct ctf_type *t, enum ctf_scope scope)
{
	for (uint32_t i = 0; t && i < t->nfields; i++) {
		struct ctf_type *f = t->fields[i].type;
		for (size_t k = 0; k < WW_ARRAY_SIZE(by_name); k++)
			if (by_name[k].scope == scope && !strcmp(by_name[k].name, t->fields[i].name) &&
			    (by_name[k].role == CTF_R_UUID ? f->kind == CTF_ARRAY && f->length == 16 : is_integer(f)))
				f->roles |= 1u << by_name[k].role;
		if (scope == CTF_EVENT_HEADER && is_integer(f) && f->clock)
			f->roles |= 1u << CTF_R_CLOCK;
		ctf_type_roles_by_name(f, scope);
	}
}

void ctf_type_roles_keep(struct ctf_type *t, enum ctf_scope scope, const struct ctf_clock *clock)
{
	uint32_t mask = scope == CTF_EVENT_HEADER ? 1u << CTF_R_CLOCK : 0;

	for (size_t k = 0; k < WW_ARRAY_SIZE(by_name); k++)
		mask |= by_name[k].scope == scope ? 1u << by_name[k].role : 0;
	if (!t)
		return;
	/* CTF 2 has one name for the time at which a packet begins and at which an event happens. */
	if (scope == CTF_PACKET_CONTEXT && t->roles & 1u << CTF_R_CLOCK)
		t->roles |= 1u << CTF_R_BEGIN;
	t->roles &= mask;
	if (t->roles & (1u << CTF_R_CLOCK | 1u << CTF_R_BEGIN | 1u << CTF_R_END))
		t->clock = clock;
	if (t->elem)
		ctf_type_roles_keep(t->elem, scope, clock);
	for (uint32_t i = 0; i < t->nfields; i++) {
		struct ctf_type *f = t->fields[i].type;
		ctf_type_roles_keep(f, scope, clock);
		/* No role says which CPU it was; LTTng's name does. */
		if (scope == CTF_PACKET_CONTEXT && is_integer(f) && !f->is_signed && !strcmp(t->fields[i].name, "cpu_id"))
			f->roles |= 1u << CTF_R_CPU;
	}
}
