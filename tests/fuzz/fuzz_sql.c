/* Fuzz target: any bytes as SQL are an answer or an error within the text, and change nothing. */
#include <sqlite3.h>

#include "view/sql.h"

enum { THREADS = 5, CPUS = 2 };

static struct ww_facts facts;
static const struct ww_facts *hosts[2] = {&facts, &facts};
static struct ww_correction corrections[2] = {{.via = WW_NONE}, {.offset_ns = 7, .drift_e15 = 40000000000, .via = 0}};
static struct ww_set_host who[2] = {{.name = "a", .path = "/a", .label = "a"}, {.name = "b", .path = "/b", .label = "b"}};
static struct ww_set set = {.hosts = hosts, .who = who, .nhosts = 2, .corrections = corrections};
static struct ww_sql *sql;
static FILE *nowhere;
static int ticks;

/* A small trace of everything that queries join. */
static void make_facts(struct ww_facts *f)
{
	int64_t now = 1000;

	ww_facts_init(f);
	f->host.ncpus = CPUS;
	f->begin_ts_ns = now;
	for (uint32_t t = 0; t < THREADS; t++) {
		uint32_t name = ww_strtab_intern_cstr(&f->strs, t ? "worker" : "main");
		ww_process_push(f, &(struct ww_process){.pid = (int)t, .main_thread = t, .parent = WW_NONE});
		ww_thread_push(f, &(struct ww_thread){.tid = (int)t, .pid = (int)t, .comm = name, .process = t, .start_ts_ns = now,
						      .end_ts_ns = 90000, .parent = t ? 0 : WW_NONE});
	}
	ww_file_push(f, &(struct ww_file){.kind = WW_FK_PIPE, .peer = WW_NONE});
	for (uint32_t i = 0; i < 200; i++, now += 50) {
		uint32_t t = i % THREADS;
		ww_wakeup_push(f, &(struct ww_wakeup){.ts_ns = now, .cpu = i % CPUS, .wakee = t, .target_cpu = WW_NONE,
						      .kind = (uint8_t)(i % WW_WK_N), .waker = (t + 1) % THREADS, .current_thread = t,
						      .fact = WW_NONE, .vector = -1, .syscall = WW_NONE});
		ww_syscall_push(f, &(struct ww_syscall){.thread = t, .start_ts_ns = now, .dur_ns = 40, .known = 15, .fd = 3, .file = 0});
		ww_state_full_push(f, (struct ww_state_full){
			.is = {.thread = t, .start_ts_ns = now, .dur_ns = 50 * THREADS, .cause = WW_CA_PIPE, .cpu = (int16_t)(i % CPUS),
			       .state = (uint8_t)(i % 2 ? WW_ST_BLOCKED : WW_ST_RUNNING_USER), .syscall = i},
			.has = {.fault = WW_NONE, .wakeup = i, .file = 0, .other = WW_NONE}});
		ww_run_push(f, &(struct ww_run){.cpu = i % CPUS, .thread = t, .start_ts_ns = now, .dur_ns = 50, .next = WW_NONE});
	}
	f->end_ts_ns = now;
	f->target = WW_NONE;
	WW_ASSERT(!ww_facts_seal(f, NULL));
}

static int tick(void *ctx)
{
	return ++ticks > 200;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct ww_sql_print print = {.mode = n ? p[0] % 4 : 0};
	struct ww_err err = {0};

	if (!sql) {
		make_facts(&facts);
		nowhere = fopen("/dev/null", "w");
		WW_ASSERT(nowhere && !ww_sql_open(&set, &sql, &err));
		sqlite3_progress_handler(ww_sql_db(sql), 1000, tick, NULL);
		sqlite3_limit(ww_sql_db(sql), SQLITE_LIMIT_LENGTH, 1000000);
	}
	char *text = ww_xmalloc(n + 1);
	memcpy(text, p, n);
	text[n] = 0;
	print.out = nowhere;
	ticks = 0;
	if (ww_sql_run(sql, text, &print, &err))
		WW_ASSERT(err.code && *err.message && err.offset <= strlen(text));
	ticks = -1000000;
	memset(&err, 0, sizeof(err));
	WW_ASSERT(!ww_sql_run(sql, "SELECT count(*) FROM main.machine", &print, &err));
	free(text);
	return 0;
}
