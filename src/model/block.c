/* block.c - block requests: queued, issued, completed. Keyed by (device, sector) while in flight. */
#include "model/model_private.h"

enum { RWBS_WRITE = 1, RWBS_DISCARD = 2, RWBS_FLUSH = 1 << 8, RWBS_PREFLUSH = 1 << 10 };

/* LTTng writes bits, the kernel's own tracepoints a string such as "WS", "FF", "RA", "D".
 * source lttng-modules include/instrumentation/events/block.h; kernel blk_fill_rwbs() */
static uint8_t direction(const struct ww_event *ev)
{
	if (ev->nval > S_RQ_RWBS && (ev->v[S_RQ_RWBS].kind == WW_V_STR || ev->v[S_RQ_RWBS].kind == WW_V_BYTES)) {
		const struct ww_value *v = &ev->v[S_RQ_RWBS];

		if (memchr(v->p, 'W', v->len))
			return 1;
		if (memchr(v->p, 'D', v->len))
			return 3;
		return memchr(v->p, 'F', v->len) ? 2 : 0;
	}
	uint64_t bits = ww_v_u64(ev, S_RQ_RWBS);
	if (bits & RWBS_DISCARD)
		return 3;
	if (bits & (RWBS_FLUSH | RWBS_PREFLUSH) && !ww_v_u64(ev, S_RQ_NR))
		return 2;
	return bits & RWBS_WRITE ? 1 : 0;
}

static uint64_t key_of(const struct ww_event *ev)
{
	return ww_hash_mix(ww_v_u64(ev, S_RQ_DEV), ww_v_u64(ev, S_RQ_SECTOR));
}

static uint32_t submitter_file(struct ww_model *m, const struct ww_thr *t)
{
	if (t->in_syscall && t->sc_file != WW_NONE &&
	    (m->f->file.kind[t->sc_file] == WW_FK_REG || m->f->file.kind[t->sc_file] == WW_FK_BLK ||
	     m->f->file.kind[t->sc_file] == WW_FK_DIR))
		return t->sc_file;
	if (!t->in_syscall && t->fault_row != WW_NONE)
		return m->f->fault.file[t->fault_row];
	return WW_NONE;
}

static uint32_t new_request(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_block_io r = {.dev = (uint32_t)ww_v_u64(ev, S_RQ_DEV), .sector = ww_v_u64(ev, S_RQ_SECTOR),
				.bytes = (uint32_t)ww_v_u64(ev, S_RQ_NR) * 512, .write = direction(ev),
				.queued_ts_ns = -1, .issued_ts_ns = -1, .completed_ts_ns = -1,
				.submitter = WW_NONE, .file = WW_NONE};
	bool isnew;

	if (ww_v_u64(ev, S_RQ_BYTES))
		r.bytes = (uint32_t)ww_v_u64(ev, S_RQ_BYTES);
	ww_u64map_get(&m->devices, r.dev, 0, &isnew);
	if (isnew) {
		struct ww_device d = {.dev = r.dev};

		*ww_u64map_find(&m->devices, r.dev) = ww_device_push(m->f, &d);
	}
	return ww_block_io_push(m->f, &r);
}

static void set_submitter(struct ww_model *m, uint32_t row)
{
	struct ww_thr *t = ww_thr_current(m);

	if (m->f->block_io.submitter[row] != WW_NONE || m->cpu->depth || !t || t->idle)
		return;
	m->f->block_io.submitter[row] = t->index;
	m->f->block_io.file[row] = submitter_file(m, t);
}

/* The row of the request in flight there. Issued again it was requeued (the device was full); only
 * where events were lost meanwhile it may be another one. */
static uint32_t in_flight(struct ww_model *m, const struct ww_event *ev)
{
	bool isnew;
	uint64_t *i = ww_u64map_get(&m->block_open, key_of(ev), 0, &isnew);

	int64_t issued = isnew ? -1 : m->f->block_io.issued_ts_ns[*i];
	if (isnew || (issued >= 0 && m->last_gap_end > issued))
		*i = new_request(m, ev);
	return (uint32_t)*i;
}

void ww_on_rq_queue(struct ww_model *m, const struct ww_event *ev)
{
	uint32_t row = in_flight(m, ev);

	if (m->f->block_io.queued_ts_ns[row] < 0)
		m->f->block_io.queued_ts_ns[row] = m->now;
	set_submitter(m, row);
}

void ww_on_rq_issue(struct ww_model *m, const struct ww_event *ev)
{
	uint32_t row = in_flight(m, ev);

	m->f->block_io.issued_ts_ns[row] = m->now;
	if (ww_v_u64(ev, S_RQ_BYTES))
		m->f->block_io.bytes[row] = (uint32_t)ww_v_u64(ev, S_RQ_BYTES);
	set_submitter(m, row);
}

void ww_on_rq_complete(struct ww_model *m, const struct ww_event *ev)
{
	uint64_t key = key_of(ev), *i = ww_u64map_find(&m->block_open, key);
	uint32_t row = i ? (uint32_t)*i : new_request(m, ev);

	m->f->block_io.completed_ts_ns[row] = m->now;
	if (i)
		ww_u64map_del(&m->block_open, key);
	ww_cpu_done(m, WW_WK_BLOCK, row);
}
