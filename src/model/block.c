/* block.c - block requests: queued, merged, issued, completed. Keyed by (device, sector) while in flight. */
#include "model/model_private.h"

enum { IS_READ, IS_WRITE, IS_FLUSH, IS_DISCARD }; /* block_io.write */
enum { RWBS_WRITE = 1, RWBS_DISCARD = 2, RWBS_FLUSH = 1 << 8, RWBS_PREFLUSH = 1 << 10 };

/* LTTng writes bits, the kernel's own tracepoints a string such as "WS", "FF", "RA", "D".
 * source lttng-modules include/instrumentation/events/block.h; kernel blk_fill_rwbs() */
static uint8_t direction(const struct ww_event *ev)
{
	if (ev->nval > S_RQ_RWBS && (ev->v[S_RQ_RWBS].kind == WW_V_STR || ev->v[S_RQ_RWBS].kind == WW_V_BYTES)) {
		const struct ww_value *v = &ev->v[S_RQ_RWBS];

		if (memchr(v->p, 'W', v->len))
			return IS_WRITE;
		if (memchr(v->p, 'D', v->len))
			return IS_DISCARD;
		return memchr(v->p, 'F', v->len) ? IS_FLUSH : IS_READ;
	}
	uint64_t bits = ww_v_u64(ev, S_RQ_RWBS);
	if (bits & RWBS_DISCARD)
		return IS_DISCARD;
	if (bits & (RWBS_FLUSH | RWBS_PREFLUSH) && !ww_v_u64(ev, S_RQ_NR))
		return IS_FLUSH;
	return bits & RWBS_WRITE ? IS_WRITE : IS_READ;
}

static uint64_t key_of(uint32_t dev, const struct ww_event *ev)
{
	return ww_hash_mix(dev, ww_v_u64(ev, S_RQ_SECTOR));
}

static uint32_t bytes_of(const struct ww_event *ev)
{
	const uint32_t bytes = (uint32_t)ww_v_u64(ev, S_RQ_BYTES);

	return bytes ? bytes : (uint32_t)ww_v_u64(ev, S_RQ_NR) * 512;
}

static uint32_t dev_of(const struct ww_event *ev)
{
	return (uint32_t)ww_v_u64(ev, S_RQ_DEV);
}

/* Is that the name of a partition of the disk? vda1 of vda, nvme0n1p2 of nvme0n1. */
static bool is_partition(const char *name, const char *disk)
{
	size_t n = strlen(disk), digits;

	if (!n || strncmp(name, disk, n) || !name[n])
		return false;
	name += n;
	if (disk[n - 1] >= '0' && disk[n - 1] <= '9' && *name++ != 'p')
		return false;
	digits = strspn(name, "0123456789");
	return digits && !name[digits];
}

/* The disk of a device that an event about a bio names, which is the partition that it was for; of requests it is the
 * disk itself. It is told by names, or else learnt from a request that a bio became (in_flight). WW_NONE: not known. */
static uint32_t disk_of(struct ww_model *m, uint32_t dev)
{
	const struct ww_device_cols *d = &m->f->device;
	const uint64_t *disk = ww_u64map_find(&m->disks, dev), *i = ww_u64map_find(&m->devices, dev);

	if (disk)
		return (uint32_t)*disk;
	for (uint32_t k = 0; i && k < d->n; k++)
		if (is_partition(ww_facts_str(m->f, d->name[*i]), ww_facts_str(m->f, d->name[k]))) {
			ww_u64map_put(&m->disks, dev, d->dev[k]);
			return d->dev[k];
		}
	return WW_NONE;
}

static bool is_on_disk(const struct ww_facts *f, uint32_t file)
{
	return file < f->file.n && (f->file.kind[file] == WW_FK_REG || f->file.kind[file] == WW_FK_BLK || f->file.kind[file] == WW_FK_DIR);
}

static uint32_t submitter_file(struct ww_model *m, const struct ww_thr *t, bool write)
{
	if (t->in_syscall) {
		const uint32_t file = t->sc->out ? (write ? m->f->syscall.file_out : m->f->syscall.file)[t->sc_row] : t->sc_file;

		if (is_on_disk(m->f, file))
			return file;
	}
	if (!t->in_syscall && t->fault_row != WW_NONE)
		return m->f->fault.file[t->fault_row];
	return WW_NONE;
}

static uint32_t new_request(struct ww_model *m, uint32_t dev, const struct ww_event *ev)
{
	struct ww_block_io r = {.dev = dev, .sector = ww_v_u64(ev, S_RQ_SECTOR),
				.bytes = bytes_of(ev), .write = direction(ev),
				.queued_ts_ns = -1, .issued_ts_ns = -1, .completed_ts_ns = -1,
				.submitter = WW_NONE, .file = WW_NONE};
	bool isnew;

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
	m->f->block_io.file[row] = submitter_file(m, t, m->f->block_io.write[row]);
}

/* The row of the bio of this thread that became the request, but was for a partition of another number. */
static uint32_t was_bio(struct ww_model *m, uint32_t disk, const struct ww_event *ev)
{
	const struct ww_thr *t = ww_thr_current(m);
	const uint64_t key = ww_hash_mix(ww_v_u64(ev, S_RQ_SECTOR), t ? t->index : WW_NONE);
	const uint64_t *i = m->bios.n ? ww_u64map_find(&m->bios, key) : NULL;
	const uint32_t row = i ? (uint32_t)*i : WW_NONE;

	ww_u64map_put(&m->disks, disk, disk);
	if (i)
		ww_u64map_del(&m->bios, key);
	if (row == WW_NONE || m->f->block_io.dev[row] == disk)
		return WW_NONE;
	ww_u64map_put(&m->disks, m->f->block_io.dev[row], disk);
	ww_u64map_del(&m->block_open, key_of(m->f->block_io.dev[row], ev));
	m->f->block_io.dev[row] = disk;
	return row;
}

/* The row of the request that waits there to be issued. One that was issued is done, though the trace does not show it:
 * a requeue (the device was full) would have been told. What is asked for in between is another request. */
static uint32_t in_flight(struct ww_model *m, uint32_t dev, bool request, const struct ww_event *ev)
{
	uint64_t key = key_of(dev, ev), *i = ww_u64map_find(&m->block_open, key);
	uint32_t row = i ? (uint32_t)*i : request ? was_bio(m, dev, ev) : WW_NONE;

	if (row == WW_NONE || (m->f->block_io.issued_ts_ns[row] >= 0 && (request || m->last_gap_end > m->f->block_io.issued_ts_ns[row])))
		row = new_request(m, dev, ev);
	ww_u64map_put(&m->block_open, key, row);
	return row;
}

/* One that was issued already waits again since then: rows stay in the order in which requests were first seen. */
static void set_queued(struct ww_model *m, uint32_t row)
{
	struct ww_block_io_cols *b = &m->f->block_io;

	if (b->queued_ts_ns[row] < 0)
		b->queued_ts_ns[row] = b->issued_ts_ns[row] >= 0 ? b->issued_ts_ns[row] : m->now;
}

static void queue(struct ww_model *m, uint32_t row)
{
	set_queued(m, row);
	set_submitter(m, row);
}

/* Two bios of one thread at one sector, for different devices, are those of a mirror: they tell nothing. */
static void remember_bio(struct ww_model *m, uint32_t row, const struct ww_event *ev)
{
	enum { MAX_BIOS = 4096 };
	const struct ww_thr *t = ww_thr_current(m);
	bool isnew;

	if (!t)
		return;
	if (m->bios.n >= MAX_BIOS)
		ww_u64map_clear(&m->bios);
	uint64_t *i = ww_u64map_get(&m->bios, ww_hash_mix(ww_v_u64(ev, S_RQ_SECTOR), t->index), row, &isnew);
	if (!isnew && (*i == WW_NONE || m->f->block_io.dev[*i] != m->f->block_io.dev[row]))
		*i = WW_NONE;
	else
		*i = row;
}

void ww_on_bio_queue(struct ww_model *m, const struct ww_event *ev)
{
	const uint32_t disk = disk_of(m, dev_of(ev));
	const uint32_t row = in_flight(m, disk == WW_NONE ? dev_of(ev) : disk, false, ev);

	queue(m, row);
	if (disk == WW_NONE)
		remember_bio(m, row, ev);
}

void ww_on_rq_queue(struct ww_model *m, const struct ww_event *ev)
{
	queue(m, in_flight(m, dev_of(ev), true, ev));
}

/* It went into a request that waits there, before it was one of its own. */
void ww_on_bio_merge(struct ww_model *m, const struct ww_event *ev)
{
	const uint32_t disk = disk_of(m, dev_of(ev));
	const uint32_t row = new_request(m, disk == WW_NONE ? dev_of(ev) : disk, ev);

	queue(m, row);
	m->f->block_io.merged[row] = 1;
}

/* The same of what was a request already, and waited. */
void ww_on_rq_merge(struct ww_model *m, const struct ww_event *ev)
{
	const uint64_t key = key_of(dev_of(ev), ev), *i = ww_u64map_find(&m->block_open, key);
	const bool waits = i && m->f->block_io.issued_ts_ns[*i] < 0;
	const uint32_t row = waits ? (uint32_t)*i : new_request(m, dev_of(ev), ev);

	if (waits)
		ww_u64map_del(&m->block_open, key);
	queue(m, row);
	m->f->block_io.merged[row] = 1;
}

static struct ww_flushes *flushes_of(struct ww_model *m, uint32_t dev)
{
	bool isnew;
	const uint64_t i = *ww_u64map_get(&m->flushes, dev, m->flush.n, &isnew);

	if (isnew)
		*ww_vec_push(&m->flush) = (struct ww_flushes){0, WW_NONE, WW_NONE};
	return &m->flush.v[i];
}

/* The device has it no more. */
static struct ww_flushes *flush_returned(struct ww_model *m, uint32_t row)
{
	struct ww_flushes *x = flushes_of(m, m->f->block_io.dev[row]);

	x->in_flight -= x->in_flight > 0;
	return x;
}

/* It waits again, since it was first asked for. */
void ww_on_rq_requeue(struct ww_model *m, const struct ww_event *ev)
{
	const uint64_t *i = ww_u64map_find(&m->block_open, key_of(dev_of(ev), ev));

	if (!i || m->f->block_io.issued_ts_ns[*i] < 0)
		return;
	set_queued(m, (uint32_t)*i);
	m->f->block_io.issued_ts_ns[*i] = -1;
	if (m->f->block_io.write[*i] == IS_FLUSH)
		flush_returned(m, (uint32_t)*i);
}

static void flush_issued(struct ww_model *m, uint32_t row)
{
	struct ww_flushes *x = flushes_of(m, m->f->block_io.dev[row]);

	x->in_flight++;
	x->issued = row;
}

static void flush_completed(struct ww_model *m, uint32_t row)
{
	flush_returned(m, row)->completed = row;
}

/* Which request completes, that is not in flight at that sector; WW_NONE: one that the trace has not seen begin.
 * - A flush: kernels before 6.5 issue it at sector 0 and complete it at -1. There is one at a time for each queue.
 * - One without data after one with: the machinery for flushes completes the request a second time when what it needed
 *   behind the data is done; and a write of nothing but a flush, after that flush.
 * source block/blk-flush.c:blk_flush_complete_seq, mq_flush_data_end_io */
static uint32_t completed_before(struct ww_model *m, const struct ww_event *ev, uint64_t key)
{
	const struct ww_flushes *x = flushes_of(m, dev_of(ev));
	const uint64_t *i;

	if (bytes_of(ev))
		return WW_NONE;
	if (direction(ev) == IS_FLUSH)
		return x->in_flight == 1 && m->f->block_io.completed_ts_ns[x->issued] < 0 ? x->issued : WW_NONE;
	i = ww_u64map_find(&m->block_done, key);
	return i ? (uint32_t)*i : x->completed;
}

void ww_on_rq_issue(struct ww_model *m, const struct ww_event *ev)
{
	uint32_t row = in_flight(m, dev_of(ev), true, ev);

	m->f->block_io.issued_ts_ns[row] = m->now;
	if (m->f->block_io.write[row] == IS_FLUSH)
		flush_issued(m, row);
	if (bytes_of(ev)) /* more than when it was queued: others went into it */
		m->f->block_io.bytes[row] = bytes_of(ev);
	set_submitter(m, row);
}

void ww_on_rq_complete(struct ww_model *m, const struct ww_event *ev)
{
	enum { MAX_DONE = 4096 };
	const uint64_t key = key_of(dev_of(ev), ev), *i = ww_u64map_find(&m->block_open, key);
	uint32_t row = i ? (uint32_t)*i : completed_before(m, ev, key);

	if (row != WW_NONE && m->f->block_io.completed_ts_ns[row] >= 0) { /* issued by the worker that runs the machinery */
		ww_cpu_is_done(m, (struct ww_done){.kind = WW_WK_BLOCK, .fact = row, .nobodys = true});
		return;
	}
	if (row == WW_NONE)
		row = new_request(m, dev_of(ev), ev);
	m->f->block_io.completed_ts_ns[row] = m->now;
	ww_u64map_del(&m->block_open, ww_hash_mix(m->f->block_io.dev[row], m->f->block_io.sector[row]));
	if (m->f->block_io.write[row] == IS_FLUSH) {
		flush_completed(m, row);
	} else {
		if (m->block_done.n >= MAX_DONE)
			ww_u64map_clear(&m->block_done);
		ww_u64map_put(&m->block_done, key, row);
	}
	ww_cpu_done(m, WW_WK_BLOCK, row);
}

/* A fault of which only its end tells the file: what it asked the disk for was for that one. */
void ww_block_of_fault(struct ww_model *m, const struct ww_thr *t, uint32_t fault)
{
	struct ww_block_io_cols *b = &m->f->block_io;

	for (uint32_t i = b->n; i-- > 0;) {
		const int64_t begin_ts_ns = ww_facts_block_begin(m->f, i);

		if (begin_ts_ns >= 0 && begin_ts_ns < m->f->fault.start_ts_ns[fault])
			return;
		if (b->submitter[i] == t->index && b->file[i] == WW_NONE)
			b->file[i] = m->f->fault.file[fault];
	}
}

/* Whose disk was learnt only later. */
void ww_block_finish(struct ww_model *m)
{
	for (uint32_t i = 0; i < m->f->block_io.n; i++)
		if (m->f->block_io.merged[i]) {
			const uint32_t disk = disk_of(m, m->f->block_io.dev[i]);

			m->f->block_io.dev[i] = disk == WW_NONE ? m->f->block_io.dev[i] : disk;
		}
}
