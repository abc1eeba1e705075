/* ahead.c - a thread that reads ahead: it decodes and merges while another builds facts.
 *
 * A ring of batches. The reader fills the one at `head`, the user has the one at `tail` until it asks for the next;
 * what events point to is copied into the batch, unless the format says that it stays. An event that will be visited
 * is visited by the reader, which writes down what the visitor is told; the user's visit plays it back.
 *
 *   head 5, tail 3, ring of 4: the user has batch 3, batch 4 is full, the reader fills batch 5 (slot 1)
 *
 * One reader is enough: decoding an event costs less than what the model does with it, so that a second one would
 * wait for the model (docs/decisions/020-decode-plan.md).
 */
#include "format/ahead.h"

#include <pthread.h>

#include "base/arena.h"
#include "base/par.h"
#include "base/vec.h"

#define BATCHES 8u
#define BATCH_EVENTS 256u /* all batches together fit a second-level cache */
#define BATCH_VALUES (BATCH_EVENTS * 6)
#define BATCH_BYTES (BATCH_EVENTS * 64) /* that values point to; more are in the batch's arena */
/* Who waits is woken when so many batches are left, or are there: a wakeup costs more than a batch does. */
#define WAKE_AT 2u

enum call { CALL_BEGIN, CALL_BEGIN_ARRAY, CALL_END, CALL_VALUE };

struct played { /* one call of a visitor */
	const char *name, *label;
	struct ww_value v;
	uint8_t call; /* enum call */
	uint8_t base;
};

struct tape {
	const struct played *calls;
	uint32_t n;
};

struct batch {
	struct ww_event *ev;
	struct ww_value *values;
	char *bytes;
	uint32_t n;
	int rc; /* of the call after the last event: 1 more come, 0 the end, negative */
	struct ww_err err;
	struct ww_arena mem;
};

struct ww_ahead {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
	uint64_t head, tail; /* batches filled; batches that the user is done with */
	bool stop, started;
	bool holding; /* the user's: it has the batch at tail */
	uint32_t nvalues;
	struct batch ring[BATCHES];
	WW_VEC(struct played) calls; /* the reader's */
	struct batch *filled;
	size_t used_bytes; /* of its */
	bool any; /* the first event was read */
};

/* ---- the reader ---- */

static bool stays(const struct ww_trace *t)
{
	return t->fmt->stable && !t->converts;
}

static void keep_value(struct ww_trace *t, struct ww_value *v)
{
	struct ww_ahead *a = t->ahead;

	if (stays(t) || (v->kind != WW_V_STR && v->kind != WW_V_BYTES) || !v->p)
		return;
	if (WW_UNLIKELY(v->len >= BATCH_BYTES - a->used_bytes)) {
		v->p = ww_arena_strndup(&a->filled->mem, v->p, v->len);
		return;
	}
	char *to = a->filled->bytes + a->used_bytes;
	memcpy(to, v->p, v->len);
	to[v->len] = 0;
	v->p = to;
	a->used_bytes = WW_MIN((a->used_bytes + v->len + 8) & ~(size_t)7, BATCH_BYTES);
}

static const char *keep_text(struct ww_trace *t, const char *s)
{
	return s ? ww_arena_strdup(&t->ahead->filled->mem, s) : NULL;
}

/* What the calls are given is good only during the call. */
static struct played *note(void *ctx, uint8_t call, const char *name)
{
	struct ww_trace *t = ctx;
	struct played *p = ww_vec_push(&t->ahead->calls);

	p->call = call;
	p->name = keep_text(t, name);
	return p;
}

static void note_begin(void *ctx, const char *name, bool array)
{
	note(ctx, array ? CALL_BEGIN_ARRAY : CALL_BEGIN, name);
}

static void note_end(void *ctx)
{
	note(ctx, CALL_END, NULL);
}

static void note_value(void *ctx, const char *name, const struct ww_value *v, const char *label, int base)
{
	struct played *p = note(ctx, CALL_VALUE, name);

	p->v = *v;
	p->base = (uint8_t)base;
	keep_value(ctx, &p->v);
	p->label = keep_text(ctx, label);
}

static const struct tape *record_visit(struct ww_trace *t, struct ww_ahead *a, const struct ww_event *ev)
{
	static const struct ww_visitor v = {note_begin, note_end, note_value};
	struct tape *tape = WW_ARENA_NEW(&a->filled->mem, struct tape);
	struct ww_err err = {0};

	ww_vec_clear(&a->calls);
	if (t->fmt->visit(t, ev, &v, t, &err) < 0)
		return NULL; /* the user's visit fails then, too */
	struct played *calls = WW_ARENA_ARRAY(&a->filled->mem, struct played, a->calls.n + 1);
	if (a->calls.n)
		memcpy(calls, a->calls.v, a->calls.n * sizeof(*calls));
	*tape = (struct tape){calls, (uint32_t)a->calls.n};
	return tape;
}

static bool will_visit(const struct ww_trace *t, const struct ww_event *ev)
{
	if (WW_LIKELY(!t->will_visit) || ev->cls == WW_CLS_GAP)
		return false;
	bool visit = t->will_visit[ev->cls] == 1;
	for (uint32_t i = 0; t->will_visit[ev->cls] == 2 && i < ev->nval && !visit; i++)
		visit = ev->v[i].kind == WW_V_ARRAY;
	return visit;
}

static void fill(struct ww_trace *t, struct batch *b)
{
	struct ww_ahead *a = t->ahead;
	uint32_t used = 0;
	int rc = 1;

	ww_arena_reset(&b->mem);
	a->filled = b;
	a->used_bytes = 0;
	for (b->n = 0; b->n < BATCH_EVENTS && a->nvalues - used >= WW_MAX(t->max_want, WW_GAP_VALUES); b->n++) {
		struct ww_event *ev = &b->ev[b->n];
		struct ww_value *to = b->values + used;

		t->values_to = to;
		if ((rc = t->fmt->next(t, ev, &b->err)) <= 0)
			break;
		if (WW_UNLIKELY(!a->any)) {
			a->any = true;
			t->first_ts_ns = t->stats.events ? t->stats.begin_ts_ns : INT64_MAX;
		}
		if (ev->v != to && ev->nval)
			memcpy(to, ev->v, ev->nval * sizeof(*to));
		for (uint32_t i = 0; !stays(t) && i < ev->nval; i++)
			keep_value(t, &to[i]);
		ev->priv = WW_UNLIKELY(will_visit(t, ev)) ? record_visit(t, a, ev) : NULL;
		ev->v = to;
		used += ev->nval;
	}
	t->values_to = NULL;
	b->rc = rc;
}

static void *read_loop(void *arg)
{
	struct ww_trace *t = arg;
	struct ww_ahead *a = t->ahead;
	int rc = 1;

	while (rc > 0) {
		pthread_mutex_lock(&a->lock);
		while (!a->stop && a->head - a->tail >= BATCHES)
			pthread_cond_wait(&a->change, &a->lock);
		struct batch *b = &a->ring[a->head % BATCHES];
		rc = a->stop ? 0 : 1;
		pthread_mutex_unlock(&a->lock);
		if (!rc)
			break;
		fill(t, b);
		rc = b->rc;
		pthread_mutex_lock(&a->lock);
		a->head++;
		if (rc <= 0 || a->head - a->tail >= WAKE_AT)
			pthread_cond_signal(&a->change);
		pthread_mutex_unlock(&a->lock);
	}
	return NULL;
}

/* ---- the user ---- */

static struct batch *next_batch(struct ww_ahead *a)
{
	pthread_mutex_lock(&a->lock);
	if (a->holding) {
		a->tail++;
		if (a->head - a->tail <= WAKE_AT)
			pthread_cond_signal(&a->change);
	}
	a->holding = true;
	while (a->head == a->tail)
		pthread_cond_wait(&a->change, &a->lock);
	pthread_mutex_unlock(&a->lock);
	return &a->ring[a->tail % BATCHES];
}

int ww_ahead_batch(struct ww_trace *t, const struct ww_event **ret, struct ww_err *err)
{
	struct batch *b = t->ahead->holding ? &t->ahead->ring[t->ahead->tail % BATCHES] : NULL;
	int rc;

	/* The last batch is kept until its events are done with; then comes the end. */
	if (!b || b->rc > 0) {
		b = next_batch(t->ahead);
		*ret = b->ev;
		if (b->n)
			return (int)b->n;
	}
	rc = b->rc;
	if (rc < 0 && err && !err->code)
		*err = b->err;
	ww_ahead_stop(t);
	return rc;
}

int ww_ahead_visit(struct ww_trace *t, const struct ww_event *ev, const struct ww_visitor *v, void *ctx,
		   struct ww_err *err)
{
	const struct tape *tape = ev->priv;

	if (!tape)
		return ww_err_set(err, WW_EINTERNAL, t->info.path, ev->offset, "an event was not kept for a visit");
	for (uint32_t i = 0; i < tape->n; i++) {
		const struct played *p = &tape->calls[i];

		if (p->call == CALL_VALUE)
			v->value(ctx, p->name, &p->v, p->label, p->base);
		else if (p->call == CALL_END)
			v->end(ctx);
		else
			v->begin(ctx, p->name, p->call == CALL_BEGIN_ARRAY);
	}
	return 0;
}

void ww_trace_read_ahead(struct ww_trace *t)
{
	if (t->ahead || ww_par_threads() < 2)
		return;
	struct ww_ahead *a = ww_xcalloc(1, sizeof(*a));
	a->nvalues = WW_MAX(BATCH_VALUES, 2 * t->max_want);
	for (uint32_t i = 0; i < BATCHES; i++) {
		a->ring[i].ev = ww_xmalloc(BATCH_EVENTS * sizeof(struct ww_event));
		a->ring[i].values = ww_xmalloc(a->nvalues * sizeof(struct ww_value));
		a->ring[i].bytes = ww_xmalloc(BATCH_BYTES);
		ww_arena_init(&a->ring[i].mem);
	}
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->change, NULL);
	t->ahead = a;
	a->started = pthread_create(&a->thread, NULL, read_loop, t) == 0;
	if (!a->started)
		ww_ahead_stop(t); /* then it is read as without one */
}

void ww_ahead_stop(struct ww_trace *t)
{
	struct ww_ahead *a = t->ahead;

	if (!a)
		return;
	if (a->started) {
		pthread_mutex_lock(&a->lock);
		a->stop = true;
		pthread_cond_broadcast(&a->change);
		pthread_mutex_unlock(&a->lock);
		pthread_join(a->thread, NULL);
	}
	for (uint32_t i = 0; i < BATCHES; i++) {
		free(a->ring[i].ev);
		free(a->ring[i].values);
		free(a->ring[i].bytes);
		ww_arena_release(&a->ring[i].mem);
	}
	ww_vec_free(&a->calls);
	pthread_cond_destroy(&a->change);
	pthread_mutex_destroy(&a->lock);
	free(a);
	t->ahead = NULL;
}
