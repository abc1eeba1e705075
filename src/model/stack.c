/* stack.c - where threads blocked: whywait_stack's frames, those that others put into the switch (perf record -g,
 * LTTng's contexts callstack-kernel and callstack-user), and where code is mapped (whywait_map, perf's records).
 *
 * A user frame becomes (file, offset) at once, since the mappings are those of that moment; names come at the
 * end (symbols.c), each address once. Behind the innermost user frame some are kept free for the callers that
 * only unwinding tables can find, with what the words at the top of the stack may be. Example: ip 0x5579abc66120 in a mapping of /bin/cat that begins at
 * 0x5579abc65000 with file offset 0x2000 is /bin/cat + 0x3120.
 */
#include "model/model_private.h"

enum { MAX_MAPS = 4096, MAX_FRAMES = 128 };

static void add_map(struct ww_proc *p, const struct ww_vma *v)
{
	if (p->vmas.n >= MAX_MAPS)
		ww_vec_clear(&p->vmas); /* they come again */
	*ww_vec_push(&p->vmas) = *v; /* the newest is found first */
}

void ww_on_own_map(struct ww_model *m, const struct ww_event *ev)
{
	enum { PID, START, END, OFFSET, DEV, INO };
	int64_t pid = ww_v_int(ev, PID, -1);
	struct ww_vma v = {.start = ww_v_u64(ev, START), .end = ww_v_u64(ev, END), .offset = ww_v_u64(ev, OFFSET)};

	if (pid <= 0 || pid > WW_MAX_TID || v.end <= v.start)
		return;
	struct ww_proc *p = ww_proc_get(m, (int32_t)pid);
	v.file = ww_file_intern(m, WW_FK_REG, (uint32_t)ww_v_u64(ev, DEV), ww_v_u64(ev, INO));
	add_map(p, &v);
}

/* Of the kernel pid is -1; what is no file ("//anon", "[vdso]") has no name that begins with one slash. */
void ww_on_perf_map(struct ww_model *m, const struct ww_event *ev)
{
	enum { PID, ADDR, LEN, OFFSET, NAME, MAJ, MIN, INO };
	const int64_t pid = ww_v_int(ev, PID, -1);
	const uint64_t len = ww_v_u64(ev, LEN), ino = ww_v_u64(ev, INO);
	struct ww_vma v = {.start = ww_v_u64(ev, ADDR), .offset = ww_v_u64(ev, OFFSET), .file = WW_NONE};

	if (pid <= 0 || pid > WW_MAX_TID || !len || len > UINT64_MAX - v.start)
		return;
	const uint32_t name = ww_v_str(m, ev, NAME), dev = (uint32_t)(ww_v_u64(ev, MAJ) << 20 | (ww_v_u64(ev, MIN) & 0xfffff));
	const char *path = ww_facts_str(m->f, name);
	v.end = v.start + len;
	if (path[0] == '/' && path[1] != '/') {
		if (ino)
			ww_file_named(m, WW_FK_REG, dev, ino, name);
		v.file = ino ? ww_file_intern(m, WW_FK_REG, dev, ino) : ww_file_by_name(m, name);
	}
	struct ww_proc *p = ww_proc_get(m, (int32_t)pid);
	p->perf_maps = true;
	add_map(p, &v);
}

/* Frames of a stack that a switch carries, the innermost first; p: whose mappings, NULL of the kernel. */
static void push_frames(struct ww_model *m, const struct ww_thr *t, const struct ww_proc *p, bool user, const int64_t *ip, uint32_t n)
{
	struct ww_stack r = {.ts_ns = m->now, .kernel = !user, .thread = t->index, .first = m->f->stack_frame.n, .frames = n};

	if (!n)
		return;
	for (uint32_t i = 0; i < n; i++) {
		struct ww_stack_frame fr = {.address = (uint64_t)ip[i], .file = WW_NONE};
		const uint64_t at = fr.address - (i && fr.address ? 1 : 0);
		uint64_t offset = 0;

		if (user)
			fr.file = ww_map_of(p, at, &offset);
		fr.offset = fr.file == WW_NONE ? 0 : offset;
		ww_stack_frame_push(m->f, &fr);
	}
	ww_stack_push(m->f, &r);
}

/* One of perf's is a list of both, with marks between. source include/uapi/linux/perf_event.h, perf_callchain_context */
static uint32_t chain_part(const int64_t *chain, uint32_t n, bool user, int64_t *to)
{
	enum { MARK_MIN = -4095, MARK_KERNEL = -128, MARK_USER = -512 };
	int64_t in = MARK_KERNEL;
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++)
		if (chain[i] < 0 && chain[i] >= MARK_MIN)
			in = chain[i];
		else if (in == (user ? MARK_USER : MARK_KERNEL))
			to[k++] = chain[i];
	return k;
}

void ww_stack_at_switch(struct ww_model *m, const struct ww_thr *prev, const struct ww_event *ev)
{
	const int64_t state = ww_v_int(ev, S_SW_STATE, 0), pid = ww_v_int(ev, S_SW_PID, -1);
	const uint64_t *of_pid = pid > 0 ? ww_u64map_find(&m->by_pid, (uint32_t)pid) : NULL;
	const struct ww_proc *p = of_pid ? m->proc.v[*of_pid] : ww_proc_of(m, prev);
	int64_t all[2 * MAX_FRAMES], ip[2 * MAX_FRAMES];

	if (prev->idle || !(state & 0xff)) /* it goes on wanting the CPU */
		return;
	if (ww_v_has(ev, S_SW_CHAIN)) {
		const uint32_t n = ww_v_array(m, ev, "callchain", all, WW_ARRAY_SIZE(all));

		push_frames(m, prev, NULL, false, ip, chain_part(all, n, false, ip));
		push_frames(m, prev, p, true, ip, chain_part(all, n, true, ip));
		return;
	}
	push_frames(m, prev, NULL, false, ip, ww_v_array(m, ev, "callstack_kernel", ip, MAX_FRAMES));
	push_frames(m, prev, p, true, ip, ww_v_array(m, ev, "callstack_user", ip, MAX_FRAMES));
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
