/* ring.c - takes complete sub-buffers from the rings and appends them to the stream files as packets.
 *
 * Order of a packet's life: the program opens it, fills it, closes it when the next event does not fit, or we
 * close it here; when all its bytes are committed, we fill in its head in place, write it with one call, and
 * give the sub-buffer back by raising read_n.
 */
#include "record/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * WW_NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* Until when nothing has come: now, or the recording's end. */
static uint64_t time_ns(const struct ww_ring_set *s)
{
	return s->end_ts_ns ? s->end_ts_ns : now_ns();
}

static uint8_t *packet_at(const struct ww_ring_set *s, uint32_t cpu, uint64_t n)
{
	return s->base + s->stride * (cpu * s->nsub + (n & (s->nsub - 1)));
}

static struct ww_sub *sub_at(const struct ww_ring_set *s, uint32_t cpu, uint64_t n)
{
	return (struct ww_sub *)(packet_at(s, cpu, n) + s->sub_bytes + WW_SUB_AT);
}

/* All pages are there from the start: to the kernel, looking for a missing one is a place to give up a direct
 * write when a signal kills us. */
int ww_ring_set_init(struct ww_ring_set *s, int map_fd, struct ww_err *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	s->stride = s->sub_bytes + WW_TAIL;
	s->map_bytes = (s->stride * s->ncpu * s->nsub + page - 1) & ~(page - 1);
	s->base = mmap(NULL, s->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, map_fd, 0);
	if (s->base == MAP_FAILED) {
		s->base = NULL;
		return ww_err_errno(err, NULL, "cannot map the event rings (%zu bytes)", s->map_bytes);
	}
	s->cpu = ww_xcalloc(s->ncpu, sizeof(*s->cpu));
	for (uint32_t i = 0; i < s->ncpu; i++) {
		s->cpu[i].file.fd = -1;
		s->cpu[i].events = ww_xcalloc(s->nsub, sizeof(uint64_t));
	}
	return 0;
}

void ww_ring_set_release(struct ww_ring_set *s)
{
	if (s->cpu) {
		ww_ring_set_close_files(s, NULL);
		for (uint32_t i = 0; i < s->ncpu; i++)
			free(s->cpu[i].events);
	}
	free(s->cpu);
	s->cpu = NULL;
	if (s->base)
		munmap(s->base, s->map_bytes);
	s->base = NULL;
}

static uint64_t lost_in_kernel(const struct ww_ring_ctl *ctl)
{
	return __atomic_load_n(&ctl->lost, __ATOMIC_RELAXED) + __atomic_load_n(&ctl->missed, __ATOMIC_RELAXED);
}

uint64_t ww_ring_lost(const struct ww_ring_set *s, uint32_t cpu)
{
	return __atomic_load_n(&s->ctl[cpu].lost, __ATOMIC_RELAXED) + s->cpu[cpu].dropped;
}

/* Appends the packet at p; n is its length with padding. */
static int file_append(struct ww_ring_set *s, uint32_t cpu, const void *p, size_t n, struct ww_err *err)
{
	struct ww_packet_file *f = &s->cpu[cpu].file;
	char path[sizeof(s->outdir) + 32];
	int r = 0;

	if (f->fd < 0) {
		snprintf(path, sizeof(path), "%s/c0_%u", s->outdir, cpu);
		r = ww_packet_file_open(f, AT_FDCWD, path, O_TRUNC, 0644, err);
	}
	if (!r)
		r = ww_packet_file_append(f, p, n, err);
	if (r)
		return r;
	s->bytes += n;
	s->packets++;
	return 0;
}

static void head_fill(struct ww_ring_set *s, uint32_t cpu, struct ww_packet_head *h, uint64_t begin,
		      uint64_t end, uint32_t bytes, uint64_t lost)
{
	struct ww_ring_cpu *c = &s->cpu[cpu];

	*h = (struct ww_packet_head){
		.magic = WW_CTF_MAGIC,
		.stream_instance_id = cpu,
		.timestamp_begin = begin,
		.timestamp_end = end,
		.content_size = (uint64_t)bytes * 8,
		.packet_size = (uint64_t)ww_packet_round(bytes) * 8,
		.packet_seq_num = c->seq,
		.events_discarded = lost + c->dropped + (cpu ? 0 : s->extra_lost) - c->before,
		.cpu_id = cpu,
	};
	memcpy(h->uuid, s->uuid, sizeof(h->uuid));
}

static bool sub_complete(const struct ww_ring_set *s, const struct ww_sub *sub, uint64_t n)
{
	uint64_t want = (n / s->nsub + 1) << s->sub_shift;

	return (__atomic_load_n(&sub->committed, __ATOMIC_ACQUIRE) & WW_COMMIT_BYTES) == want;
}

static int sub_write(struct ww_ring_set *s, uint32_t cpu, uint64_t n, struct ww_err *err)
{
	struct ww_sub *sub = sub_at(s, cpu, n);
	struct ww_ring_cpu *c = &s->cpu[cpu];
	uint8_t *packet = packet_at(s, cpu, n);
	struct ww_packet_head *h = (struct ww_packet_head *)packet;
	uint64_t count = sub->committed >> 40;
	uint64_t events = (count - c->events[n & (s->nsub - 1)]) & ((1u << 24) - 1);
	uint32_t bytes = WW_MIN(sub->end_bytes, s->sub_bytes);

	c->events[n & (s->nsub - 1)] = count;
	s->events += events;
	head_fill(s, cpu, h, sub->begin_ts_ns, sub->end_ts_ns, bytes, sub->lost);
	uint64_t discarded = h->events_discarded;
	memset(packet + bytes, 0, ww_packet_round(bytes) - bytes); /* an older lap's */
	int r = file_append(s, cpu, packet, ww_packet_round(bytes), err);
	if (r) {
		c->dropped += events;
		return r;
	}
	c->seq++;
	c->discarded = discarded;
	return 0;
}

/* Ends the sub-buffer that is being filled. False: a program moved the position meanwhile. */
static bool sub_close(struct ww_ring_set *s, uint32_t cpu, uint64_t pos)
{
	struct ww_ring_ctl *ctl = &s->ctl[cpu];
	uint64_t n = pos >> s->sub_shift, next = (n + 1) << s->sub_shift;
	struct ww_sub *sub = sub_at(s, cpu, n);
	uint64_t now = time_ns(s); /* between reading the position and the swap, as the programs do */

	if (!__atomic_compare_exchange_n(&ctl->pos, &pos, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return false;
	uint64_t last = __atomic_load_n(&ctl->last_ts_ns, __ATOMIC_RELAXED);
	sub->end_bytes = (uint32_t)(pos & (s->sub_bytes - 1));
	sub->end_ts_ns = WW_MAX(now, last);
	sub->lost = lost_in_kernel(ctl);
	__atomic_add_fetch(&sub->committed, next - pos, __ATOMIC_SEQ_CST);
	return true;
}

static int cpu_drain(struct ww_ring_set *s, uint32_t cpu, int64_t older_ns, struct ww_err *err)
{
	struct ww_ring_ctl *ctl = &s->ctl[cpu];
	int ret = 0;

	for (;;) {
		uint64_t n = ctl->read_n;
		uint64_t pos = __atomic_load_n(&ctl->pos, __ATOMIC_ACQUIRE);
		uint64_t cur = pos >> s->sub_shift;
		struct ww_sub *sub = sub_at(s, cpu, n);

		if (n < cur) {
			if (!sub_complete(s, sub, n))
				return ret; /* a program is still filling its event */
			int r = sub_write(s, cpu, n, err);
			ret = ret ? ret : r;
			__atomic_store_n(&ctl->read_n, n + 1, __ATOMIC_RELEASE);
			continue;
		}
		if (older_ns < 0 || !(pos & (s->sub_bytes - 1)))
			return ret;
		/* In the moment between opening and the stamp this is the last lap's: closed early, no harm. */
		if (older_ns && (int64_t)(now_ns() - __atomic_load_n(&sub->begin_ts_ns, __ATOMIC_RELAXED)) <
				older_ns)
			return ret;
		sub_close(s, cpu, pos);
	}
}

int ww_ring_set_drain(struct ww_ring_set *s, int64_t older_ns, struct ww_err *err)
{
	int ret = 0;

	for (uint32_t i = 0; i < s->ncpu; i++) {
		int r = cpu_drain(s, i, older_ns, err);
		ret = ret ? ret : r;
	}
	return ret;
}

void ww_ring_set_mark(struct ww_ring_set *s)
{
	for (uint32_t i = 0; i < s->ncpu; i++) {
		s->cpu[i].marked = lost_in_kernel(&s->ctl[i]);
		s->cpu[i].marked_lost = __atomic_load_n(&s->ctl[i].lost, __ATOMIC_RELAXED);
	}
}

uint64_t ww_ring_set_marked(const struct ww_ring_set *s)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->ncpu; i++)
		sum += __atomic_load_n(&s->ctl[i].lost, __ATOMIC_RELAXED) - s->cpu[i].marked_lost;
	return sum;
}

int ww_ring_set_dump(struct ww_ring_set *s, struct ww_err *err)
{
	int ret = 0;

	s->oldest_ts_ns = UINT64_MAX;
	for (uint32_t i = 0; i < s->ncpu; i++) {
		struct ww_ring_ctl *ctl = &s->ctl[i];
		uint64_t pos = __atomic_load_n(&ctl->pos, __ATOMIC_ACQUIRE);

		if ((pos & (s->sub_bytes - 1)) && sub_close(s, i, pos)) {
			struct ww_sub *last = sub_at(s, i, pos >> s->sub_shift);

			last->end_ts_ns = __atomic_load_n(&ctl->last_ts_ns, __ATOMIC_RELAXED);
			last->lost = WW_MAX(s->cpu[i].marked, last->lost_before);
		}
		uint64_t end = __atomic_load_n(&ctl->pos, __ATOMIC_ACQUIRE) >> s->sub_shift;
		uint64_t n = end > s->nsub ? end - s->nsub : 0;
		bool first = true;
		for (n = WW_MAX(n, ctl->read_n); n < end; n++) {
			struct ww_sub *sub = sub_at(s, i, n);

			if (sub->number != n || !sub_complete(s, sub, n))
				continue;
			if (first)
				s->cpu[i].before = sub->lost_before + s->cpu[i].dropped;
			first = false;
			s->oldest_ts_ns = WW_MIN(s->oldest_ts_ns, sub->begin_ts_ns);
			int r = sub_write(s, i, n, err);
			ret = ret ? ret : r;
		}
		ctl->read_n = end;
	}
	return ret;
}

int ww_ring_set_finish(struct ww_ring_set *s, struct ww_err *err)
{
	int ret = 0;

	for (uint32_t i = 0; i < s->ncpu; i++) {
		static _Alignas(WW_PACKET_ALIGN) uint8_t page[WW_PACKET_ALIGN];
		struct ww_packet_head *h = (struct ww_packet_head *)page;
		uint64_t now = WW_MAX(time_ns(s), __atomic_load_n(&s->ctl[i].last_ts_ns, __ATOMIC_RELAXED));

		head_fill(s, i, h, now, now, sizeof(*h), lost_in_kernel(&s->ctl[i]));
		if (h->events_discarded == s->cpu[i].discarded)
			continue;
		int r = file_append(s, i, page, sizeof(page), err);
		if (!r) {
			s->cpu[i].discarded = h->events_discarded;
			s->cpu[i].seq++;
		}
		ret = ret ? ret : r;
	}
	return ret;
}

int ww_ring_set_close_files(struct ww_ring_set *s, struct ww_err *err)
{
	int ret = 0;

	for (uint32_t i = 0; i < s->ncpu; i++) {
		int r = ww_packet_file_close(&s->cpu[i].file, err);
		ret = ret ? ret : r;
	}
	return ret;
}

bool ww_ring_set_busy(const struct ww_ring_set *s)
{
	for (uint32_t i = 0; i < s->ncpu; i++) {
		uint64_t used = (__atomic_load_n(&s->ctl[i].pos, __ATOMIC_RELAXED) >> s->sub_shift) -
				s->ctl[i].read_n;
		if (used * 4 > s->nsub)
			return true;
	}
	return false;
}
