/* facts_random.h - facts of random rows, and whether two facts are equal in everything; for the tests of facts that
 * are kept. Values are any that their column may have: an index names a row or none, a token is one of its list. */
#ifndef FACTS_RANDOM_H
#define FACTS_RANDOM_H

#include <stdio.h>

#include "facts/facts.h"

static uint64_t random_seed = 88172645463325252ull;

static inline uint64_t random_u64(void)
{
	random_seed ^= random_seed << 13;
	random_seed ^= random_seed >> 7;
	random_seed ^= random_seed << 17;
	return random_seed;
}

static inline uint32_t random_below(uint32_t n)
{
	return (uint32_t)(random_u64() >> 33) % n;
}

static inline uint32_t random_rows_of(const struct ww_facts *f, const char *name, size_t len)
{
	for (uint32_t i = 0; i < ww_fact_desc_count; i++)
		if (strlen(ww_fact_descs[i].name) == len && !memcmp(ww_fact_descs[i].name, name, len))
			return *(const uint32_t *)((const char *)f + ww_fact_descs[i].offset);
	return 0;
}

static inline uint64_t random_value(const struct ww_facts *f, const struct ww_column_desc *d, bool must, uint32_t row)
{
	const char *index = strstr(d->unit, " index");

	if (!strcmp(d->sql, "STR"))
		return random_below(f->strs.n);
	if (!strcmp(d->name, "cpu") || !strcmp(d->name, "target_cpu"))
		return random_below(f->host.ncpus);
	if (index && !index[6]) {
		uint32_t n = random_rows_of(f, d->unit, (size_t)(index - d->unit));
		return !n || (!must && !random_below(4)) ? WW_NONE : random_below(n);
	}
	if (!strcmp(d->sql, "ENUM") || d->size == 1)
		return random_below(2);
	if (!strcmp(d->unit, "ns"))
		return (uint64_t)row * 1000 + random_below(random_below(50) ? 5000 : 2000000000);
	return random_u64() >> random_below(64);
}

static inline void random_fact(struct ww_facts *f, const struct ww_fact_desc *fact)
{
	char *base = (char *)f + fact->offset;
	const uint32_t n = *(uint32_t *)base;

	for (uint32_t c = 0; c < fact->ncols; c++) {
		const struct ww_column_desc *d = &fact->cols[c];
		const bool must = !strcmp(d->name, "thread") || !strcmp(d->name, "more");
		char *p = *(char **)(base + d->offset);

		for (uint32_t i = 0; i < n; i++) {
			uint64_t v = random_value(f, d, must, i);
			memcpy(p + (size_t)i * d->size, &v, d->size);
		}
	}
}

/* `rows` rows of the facts that are many, a few of the others; sealed. */
static inline void random_facts(struct ww_facts *f, uint32_t rows)
{
	ww_facts_init(f);
	f->host.ncpus = 5;
	for (uint32_t i = 0; i < 300; i++) {
		char s[40];
		ww_strtab_intern(&f->strs, s, (size_t)snprintf(s, sizeof(s), "string %u\n", i));
	}
	f->host.name = ww_arena_strdup(&f->mem, "a host");
	f->host.clock_uuid = ww_arena_strdup(&f->mem, "a uuid");
	f->host.clock_offset_ns = -77;
	f->host.epoch_known = f->knows.switches = f->knows.target = true;
	f->loss = (struct ww_loss){1, 2, 3, 4};
	f->begin_ts_ns = -5, f->end_ts_ns = INT64_MAX / 8, f->target = rows ? 0 : WW_NONE, f->target_status = -1;
	f->target_cmdline = 3, f->target_begin_ts_ns = 8, f->target_end_ts_ns = 9;
#define WW_FACT(name, doc) { const uint32_t n = !strcmp(#name, "thread") ? WW_MIN(rows, 50u) : rows / (1 + random_below(3)); \
	for (uint32_t i = 0; i < n; i++)                                                                      \
		ww_##name##_push(f, &(struct ww_##name){0}); }
#define WW_COL(fact, type, col, sql, unit, doc)
#define WW_END(name)
#include "facts/facts.def"
#undef WW_FACT
#undef WW_COL
#undef WW_END
	for (uint32_t i = 0; i < ww_fact_desc_count; i++)
		random_fact(f, &ww_fact_descs[i]);
	ww_facts_seal(f, NULL);
}

/* NULL, or what differs. */
static inline const char *random_differ(const struct ww_facts *a, const struct ww_facts *b)
{
	static char what[100];

	for (uint32_t i = 0; i < ww_fact_desc_count; i++) {
		const struct ww_fact_desc *fact = &ww_fact_descs[i];
		const char *x = (const char *)a + fact->offset, *y = (const char *)b + fact->offset;
		const uint32_t n = *(const uint32_t *)x;

		for (uint32_t c = 0; c < fact->ncols; c++) {
			snprintf(what, sizeof(what), "%s.%s", fact->name, fact->cols[c].name);
			if (n != *(const uint32_t *)y || (n && memcmp(*(char *const *)(x + fact->cols[c].offset),
								      *(char *const *)(y + fact->cols[c].offset), (size_t)n * fact->cols[c].size)))
				return what;
		}
	}
	ww_facts_index(a);
	ww_facts_index(b);
	if (memcmp(a->state_first, b->state_first, 4 * (a->thread.n + 1)) || memcmp(a->run_first, b->run_first, 4 * (a->host.ncpus + 1)) ||
	    memcmp(a->syscall_first, b->syscall_first, 4 * (a->thread.n + 1)) ||
	    (a->run.n && memcmp(a->run_of_cpu, b->run_of_cpu, 4 * a->run.n)) ||
	    (a->syscall.n && memcmp(a->syscall_of_thread, b->syscall_of_thread, 4 * a->syscall.n)))
		return "the rows of threads and CPUs";
	const struct ww_marks *m[2][2] = {{&a->state_marks, &b->state_marks}, {&a->run_marks, &b->run_marks}};
	for (int i = 0; i < 2; i++)
		if (m[i][0]->n != m[i][1]->n || m[i][0]->nsums != m[i][1]->nsums ||
		    (m[i][0]->n && (memcmp(m[i][0]->start_ns, m[i][1]->start_ns, 8 * m[i][0]->n) ||
				    memcmp(m[i][0]->sum_ns, m[i][1]->sum_ns, 8 * m[i][0]->nsums))))
			return "marks";
	if (a->strs.n != b->strs.n)
		return "the number of strings";
	for (uint32_t i = 0; i < a->strs.n; i++)
		if (strcmp(ww_facts_str(a, i), ww_facts_str(b, i)))
			return "a string";
	if (strcmp(a->host.name, b->host.name) || strcmp(a->host.clock_uuid, b->host.clock_uuid) || strcmp(a->host.tracer, b->host.tracer) ||
	    a->host.clock_offset_ns != b->host.clock_offset_ns || a->host.epoch_known != b->host.epoch_known || a->host.ncpus != b->host.ncpus)
		return "the host";
	if (memcmp(&a->knows, &b->knows, sizeof(a->knows)) || memcmp(&a->loss, &b->loss, sizeof(a->loss)))
		return "knowledge or loss";
	if (a->begin_ts_ns != b->begin_ts_ns || a->end_ts_ns != b->end_ts_ns || a->target != b->target ||
	    a->target_status != b->target_status || a->target_cmdline != b->target_cmdline ||
	    a->target_begin_ts_ns != b->target_begin_ts_ns || a->target_end_ts_ns != b->target_end_ts_ns || a->sealed != b->sealed)
		return "range or target";
	return NULL;
}

#endif
