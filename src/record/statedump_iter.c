/* statedump_iter.c - tasks, open files and sockets from the kernel's own iterators: one pass over each, no path look-ups,
 * and of a task that sleeps the system call it sleeps in.
 *
 * The tasks come first: the files' events join to them. An iterator that gives nothing leaves the dump to /proc, and so do
 * kernels that keep some processes from their iterators.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/vec.h"
#include "record/bpf/wire.h"
#include "record/statedump_private.h"

#define READ_BYTES (256u << 10)
#define SOCKETS    (1ull << 40) /* a space of ww_dump_is_new of their own */

enum { TASK_ASLEEP = 3, EXIT_IS_DEAD = 16, EXIT_IS_ZOMBIE = 32 }; /* include/linux/sched.h; S and D */
enum { BLOCK_IOWAIT = 1, BLOCK_IO_WORKER = 4, BLOCK_DUMPED = 16 };  /* flags of whywait_block */

/* All that the iterator gives, whole records of `size`; false when there is none. */
static bool read_all(int fd, size_t size, char **ret, size_t *ret_n)
{
	char *buf = NULL;
	size_t n = 0, cap = 0;

	for (;;) {
		if (cap - n < READ_BYTES) {
			cap = cap ? 2 * cap : 2 * READ_BYTES;
			buf = ww_xrealloc(buf, cap);
		}
		ssize_t r = read(fd, buf + n, cap - n);
		if (r < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (r < 0)
			n = 0;
		if (r <= 0)
			break;
		n += (size_t)r;
	}
	*ret = buf;
	*ret_n = n / size;
	return *ret_n > 0 && n % size == 0;
}

static enum ww_dump_status status_of(const struct ww_iter_task *t)
{
	if (t->exit_state & EXIT_IS_ZOMBIE)
		return WW_DS_ZOMBIE;
	if (t->exit_state & EXIT_IS_DEAD)
		return WW_DS_DEAD;
	if (!t->state)
		return WW_DS_WAIT_CPU;
	return t->state & TASK_ASLEEP ? WW_DS_WAIT : WW_DS_UNNAMED;
}

/* The call that it sleeps in, as if it had just left the CPU. */
static int write_block(struct ww_dump *d, const struct ww_iter_task *t)
{
	int rc = ww_ctf_rec_begin(d->o, WW_EV_WHYWAIT_BLOCK, ww_dump_now_ns(), d->err);

	if (rc)
		return rc;
	ww_ctf_rec_i32(d->o, t->tid);
	ww_ctf_rec_i32(d->o, t->nr);
	ww_ctf_rec_u8(d->o, t->abi);
	ww_ctf_rec_u8(d->o, (uint8_t)(BLOCK_DUMPED | (t->iowait ? BLOCK_IOWAIT : 0)));
	ww_ctf_rec_u8(d->o, t->fd_kind);
	ww_ctf_rec_u32(d->o, t->dev);
	ww_ctf_rec_u64(d->o, t->ino);
	for (int i = 0; i < 6; i++)
		ww_ctf_rec_u64(d->o, t->arg[i]);
	ww_ctf_rec_end(d->o);
	return 0;
}

static int write_task(struct ww_dump *d, const struct ww_iter_task *r)
{
	struct ww_dump_task t = {.tid = r->tid, .pid = r->pid, .ppid = r->ppid, .status = status_of(r),
				 .flags = r->flags, .cpu = r->cpu};
	uint32_t levels = WW_MIN(r->levels, WW_ITER_LEVELS);

	memcpy(t.comm, r->comm, sizeof(t.comm));
	ww_u64map_put(&d->seen, (uint32_t)r->pid, 1);
	int rc = ww_dump_task_write(d, &t);
	/* The innermost namespace first, as LTTng has it. */
	for (uint32_t i = levels; !rc && i-- > 0;)
		rc = ww_dump_pid_ns_write(d, r->tid, r->vtid[i], r->vpid[i], r->vppid[i], i, r->ns_inum[i]);
	if (!rc && r->cgroup)
		rc = ww_dump_cgroup_write(d, r->tid, false, r->cgroup, "");
	if (!rc && r->nr >= 0 && t.status == WW_DS_WAIT)
		rc = write_block(d, r);
	return rc;
}

static int write_sock(struct ww_dump *d, const struct ww_iter_file *r)
{
	struct ww_dump_sock s = {.ino = r->ino, .peer_ino = r->peer_ino, .family = r->family, .type = r->type,
				 .proto = r->proto, .kind = r->kind, .sport = r->sport, .dport = r->dport};

	memcpy(s.saddr, r->saddr, sizeof(s.saddr));
	memcpy(s.daddr, r->daddr, sizeof(s.daddr));
	return ww_dump_sock_write(&s, d->o, d->err);
}

/* "@name" for an abstract one; false when it is not bound. */
static bool unix_name(const struct ww_iter_file *r, char *buf, size_t size)
{
	size_t n = WW_MIN(r->bound, sizeof(r->unix_name));

	if (r->family != AF_UNIX || !n)
		return false;
	bool abstract = !r->unix_name[0];
	snprintf(buf, size, "%s%.*s", abstract ? "@" : "", (int)(n - abstract), r->unix_name + abstract);
	return buf[0];
}

static int write_file(struct ww_dump *d, const struct ww_iter_file *r)
{
	char link[sizeof(r->name) + 1], name[sizeof(r->unix_name) + 2];
	struct ww_dump_fd f = {.pid = r->pid, .fd = r->fd, .flags = r->flags, .mode = r->mode, .kind = r->kind,
			       .dev = r->dev, .ino = r->ino, .link = link, .name = link};
	int rc = 0;

	memcpy(link, r->name, sizeof(r->name));
	link[WW_MIN(r->name_bytes, sizeof(r->name))] = 0;
	if (r->family && ww_dump_is_new(d, SOCKETS, r->ino))
		rc = write_sock(d, r);
	if (unix_name(r, name, sizeof(name)))
		f.name = name;
	return rc ? rc : ww_dump_fd_write(d, &f);
}

static int write_map(struct ww_dump *d, const struct ww_iter_map *m)
{
	int rc = ww_ctf_rec_begin(d->o, WW_EV_WHYWAIT_MAP, ww_dump_now_ns(), d->err);
	char name[sizeof(m->name) + 1];

	if (rc)
		return rc;
	ww_ctf_rec_i32(d->o, m->pid);
	ww_ctf_rec_u64(d->o, m->start);
	ww_ctf_rec_u64(d->o, m->end);
	ww_ctf_rec_u64(d->o, m->offset);
	ww_ctf_rec_u32(d->o, m->dev);
	ww_ctf_rec_u64(d->o, m->ino);
	ww_ctf_rec_end(d->o);
	memcpy(name, m->name, sizeof(m->name));
	name[sizeof(m->name)] = 0;
	return ww_dump_file_write(d, WW_DK_REG, m->dev, m->ino, name);
}

int ww_dump_from_iters(struct ww_dump *d, const struct ww_dump_iters *it)
{
	char *tasks = NULL, *files = NULL, *maps = NULL;
	size_t ntasks = 0, nfiles = 0, nmaps = 0;
	int rc = 0;

	if (it->task_fd < 0 || it->file_fd < 0 ||
	    !read_all(it->task_fd, sizeof(struct ww_iter_task), &tasks, &ntasks))
		goto out;
	for (size_t i = 0; !rc && i < ntasks; i++)
		rc = write_task(d, (const struct ww_iter_task *)tasks + i);
	if (!rc && read_all(it->file_fd, sizeof(struct ww_iter_file), &files, &nfiles))
		for (size_t i = 0; !rc && i < nfiles; i++)
			rc = write_file(d, (const struct ww_iter_file *)files + i);
	if (!rc && it->map_fd >= 0 && read_all(it->map_fd, sizeof(struct ww_iter_map), &maps, &nmaps))
		for (size_t i = 0; !rc && i < nmaps; i++)
			rc = write_map(d, (const struct ww_iter_map *)maps + i);
out:
	free(maps);
	free(tasks);
	free(files);
	return rc;
}
