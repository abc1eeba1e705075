/* cgroup.c - which cgroup a thread is in: from the state dump, inherited at its fork, changed when it is moved.
 *
 * The kernel tells numbers, and of a few events also the path; a number without a name is its own name.
 */
#include "model/model_private.h"

static uint32_t path_of(struct ww_model *m, uint64_t id, uint32_t path)
{
	uint64_t *named = id ? ww_u64map_find(&m->cgroups, id) : NULL;

	if (!path && named)
		return (uint32_t)*named;
	if (!path && id)
		path = ww_intern(m, ww_arena_printf(&m->mem, "cgroup %" PRIu64, id));
	if (path && id)
		ww_u64map_put(&m->cgroups, id, path);
	return path;
}

static void put(struct ww_model *m, uint32_t thread, uint32_t path)
{
	uint32_t *is = &m->f->thread.cgroup[thread];

	if (*is && *is != path) {
		struct ww_cgroup_move r = {.ts_ns = m->now, .thread = thread, .from = *is, .to = path};
		ww_cgroup_move_push(m->f, &r);
	}
	*is = path; /* told for the first time: it has been there since it is known */
}

void ww_on_own_cgroup(struct ww_model *m, const struct ww_event *ev)
{
	enum { TID, GROUP, ID, PATH };
	const int64_t tid = ww_v_int(ev, TID, -1);
	uint32_t path = path_of(m, ww_v_u64(ev, ID), ww_v_str(m, ev, PATH));
	struct ww_thr *t = tid > 0 && path ? ww_thr_get(m, tid) : NULL;

	if (!t)
		return;
	put(m, t->index, path);
	for (size_t i = 0; ww_v_u64(ev, GROUP) && t->proc != WW_NONE && i < m->thr.n; i++)
		if (m->thr.v[i] != t && m->thr.v[i]->proc == t->proc && !m->thr.v[i]->dead)
			put(m, m->thr.v[i]->index, path);
}
