/* stack.c - where threads blocked: whywait_stack's frames, and where code is mapped (whywait_map).
 *
 * A user frame becomes (file, offset) at once, since the mappings are those of that moment; names come at the
 * end (symbols.c), each address once. Behind the innermost user frame some are kept free for the callers that
 * only unwinding tables can find, with what the words at the top of the stack may be. Example: ip 0x5579abc66120 in a mapping of /bin/cat that begins at
 * 0x5579abc65000 with file offset 0x2000 is /bin/cat + 0x3120.
 */
#include "model/model_private.h"

enum { MAX_MAPS = 4096, MAX_FRAMES = 128 };

void ww_on_own_map(struct ww_model *m, const struct ww_event *ev)
{
	enum { PID, START, END, OFFSET, DEV, INO };
	int64_t pid = ww_v_int(ev, PID, -1);
	struct ww_vma v = {.start = ww_v_u64(ev, START), .end = ww_v_u64(ev, END), .offset = ww_v_u64(ev, OFFSET)};

	if (pid <= 0 || pid > WW_MAX_TID || v.end <= v.start)
		return;
	struct ww_proc *p = ww_proc_get(m, (int32_t)pid);
	v.file = ww_file_intern(m, WW_FK_REG, (uint32_t)ww_v_u64(ev, DEV), ww_v_u64(ev, INO));
	if (p->vmas.n >= MAX_MAPS)
		ww_vec_clear(&p->vmas); /* they come again */
	*ww_vec_push(&p->vmas) = v; /* the newest is found first */
}

/* The words at the top of the stack, as places in files: one of them may be the return address. */
static void keep_free(struct ww_model *m, const struct ww_thr *t, const struct ww_event *ev)
{
	struct ww_stack_frame none = {.file = WW_NONE};
	struct ww_stack_top *top = ww_vec_push(&m->stack_tops);
	int64_t words[WW_STACK_TOPS] = {0};
	uint32_t n = ww_v_array(m, ev, "top", words, WW_STACK_TOPS);

	top->frame = ww_stack_frame_push(m->f, &none);
	for (uint32_t i = 1; i < WW_STACK_FREE; i++)
		ww_stack_frame_push(m->f, &none);
	for (uint32_t i = 0; i < WW_STACK_TOPS; i++) {
		top->address[i] = i < n ? (uint64_t)words[i] : 0;
		top->offset[i] = 0;
		top->file[i] = top->address[i] ? ww_vma_file(m, t, top->address[i] - 1, &top->offset[i]) : WW_NONE;
	}
}

void ww_on_own_stack(struct ww_model *m, const struct ww_event *ev)
{
	enum { TID, USER };
	struct ww_thr *t = ww_thr_find(m, ww_v_int(ev, TID, -1));
	bool user = ww_v_u64(ev, USER);
	int64_t ip[MAX_FRAMES];
	uint32_t n = t ? ww_v_array(m, ev, "ip", ip, MAX_FRAMES) : 0;
	struct ww_stack r = {.ts_ns = m->now, .kernel = !user, .first = m->f->stack_frame.n, .frames = n};

	if (!n)
		return;
	r.thread = t->index;
	r.frames += user ? WW_STACK_FREE : 0;
	for (uint32_t i = 0; i < n; i++) {
		struct ww_stack_frame fr = {.address = (uint64_t)ip[i], .file = WW_NONE};
		/* All but the innermost are return addresses: the call is just before. */
		uint64_t at = fr.address - (i && fr.address ? 1 : 0), offset = 0;

		if (user)
			fr.file = ww_vma_file(m, t, at, &offset);
		fr.offset = fr.file == WW_NONE ? 0 : offset;
		ww_stack_frame_push(m->f, &fr);
		if (user && !i)
			keep_free(m, t, ev);
	}
	ww_stack_push(m->f, &r);
}
