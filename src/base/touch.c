/* touch.c - a short ring of ranges and a thread that populates them, a piece at a time. */
#include "base/touch.h"

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#include "base/par.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define RANGES 512u /* several facts grow at once, of each about twenty columns; what finds no place is not touched */
#define PIECE_BYTES (256u << 10)

struct range {
	char *p;
	size_t bytes;
};

struct ww_touch {
	pthread_t thread;
	pthread_mutex_t lock; /* of what is below */
	pthread_cond_t change;
	struct range ring[RANGES];
	uint32_t head, tail;
	bool stop, held; /* held: somebody waits for `pages`, or has it */
	pthread_mutex_t pages; /* held while pages are touched, or moved */
};

/* The next piece of what was asked for; false: nothing is left. */
static bool take_piece(struct ww_touch *t, struct range *ret)
{
	struct range *r = &t->ring[t->tail % RANGES];

	if (t->head == t->tail)
		return false;
	*ret = (struct range){r->p, WW_MIN(r->bytes, (size_t)PIECE_BYTES)};
	r->p += ret->bytes;
	r->bytes -= ret->bytes;
	t->tail += !r->bytes;
	return true;
}

static void *work(void *arg)
{
	struct ww_touch *t = arg;
	struct range r;
	bool go = true;

	while (go) {
		pthread_mutex_lock(&t->lock);
		while (!t->stop && (t->held || t->head == t->tail))
			pthread_cond_wait(&t->change, &t->lock);
		go = !t->stop;
		pthread_mutex_unlock(&t->lock);
		/* From taking the piece until it is done nobody moves the pages. */
		pthread_mutex_lock(&t->pages);
		pthread_mutex_lock(&t->lock);
		bool some = go && take_piece(t, &r);
		pthread_mutex_unlock(&t->lock);
		if (some)
			(void)madvise(r.p, r.bytes, MADV_POPULATE_WRITE);
		pthread_mutex_unlock(&t->pages);
		sched_yield(); /* who reads or models on this CPU comes first: the other waits for it */
	}
	return NULL;
}

/* Asked for no memory: only a kernel that knows the advice says yes. */
static bool kernel_can(void)
{
	return madvise(NULL, 0, MADV_POPULATE_WRITE) == 0;
}

struct ww_touch *ww_touch_new(void)
{
	if (ww_par_threads() < 2 || !kernel_can())
		return NULL;
	struct ww_touch *t = ww_xcalloc(1, sizeof(*t));
	pthread_mutex_init(&t->lock, NULL);
	pthread_mutex_init(&t->pages, NULL);
	pthread_cond_init(&t->change, NULL);
	if (pthread_create(&t->thread, NULL, work, t)) {
		free(t);
		return NULL;
	}
	return t;
}

void ww_touch_ask(struct ww_touch *t, void *p, size_t bytes)
{
	if (!t || !bytes)
		return;
	pthread_mutex_lock(&t->lock);
	if (t->head - t->tail < RANGES) {
		t->ring[t->head++ % RANGES] = (struct range){p, bytes};
		pthread_cond_signal(&t->change);
	}
	pthread_mutex_unlock(&t->lock);
}

void ww_touch_hold(struct ww_touch *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->held = true;
	pthread_mutex_unlock(&t->lock);
	pthread_mutex_lock(&t->pages);
}

void ww_touch_moved(struct ww_touch *t, const void *from, size_t bytes, void *to)
{
	if (!t || from == to || !from)
		return;
	pthread_mutex_lock(&t->lock);
	for (uint32_t i = t->tail; i != t->head; i++) {
		struct range *r = &t->ring[i % RANGES];
		const uintptr_t off = (uintptr_t)r->p - (uintptr_t)from;

		if (off < bytes)
			r->p = (char *)to + off;
	}
	pthread_mutex_unlock(&t->lock);
}

void ww_touch_release(struct ww_touch *t)
{
	if (!t)
		return;
	pthread_mutex_unlock(&t->pages);
	pthread_mutex_lock(&t->lock);
	t->held = false;
	pthread_cond_signal(&t->change);
	pthread_mutex_unlock(&t->lock);
}

void ww_touch_free(struct ww_touch *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_signal(&t->change);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	pthread_cond_destroy(&t->change);
	pthread_mutex_destroy(&t->pages);
	pthread_mutex_destroy(&t->lock);
	free(t);
}
