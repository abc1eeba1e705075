/* analysis_path_hosts.c - the path over two hosts whose clocks differ, and through packets that no thread sent.
 *
 * Host "far" is 1000 ns ahead and gains 1 ns in 1000. In the common time:
 *
 *   client   user 0..100 | recv, blocked 100..5000                                         | user ..5100
 *   server       recv ..150 | user 150..400 | ...
 *   packets  request 100 -> 150; header 400 -> 450; (client's delayed ACK timer armed 450, fires 4500);
 *            ACK 4500 -> 4550; body 4560, sent in softirq because of that ACK -> 5000
 */
#include "../tap.h"

#include "path_scene.h"

enum { HERE, FAR };
enum { REQUEST, HEADER, ACK, BODY, PACKETS };

struct two {
	struct play here, far;
	struct ww_arena mem;
	struct ww_set set;
	const struct ww_facts *hosts[2];
	struct ww_correction corrections[2];
	struct ww_set_host who[2];
	struct ww_packet_ref match0[PACKETS], match1[PACKETS], *match[2];
};

/* The set's time -> far's own clock: the inverse of t + offset + drift * (t - t0). */
static int64_t far(const struct two *s, int64_t t)
{
	return ww_set_local(&s->set, FAR, t);
}

static uint32_t packet(struct play *p, int64_t ts, bool sent, uint32_t payload, uint32_t thread, enum ww_waker kind, uint32_t trigger)
{
	struct ww_packet k = {.ts_ns = ts, .sent = sent, .family = 4, .proto = 6, .payload = payload, .thread = thread,
			      .trigger_kind = kind, .trigger = trigger, .match = WW_NONE, .context = thread == WW_NONE ? WW_CX_SOFTIRQ : WW_CX_THREAD};
	return ww_packet_push(&p->f, &k);
}

static void make_set(struct two *s)
{
	s->hosts[0] = &s->here.f;
	s->hosts[1] = &s->far.f;
	s->corrections[FAR] = (struct ww_correction){.t0_ns = 1000, .offset_ns = -1000, .drift_e15 = -1000000000000ll};
	s->match[0] = s->match0;
	s->match[1] = s->match1;
	s->who[0].name = s->who[0].label = "near", s->who[1].name = s->who[1].label = "far";
	s->set = (struct ww_set){.hosts = s->hosts, .nhosts = 2, .who = s->who, .corrections = s->corrections, .match = s->match};
	for (uint32_t i = 0; i < PACKETS; i++)
		s->match0[i] = s->match1[i] = (struct ww_packet_ref){WW_NONE, WW_NONE};
}

static void pair(struct two *s, uint32_t a, uint32_t b)
{
	s->match0[a] = (struct ww_packet_ref){FAR, b};
	s->match1[b] = (struct ww_packet_ref){HERE, a};
}

/* `name`: of the delayed ACK's timer, as the trace has it. */
static void nagle(const char *name, bool body_was_held)
{
	struct two s = {0};
	struct ww_path path;
	struct ww_path_sum sum;
	struct ww_query q = {.tid = 100, .pid = -1, .from_ts_ns = INT64_MIN, .to_ts_ns = INT64_MAX};

	play_begin(&s.here), play_begin(&s.far);
	make_set(&s);
	s.here.f.host.name = "near", s.far.f.host.name = "far";
	s.far.f.begin_ts_ns = far(&s, 0), s.far.f.end_ts_ns = far(&s, 6000);
	uint32_t c = actor(&s.here, "client", 0, 5100), v = actor(&s.far, "server", far(&s, 0), far(&s, 6000));
	packet(&s.here, 100, true, 40, c, WW_WK_UNKNOWN, WW_NONE);
	packet(&s.here, 450, false, 60, WW_NONE, WW_WK_UNKNOWN, WW_NONE);
	uint32_t tm = timer(&s.here, name, WW_NONE, 450, 4500);
	s.here.f.timer.trigger[tm] = HEADER;
	packet(&s.here, 4500, true, 0, WW_NONE, WW_WK_TIMER, tm);
	packet(&s.here, 5000, false, body_was_held ? 5 : 0, WW_NONE, WW_WK_UNKNOWN, WW_NONE);
	packet(&s.far, far(&s, 150), false, 40, WW_NONE, WW_WK_UNKNOWN, WW_NONE);
	packet(&s.far, far(&s, 400), true, 60, v, WW_WK_UNKNOWN, WW_NONE);
	packet(&s.far, far(&s, 4550), false, 0, WW_NONE, WW_WK_UNKNOWN, WW_NONE);
	packet(&s.far, far(&s, 4560), true, body_was_held ? 5 : 0, WW_NONE, WW_WK_PACKET, ACK);
	for (uint32_t i = 0; i < PACKETS; i++)
		pair(&s, i, i);
	runs(&s.here, c, 101), waits(&s.here, c, 5000, WW_CA_TCP, WW_WK_PACKET, WW_NONE, BODY), runs(&s.here, c, 5100);
	waits(&s.far, v, far(&s, 150), WW_CA_TCP, WW_WK_PACKET, WW_NONE, REQUEST);
	is_in(&s.far, v, far(&s, 160), WW_ST_RUNQUEUE, WW_NONE), runs(&s.far, v, far(&s, 6000));
	ww_facts_seal(&s.here.f, NULL), ww_facts_seal(&s.far.f, NULL);
	is_i64(ww_path_make(&s.here.mem, &s.set, HERE, &q, &path, NULL), 0, "path over two hosts");
	ok(path_is_whole(&path), "is whole");
	is_str(path_words(&s.here.mem, &path),
	       "near:client running-user 0..101, near:- tcp 101..150, far:server runqueue 150..160, far:server running-user 160..400, "
	       "far:- tcp 400..450, near:- timer 450..4500, near:- tcp 4500..4560, far:- tcp 4560..5000, "
	       "near:client running-user 5000..5100",
	       "request, server, header, the delayed ACK's timer, ACK, body");
	ww_path_sum(&s.here.mem, &path, &sum);
	is_i64(sum.nagle_count, body_was_held, "Nagle against delayed ACK is named only where data waited");
	is_i64(sum.nagle_ns, body_was_held ? 4050 : 0, "and how long");
	const char *detail = "";
	for (uint32_t i = 0; i < path.nsegments; i++)
		if (path.segments[i].thing == WW_WK_TIMER)
			detail = ww_segment_detail(&s.here.mem, &path, &path.segments[i], true);
	ok(strstr(detail, "delayed ACK") && !strstr(detail, "Nagle") == !body_was_held, "in words: %s", detail);
	ww_path_make(&s.far.mem, &s.set, FAR, &q, &path, NULL);
	ok(path_is_whole(&path), "the path of the server is whole too");
	ok(!strncmp(path_words(&s.far.mem, &path), "near:client running-user 0..100, near:- tcp 100..150, far:server", 62),
	   "and begins with the client");
	play_release(&s.here), play_release(&s.far);
}

/* The other end's trace is not there. */
static void unmatched(void)
{
	struct play p;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 60);
	packet(&p, 40, false, 5, WW_NONE, WW_WK_UNKNOWN, WW_NONE);
	runs(&p, a, 10), waits(&p, a, 40, WW_CA_TCP, WW_WK_PACKET, WW_NONE, 0), runs(&p, a, 60);
	play_end(&p);
	is_str(path_of(&p, a), "a running-user 0..10, a tcp 10..40, a running-user 40..60", "a packet from elsewhere: the wait as it is");
	play_release(&p);
}

/* Loopback: sent by b at 30, received in the softirq on top of b's call. */
static void loopback(void)
{
	struct play p;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 60), b = actor(&p, "b", 0, 60);
	packet(&p, 30, true, 5, b, WW_WK_UNKNOWN, WW_NONE), packet(&p, 31, false, 5, WW_NONE, WW_WK_UNKNOWN, WW_NONE);
	p.f.packet.match[0] = 1, p.f.packet.match[1] = 0;
	runs(&p, a, 10), waits(&p, a, 32, WW_CA_TCP, WW_WK_PACKET, b, 1), runs(&p, a, 60);
	runs(&p, b, 60);
	play_end(&p);
	is_str(path_of(&p, a), "a running-user 0..10, b running-user 10..30, - tcp 30..32, a running-user 32..60", "loopback: the sender");
	play_release(&p);
}

/* The same, but the softirq is put off, to the CPU's ksoftirqd, which is ready from 35 to `until` and then asleep or running. */
static void softirq_put_off(int64_t until, bool said)
{
	enum { MS = 1000000 };
	struct play p;
	struct ww_path path;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 60 * MS), b = actor(&p, "b", 0, 60 * MS), k = actor(&p, "ksoftirqd/1", 0, 60 * MS);
	p.f.thread.flags[k] |= WW_TF_KERNEL;
	packet(&p, 30 * MS, true, 5, b, WW_WK_UNKNOWN, WW_NONE), packet(&p, 50 * MS, false, 5, WW_NONE, WW_WK_UNKNOWN, WW_NONE);
	p.f.packet.match[0] = 1, p.f.packet.match[1] = 0, p.f.packet.cpu[1] = 1;
	runs(&p, a, 10 * MS), waits(&p, a, 51 * MS, WW_CA_TCP, WW_WK_PACKET, b, 1), runs(&p, a, 60 * MS);
	runs(&p, b, 60 * MS);
	waits(&p, k, 35 * MS, WW_CA_IDLE, WW_WK_SOFTIRQ, WW_NONE, WW_NONE), is_in(&p, k, until, WW_ST_RUNQUEUE, b), runs(&p, k, 60 * MS);
	play_end(&p);
	const struct ww_query q = {.tid = p.f.thread.tid[a], .pid = -1, .from_ts_ns = INT64_MIN, .to_ts_ns = INT64_MAX};
	ww_path_make(&p.mem, &p.set, 0, &q, &path, NULL);
	const char *detail = ww_segment_detail(&p.mem, &path, &path.segments[2], true);
	ok(strstr(detail, "TCP") && !!strstr(detail, "put off, and ksoftirqd/1 (102) had no CPU") == said,
	   "a packet on its host: %s", detail);
	play_release(&p);
}

int main(void)
{
	nagle("tcp_delack_timer", true);
	nagle("timer", true); /* LTTng has only the function's address */
	nagle("timer", false);
	unmatched();
	loopback();
	softirq_put_off(49 * 1000000, true);
	softirq_put_off(40 * 1000000, false); /* most of it something else took */
	return done_testing();
}
