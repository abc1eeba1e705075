/* facts_file.c - what writer and reader of a facts file agree on: the columns, what their values may be, the rest. */
#include "facts/file_private.h"

#include <stdio.h>

#include "facts/facts_private.h"

#define ROWS_AT(fact) offsetof(struct ww_facts, fact)

static const uint32_t column_ids[] = {
#define WW_FACT(name, doc)
#define WW_COL(fact, type, col, sql, unit, doc) WW_COLUMN_##fact##_##col,
#define WW_END(name)
#include "facts/facts.def"
#undef WW_FACT
#undef WW_COL
#undef WW_END
};

#define AT(member) offsetof(struct ww_facts, member)
static const struct file_column indexes[] = {
	{"state", "first", WW_NONE, 4, false, "", "INT", AT(state_first), ROWS_AT(thread), 1},
	{"run", "first", WW_NONE, 4, false, "", "INT", AT(run_first), AT(host.ncpus), 1},
	{"syscall", "first", WW_NONE, 4, false, "", "INT", AT(syscall_first), ROWS_AT(thread), 1},
	{"run", "of_cpu", WW_COLUMN_RUN_OF_CPU, 4, false, "run index", "INT", AT(run_of_cpu), ROWS_AT(run), 0},
	{"syscall", "of_thread", WW_COLUMN_SYSCALL_OF_THREAD, 4, false, "syscall index", "INT", AT(syscall_of_thread),
	 ROWS_AT(syscall), 0},
	{"state", "mark_start", WW_NONE, 8, true, "ns", "INT", AT(state_marks.start_ns), AT(state_marks.n), 0},
	{"state", "mark_sum", WW_NONE, 8, false, "", "INT", AT(state_marks.sum_ns), AT(state_marks.nsums), 0},
	{"run", "mark_start", WW_NONE, 8, true, "ns", "INT", AT(run_marks.start_ns), AT(run_marks.n), 0},
	{"run", "mark_sum", WW_NONE, 8, false, "", "INT", AT(run_marks.sum_ns), AT(run_marks.nsums), 0},
};

uint32_t ww_file_columns(struct file_column ret[FILE_COLUMNS_MAX])
{
	uint32_t n = 0;

	_Static_assert(WW_COLUMN_state_dur_ns == WW_COLUMN_state_start_ts_ns + 1, "is_length is of the column before it");
	_Static_assert(WW_ARRAY_SIZE(column_ids) + WW_ARRAY_SIZE(indexes) <= FILE_COLUMNS_MAX, "FILE_COLUMNS_MAX");
	for (uint32_t i = 0; i < ww_fact_desc_count; i++)
		for (uint32_t c = 0; c < ww_fact_descs[i].ncols; c++) {
			const struct ww_fact_desc *f = &ww_fact_descs[i];
			const struct ww_column_desc *d = &f->cols[c];

			ret[n] = (struct file_column){f->name, d->name, column_ids[n], d->size, d->is_signed, d->unit, d->sql,
						      f->offset + d->offset, f->offset, 0,
						      column_ids[n] == WW_COLUMN_state_dur_ns};
			n++;
		}
	for (size_t i = 0; i < WW_ARRAY_SIZE(indexes); i++)
		ret[n++] = indexes[i];
	return n;
}

/* ---- values as they are packed ---- */

#define SIGN (UINT64_C(1) << 63)

#define WIDEN(type, expression)                          \
	for (uint32_t i = 0; i < n; i++) {               \
		const type x = ((const type *)from)[i];  \
		ret[i] = (expression);                   \
	}                                                \
	break
#define SIGNED ((uint64_t)(int64_t)x ^ SIGN)

void ww_file_widen(const struct file_column *c, const void *from, uint32_t n, uint64_t *ret)
{
	switch (c->size * 2 + c->is_signed) {
	case 2: WIDEN(uint8_t, x);
	case 3: WIDEN(int8_t, SIGNED);
	case 4: WIDEN(uint16_t, x);
	case 5: WIDEN(int16_t, SIGNED);
	case 8: WIDEN(uint32_t, (uint32_t)(x + 1));
	case 9: WIDEN(int32_t, SIGNED);
	case 16: WIDEN(uint64_t, x);
	default: WIDEN(int64_t, SIGNED);
	}
}

#define NARROW(type, expression)                              \
	for (uint32_t i = 0; i < n; i++) {                    \
		const uint64_t x = from[i];                   \
		((type *)ret)[i] = (type)(expression);        \
	}                                                     \
	break

WW_FOR_EACH_CPU void ww_file_narrow(const struct file_column *c, const uint64_t *from, uint32_t n, void *ret)
{
	switch (c->size * 2 + c->is_signed) {
	case 2: NARROW(uint8_t, x);
	case 3: NARROW(int8_t, x ^ SIGN);
	case 4: NARROW(uint16_t, x);
	case 5: NARROW(int16_t, x ^ SIGN);
	case 8: NARROW(uint32_t, x - 1);
	case 9: NARROW(int32_t, x ^ SIGN);
	case 16: NARROW(uint64_t, x);
	default: NARROW(int64_t, x ^ SIGN);
	}
}

WW_FOR_EACH_CPU struct ww_pack_range ww_file_range(const uint64_t *v, uint32_t n)
{
	uint64_t min = UINT64_MAX, max = 0;

	for (uint32_t i = 0; i < n; i++) {
		min = WW_MIN(min, v[i]);
		max = WW_MAX(max, v[i]);
	}
	return (struct ww_pack_range){min, max};
}

bool ww_file_obeys(const struct column_rule *r, const uint64_t *v, uint32_t n)
{
	const struct ww_pack_range range = ww_file_range(v, n);

	return !n || ww_file_rule_allows(r, range.min, range.max);
}

/* ---- what a value may be ---- */

static const struct {
	const char *unit;
	uint64_t n;
} enums[] = {
	{"enum ww_thread_state", WW_ST_N}, {"enum ww_cause", WW_CA_N}, {"enum ww_waker", WW_WK_N},
	{"enum ww_certainty", 2}, {"enum ww_run_end", WW_RE_N}, {"enum ww_irq_kind", WW_IK_N},
	{"enum ww_context", WW_CX_N}, {"enum ww_file_kind", WW_FK_N},
};

/* Columns that are an index of a row that there must be: nobody looks for WW_NONE there. */
static const char *const always[] = {"state.thread", "syscall.thread", "run.cpu", "run.thread", "run.of_cpu",
				     "syscall.of_thread", "state.more"};

static bool is_always(const struct file_column *c)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%s", c->fact, c->name);
	for (size_t i = 0; i < WW_ARRAY_SIZE(always); i++)
		if (!strcmp(always[i], name))
			return true;
	return false;
}

/* "thread index" -> the number of threads; UINT64_MAX: no such unit */
static uint64_t index_limit(const char *unit, const struct ww_facts *f)
{
	const char *space = strchr(unit, ' ');

	if (!space || strcmp(space, " index"))
		return UINT64_MAX;
	for (uint32_t i = 0; i < ww_fact_desc_count; i++)
		if (strlen(ww_fact_descs[i].name) == (size_t)(space - unit) &&
		    !memcmp(ww_fact_descs[i].name, unit, (size_t)(space - unit)))
			return *(const uint32_t *)((const char *)f + ww_fact_descs[i].offset);
	return UINT64_MAX;
}

static struct column_rule cpu_rule(const struct file_column *c, const struct ww_facts *f)
{
	if (c->is_signed)
		return (struct column_rule){SIGN - 1, SIGN + f->host.ncpus};
	return (struct column_rule){is_always(c), (uint64_t)f->host.ncpus + 1};
}

struct column_rule ww_file_rule(const struct file_column *c, const struct ww_facts *f)
{
	const uint64_t rows = index_limit(c->unit, f);

	if (rows != UINT64_MAX)
		return (struct column_rule){is_always(c), rows + 1};
	if (!strcmp(c->name, "cpu") || !strcmp(c->name, "target_cpu"))
		return cpu_rule(c, f);
	if (!strcmp(c->sql, "STR"))
		return (struct column_rule){0, (uint64_t)f->strs.n + 1};
	for (size_t i = 0; i < WW_ARRAY_SIZE(enums); i++)
		if (!strcmp(c->unit, enums[i].unit) && !strcmp(c->sql, "ENUM"))
			return (struct column_rule){0, enums[i].n};
	if (!strcmp(c->fact, "block_io") && !strcmp(c->name, "write"))
		return (struct column_rule){0, 4};
	if (!strcmp(c->fact, "block_io") && !strcmp(c->name, "merged"))
		return (struct column_rule){0, 2};
	if (!strcmp(c->unit, "ns")) /* sums of a few of them do not overflow */
		return (struct column_rule){SIGN - (SIGN >> 2), SIGN + (SIGN >> 2)};
	return (struct column_rule){0, 0};
}

/* ---- the rest ---- */

static bool io_u64(struct meta_io *io, uint64_t *v)
{
	if (io->in) {
		*v = ww_span_u64(io->in);
		return !io->in->bad;
	}
	for (int i = 0; i < 8; i++)
		*ww_vec_push(&io->out) = ((const uint8_t *)v)[i];
	return true;
}

/* Read: *ret points into the file's bytes. */
static bool io_bytes(struct meta_io *io, const char **s, uint64_t *len)
{
	if (!io_u64(io, len))
		return false;
	if (io->in) {
		*s = ww_span_bytes(io->in, *len);
		return !io->in->bad;
	}
	ww_vec_reserve(&io->out, io->out.n + *len + 1);
	memcpy(io->out.v + io->out.n, *s, *len);
	io->out.n += *len;
	return true;
}

static bool io_str(struct meta_io *io, struct ww_facts *f, const char **s)
{
	uint64_t len = *s ? strlen(*s) : 0;
	const char *p = *s;

	if (!io_bytes(io, &p, &len))
		return false;
	if (io->in)
		*s = ww_arena_strndup(&f->mem, p, len);
	return true;
}

static bool io_strings(struct meta_io *io, struct ww_facts *f)
{
	uint64_t n = f->strs.n;

	if (!io_u64(io, &n) || n >= WW_NONE)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const char *s = io->in ? NULL : f->strs.strs[i];
		uint64_t len = io->in ? 0 : f->strs.lens[i];

		if (!io_bytes(io, &s, &len) || len >= WW_NONE)
			return false;
		if (io->in && ww_strtab_intern(&f->strs, s, len) != i)
			return false;
	}
	return true;
}

static bool io_notes(struct meta_io *io, struct ww_facts_notes *notes)
{
	uint64_t n = notes->n;

	if (!io_u64(io, &n))
		return false;
	for (uint64_t i = 0; i < n; i++) {
		const char *s = io->in ? NULL : notes->line[i];
		uint64_t len = io->in ? 0 : strlen(s);

		if (!io_bytes(io, &s, &len))
			return false;
		if (io->in) {
			char *line = ww_xasprintf("%.*s", (int)WW_MIN(len, 4096u), s);
			ww_facts_notes_add(notes, line);
			free(line);
		}
	}
	return true;
}

#define IO(field)                                      \
	do {                                           \
		uint64_t v_ = (uint64_t)(f->field);    \
		if (!io_u64(io, &v_))                  \
			return false;                  \
		f->field = (__typeof__(f->field))v_;   \
	} while (0)

static bool io_knowledge(struct meta_io *io, struct ww_facts *f)
{
	uint8_t flags[sizeof(f->knows)];

	/* all of it is bool */
	memcpy(flags, &f->knows, sizeof(flags));
	for (size_t i = 0; i < sizeof(flags); i++) {
		uint64_t v = flags[i];
		if (!io_u64(io, &v) || v > 1)
			return false;
		flags[i] = (uint8_t)v;
	}
	memcpy(&f->knows, flags, sizeof(flags));
	return true;
}

bool ww_file_meta(struct meta_io *io, struct ww_facts *f, struct ww_facts_notes *notes)
{
	struct ww_host *h = &f->host;

	if (!io_strings(io, f) || !io_str(io, f, &h->name) || !io_str(io, f, &h->clock_name) ||
	    !io_str(io, f, &h->clock_uuid) || !io_str(io, f, &h->kernel_release) || !io_str(io, f, &h->trace_path) ||
	    !io_str(io, f, &h->tracer) || !io_knowledge(io, f) || !io_notes(io, notes))
		return false;
	IO(host.clock_offset_ns);
	IO(host.epoch_known);
	IO(host.ncpus);
	IO(loss.lost_events);
	IO(loss.bad_packets);
	IO(loss.out_of_order);
	IO(loss.unseen_switches);
	IO(loss.gap_ns);
	IO(begin_ts_ns);
	IO(end_ts_ns);
	IO(target);
	IO(target_status);
	IO(target_cmdline);
	IO(target_begin_ts_ns);
	IO(target_end_ts_ns);
	return true;
}

void ww_facts_notes_add(struct ww_facts_notes *n, const char *line)
{
	n->line = ww_xrealloc(n->line, ((size_t)n->n + 1) * sizeof(*n->line));
	n->line[n->n++] = ww_xstrdup(line);
}

void ww_facts_notes_release(struct ww_facts_notes *n)
{
	for (uint32_t i = 0; i < n->n; i++)
		free(n->line[i]);
	free(n->line);
	*n = (struct ww_facts_notes){0};
}
