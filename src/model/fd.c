/* fd.c - files, and which descriptor of which process names which.
 *
 * Three sources: the state dump, whywait's own events, and the system calls that make, copy and
 * close descriptors. Files with an inode are one row each; those known only by path, one per path.
 */
#include <fcntl.h>
#include <sys/socket.h>

#include "model/model_private.h"

#ifndef AF_VSOCK
#define AF_VSOCK 40
#endif

static uint32_t push_file(struct ww_model *m, enum ww_file_kind kind, uint32_t dev, uint64_t ino, uint32_t name)
{
	struct ww_file r = {.kind = (uint8_t)kind, .dev = dev, .ino = ino, .name = name, .peer = WW_NONE};

	return ww_file_push(m->f, &r);
}

static bool is_socket(enum ww_file_kind k)
{
	return k >= WW_FK_SOCK_UNIX && k <= WW_FK_SOCK_OTHER;
}

/* Sockets and pipes live in one file system each; what has no inode of its own (eventfd, epoll, ...) shares one, so
 * the kind is part of the key. */
static uint64_t file_key(enum ww_file_kind kind, uint32_t dev, uint64_t ino)
{
	uint64_t a = is_socket(kind) ? 1000 : kind == WW_FK_PIPE ? 1001 : kind >= WW_FK_EVENTFD ? 2000u + kind : 0;

	return ww_hash_mix(ww_hash_mix(a, a ? 0 : dev), ino);
}

uint32_t ww_file_intern(struct ww_model *m, enum ww_file_kind kind, uint32_t dev, uint64_t ino)
{
	bool isnew;

	if ((unsigned)kind >= WW_FK_N)
		kind = WW_FK_UNKNOWN;
	uint64_t *i = ww_u64map_get(&m->files, file_key(kind, dev, ino), m->f->file.n, &isnew);
	if (isnew)
		push_file(m, kind, dev, ino, 0);
	else if (m->f->file.kind[*i] == WW_FK_UNKNOWN || m->f->file.kind[*i] == WW_FK_SOCK_OTHER)
		m->f->file.kind[*i] = (uint8_t)kind;
	return (uint32_t)*i;
}

/* One of them may be cut at the front. */
static bool one_ends_as_other(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b);

	return na < nb ? !strcmp(a, b + nb - na) : !strcmp(b, a + na - nb);
}

void ww_file_named(struct ww_model *m, enum ww_file_kind kind, uint32_t dev, uint64_t ino, uint32_t name)
{
	uint32_t i = ww_file_intern(m, kind, dev, ino), old = m->f->file.name[i];

	kind = (enum ww_file_kind)m->f->file.kind[i];
	if (!old)
		m->f->file.name[i] = name;
	else if (name && !one_ends_as_other(ww_facts_str(m->f, old), ww_facts_str(m->f, name)))
		ww_u64map_put(&m->files, file_key(kind, dev, ino), push_file(m, kind, dev, ino, name));
}

uint32_t ww_file_new(struct ww_model *m, enum ww_file_kind kind, uint32_t name)
{
	return push_file(m, kind, 0, 0, name);
}

static enum ww_file_kind kind_of_path(const char *s)
{
	static const struct {
		const char *prefix;
		enum ww_file_kind kind;
	} kinds[] = {
		{"anon_inode:[eventpoll]", WW_FK_EPOLL}, {"anon_inode:[eventfd]", WW_FK_EVENTFD},
		{"anon_inode:[timerfd]", WW_FK_TIMERFD}, {"anon_inode:[signalfd]", WW_FK_SIGNALFD},
		{"anon_inode:inotify", WW_FK_INOTIFY}, {"anon_inode:[pidfd]", WW_FK_PIDFD},
		{"anon_inode:[io_uring]", WW_FK_IO_URING}, {"anon_inode:", WW_FK_ANON_OTHER},
		{"/dev/pts/", WW_FK_TTY}, {"/dev/tty", WW_FK_TTY}, {"/dev/console", WW_FK_TTY},
		{"/dev/", WW_FK_CHR}, {"pipe:", WW_FK_PIPE}, {"socket:", WW_FK_SOCK_OTHER},
	};

	if (*s == '/' && strncmp(s, "/dev/", 5))
		return WW_FK_REG;
	for (size_t i = 0; i < WW_ARRAY_SIZE(kinds); i++)
		if (*s == *kinds[i].prefix && !strncmp(s, kinds[i].prefix, strlen(kinds[i].prefix)))
			return kinds[i].kind;
	return WW_FK_REG;
}

/* Of a path that begins so, and goes on with the number. */
static bool inode_of(const char *path, const char *begin, uint64_t *ret_ino)
{
	const char *digits = path + strlen(begin);
	char *end;

	if (strncmp(path, begin, strlen(begin)))
		return false;
	*ret_ino = strtoull(digits, &end, 10);
	return end != digits;
}

uint32_t ww_file_by_name(struct ww_model *m, uint32_t name)
{
	const char *s = ww_facts_str(m->f, name);
	enum ww_file_kind kind = kind_of_path(s);
	uint64_t ino;
	bool isnew;

	if ((kind == WW_FK_PIPE && inode_of(s, "pipe:[", &ino)) || (kind == WW_FK_SOCK_OTHER && inode_of(s, "socket:[", &ino))) {
		uint32_t i = ww_file_intern(m, kind, 0, ino);

		if (!m->f->file.name[i])
			m->f->file.name[i] = name;
		return i;
	}
	if (ww_file_is_anonymous(kind))
		return ww_file_new(m, kind, name);
	uint64_t *i = ww_u64map_get(&m->files_by_name, name, m->f->file.n, &isnew);
	if (isnew)
		push_file(m, kind, 0, 0, name);
	return (uint32_t)*i;
}

uint32_t ww_fd_file(struct ww_model *m, const struct ww_thr *t, int64_t fd)
{
	struct ww_proc *p = ww_proc_of(m, t);

	return p && fd >= 0 && (size_t)fd < p->fds.n && p->fds.v[fd] ? p->fds.v[fd] - 1 : WW_NONE;
}

void ww_fd_set(struct ww_proc *p, int64_t fd, uint32_t file)
{
	if (!p || fd < 0 || fd >= WW_MAX_FD || (file == WW_NONE && (size_t)fd >= p->fds.n))
		return;
	while (p->fds.n <= (size_t)fd)
		*ww_vec_push(&p->fds) = 0;
	p->fds.v[fd] = file == WW_NONE ? 0 : file + 1;
}

void ww_fd_copy(struct ww_proc *to, const struct ww_proc *from)
{
	ww_vec_reserve(&to->fds, from->fds.n);
	if ((to->fds.n = from->fds.n))
		memcpy(to->fds.v, from->fds.v, from->fds.n * sizeof(*to->fds.v));
	ww_vec_reserve(&to->vmas, from->vmas.n);
	if ((to->vmas.n = from->vmas.n))
		memcpy(to->vmas.v, from->vmas.v, from->vmas.n * sizeof(*to->vmas.v));
	to->perf_maps = from->perf_maps;
}

static enum ww_file_kind socket_kind(int64_t family, int64_t type)
{
	bool dgram = (type & 0xf) == SOCK_DGRAM;

	if (family == AF_UNIX)
		return WW_FK_SOCK_UNIX;
	if (family == AF_INET || family == AF_INET6)
		return (type & 0xf) == SOCK_STREAM ? WW_FK_SOCK_TCP : dgram ? WW_FK_SOCK_UDP : WW_FK_SOCK_OTHER;
	if (family == AF_NETLINK)
		return WW_FK_SOCK_NETLINK;
	return family == AF_VSOCK ? WW_FK_SOCK_VSOCK : WW_FK_SOCK_OTHER;
}

/* pipe, socketpair: two descriptors in an array of the event. */
static void made_pair(struct ww_model *m, struct ww_thr *t, struct ww_proc *p, const struct ww_event *ev)
{
	bool sock = t->sc->effect == WW_FX_SOCKETPAIR;
	int64_t fds[2];

	if (!ev || ww_v_array(m, ev, sock ? "socket" : "fildes", fds, 2) != 2)
		return;
	if (!sock) {
		uint32_t f = ww_file_new(m, WW_FK_PIPE, ww_intern(m, "pipe"));

		ww_fd_set(p, fds[0], f);
		ww_fd_set(p, fds[1], f);
		return;
	}
	enum ww_file_kind k = socket_kind(t->sc_arg[0], t->sc_arg[1]);
	uint32_t name = ww_intern(m, "socketpair");
	uint32_t a = ww_file_new(m, k, name), b = ww_file_new(m, k, name);
	m->f->file.peer[a] = b;
	m->f->file.peer[b] = a;
	ww_fd_set(p, fds[0], a);
	ww_fd_set(p, fds[1], b);
}

static void made_mapping(struct ww_model *m, struct ww_thr *t, struct ww_proc *p, int64_t ret)
{
	uint64_t start = (uint64_t)ret, len = (uint64_t)t->sc_arg[1];

	if (m->has_fault_end || start + len < start)
		return; /* the fault's own event tells the file */
	if (p->vmas.n >= 4096) {
		memmove(p->vmas.v, p->vmas.v + 2048, 2048 * sizeof(*p->vmas.v));
		p->vmas.n = 2048;
	}
	struct ww_vma *v = ww_vec_push(&p->vmas);
	*v = (struct ww_vma){.start = start, .end = start + len, .file = t->sc_file,
			     .offset = (uint64_t)t->sc_arg[2]};
}

uint32_t ww_map_of(const struct ww_proc *p, uint64_t address, uint64_t *ret_offset)
{
	for (size_t i = p ? p->vmas.n : 0; i-- > 0;)
		if (address >= p->vmas.v[i].start && address < p->vmas.v[i].end) {
			*ret_offset = p->vmas.v[i].offset + (address - p->vmas.v[i].start);
			return p->vmas.v[i].file;
		}
	return WW_NONE;
}

uint32_t ww_vma_file(struct ww_model *m, const struct ww_thr *t, uint64_t addr, uint64_t *ret_off)
{
	return ww_map_of(ww_proc_of(m, t), addr, ret_off);
}

void ww_fd_before_call(struct ww_model *m, struct ww_thr *t)
{
	struct ww_proc *p = ww_proc_of(m, t);

	/* The number may be handed out again before close returns. The wait in close still has its
	 * file in t->sc_file. */
	if (t->sc->effect == WW_FX_CLOSE && p)
		ww_fd_set(p, t->sc_fd, WW_NONE);
	if (t->sc->effect == WW_FX_EPOLL_CTL && p && t->sc_arg[0] != 2 && t->sc_arg[1] >= 0)
		ww_ready_registered(m, p, t->sc_fd, (uint64_t)t->sc_arg[2], t->sc_arg[1]);
}

static void made(struct ww_model *m, struct ww_proc *p, int64_t fd, enum ww_file_kind kind)
{
	ww_fd_set(p, fd, ww_file_new(m, kind, ww_intern(m, ww_file_kind_name(kind))));
}

void ww_fd_after_call(struct ww_model *m, struct ww_thr *t, const struct ww_event *ev, int64_t ret)
{
	struct ww_proc *p = ww_proc_of(m, t);

	/* whywait_fd within the call has told better already. */
	if (!p || ret < 0 || (t->fd_told && t->sc->effect != WW_FX_MMAP))
		return;
	switch ((enum ww_fd_effect)t->sc->effect) {
	case WW_FX_OPEN:
		if (t->sc_str)
			ww_fd_set(p, ret, ww_file_by_name(m, t->sc_str));
		break;
	case WW_FX_DUP:
	case WW_FX_DUP2:
		ww_fd_set(p, ret, t->sc_file);
		break;
	case WW_FX_FCNTL:
		if (t->sc_arg[1] == F_DUPFD || t->sc_arg[1] == F_DUPFD_CLOEXEC)
			ww_fd_set(p, ret, t->sc_file);
		break;
	case WW_FX_PIPE:
	case WW_FX_SOCKETPAIR:
		made_pair(m, t, p, ev);
		break;
	case WW_FX_SOCKET:
		made(m, p, ret, socket_kind(t->sc_arg[0], t->sc_arg[1]));
		break;
	case WW_FX_ACCEPT:
		made(m, p, ret, t->sc_file == WW_NONE ? WW_FK_SOCK_OTHER : m->f->file.kind[t->sc_file]);
		break;
	case WW_FX_ANON:
		made(m, p, ret, (enum ww_file_kind)t->sc->made);
		break;
	case WW_FX_MMAP:
		made_mapping(m, t, p, ret);
		break;
	case WW_FX_NONE: case WW_FX_CLOSE: case WW_FX_EPOLL_CTL: case WW_FX_CONNECT: case WW_FX_PRCTL:
		break;
	}
}
