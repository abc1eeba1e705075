/* model.c - binds the trace's event classes to handlers and runs them in time order.
 *
 * Binding happens once a class: vocab.c says what kind the event is and which fields stand in which
 * slots; the reader is asked for just those. An event then costs one indirect call.
 */
#include <malloc.h>
#include <stdlib.h>

#include "base/pages.h"
#include "base/syscalls.h"
#include "model/model_private.h"

static const ww_handler handlers[WW_K_N] = {
	[WW_K_SWITCH] = ww_on_switch, [WW_K_WAKING] = ww_on_waking, [WW_K_WAKEUP] = ww_on_wakeup,
	[WW_K_WAKEUP_NEW] = ww_on_wakeup_new, [WW_K_MIGRATE] = ww_on_migrate,
	[WW_K_NUMA_MOVE] = ww_on_numa_move, [WW_K_NUMA_SWAP] = ww_on_numa_swap, [WW_K_NUMA_STICK] = ww_on_numa_stick,
	[WW_K_PERF_SWITCH] = ww_on_perf_switch,
	[WW_K_FORK] = ww_on_fork, [WW_K_PERF_FORK] = ww_on_perf_fork, [WW_K_PERF_COMM] = ww_on_perf_comm,
	[WW_K_EXEC] = ww_on_exec, [WW_K_EXIT] = ww_on_exit, [WW_K_RENAME] = ww_on_rename,
	[WW_K_PERF_MAP] = ww_on_perf_map,
	[WW_K_IRQ_ENTRY] = ww_on_irq_entry, [WW_K_IRQ_EXIT] = ww_on_irq_exit,
	[WW_K_SOFT_ENTRY] = ww_on_soft_entry, [WW_K_SOFT_EXIT] = ww_on_soft_exit,
	[WW_K_SOFT_RAISE] = ww_on_soft_raise,
	[WW_K_VECTOR_ENTRY] = ww_on_vector_entry, [WW_K_VECTOR_EXIT] = ww_on_vector_exit,
	[WW_K_HRT_START] = ww_on_hrt_start, [WW_K_HRT_CANCEL] = ww_on_hrt_cancel,
	[WW_K_HRT_EXPIRE] = ww_on_hrt_expire, [WW_K_HRT_DONE] = ww_on_timer_done,
	[WW_K_TMR_START] = ww_on_tmr_start, [WW_K_TMR_CANCEL] = ww_on_hrt_cancel,
	[WW_K_TMR_EXPIRE] = ww_on_tmr_expire, [WW_K_TMR_DONE] = ww_on_timer_done,
	[WW_K_RQ_QUEUE] = ww_on_rq_queue, [WW_K_RQ_ISSUE] = ww_on_rq_issue,
	[WW_K_RQ_COMPLETE] = ww_on_rq_complete, [WW_K_RQ_REQUEUE] = ww_on_rq_requeue, [WW_K_BIO_QUEUE] = ww_on_bio_queue,
	[WW_K_BIO_MERGE] = ww_on_bio_merge, [WW_K_RQ_MERGE] = ww_on_rq_merge,
	[WW_K_NET_SEND] = ww_on_net_send, [WW_K_NET_RECV] = ww_on_net_recv,
	[WW_K_WORK_QUEUE] = ww_on_work_queue, [WW_K_WORK_START] = ww_on_work_start,
	[WW_K_WORK_END] = ww_on_work_end,
	[WW_K_SYS_ENTRY] = ww_on_sys_entry, [WW_K_SYS_EXIT] = ww_on_sys_exit,
	[WW_K_RAW_ENTRY] = ww_on_raw_entry, [WW_K_RAW_EXIT] = ww_on_raw_exit,
	[WW_K_SIGNAL_GEN] = ww_on_signal_gen, [WW_K_SIGNAL_DELIVER] = ww_on_signal_deliver,
	[WW_K_FAULT] = ww_on_fault, [WW_K_FAULT_KERNEL] = ww_on_fault_kernel, [WW_K_LOCK_BEGIN] = ww_on_lock_begin,
	[WW_K_LOCK_END] = ww_on_lock_end,
	[WW_K_DUMP_PROC] = ww_on_dump_proc, [WW_K_DUMP_FD] = ww_on_dump_fd,
	[WW_K_DUMP_IRQ] = ww_on_dump_irq, [WW_K_DUMP_BLK] = ww_on_dump_blk,
	[WW_K_DUMP_NS] = ww_on_dump_ns,
	[WW_K_OWN_TARGET] = ww_on_own_target, [WW_K_OWN_RECORDER] = ww_on_own_recorder,
	[WW_K_OWN_BLOCK] = ww_on_own_block, [WW_K_OWN_WAKER] = ww_on_own_waker,
	[WW_K_OWN_FILE] = ww_on_own_file, [WW_K_OWN_FD] = ww_on_own_fd,
	[WW_K_OWN_SOCK] = ww_on_own_sock, [WW_K_OWN_READY] = ww_on_own_ready,
	[WW_K_OWN_EPOLL] = ww_on_own_epoll, [WW_K_OWN_FAULT_END] = ww_on_own_fault_end,
	[WW_K_OWN_PAGE_IN] = ww_on_own_page_in,
	[WW_K_OWN_URING] = ww_on_own_uring,
	[WW_K_OWN_THROTTLE] = ww_on_own_throttle, [WW_K_OWN_STOLEN] = ww_on_own_stolen,
	[WW_K_OWN_CURRENT] = ww_on_own_current,
	[WW_K_OWN_TIMER_TASK] = ww_on_own_timer_task,
	[WW_K_OWN_FUNCTION] = ww_on_own_function,
	[WW_K_OWN_SYS_ENTRY] = ww_on_own_sys_entry, [WW_K_OWN_SYS_EXIT] = ww_on_own_sys_exit,
	[WW_K_OWN_FDS] = ww_on_own_fds, [WW_K_OWN_IPI] = ww_on_own_ipi,
	[WW_K_OWN_SK_READY] = ww_on_own_sk_ready, [WW_K_OWN_MAP] = ww_on_own_map,
	[WW_K_OWN_STACK] = ww_on_own_stack, [WW_K_OWN_CGROUP] = ww_on_own_cgroup,
};

static bool has_field(const struct ww_model *m, const struct ww_class *c, const char *name, size_t len)
{
	const char *dot = memchr(name, '.', len);
	size_t n = dot ? (size_t)(dot - name) : len;

	if (n == 3 && !memcmp(name, "ctx", 3))
		return !c->no_context;
	if (m->events_tell && n > 7 && !memcmp(name, "common_", 7))
		return true; /* beside the payload; what has none gives WW_V_NONE */
	for (uint32_t i = 0; i < c->nfields; i++)
		if (strlen(c->field_names[i]) == n && !memcmp(c->field_names[i], name, n))
			return true;
	return false;
}

/* One slot of a field list: "a|b", "a&b" or a name; the field to ask for, in `mem`. */
static const char *resolve_slot(struct ww_model *m, const struct ww_class *c, const char *slot, size_t len)
{
	const char *amp = memchr(slot, '&', len), *end = slot + len;

	if (amp && !has_field(m, c, amp + 1, (size_t)(end - amp - 1)))
		return "-";
	if (amp)
		return ww_arena_strndup(&m->mem, slot, (size_t)(amp - slot));
	for (const char *p = slot; p < end;) {
		const char *bar = memchr(p, '|', (size_t)(end - p));
		size_t n = bar ? (size_t)(bar - p) : (size_t)(end - p);

		if (has_field(m, c, p, n))
			return ww_arena_strndup(&m->mem, p, n);
		p += n + 1;
	}
	return "-"; /* no class has it: WW_V_NONE */
}

static int bind_fields(struct ww_model *m, uint32_t cls, const struct ww_class *c, const char *list,
		       struct ww_bound *b)
{
	const char **fields = WW_ARENA_ARRAY(&m->mem, const char *, WW_MAX_SLOTS + 1);
	uint32_t n = 0;

	for (const char *p = list; *p && n < WW_MAX_SLOTS;) {
		size_t len = strcspn(p, " ");

		if (len)
			fields[n++] = resolve_slot(m, c, p, len);
		p += len + (p[len] == ' ');
	}
	while (n && *fields[n - 1] == '-') /* every value is written, carried to this thread, and read */
		n--;
	b->nslots = n;
	/* Who ran, as the producer's common fields or contexts say it: for traces that begin in
	 * mid-air. */
	if (m->events_tell || !c->no_context)
		fields[n++] = m->events_tell ? "common_pid" : "ctx.tid";
	return ww_trace_want(m->trace, cls, fields, n, m->err);
}

static bool absent(const struct ww_model_opts *opts, enum ww_kind kind, const char *name)
{
	for (const char *const *w = opts ? opts->without : NULL; w && *w; w++)
		if (!strcmp(*w, name) || !strcmp(*w, ww_kind_name(kind)))
			return true;
	return false;
}

static void note_knowledge(struct ww_model *m, const struct ww_bound *b)
{
	struct ww_knowledge *k = &m->f->knows;

	switch (b->kind) {
	case WW_K_SWITCH: k->switches = m->has_switch = true; break;
	case WW_K_WAKING: k->waking = m->has_waking = true; break;
	case WW_K_WAKEUP_NEW: case WW_K_FORK: m->has_births = true; break;
	case WW_K_WAKEUP: k->wakeup = m->has_wakeup = true; break;
	case WW_K_IRQ_ENTRY: k->irq = m->has_irq = true; break;
	case WW_K_SOFT_ENTRY: k->softirq = m->has_softirq = true; break;
	case WW_K_VECTOR_ENTRY: /* others than the timer's may be recorded without it */
		m->has_timer_vector |= !strcmp(ww_facts_str(m->f, b->name), "local_timer_entry");
		k->vectors |= m->has_timer_vector;
		break;
	case WW_K_HRT_EXPIRE: k->timers = m->has_timers = true; break;
	case WW_K_SYS_ENTRY: k->syscalls = m->has_syscalls = true; break;
	case WW_K_RAW_ENTRY: k->syscalls = m->has_syscalls = m->all_syscalls = true; break;
	case WW_K_OWN_SYS_ENTRY: k->syscalls = m->has_own_entry = true; break;
	case WW_K_OWN_BLOCK: k->syscalls = m->own = true; break;
	case WW_K_BIO_MERGE: case WW_K_RQ_MERGE: k->merges = true; break;
	case WW_K_BIO_QUEUE: case WW_K_RQ_QUEUE: case WW_K_RQ_ISSUE: case WW_K_RQ_COMPLETE: k->block = true; break;
	case WW_K_LOCK_BEGIN: k->locks = true; break;
	case WW_K_NUMA_MOVE: case WW_K_NUMA_SWAP: case WW_K_NUMA_STICK: k->numa = true; break;
	case WW_K_NET_SEND: case WW_K_NET_RECV:
		k->packets |= b->kind == WW_K_NET_RECV;
		k->addresses |= has_field(m, ww_trace_class(m->trace, (uint32_t)(b - m->bound)), "network_header", 14);
		break;
	case WW_K_FAULT: k->exceptions = m->has_exceptions = true; break;
	case WW_K_OWN_FAULT_END: k->faults = m->has_fault_end = true; break;
	case WW_K_OWN_FILE: case WW_K_DUMP_FD: k->files = true; break;
	case WW_K_WORK_START: k->work = true; break;
	case WW_K_OWN_TARGET: k->target = m->all_syscalls = true; break;
	default: break;
	}
}

static const char *syscall_fields(const struct ww_bound *b)
{
	if (b->kind == WW_K_SYS_EXIT)
		return "ret";
	return b->sc->fields ? b->sc->fields : "fd";
}

/* Arrays inside the event are looked at: ww_v_array, ww_ready_at_exit. */
static bool looks_inside(const struct ww_bound *b)
{
	if (b->kind == WW_K_SYS_EXIT)
		return b->sc->wait == WW_W_POLL || b->sc->effect == WW_FX_PIPE || b->sc->effect == WW_FX_SOCKETPAIR;
	return b->kind == WW_K_FORK || b->kind == WW_K_RAW_ENTRY || b->kind == WW_K_OWN_FDS ||
	       b->kind == WW_K_OWN_STACK || b->kind == WW_K_SWITCH;
}

static int bind_class(struct ww_model *m, uint32_t cls, const struct ww_model_opts *opts)
{
	const struct ww_class *c = ww_trace_class(m->trace, cls);
	struct ww_bound *b = &m->bound[cls];
	struct ww_vocab_match v = ww_vocab_find(c->name, m->before_2_6);

	if (!v.row || !handlers[v.row->kind] || absent(opts, v.row->kind, c->name) ||
	    (opts && opts->packets_only && v.row->kind != WW_K_NET_SEND && v.row->kind != WW_K_NET_RECV)) {
		ww_trace_ignore(m->trace, cls);
		return 0;
	}
	b->kind = v.row->kind;
	b->handle = handlers[b->kind];
	b->name = ww_intern(m, v.row->event);
	b->compat = v.compat;
	b->sc_nr = -1;
	const char *fields = v.row->fields;
	if (v.syscall) {
		char buf[64];
		const char *name = ww_syscall_user_name(v.compat ? WW_ABI_I386 : m->abi, v.syscall, buf, sizeof(buf));
		b->sc = ww_sysinfo_find(name);
		b->sc_name = ww_intern(m, name);
		b->sc_nr = (int32_t)ww_syscall_number(v.compat ? WW_ABI_I386 : m->abi, name);
		fields = syscall_fields(b);
		/* LTTng with --all has a class for unknown calls (RAW_ENTRY); perf's syscalls:* has hundreds of
		 * classes. */
		m->named_calls += b->kind == WW_K_SYS_ENTRY && strncmp(m->trace->info.format, "ctf", 3);
		m->all_syscalls |= m->named_calls > 300;
	}
	/* A trace.dat describes every event of the kernel, recorded or not: there, an event is known
	 * to be recorded when the first one is seen. Interrupts come with every tick. */
	b->noted = strncmp(m->trace->info.format, "trace.dat", 9) != 0;
	if (b->noted)
		note_knowledge(m, b);
	if (looks_inside(b))
		ww_trace_will_visit(m->trace, cls, b->kind == WW_K_RAW_ENTRY || b->kind == WW_K_FORK || b->kind == WW_K_SWITCH);
	return bind_fields(m, cls, c, fields, b);
}

static const char *keep(struct ww_model *m, const char *s)
{
	return ww_arena_strdup(&m->f->mem, s ? s : "");
}

static void describe_host(struct ww_model *m)
{
	const struct ww_trace_info *i = ww_trace_info(m->trace);
	struct ww_host *h = &m->f->host;

	h->name = keep(m, i->hostname);
	h->clock_name = keep(m, i->clock.name);
	h->clock_uuid = keep(m, i->clock.uuid);
	h->kernel_release = keep(m, i->kernel_release);
	h->trace_path = keep(m, i->path);
	h->tracer = keep(m, i->tracer);
	h->clock_offset_ns = i->clock.offset_ns;
	h->epoch_known = i->clock.epoch_known;
	h->ncpus = WW_MIN(i->ncpus, WW_MAX_CPUS);
	m->events_tell = strncmp(i->format, "ctf", 3);
	m->prio_base = m->events_tell ? 0 : 100;
	m->abi = i->arch && !strcmp(i->arch, "aarch64") ? WW_ABI_AARCH64 : WW_ABI_X86_64;
}

static void begin(struct ww_model *m, const struct ww_event *ev)
{
	/* Events that the model ignores may stand before the first one that it is told of; and perf's records of what
	 * was there already before the trace begins. */
	const int64_t first_ts_ns = ww_trace_begin(m->trace);

	m->begun = true;
	m->begin = first_ts_ns == INT64_MAX ? ev->ts_ns : first_ts_ns;
	if (ev->cls == WW_CLS_GAP && ww_v_int(ev, 1, ev->ts_ns) < m->begin)
		m->begin = ww_v_int(ev, 1, ev->ts_ns);
	m->now = m->begin;
	m->f->begin_ts_ns = m->begin;
}

/* Learns who runs on the CPU from the event's own fields when no switch has told yet. */
static void learn_current(struct ww_model *m, const struct ww_event *ev, const struct ww_bound *b)
{
	int64_t tid = ww_v_int(ev, b->nslots, -1);

	if (tid < 0 || b->kind == WW_K_SWITCH)
		return;
	struct ww_thr *t = ww_cpu_thread_alive(m, tid);
	if (!t || t->cpu >= 0)
		return;
	m->f->knows.threads = true;
	ww_came_unseen(m, t, m->cpu->known_from);
	m->cpu->cur = t->index;
	m->cpu->run_start = m->now;
	t->cpu = (int16_t)m->cpu_nr;
	ww_thr_running(m, t, m->now);
}

/* The event tells of another thread than the one that is thought to have the CPU: a switch was not told. So it is where
 * only some threads are recorded, which is what perf record does without -a: of those it has only the switches away. */
static void doubt_current(struct ww_model *m, const struct ww_event *ev, const struct ww_bound *b)
{
	const int64_t tid = ww_v_int(ev, b->nslots, -1);

	if (tid < 0)
		return;
	const struct ww_thr *cur = ww_thr_at(m, m->cpu->cur);
	if (tid == cur->tid || b->kind == WW_K_SWITCH)
		return;
	struct ww_thr *t = ww_cpu_thread_alive(m, tid);
	if (t && t != cur && (!cur->idle || t->cpu < 0))
		ww_switch_unseen(m, t, -1);
}

static void handle(struct ww_model *m, const struct ww_event *ev)
{
	if (!m->begun)
		begin(m, ev);
	/* A reader delivers in order; a damaged trace may not. Time never runs backward here. */
	m->now = WW_MAX(m->now, ev->ts_ns);
	if (ev->cls == WW_CLS_GAP) {
		ww_cpu_gap(m, ev);
		return;
	}
	struct ww_bound *b = &m->bound[ev->cls];
	if (!b->handle || !ww_cpu_enter(m, ev->cpu))
		return;
	m->now_bound = b;
	if (WW_UNLIKELY(!b->noted)) {
		b->noted = true;
		note_knowledge(m, b);
	}
	if (WW_UNLIKELY(m->cpu->cur == WW_NONE))
		learn_current(m, ev, b);
	else
		doubt_current(m, ev, b);
	b->handle(m, ev);
}

static void release(struct ww_model *m)
{
	struct ww_u64map *maps[] = {&m->by_pid, &m->files, &m->irqs, &m->devices,
				    &m->block_open, &m->block_done, &m->flushes, &m->large_sent, &m->disks, &m->bios, &m->timer_open, &m->skb_sent, &m->flow_sent,
				    &m->sock_ino, &m->work_open, &m->epoll, &m->fd_tables,
				    &m->files_by_name, &m->sock_addr, &m->cgroups, &m->functions};

	for (size_t i = 0; i < WW_ARRAY_SIZE(maps); i++)
		ww_u64map_release(maps[i]);
	for (size_t i = 0; i < m->proc.n; i++) {
		ww_vec_free(&m->proc.v[i]->fds);
		ww_vec_free(&m->proc.v[i]->vmas);
	}
	ww_vec_free(&m->armed);
	ww_vec_free(&m->flush);
	ww_vec_free(&m->large);
	ww_vec_free(&m->armed_free);
	ww_vec_free(&m->cpus);
	ww_vec_free(&m->thr);
	ww_vec_free(&m->proc);
	free(m->bound);
	free(m->by_tid);
	ww_arena_release(&m->mem);
}

static int read_all(struct ww_model *m, const struct ww_model_opts *opts)
{
	const struct ww_event *ev;
	uint64_t n = 0, told = 0;
	int r;

	if (!opts || !opts->one_thread)
		ww_trace_read_ahead(m->trace);
	while ((r = ww_trace_batch(m->trace, &ev, m->err)) > 0) {
		for (int i = 0; i < r; i++, ev = ww_event_next(ev))
			handle(m, ev);
		n += (uint64_t)r;
		if (opts && opts->progress && n - told >= 0x4000 && opts->progress(opts->progress_ctx, told = n))
			return 0;
	}
	return r;
}

/* Lengths in cycles that nobody can turn into ns would be wrong numbers. */
static int check_clock(const struct ww_trace_info *info, struct ww_err *err)
{
	if (!ww_clock_counts_cycles(&info->clock))
		return 0;
	ww_err_set(err, WW_EUNSUPPORTED, info->path, WW_ERR_NO_OFFSET,
		   "its clock (%s) does not count ns, and the trace does not say how long a cycle is", info->clock.name);
	return ww_err_hint(err, "record with another clock (trace-cmd record -C mono); `whywait events` shows what is there");
}

/* A small trace's rows are in memory, where they fit and it has large pages, which cost half of what a file's do; a large
 * one's are in a file but for WW_PAGES_HEADS_BYTES. */
static size_t rows_in_memory(uint64_t trace_bytes)
{
	const uint64_t large = UINT64_C(512) << 20;

	return WW_PAGES_HEADS_BYTES + (trace_bytes < large ? (large - trace_bytes) / 5 * 3 : 0);
}

int ww_model_run(struct ww_trace *trace, const struct ww_model_opts *opts, struct ww_facts *facts,
		 struct ww_err *err)
{
	struct ww_model m = {.f = facts, .trace = trace, .err = err, .recorder = WW_NONE};
	uint32_t ncls = ww_trace_info(trace)->nclasses;
	int r = check_clock(ww_trace_info(trace), err);

	if (r)
		return r;
	ww_pages_allow(rows_in_memory(ww_trace_stats(trace)->bytes));
	ww_arena_init(&m.mem);
	m.bound = ww_xcalloc((size_t)ncls + 1, sizeof(*m.bound));
	m.by_tid = ww_xcalloc((size_t)WW_MAX_TID + 1, sizeof(*m.by_tid)); /* pages that are not used cost nothing */
	m.last_gap_end = INT64_MIN;
	m.now = INT64_MIN;
	m.give = opts && opts->packets_only && opts->packets ? opts : NULL;
	describe_host(&m);
	for (uint32_t i = 0; i < ncls; i++)
		m.before_2_6 |= !strcmp(ww_trace_class(trace, i)->name, "exit_syscall");
	for (uint32_t i = 0; i < ncls && !r; i++)
		r = bind_class(&m, i, opts);
	if (!r)
		r = read_all(&m, opts);
	if (!r)
		r = ww_model_finish(&m, err);
	release(&m);
	malloc_trim(0); /* what other threads need next is not beside what was the model's */
	return r;
}
