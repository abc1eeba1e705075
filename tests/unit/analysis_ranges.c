/* analysis_ranges.c - a short range of long facts: every analysis gives the same rows from a facts file as from facts in
 * memory, and unpacks little of the file for it. What it unpacks is counted, not timed.
 */
#include <stdlib.h>
#include <unistd.h>

#include "../tap.h"
#include "analysis/analysis.h"
#include "facts/facts_file.h"
#include "scene.h"

#define THREADS 6u
#define ROUNDS 40000u /* of each thread; 5 states each */
#define STEP_NS 1000

static const struct ww_facts_key key = {1, 2, 3, UINT64_C(1) << 40}; /* of a large trace: not squeezed */

/* One round: user, a call in which it is interrupted, blocks for a disk or a futex, and is ready; a fault; packets. */
static void add_round(struct ww_facts *f, uint32_t t, uint32_t k, const uint32_t *file)
{
	const int64_t at = (int64_t)k * 10 * STEP_NS + t * 7;
	const uint32_t call = add_syscall(f, t, k % 2 ? "futex" : k % 4 ? "read" : "write", at + 1000, at + 8000, 3, file[k % 3]);
	struct ww_state_full s = state(t, at + 5000, at + 7000, WW_ST_BLOCKED, k % 2 ? WW_CA_FUTEX : k % 3 ? WW_CA_DISK : WW_CA_TCP);

	f->syscall.ret[call] = 100;
	add(f, state(t, at, at + 1000, WW_ST_RUNNING_USER, WW_CA_NONE));
	struct ww_state_full in_call = state(t, at + 1000, at + 5000, WW_ST_RUNNING_KERNEL, WW_CA_NONE);
	in_call.is.syscall = s.is.syscall = call;
	add(f, in_call);
	s.has.object = 4096 + k % 5;
	const uint32_t packet = k % 3 ? WW_NONE : ww_packet_push(f, &(struct ww_packet){
		.ts_ns = at + 6000, .family = 4, .proto = 6, .saddr_lo = 1 + k % 7, .daddr_lo = 9, .sport = 80, .dport = 99,
		.seq = k * 10, .len = 50, .payload = 10, .thread = WW_NONE, .trigger = WW_NONE, .match = WW_NONE});
	s.has.wakeup = add_wakeup(f, at + 6500, t, packet == WW_NONE ? WW_WK_THREAD : WW_WK_PACKET, (t + 1) % THREADS, packet);
	add(f, s);
	struct ww_state_full ready = state(t, at + 7000, at + 8000, WW_ST_RUNQUEUE, WW_CA_NONE);
	ready.has.wakeup = s.has.wakeup;
	add(f, ready);
	add(f, state(t, at + 8000, at + 10000, WW_ST_RUNNING_USER, WW_CA_NONE));
	ww_run_push(f, &(struct ww_run){.cpu = t % 2 + k % 3, .thread = t, .start_ts_ns = at, .dur_ns = 5000, .prio = 120,
					.end_reason = k % 5 ? WW_RE_BLOCKED : WW_RE_PREEMPTED, .next = (t + 1) % THREADS});
	ww_interrupt_push(f, &(struct ww_interrupt){.cpu = t % 2, .kind = WW_IK_SOFT, .vector = 3, .start_ts_ns = at + 2000,
						    .dur_ns = 100, .raised_ts_ns = at + 1900, .thread = t});
	ww_fault_push(f, &(struct ww_fault){.thread = t, .start_ts_ns = at + 8500, .dur_ns = 200, .file = file[k % 3], .offset = k * 4096u});
	ww_block_io_push(f, &(struct ww_block_io){.dev = 7, .sector = k, .bytes = 4096, .queued_ts_ns = at + 4000, .issued_ts_ns = at + 4100,
						  .completed_ts_ns = at + 6000, .submitter = t, .file = file[k % 3]});
	for (uint32_t kernel = 2; kernel-- > 0;)
		ww_stack_push(f, &(struct ww_stack){.ts_ns = at + 4990 - kernel, .thread = t, .kernel = (uint8_t)kernel,
						    .first = ww_stack_frame_push(f, &(struct ww_stack_frame){.address = 1 + k % 4, .file = WW_NONE}),
						    .frames = 1});
	if (k % 4 == 0)
		ww_numa_move_push(f, &(struct ww_numa_move){.ts_ns = at, .thread = t, .to_node = 1, .other = WW_NONE});
}

static void make(struct ww_facts *f)
{
	static const char *const names[] = {"/a", "/b", "/c"};
	uint32_t file[3];

	ww_facts_init(f);
	f->host.ncpus = 4;
	f->end_ts_ns = (int64_t)ROUNDS * 10 * STEP_NS;
	f->knows = (struct ww_knowledge){true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true};
	for (uint32_t i = 0; i < 3; i++)
		file[i] = ww_file_push(f, &(struct ww_file){.kind = WW_FK_REG, .name = str(f, names[i]), .peer = WW_NONE});
	for (uint32_t t = 0; t < THREADS; t++)
		add_thread(f, 100 + (int32_t)t, 100, "worker", 0, f->end_ts_ns, WW_NONE, 0);
	for (uint32_t k = 0; k < ROUNDS; k++)
		for (uint32_t t = 0; t < THREADS; t++)
			add_round(f, t, k, file);
	ww_facts_seal(f, NULL);
}

/* NULL, or a column that differs. */
static const char *differ(const struct ww_table *a, const struct ww_table *b)
{
	const uint32_t n = a->analysis->ncolumns;

	if (a->nrows != b->nrows)
		return "the number of rows";
	for (uint32_t i = 0; i < a->nrows * n; i++) {
		const struct ww_column *c = &a->analysis->columns[i % n];
		const bool words = c->type == WW_T_STR || c->type == WW_T_TEXT;

		if (words ? strcmp(a->cells[i].s, b->cells[i].s) : a->cells[i].i != b->cells[i].i)
			return c->name;
	}
	return NULL;
}

static void open_file(struct ww_facts *f, const char *file)
{
	static const struct ww_facts_again when_read = {.min_bytes = 1};
	struct ww_facts_notes notes = {0};
	struct ww_err err = {0};

	ww_facts_init(f);
	TAP_NEED(!ww_facts_open(f, &key, file, &when_read, &notes, &err), "the file is opened: %s", err.message);
	ww_facts_notes_release(&notes);
}

/* The bytes that an analysis of [from, to) unpacks. */
static uint64_t ask(const struct ww_facts *f, const char *file, const struct ww_analysis *a, int64_t from, int64_t to, uint32_t *ret_rows)
{
	const struct ww_query q = {.tid = -1, .pid = -1, .from_ts_ns = from, .to_ts_ns = to, .every_ns = (to - from) / 4};
	struct ww_table mine, its;
	struct ww_err err = {0};
	struct ww_arena mem;
	struct ww_facts g;

	ww_arena_init(&mem);
	open_file(&g, file);
	const int rc = a->run(&mem, f, &q, &mine, &err), rc_its = a->run(&mem, &g, &q, &its, &err);
	const char *what = rc || rc_its ? err.message : differ(&mine, &its);
	const uint64_t bytes = ww_facts_unpacked_bytes(&g);
	ok(!what, "%s: the same from the file%s%s", a->name, what ? ": not " : "", what ? what : "");
	*ret_rows = rc ? 0 : mine.nrows;
	ww_facts_release(&g);
	ww_arena_release(&mem);
	return bytes;
}

int main(void)
{
	char file[] = "/tmp/analysis_ranges.XXXXXX";
	struct ww_facts_notes notes = {0};
	struct ww_err err = {0};
	struct ww_facts f, g;
	uint32_t rows, asked = 0;

	TAP_NEED(mkstemp(file) >= 0, "a file");
	make(&f);
	TAP_NEED(!ww_facts_save(&f, &key, &notes, file, &err), "facts are written: %s", err.message);
	open_file(&g, file);
	const bool lazy = g.lazy;
	ww_facts_release(&g);
	const int64_t from = f.end_ts_ns / 2 + 3333, to = from + 60 * STEP_NS;
	for (uint32_t i = 0; lazy && ww_analyses[i]; i++) {
		const struct ww_analysis *a = ww_analyses[i];

		if (a->one_thread) /* a path goes back to the begin of what it waits for */
			continue;
		/* 30 states of each of 6 threads, which stand apart: 4096 rows around each, of some columns. One whole column of
		 * the states is 10 MB. */
		const uint64_t bytes = ask(&f, file, a, from, to, &rows);
		ok(bytes < 2u << 20, "%s of 60 us of %u ms unpacks %.2f MB for %u rows", a->name, ROUNDS / 100, (double)bytes / 1e6, rows);
		asked += rows > 0;
	}
	if (!lazy)
		tap_skip(1, "this system has no userfaultfd");
	else
		ok(asked > 25, "%u analyses have rows there", asked);
	unlink(file);
	ww_facts_release(&f);
	return done_testing();
}
