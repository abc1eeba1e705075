/* sync.c - what it costs to make the clocks of many hosts one, and how that grows.
 *
 *   sync HOSTS PACKETS prints: hosts, packets a host, seconds for reading in and for solving, peak MB,
 *                        the worst error and bound, us, and packets that arrive too early
 *
 * The traffic is that of sync_traffic.h. The facts of one host at a time are in memory, as in `whywait sync`; making them is not counted, but
 * their memory is. Clocks have known offsets and drifts, so the answer is checked too.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "clock/sync.h"
#include "sync_traffic.h"

static void push(void *ctx, const struct ww_packet *p)
{
	ww_packet_push(ctx, p);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int64_t worst_error(const struct ww_set *set, int64_t end)
{
	int64_t worst = 0;

	for (uint32_t h = 0; h < set->nhosts; h++)
		for (int64_t t = 0; t <= end; t += end / 50) {
			int64_t got = ww_correction_apply(&set->corrections[h], sync_local(h, t));
			int64_t off = got - sync_local(set->reference, t);
			worst = WW_MAX(worst, off < 0 ? -off : off);
		}
	return worst;
}

int main(int argc, char **argv)
{
	const uint32_t hosts = argc > 1 ? (uint32_t)atoi(argv[1]) : 10, packets = argc > 2 ? (uint32_t)atoi(argv[2]) : 1000000;
	const int64_t end = sync_traffic_end(hosts, packets);
	struct ww_sync *s = ww_sync_new();
	struct ww_arena mem;
	struct ww_set set;
	struct ww_err err = {0};
	double adding = 0;
	struct rusage ru;

	for (uint32_t h = 0; h < hosts; h++) {
		struct ww_facts f;
		ww_facts_init(&f);
		f.host = (struct ww_host){.name = "h", .trace_path = "", .clock_uuid = ""};
		sync_traffic(h, hosts, packets, push, &f);
		f.begin_ts_ns = sync_local(h, 0);
		f.end_ts_ns = sync_local(h, end);
		double t = now_s();
		ww_sync_add(s, &f);
		adding += now_s() - t;
		ww_facts_release(&f);
	}
	double t = now_s();
	ww_arena_init(&mem);
	if (ww_sync_solve(s, &mem, NULL, &set, &err))
		return 1;
	t = now_s() - t;
	getrusage(RUSAGE_SELF, &ru);
	uint64_t violations = 0;
	int64_t bound = 0;
	for (uint32_t i = 0; i < set.npairs; i++)
		violations += set.pairs[i].violations_after;
	for (uint32_t h = 0; h < hosts; h++)
		bound = WW_MAX(bound, set.corrections[h].bound_ns);
	printf("%5u %10u %8.2f %8.2f %8.0f %8.1f %8.1f %6" PRIu64 "\n", hosts, packets, adding, t, (double)ru.ru_maxrss / 1024,
	       (double)worst_error(&set, end) / 1e3, (double)bound / 1e3, violations);
	ww_arena_release(&mem);
	ww_sync_free(s);
	return violations || set.nunreached;
}
