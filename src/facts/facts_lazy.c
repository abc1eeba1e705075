/* facts_lazy.c - columns of a facts file that look like arrays and are unpacked where somebody reads them.
 *
 * A long column gets an address range without pages, registered with userfaultfd: who reads there waits while a thread
 * of ours unpacks the 4096 rows around the place and gives them to the kernel as pages. Of one that is read in order
 * the next rows are unpacked ahead, more of them each time. The pages that came first are given back when they are more than a budget: who
 * reads them again waits again. So a range of a trace costs what it has, and all of it takes bounded memory.
 *
 * A block that turns out to be damaged cannot be reported to who reads it: the facts are made again from the trace,
 * and from then on pages are filled from those.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/par.h"
#include "facts/file_private.h"

#define BUDGET_BYTES (48u << 20)
#define UNIT_MAX_BYTES (LAZY_ROWS * 8u)
#define AHEAD_MAX 15u
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

struct area { /* of a column */
	char *p;
	size_t bytes; /* whole pages */
	uint32_t column, units;
	size_t unit_bytes;
	struct column_rule rule;
	uint8_t *present; /* by unit */
	uint32_t last;    /* unit that was read last */
	uint32_t ahead;   /* units that were unpacked with it */
};

struct ww_facts_lazy {
	struct file_reader r;
	char *file;
	const struct ww_facts_again *again;
	struct area area[FILE_COLUMNS_MAX];
	uint32_t nareas;
	int uffd, stop;
	pthread_t thread;
	bool running;
	struct ring_entry { uint32_t area, unit; } *ring; /* what is present, oldest first */
	size_t ring_size, head, tail, present_bytes;
	_Atomic uint64_t all_bytes; /* that were ever unpacked */
	struct ww_facts *made; /* again */
	char *buffer;          /* a unit */
};

static _Atomic uint32_t open_count; /* they share the budget */

/* ---- the thread ---- */

static size_t unit_bytes(const struct area *a, uint32_t unit)
{
	return WW_MIN(a->unit_bytes, a->bytes - unit * a->unit_bytes);
}

static void make_again(struct ww_facts_lazy *l)
{
	l->made = ww_xcalloc(1, sizeof(*l->made));
	l->again->make(l->again->ctx, l->r.f, l->made);
	ww_facts_index(l->made);
}

static void fill_buffer(struct ww_facts_lazy *l, const struct area *a, uint32_t unit)
{
	const uint64_t first = (uint64_t)unit * LAZY_ROWS, rows = WW_MIN(l->r.places[a->column].rows - first, LAZY_ROWS);
	const uint32_t size = l->r.columns[a->column].size;

	for (uint64_t row = 0; row < rows && !l->made; row += WW_PACK_ROWS)
		if (!ww_file_block(&l->r, a->column, (first + row) / WW_PACK_ROWS, &a->rule, l->buffer + row * size))
			make_again(l);
	if (l->made)
		memcpy(l->buffer, *(char **)ww_file_pointer(&l->r.columns[a->column], l->made) + first * size, rows * size);
}

static void give_back(struct ww_facts_lazy *l, size_t budget)
{
	while (l->present_bytes > budget && l->tail != l->head) {
		const struct ring_entry e = l->ring[l->tail++ % l->ring_size];
		struct area *a = &l->area[e.area];

		a->present[e.unit] = 0;
		madvise(a->p + e.unit * a->unit_bytes, unit_bytes(a, e.unit), MADV_DONTNEED);
		l->present_bytes -= unit_bytes(a, e.unit);
	}
}

static size_t budget(const struct ww_facts_lazy *l)
{
	const uint64_t all = l->again->budget_bytes ? l->again->budget_bytes : BUDGET_BYTES / WW_MAX(open_count, 1u);

	return WW_MAX(all, 32 * UNIT_MAX_BYTES) - UNIT_MAX_BYTES;
}

static void wake(struct ww_facts_lazy *l, struct area *a, uint32_t unit)
{
	struct uffdio_range range = {(uint64_t)(uintptr_t)(a->p + unit * a->unit_bytes), unit_bytes(a, unit)};

	ioctl(l->uffd, UFFDIO_WAKE, &range);
}

static void load(struct ww_facts_lazy *l, uint32_t area, uint32_t unit)
{
	struct area *a = &l->area[area];

	if (a->present[unit]) { /* a second reader of what came meanwhile */
		wake(l, a, unit);
		return;
	}
	fill_buffer(l, a, unit);
	give_back(l, budget(l));
	struct uffdio_copy copy = {.dst = (uint64_t)(uintptr_t)(a->p + unit * a->unit_bytes),
				   .src = (uint64_t)(uintptr_t)l->buffer, .len = unit_bytes(a, unit)};
	while (ioctl(l->uffd, UFFDIO_COPY, &copy)) {
		if (errno != EAGAIN)
			break;
		if (copy.copy > 0) {
			copy.dst += (uint64_t)copy.copy;
			copy.src += (uint64_t)copy.copy;
			copy.len -= (uint64_t)copy.copy;
		}
		copy.copy = 0;
	}
	a->present[unit] = 1;
	l->ring[l->head++ % l->ring_size] = (struct ring_entry){area, unit};
	l->present_bytes += unit_bytes(a, unit);
	l->all_bytes += unit_bytes(a, unit);
}

static void serve(struct ww_facts_lazy *l, const char *at)
{
	for (uint32_t i = 0; i < l->nareas; i++) {
		struct area *a = &l->area[i];

		if (at < a->p || at >= a->p + a->bytes)
			continue;
		const uint32_t unit = (uint32_t)((size_t)(at - a->p) / a->unit_bytes);

		a->ahead = unit == a->last + 1 ? WW_MIN(2 * a->ahead + 1, AHEAD_MAX) : 0;
		load(l, i, unit);
		a->last = unit;
		for (uint32_t n = a->ahead; n && a->last + 1 < a->units && !a->present[a->last + 1]; n--)
			load(l, i, ++a->last);
		return;
	}
}

static void *work(void *arg)
{
	struct ww_facts_lazy *l = arg;
	struct pollfd p[2] = {{.fd = l->uffd, .events = POLLIN}, {.fd = l->stop, .events = POLLIN}};
	struct uffd_msg m;

	while (poll(p, 2, -1) >= 0 || errno == EINTR) {
		if (p[1].revents)
			break;
		while (read(l->uffd, &m, sizeof(m)) == sizeof(m))
			if (m.event == UFFD_EVENT_PAGEFAULT)
				serve(l, (const char *)(uintptr_t)m.arg.pagefault.address);
	}
	return NULL;
}

uint64_t ww_facts_unpacked_bytes(const struct ww_facts *f)
{
	return f->lazy ? f->lazy->all_bytes : 0;
}

/* ---- rows without pages ---- */

/* Who wants a few rows of a squeezed block, or of what is counted from one, has it all unpacked: others will want theirs. */
static bool takes_all(const struct file_reader *r, uint32_t column, uint32_t b)
{
	const struct file_column *c = &r->columns[column];
	const struct block_place *p = &r->blocks[r->places[column - c->is_length].first_block + b];

	return ww_pack_is_squeezed(r->p + p->offset, p->bytes);
}

bool ww_facts_lazy_peek(struct ww_facts_lazy *l, const void *column, uint32_t first, uint32_t n, void *ret)
{
	struct area *a = l->area;
	uint64_t v[WW_PACK_ROWS];
	char *to = ret;

	while (a < l->area + l->nareas && a->p != column)
		a++;
	if (a == l->area + l->nareas)
		return false;
	const struct file_column *c = &l->r.columns[a->column];
	const struct column_place *place = &l->r.places[a->column];
	while (n) {
		const uint32_t b = first / WW_PACK_ROWS, at = first % WW_PACK_ROWS,
			       count = WW_MIN(n, ww_file_rows_in(place->rows, b) - at);

		if (takes_all(&l->r, a->column, b) || !ww_file_unpack(&l->r, a->column, b, at, count, v) || !ww_file_obeys(&a->rule, v, count))
			return false; /* who reads the column has it mended */
		ww_file_narrow(c, v, count, to);
		to += (size_t)count * c->size;
		first += count;
		n -= count;
	}
	return true;
}

/* ---- making and freeing ---- */

static int open_uffd(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	long fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0) /* without privilege: for faults of user space only, and there are no others */
		fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	if (fd >= 0 && ioctl((int)fd, UFFDIO_API, &api)) {
		close((int)fd);
		fd = -1;
	}
	return (int)fd;
}

static bool add_area(struct ww_facts_lazy *l, uint32_t column)
{
	struct area *a = &l->area[l->nareas];
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = l->r.places[column].rows * l->r.columns[column].size;
	const size_t whole = (bytes + page - 1) / page * page;
	void *p = mmap(NULL, whole, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return false;
	struct uffdio_register reg = {.range = {(uint64_t)(uintptr_t)p, whole}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	/* A child would read zeros there; it shall not see it at all. */
	if (madvise(p, whole, MADV_DONTFORK) || ioctl(l->uffd, UFFDIO_REGISTER, &reg)) {
		munmap(p, whole);
		return false;
	}
	*a = (struct area){.p = p, .bytes = whole, .column = column, .last = WW_NONE - 1,
			   .unit_bytes = (size_t)LAZY_ROWS * l->r.columns[column].size,
			   .rule = ww_file_rule(&l->r.columns[column], l->r.f)};
	a->units = (uint32_t)((whole + a->unit_bytes - 1) / a->unit_bytes);
	a->present = ww_xcalloc(a->units, 1);
	l->ring_size += a->units;
	l->nareas++;
	return true;
}

static bool start(struct ww_facts_lazy *l)
{
	l->uffd = open_uffd();
	l->stop = eventfd(0, EFD_CLOEXEC);
	if (l->uffd < 0 || l->stop < 0 || LAZY_ROWS % (size_t)sysconf(_SC_PAGESIZE))
		return false;
	for (uint32_t i = 0; i < l->r.ncolumns; i++)
		if (!l->r.columns[i].more && l->r.places[i].rows > LAZY_ROWS && !add_area(l, i))
			return false;
	l->ring = ww_xcalloc(l->ring_size + 1, sizeof(*l->ring));
	l->ring_size++;
	l->buffer = ww_xcalloc(1, UNIT_MAX_BYTES);
	return l->running = ww_thread_start(&l->thread, work, l);
}

static void free_areas(struct ww_facts_lazy *l)
{
	for (uint32_t i = 0; i < l->nareas; i++) {
		if (l->r.columns[l->area[i].column].id == WW_NONE) /* or it would be freed */
			*ww_file_pointer(&l->r.columns[l->area[i].column], l->r.f) = NULL;
		munmap(l->area[i].p, l->area[i].bytes);
		free(l->area[i].present);
	}
}

static void release(struct ww_facts_lazy *l)
{
	if (l->running) {
		(void)!write(l->stop, &(uint64_t){1}, 8);
		pthread_join(l->thread, NULL);
	}
	free_areas(l);
	if (l->uffd >= 0)
		close(l->uffd);
	if (l->stop >= 0)
		close(l->stop);
	if (l->made) {
		ww_facts_release(l->made);
		free(l->made);
	}
	free((void *)l->r.checked);
	free(l->ring);
	free(l->buffer);
	free(l->file);
	free(l);
	open_count--;
}

struct ww_facts_lazy *ww_facts_lazy_new(const struct file_reader *r, const struct ww_facts_again *again)
{
	struct ww_facts_lazy *l = ww_xcalloc(1, sizeof(*l));

	memcpy(&l->r, r, sizeof(l->r));
	l->r.file = l->file = ww_xstrdup(r->file);
	l->r.err = NULL;
	l->r.checked = ww_xcalloc(l->r.h.blocks + 1, 1);
	l->again = again;
	open_count++;
	if (!start(l)) {
		release(l);
		return NULL;
	}
	for (uint32_t i = 0; i < l->nareas; i++)
		*ww_file_pointer(&l->r.columns[l->area[i].column], l->r.f) = l->area[i].p;
	return l;
}

void ww_facts_lazy_free(struct ww_facts_lazy *l)
{
	if (!l)
		return;
	const void *p = l->r.p;
	const uint64_t bytes = l->r.bytes;

	release(l);
	munmap((void *)(uintptr_t)p, bytes);
}
