/* squeeze.c - blocks of integers through zstd: for facts of traces that their recorder compressed, where bits alone do not do.
 *
 * Values (less the least one), or the steps from one to the next, are laid out by significance: the lowest byte of each,
 * then the next, up to the highest that any needs. Those planes zstd finds repetitions in, which it does not in values.
 */
#include <pthread.h>
#include <zstd.h>

#include "base/pack_private.h"

#define LEVEL 1

/* A thread's own, for making one takes longer than a block does. */
struct contexts {
	ZSTD_CCtx *in;
	ZSTD_DCtx *out;
};

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void contexts_free(void *p)
{
	struct contexts *c = p;

	ZSTD_freeCCtx(c->in);
	ZSTD_freeDCtx(c->out);
	free(c);
}

static void make_key(void)
{
	WW_ASSERT(!pthread_key_create(&key, contexts_free));
}

static struct contexts *contexts(void)
{
	pthread_once(&once, make_key);
	struct contexts *c = pthread_getspecific(key);

	if (!c) {
		c = ww_xcalloc(1, sizeof(*c));
		pthread_setspecific(key, c);
	}
	return c;
}

/* ---- planes ---- */

static unsigned bytes_needed(const uint64_t *v, uint32_t n)
{
	uint64_t any = 1;

	for (uint32_t i = 0; i < n; i++)
		any |= v[i];
	return (width_of(any) + 7) / 8;
}

WW_FOR_EACH_CPU static void spread(const uint64_t *v, uint32_t n, unsigned bytes, uint8_t *planes)
{
	for (unsigned b = 0; b < bytes; b++)
		for (uint32_t i = 0; i < n; i++)
			planes[b * n + i] = (uint8_t)(v[i] >> 8 * b);
}

WW_FOR_EACH_CPU static void gather(const uint8_t *planes, uint32_t n, unsigned bytes, uint64_t *ret)
{
	memset(ret, 0, n * sizeof(*ret));
	for (unsigned b = 0; b < bytes; b++)
		for (uint32_t i = 0; i < n; i++)
			ret[i] |= (uint64_t)planes[b * n + i] << 8 * b;
}

static void take_steps(const uint64_t *v, uint32_t n, uint64_t *ret)
{
	ret[0] = 0;
	for (uint32_t i = 1; i < n; i++)
		ret[i] = zigzag((int64_t)(v[i] - v[i - 1]));
}

static void take_values(const uint64_t *v, uint32_t n, uint64_t least, uint64_t *ret)
{
	for (uint32_t i = 0; i < n; i++)
		ret[i] = v[i] - least;
}

/* ---- blocks ---- */

/* Of steps or of values; 0: not fewer bytes than the limit. */
static uint32_t squeeze_as(const uint64_t *v, uint32_t n, uint64_t least, bool rising, uint8_t *out, uint32_t limit)
{
	struct contexts *c = contexts();
	uint64_t x[WW_PACK_ROWS];
	uint8_t planes[WW_PACK_ROWS * 8], z[WW_PACK_MAX_BYTES];

	if (limit <= sizeof(struct head) || (!c->in && !(c->in = ZSTD_createCCtx())))
		return 0;
	if (rising)
		take_steps(v, n, x);
	else
		take_values(v, n, least, x);
	struct head h = {.kind = SQUEEZED, .width = (uint8_t)bytes_needed(x, n), .word_width = rising, .base = rising ? v[0] : least};
	spread(x, n, h.width, planes);
	const size_t got = ZSTD_compressCCtx(c->in, z, WW_MIN(sizeof(z), limit - sizeof(h)), planes, (size_t)n * h.width, LEVEL);
	if (ZSTD_isError(got)) /* it does not fit into the limit */
		return 0;
	h.words = (uint32_t)got;
	memcpy(out, &h, sizeof(h));
	memcpy(out + sizeof(h), z, got);
	return (uint32_t)(sizeof(h) + got);
}

uint32_t ww_squeeze(const uint64_t *v, uint32_t n, uint64_t least, bool rising, uint8_t *out, uint32_t limit)
{
	const uint32_t got = squeeze_as(v, n, least, rising, out, limit);

	if (rising || (got && got < limit - limit / 4))
		return got;
	const uint32_t steps = squeeze_as(v, n, least, true, out, got ? got : limit); /* addresses: near the last one */
	return steps ? steps : got;
}

bool ww_unsqueeze(const uint8_t *p, const struct head *h, uint32_t n, uint64_t *ret)
{
	struct contexts *c = contexts();
	uint8_t planes[WW_PACK_ROWS * 8];
	const size_t bytes = (size_t)n * h->width;

	if (!c->out && !(c->out = ZSTD_createDCtx()))
		return false;
	if (ZSTD_decompressDCtx(c->out, planes, bytes, p, h->words) != bytes)
		return false;
	gather(planes, n, h->width, ret);
	if (!h->word_width) {
		for (uint32_t i = 0; i < n; i++)
			ret[i] += h->base;
		return true;
	}
	uint64_t v = h->base;
	for (uint32_t i = 0; i < n; i++)
		ret[i] = v += unzigzag(ret[i]);
	return true;
}
