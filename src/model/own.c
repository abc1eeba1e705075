/* own.c - whywait's own events: the target, the recorder, files, sockets, ready descriptors. */
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>

#include "model/model_private.h"

#ifndef AF_VSOCK
#define AF_VSOCK 40
#endif

/* The command's process was the recorder's until it executed the command: that part of its life is a thread of its own,
 * the recorder's, and the command's begins here. It runs, for it has just read the clock. */
static struct ww_thr *own_life(struct ww_model *m, struct ww_thr *old, const struct ww_value *comm)
{
	struct ww_thread_cols *c = &m->f->thread;
	const struct ww_handover h = ww_thr_hand_over(m, old);

	c->flags[old->index] |= WW_TF_RECORDER;

	struct ww_thr *t = ww_thr_new(m, old->tid, m->now);
	ww_thr_set_pid(m, t, c->pid[old->index]);
	ww_thr_set_comm(m, t, comm);
	t->before_exec = true;
	c->parent[t->index] = c->parent[old->index];
	c->vtid[t->index] = c->vtid[old->index];
	c->pid_ns[t->index] = c->pid_ns[old->index];
	c->cgroup[t->index] = c->cgroup[old->index];
	t->proc = old->proc;
	c->process[t->index] = c->process[old->index];
	if (t->proc != WW_NONE)
		m->f->process.main_thread[t->proc] = t->index;
	t->ns_level = old->ns_level;
	ww_thr_take_over(m, t, &h);
	return t;
}

/* Its parent is the recorder, whose name it still has: it was made to run the command, and is about to. */
static bool is_launched(struct ww_model *m, const struct ww_thr *t)
{
	const struct ww_thr *rec = ww_thr_at(m, m->recorder);

	return rec && t->proc < m->proc.n && rec->proc < m->proc.n && t->proc != rec->proc &&
	       m->f->process.parent[t->proc] == rec->proc && m->f->thread.comm[t->index] == m->f->thread.comm[rec->index];
}

void ww_on_own_target(struct ww_model *m, const struct ww_event *ev)
{
	enum { TID, PID, BEGIN, STATUS, COMM, CMDLINE };
	struct ww_thr *t = ww_thr_get(m, ww_v_int(ev, TID, -1));
	struct ww_thr *last = ww_thr_last(m, ww_v_int(ev, TID, -1));
	struct ww_facts *f = m->f;

	if (!ww_v_u64(ev, BEGIN)) {
		if (last && f->target == last->index) {
			f->target_end_ts_ns = m->now;
			f->target_status = (int32_t)ww_v_int(ev, STATUS, -1);
		}
		return;
	}
	if (!t)
		return;
	ww_thr_set_pid(m, t, (int32_t)ww_v_int(ev, PID, -1));
	if (is_launched(m, t))
		t = own_life(m, t, ww_v_at(ev, COMM));
	f->thread.flags[t->index] |= WW_TF_TARGET;
	if (f->target == WW_NONE) {
		f->target = t->index;
		f->target_cmdline = ww_v_str(m, ev, CMDLINE);
		f->target_begin_ts_ns = m->now;
		f->target_end_ts_ns = 0;
	}
}

void ww_on_own_recorder(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *t = ww_thr_get(m, ww_v_int(ev, 0, -1));

	if (!t)
		return;
	m->f->thread.flags[t->index] |= WW_TF_RECORDER;
	m->recorder = t->index;
}

/* "fn [module]" is told by its first word, as elsewhere. */
void ww_on_own_function(struct ww_model *m, const struct ww_event *ev)
{
	const char *name = ww_facts_str(m->f, ww_v_str(m, ev, 1));

	ww_u64map_put(&m->functions, ww_v_u64(ev, 0), ww_strtab_intern(&m->f->strs, name, strcspn(name, " ")));
}

/* What has no place in a file system is called as /proc and other tracers call it: "/[eventpoll]" is the kernel's entry
 * in a file system that nobody mounts. */
static uint32_t anonymous_name(struct ww_model *m, uint32_t name)
{
	const char *s = ww_facts_str(m->f, name);

	return *s == '/' ? ww_intern(m, ww_arena_printf(&m->mem, "anon_inode:%s", s + 1)) : name;
}

void ww_on_own_file(struct ww_model *m, const struct ww_event *ev)
{
	const enum ww_file_kind kind = (enum ww_file_kind)ww_v_u64(ev, 0);
	uint32_t name = ww_v_str(m, ev, 3);

	if (ww_file_is_anonymous(kind))
		name = anonymous_name(m, name);
	ww_file_named(m, kind, (uint32_t)ww_v_u64(ev, 1), ww_v_u64(ev, 2), name);
}

void ww_on_own_fd(struct ww_model *m, const struct ww_event *ev)
{
	enum { PID, FD, KIND, DEV, INO };
	int64_t pid = ww_v_int(ev, PID, -1), fd = ww_v_int(ev, FD, -1);
	uint64_t kind = ww_v_u64(ev, KIND);

	if (pid <= 0 || pid > WW_MAX_TID)
		return;
	struct ww_proc *p = ww_proc_get(m, (int32_t)pid);
	struct ww_thr *t = ww_thr_current(m);
	if (t && t->in_syscall && t->proc == p->index)
		t->fd_told = true;
	/* Told as close returns. The number was free since the call began, and may be another file's by now; that was seen to
	 * then (ww_fd_before_call). */
	if (!kind && t && t->in_syscall && !t->regs_call && t->proc == p->index && t->sc->effect == WW_FX_CLOSE && t->sc_fd == fd)
		return;
	ww_fd_set(p, fd, kind ? ww_file_intern(m, (enum ww_file_kind)kind, (uint32_t)ww_v_u64(ev, DEV), ww_v_u64(ev, INO))
			      : WW_NONE);
}

/* After exec and close_range: what is not open any more names nothing. */
void ww_on_own_fds(struct ww_model *m, const struct ww_event *ev)
{
	int64_t pid = ww_v_int(ev, 0, -1), words[64];
	uint32_t n = ww_v_array(m, ev, "open", words, WW_ARRAY_SIZE(words));

	if (pid <= 0 || pid > WW_MAX_TID)
		return;
	struct ww_proc *p = ww_proc_get(m, (int32_t)pid);
	for (size_t fd = 0; fd < p->fds.n; fd++)
		if (fd / 64 >= n || !((uint64_t)words[fd / 64] >> fd % 64 & 1))
			ww_fd_set(p, (int64_t)fd, WW_NONE);
}

static void address_text(const struct ww_value *v, uint16_t family, uint64_t port, char *buf, size_t size)
{
	char ip[INET6_ADDRSTRLEN] = "?";

	if (v->kind == WW_V_BYTES && v->len >= 16)
		inet_ntop(family == AF_INET6 ? AF_INET6 : AF_INET, v->p, ip, sizeof(ip));
	snprintf(buf, size, family == AF_INET6 ? "[%s]:%u" : "%s:%u", ip, (unsigned)port);
}

static uint64_t bytes_hash(const struct ww_value *v)
{
	uint64_t a = 0, b = 0;

	if (v->kind == WW_V_BYTES && v->len >= 16) {
		memcpy(&a, v->p, 8);
		memcpy(&b, v->p + 8, 8);
	}
	return ww_hash_mix(a, b);
}

static void inet_names(struct ww_model *m, const struct ww_event *ev, uint32_t file)
{
	enum { INO, FAMILY, TYPE, PROTO, SPORT, DPORT, SADDR, DADDR };
	uint16_t family = (uint16_t)ww_v_u64(ev, FAMILY);
	uint64_t sport = ww_v_u64(ev, SPORT), dport = ww_v_u64(ev, DPORT);
	char here[64], there[64], name[160];

	if (!sport && *ww_facts_str(m->f, m->f->file.name[file]))
		return; /* of a connection that is over the port has been given back */
	address_text(ww_v_at(ev, SADDR), family, sport, here, sizeof(here));
	address_text(ww_v_at(ev, DADDR), family, dport, there, sizeof(there));
	snprintf(name, sizeof(name), dport ? "%s -> %s" : "%s", here, there);
	m->f->file.name[file] = ww_intern(m, name);
	if (!dport)
		return;
	uint64_t s = ww_hash_mix(bytes_hash(ww_v_at(ev, SADDR)), sport), d = ww_hash_mix(bytes_hash(ww_v_at(ev, DADDR)), dport);
	uint64_t *other = ww_u64map_find(&m->sock_addr, ww_hash_mix(d, s));
	if (other) {
		m->f->file.peer[file] = (uint32_t)*other;
		m->f->file.peer[*other] = file;
	}
	ww_u64map_put(&m->sock_addr, ww_hash_mix(s, d), file);
}

void ww_on_own_sock(struct ww_model *m, const struct ww_event *ev)
{
	enum { INO, FAMILY, TYPE, PROTO, SPORT, DPORT, SADDR, DADDR, PEER };
	uint64_t family = ww_v_u64(ev, FAMILY), proto = ww_v_u64(ev, PROTO), peer = ww_v_u64(ev, PEER);
	bool inet = family == AF_INET || family == AF_INET6;
	enum ww_file_kind kind = family == AF_UNIX	? WW_FK_SOCK_UNIX
				 : family == AF_NETLINK	? WW_FK_SOCK_NETLINK
				 : family == AF_VSOCK	? WW_FK_SOCK_VSOCK
				 : inet && proto == 6	? WW_FK_SOCK_TCP
				 : inet && proto == 17	? WW_FK_SOCK_UDP
							: WW_FK_SOCK_OTHER;

	if (!ww_v_u64(ev, INO))
		return;
	uint32_t file = ww_file_intern(m, kind, 0, ww_v_u64(ev, INO));
	if (inet)
		inet_names(m, ev, file);
	if (peer) {
		uint32_t other = ww_file_intern(m, kind, 0, peer);

		m->f->file.peer[file] = other;
		m->f->file.peer[other] = file;
	}
}

void ww_on_own_ready(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *t = ww_thr_find(m, ww_v_int(ev, 0, -1));

	if (t && t->in_syscall)
		ww_ready_note(m, t, ww_v_int(ev, 2, -1), ww_v_u64(ev, 4));
}

void ww_on_own_epoll(struct ww_model *m, const struct ww_event *ev)
{
	enum { PID, EPFD, FD, OP, DATA };
	enum { CTL_DEL = 2 };
	int64_t pid = ww_v_int(ev, PID, -1);

	if (pid <= 0 || pid > WW_MAX_TID || ww_v_int(ev, OP, 0) == CTL_DEL)
		return;
	ww_ready_registered(m, ww_proc_get(m, (int32_t)pid), ww_v_int(ev, EPFD, -1), ww_v_u64(ev, DATA), ww_v_int(ev, FD, -1));
}

void ww_on_own_throttle(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *t = ww_thr_find(m, ww_v_int(ev, 0, -1));
	bool on = ww_v_u64(ev, 1);

	if (!t)
		return;
	t->throttled = on;
	if (t->cpu >= 0)
		return;
	if (on && (t->st.state == WW_ST_PREEMPTED || t->st.state == WW_ST_RUNQUEUE))
		ww_thr_state(m, t, m->now, WW_ST_THROTTLED);
	else if (!on && t->st.state == WW_ST_THROTTLED)
		ww_thr_state(m, t, m->now, WW_ST_RUNQUEUE);
}

/* The last `ns` of a closed state. */
static void steal_from_row(struct ww_model *m, uint32_t row, int64_t ns)
{
	struct ww_state r = ww_state_get(m->f, row);

	if (ns >= r.dur_ns) {
		m->f->state.state[row] = WW_ST_STOLEN;
		return;
	}
	r.start_ts_ns += r.dur_ns - ns;
	r.dur_ns = ns;
	r.state = WW_ST_STOLEN;
	m->f->state.dur_ns[row] -= ns;
	ww_state_push(m->f, &r);
}

static void steal_from_open(struct ww_model *m, struct ww_thr *t, int64_t ns)
{
	struct ww_open_state before = t->st;

	ww_thr_state(m, t, m->now - ns, WW_ST_STOLEN);
	ww_thr_state(m, t, m->now, before.state);
	before.start = t->st.start;
	t->st = before;
}

#define SPREAD_ROWS 8192u /* so far back */

/* Many short times were taken together: from each of this run's states its share. */
static void steal_from_many(struct ww_model *m, const struct ww_thr *t, int64_t ns)
{
	const struct ww_state_cols *s = &m->f->state;
	uint32_t end = s->n, first = end > SPREAD_ROWS ? end - SPREAD_ROWS : 0;
	int64_t total = 0;

	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = first; i < end; i++) {
			int64_t dur = s->dur_ns[i];
			if (s->thread[i] != t->index || s->start_ts_ns[i] < m->cpu->run_start || !ww_thr_runs(s->state[i]) ||
			    dur < ns / 1024)
				continue;
			int64_t part = pass ? (int64_t)((double)dur * ((double)ns / (double)total)) : 0;
			if (!pass)
				total += dur;
			else if (total <= ns || part > 0)
				steal_from_row(m, i, total <= ns ? dur : part);
		}
}

/* The kernel sees at a tick or a switch how much the hypervisor took since it last looked. It lies before now, and
 * no event came meanwhile: so in the latest of this run's states that is long enough; where none is, it was taken
 * bit by bit. */
void ww_on_own_stolen(struct ww_model *m, const struct ww_event *ev)
{
	struct ww_thr *t = ww_thr_current(m);
	int64_t ns = (int64_t)WW_MIN(ww_v_u64(ev, 0), (uint64_t)INT64_MAX / 2);
	const struct ww_state_cols *s = &m->f->state;

	if (!t || t->idle || t->cpu < 0 || !ns)
		return;
	if (ww_thr_runs(t->st.state) && m->now - t->st.start >= ns) {
		steal_from_open(m, t, ns);
		return;
	}
	for (uint32_t i = 0; i < WW_LAST_ROWS; i++) {
		uint32_t row = ww_thr_row(t, i);
		if (row == WW_NONE || s->start_ts_ns[row] < m->cpu->run_start)
			break;
		if (ww_thr_runs(s->state[row]) && s->dur_ns[row] >= ns) {
			steal_from_row(m, row, ns);
			return;
		}
	}
	if (t->long_row != WW_NONE && ww_thr_runs(s->state[t->long_row]) && s->dur_ns[t->long_row] >= ns)
		steal_from_row(m, t->long_row, ns);
	else
		steal_from_many(m, t, ns);
}
