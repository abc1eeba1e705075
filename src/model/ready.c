/* ready.c - which descriptor ended a poll, select or epoll_wait; and arrays inside events. */
#include "model/model_private.h"

struct array_ctx {
	const char *field;
	int64_t *to;
	uint32_t n, max, depth, in_depth;
};

static void array_begin(void *ctx, const char *name, bool array)
{
	struct array_ctx *c = ctx;

	c->depth++;
	if (array && name && !c->in_depth && !strcmp(name, c->field))
		c->in_depth = c->depth;
}

static void array_end(void *ctx)
{
	struct array_ctx *c = ctx;

	if (c->in_depth == c->depth)
		c->in_depth = 0;
	c->depth--;
}

static void array_value(void *ctx, const char *name, const struct ww_value *v, const char *label, int base)
{
	struct array_ctx *c = ctx;

	(void)label, (void)base, (void)name;
	if (c->in_depth && c->n < c->max && (v->kind == WW_V_INT || v->kind == WW_V_UINT))
		c->to[c->n++] = v->i;
}

uint32_t ww_v_array(struct ww_model *m, const struct ww_event *ev, const char *field, int64_t *to, uint32_t max)
{
	static const struct ww_visitor v = {array_begin, array_end, array_value};
	struct array_ctx c = {.field = field, .to = to, .max = max};

	return ww_trace_visit(m->trace, ev, &v, &c, NULL) < 0 ? 0 : c.n;
}

#define EPOLL_MANY UINT64_MAX /* open descriptors were registered with the same data: which one it is they do not tell */

struct ready_ctx {
	int64_t fd;    /* of the first entry that is ready; -1 none */
	int64_t seen_fd;
	uint64_t data; /* epoll_data */
	bool has_data, inside;
	uint32_t depth, inside_depth;
	uint32_t set_depth, set_bytes; /* within one of select's sets, and how much of it was seen */
};

static void ready_begin(void *ctx, const char *name, bool array)
{
	struct ready_ctx *c = ctx;

	c->depth++;
	if (array && name && !strcmp(name, "fds")) {
		c->inside = true;
		c->inside_depth = c->depth;
	} else if (array && name && strlen(name) > 3 && !strcmp(name + strlen(name) - 3, "fds")) {
		c->set_depth = c->depth; /* readfds, writefds, exceptfds */
		c->set_bytes = 0;
	}
}

static void ready_end(void *ctx)
{
	struct ready_ctx *c = ctx;

	if (c->inside && c->depth == c->inside_depth)
		c->inside = false;
	if (c->depth == c->set_depth)
		c->set_depth = 0;
	c->depth--;
}

static void ready_value(void *ctx, const char *name, const struct ww_value *v, const char *label, int base)
{
	struct ready_ctx *c = ctx;

	(void)label, (void)base;
	if (c->set_depth) {
		if (c->fd < 0 && v->u & 255)
			c->fd = (int64_t)c->set_bytes * 8 + __builtin_ctz((uint8_t)v->u);
		c->set_bytes++;
		return;
	}
	if (!name)
		return;
	if (c->inside && !strcmp(name, "u64") && !c->has_data) {
		c->data = v->u;
		c->has_data = true;
	} else if (c->inside && !strcmp(name, "fd")) {
		c->seen_fd = v->i;
	} else if (c->inside && !strcmp(name, "raw_events") && c->fd < 0 && v->u) {
		c->fd = c->seen_fd; /* entries that say nothing fill the list up */
	}
}

static uint64_t epoll_key(const struct ww_proc *p, int64_t epfd, uint64_t data)
{
	return ww_hash_mix(ww_hash_mix(p->index, (uint64_t)epfd), data);
}

void ww_ready_registered(struct ww_model *m, const struct ww_proc *p, int64_t epfd, uint64_t data, int64_t fd)
{
	bool isnew;
	uint64_t *at = ww_u64map_get(&m->epoll, epoll_key(p, epfd, data), (uint64_t)fd, &isnew);

	if (!isnew && *at != (uint64_t)fd && *at != EPOLL_MANY)
		*at = *at < p->fds.n && p->fds.v[*at] ? EPOLL_MANY : (uint64_t)fd; /* one that was closed is not meant any more */
}

void ww_ready_note(struct ww_model *m, struct ww_thr *t, int64_t fd, uint64_t data)
{
	struct ww_proc *p = ww_proc_of(m, t);

	if (fd < 0 && p && t->sc_fd >= 0) {
		const uint64_t *known = ww_u64map_find(&m->epoll, epoll_key(p, t->sc_fd, data));

		fd = known && *known != EPOLL_MANY ? (int64_t)*known : -1;
	}
	uint32_t file = ww_fd_file(m, t, fd);
	if (t->ready_file != WW_NONE)
		return;
	t->ready_file = file;
	t->ready_fd = (int32_t)fd;
}

void ww_ready_at_exit(struct ww_model *m, struct ww_thr *t, const struct ww_event *ev, int64_t ret)
{
	static const struct ww_visitor v = {ready_begin, ready_end, ready_value};
	struct ready_ctx c = {.fd = -1, .seen_fd = -1};

	if (ret <= 0 || t->ready_file != WW_NONE || t->wait_row == WW_NONE ||
	    ww_trace_visit(m->trace, ev, &v, &c, NULL) < 0)
		return;
	if (c.has_data)
		ww_ready_note(m, t, -1, c.data);
	else if (c.fd >= 0)
		ww_ready_note(m, t, c.fd, 0);
}
