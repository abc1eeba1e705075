/* ahead.c - a thread that reads ahead: it decodes and merges while another builds facts.
 *
 * A ring of batches. The reader fills the one at `head`; the user has the one at `tail` until it asks for the next. In a
 * batch each event stands before its values and short texts, and all are written from front to end, once: a cache line
 * that goes from one CPU to another takes as long as decoding an event does, so both ask for those that they need next
 * before they need them. Long texts are copied beside the batch, unless the format says that they stay. An event that
 * will be visited is visited by the reader, which writes down what the visitor is told; the user's visit plays it back.
 *
 *   sched_switch with two numbers and "cc1":  event 32 | values 16 + 16 + 16 | "cc1\0...." 8    = 88 bytes
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

#define BATCHES 64u
#define BATCH_BYTES (40u << 10) /* some hundred events */
#define TEXT_BYTES 64u		/* of a text, at most, that stands behind the values */
#define LINE 64u		/* of a cache */
#define LINES_AHEAD 32u
/* A wakeup costs more than a batch does, and takes longer. The reader is woken when so many are left for the user to be
 * busy with meanwhile, the user when there are so many. */
#define WAKE_READER_AT (BATCHES / 2)
#define WAKE_USER_AT 2u

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
	char *bytes;
	uint32_t n; /* events */
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
	struct batch ring[BATCHES];
	size_t event_bytes, batch_bytes; /* of one event, at most */
	/* the reader's */
	WW_VEC(struct played) calls;
	struct batch *filled;
	bool any; /* the first event was read */
	bool holding; /* the user's: it has the batch at tail */
};

/* ---- the reader ---- */

static bool stays(const struct ww_trace *t)
{
	return t->fmt->stable && !t->converts;
}

/* What is not packed, and would not stay. */
static void keep_value(struct ww_trace *t, struct ww_value *v)
{
	if ((v->kind == WW_V_STR || v->kind == WW_V_BYTES) && v->p)
		v->p = ww_arena_strndup(&t->ahead->filled->mem, v->p, v->len);
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
	struct ww_trace *t = ctx;
	struct played *p = note(ctx, CALL_VALUE, name);

	p->v = *v;
	p->base = (uint8_t)base;
	if (!stays(t))
		keep_value(t, &p->v);
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

static bool has_array(const struct ww_event *ev)
{
	for (uint32_t i = 0; i < ev->nval; i++)
		if (ev->v[i].kind == WW_V_ARRAY)
			return true;
	return false;
}

static inline bool will_visit(const struct ww_trace *t, const struct ww_event *ev)
{
	const uint8_t visit = t->will_visit && ev->cls != WW_CLS_GAP ? t->will_visit[ev->cls] : 0;

	return WW_UNLIKELY(visit) && (visit == 1 || has_array(ev));
}

/* A call for some bytes costs more than they do. What is between the text's end and the next word is zero. */
static inline char *put_text(char *to, const char *p, uint32_t n)
{
	char *end = to + (n / 8 + 1) * 8;

	memset(end - 8, 0, 8);
	for (uint32_t i = 0; i + 8 <= n; i += 8)
		memcpy(to + i, p + i, 8);
	if (n >= 8) {
		memcpy(to + n - 8, p + n - 8, 8);
		return end;
	}
	if (n & 4)
		memcpy(to, p, 4);
	if (n & 2)
		memcpy(to + (n & 4), p + (n & 4), 2);
	if (n & 1)
		to[n - 1] = p[n - 1];
	return end;
}

/* Puts the short texts of the event, or with what does not stay all of them, behind its values; returns where they end. */
static char *put_texts(struct ww_trace *t, struct ww_value *v, uint32_t n)
{
	char *to = (char *)(v + n);

	if (t->plain)
		return to;
	for (uint32_t i = 0; i < n; i++) {
		if ((v[i].kind != WW_V_STR && v[i].kind != WW_V_BYTES) || !v[i].p)
			continue;
		if (WW_UNLIKELY(v[i].len > TEXT_BYTES)) {
			if (!stays(t))
				keep_value(t, &v[i]);
			continue;
		}
		const char *from = v[i].p;
		v[i].p = to;
		to = put_text(to, from, v[i].len);
	}
	return to;
}

/* What was recorded of the event's visit is said last. */
static char *put_tape(char *to, const struct tape *tape)
{
	memcpy(to, &tape, sizeof(tape));
	return to + sizeof(tape);
}

static void fill(struct ww_trace *t, struct batch *b)
{
	struct ww_ahead *a = t->ahead;
	char *at = b->bytes, *last = at + a->batch_bytes - a->event_bytes;
	int rc = 1;

	ww_arena_reset(&b->mem);
	a->filled = b;
	for (b->n = 0; at <= last; b->n++) {
		struct ww_event *ev = (struct ww_event *)at;
		struct ww_value *to = t->values_to = (struct ww_value *)(ev + 1);

		if ((rc = t->fmt->next(t, ev, &b->err)) <= 0)
			break;
		if (WW_UNLIKELY(!a->any)) {
			a->any = true;
			t->first_ts_ns = t->stats.events ? t->stats.begin_ts_ns : INT64_MAX;
		}
		if (ev->v != to && ev->nval)
			memcpy(to, ev->v, ev->nval * sizeof(*to));
		ev->v = to;
		at = put_texts(t, to, ev->nval);
		if (WW_UNLIKELY(will_visit(t, ev)))
			at = put_tape(at, record_visit(t, a, ev));
		ev->bytes = (uint32_t)(at - (char *)ev);
		for (size_t line = 0; line < ev->bytes; line += LINE)
			ww_prefetch_write(at + LINES_AHEAD * LINE + line);
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
		if (rc <= 0 || a->head - a->tail >= WAKE_USER_AT)
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
		if (a->head - a->tail == WAKE_READER_AT)
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
		*ret = (const struct ww_event *)b->bytes;
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
	const struct tape *tape = NULL;

	if (will_visit(t, ev))
		memcpy(&tape, (const char *)ev + ev->bytes - sizeof(tape), sizeof(tape));
	if (!tape)
		return ww_err_set(err, WW_EINTERNAL, t->info.path, WW_ERR_NO_OFFSET, "an event was not kept for a visit");
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

static char *lines(size_t bytes)
{
	char *p = aligned_alloc(LINE, bytes);

	WW_ASSERT(p);
	return p;
}

void ww_trace_read_ahead(struct ww_trace *t)
{
	if (t->ahead || ww_par_threads() < 2)
		return;
	struct ww_ahead *a = ww_xcalloc(1, sizeof(*a));
	const size_t values = WW_MAX(t->max_want, WW_GAP_VALUES);
	a->event_bytes = sizeof(struct ww_event) + values * (sizeof(struct ww_value) + TEXT_BYTES + 8) + sizeof(struct tape *);
	a->batch_bytes = (WW_MAX(BATCH_BYTES, 2 * a->event_bytes) + LINE - 1) & ~(size_t)(LINE - 1);
	for (uint32_t i = 0; i < BATCHES; i++) {
		a->ring[i].bytes = lines(a->batch_bytes);
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
		free(a->ring[i].bytes);
		ww_arena_release(&a->ring[i].mem);
	}
	ww_vec_free(&a->calls);
	pthread_cond_destroy(&a->change);
	pthread_mutex_destroy(&a->lock);
	free(a);
	t->ahead = NULL;
}
