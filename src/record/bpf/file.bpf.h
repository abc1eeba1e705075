/* file.bpf.h - what a descriptor names: its kind, device and inode, its path, its addresses. */
#ifndef WW_FILE_BPF_H
#define WW_FILE_BPF_H

#include "task.bpf.h"

#include <bpf/bpf_endian.h>

/* enum ww_file_kind of src/facts/facts.h; a test holds them together. */
enum { FK_UNKNOWN, FK_REG, FK_DIR, FK_CHR, FK_BLK, FK_PIPE, FK_FIFO, FK_SOCK_UNIX, FK_SOCK_TCP, FK_SOCK_UDP,
       FK_SOCK_NETLINK, FK_SOCK_VSOCK, FK_SOCK_OTHER, FK_EVENTFD, FK_EPOLL, FK_TIMERFD, FK_SIGNALFD,
       FK_INOTIFY, FK_PIDFD, FK_IO_URING, FK_TTY, FK_ANON_OTHER };

#define MAGIC_PIPEFS 0x50495045
#define MAGIC_ANON   0x09041934
#define MAGIC_PIDFS  0x50494446
#define NAME_BYTES   512

struct ww_file {
	u8 kind;
	u32 dev;
	u64 ino;
	struct file *file;
	struct sock *sk;
};

/* A piece of the kernel's memory, read at once: a look at it costs much the same for one word and for all. Programs
 * that use it run with preemption off, and are not an interrupt's. */
#define PIECE_WORDS 32
struct ww_piece {
	u64 word[PIECE_WORDS];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ww_piece);
} ww_piece_room SEC(".maps");

static __always_inline struct ww_piece *ww_piece_here(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&ww_piece_room, &zero);
}

/* A look at the `bytes` at `at`, until the next look. Where each word is a load of its own nothing is copied. */
static __always_inline bool ww_look(u64 at, u32 bytes)
{
	struct ww_piece *piece;

	if (ww_casts)
		return at != 0;
	piece = ww_piece_here();
	return piece && bytes <= sizeof(*piece) && !bpf_probe_read_kernel(piece, bytes, (void *)at);
}

static __always_inline u64 ww_look_word(u64 at, u32 i)
{
	struct ww_piece *piece;

	if (ww_casts)
		return ww_word(at + 8 * (u64)i);
	piece = ww_piece_here();
	return piece ? piece->word[i & (PIECE_WORDS - 1)] : 0;
}

/* The word of a piece that is `member`; where members end that are to be read. */
#define WORD(type, member)     (bpf_core_field_offset(struct type, member) / 8)
#define LOOK(at, type, member) ww_look_word(at, WORD(type, member))
#define WORD_MAX(a, b)         ((a) > (b) ? (a) : (b))

/* Files that have been named: of each a number made of its device, its inode and what the name came from, in one of two
 * places. Of two files with the same device and inode the numbers differ, so that a reused inode is named anew. Whose
 * number gives way to another's is named again when it is met again. Files that are made one after the other have inodes
 * that follow one another, and places that do: to look at a place that no cache holds costs more than all else here. */
#define NAMED_SHIFT 15
#define NAMED (1 << NAMED_SHIFT)
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NAMED);
	__type(key, u32);
	__type(value, u64);
} ww_named SEC(".maps");

/* True: it has been named. Else from now on. */
static __always_inline bool ww_named_before(u64 ino, u32 dev, u64 from)
{
	u64 n = ino * 0x9e3779b97f4a7c15;

	n = (n ^ n >> 32 ^ dev) * 0xd6e8feb86659fd93;
	n = (n ^ n >> 32 ^ from) * 0xa0761d6478bd642f;
	n ^= n >> 32;

	u32 i = (ino + (ino >> NAMED_SHIFT) * 11003 + dev * 10007) & (NAMED - 1), j = i ^ 1;
	u64 *a = bpf_map_lookup_elem(&ww_named, &i), *b = bpf_map_lookup_elem(&ww_named, &j);
	if (!a || !b || *a == n || *b == n)
		return true;
	if (*a && (!*b || n >> 63))
		a = b;
	*a = n;
	return false;
}

struct ww_name {
	char text[NAME_BYTES + 128];
	u32 pos; /* how far a bpf_loop is; what stands on the stack the verifier follows value by value */
};
/* One is enough: names are made by programs that run with preemption off, and not by interrupts'. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ww_name);
} ww_name_room SEC(".maps");

static __always_inline u8 ww_sock_kind(struct sock *sk)
{
	u16 family = WW_GET(sock, sk, __sk_common.skc_family);

	switch (family) {
	case 1:
		return FK_SOCK_UNIX;
	case 2:
	case 10: {
		u16 proto = WW_GET(sock, sk, sk_protocol);
		return proto == 6 ? FK_SOCK_TCP : proto == 17 ? FK_SOCK_UDP : FK_SOCK_OTHER;
	}
	case 16:
		return FK_SOCK_NETLINK;
	case 40:
		return FK_SOCK_VSOCK;
	}
	return FK_SOCK_OTHER;
}

/* By the name that the kernel gives them: "[eventfd]", "inotify" ... */
static __always_inline u8 ww_anon_kind(struct file *file)
{
	u64 n = 0;
	const unsigned char *name = BPF_CORE_READ(file, f_path.dentry, d_name.name);

	bpf_probe_read_kernel_str(&n, sizeof(n), name);
	if ((u8)n == '[')
		n >>= 8;
	u8 second = n >> 8, sixth = n >> 40; /* "eventf" of eventfd, "eventp" of eventpoll */
	switch ((u8)n) {
	case 'e':
		return sixth == 'f' ? FK_EVENTFD : sixth == 'p' ? FK_EPOLL : FK_ANON_OTHER;
	case 't':
		return FK_TIMERFD;
	case 's':
		return FK_SIGNALFD;
	case 'i':
		return second == 'n' ? FK_INOTIFY : FK_IO_URING;
	case 'p':
		return second == 'i' ? FK_PIDFD : FK_ANON_OTHER;
	}
	return FK_ANON_OTHER;
}

__noinline int ww_file_fill(u64 at, struct ww_file *f)
{
	struct file *file = (void *)at;

	if (!file || !f)
		return 0;
	u64 inode = WW_GET(file, at, f_inode);
	u32 bytes = (WORD_MAX(WORD(inode, i_mode), WORD_MAX(WORD(inode, i_ino), WORD(inode, i_sb))) + 1) * 8;

	if (!ww_look(inode, bytes))
		return 0;
	u32 mode = (u16)(LOOK(inode, inode, i_mode) >> (bpf_core_field_offset(struct inode, i_mode) % 8 * 8));
	u64 sb = LOOK(inode, inode, i_sb), magic = WW_GET(super_block, sb, s_magic);

	f->file = file;
	f->dev = WW_GET(super_block, sb, s_dev);
	f->ino = LOOK(inode, inode, i_ino);
	if (magic == MAGIC_ANON) {
		/* They all share one inode: what is behind the file tells them apart. */
		f->kind = ww_anon_kind(file);
		f->ino = WW_GET(file, at, private_data);
		return 0;
	}
	if (magic == MAGIC_PIDFS) {
		f->kind = FK_PIDFD;
		return 0;
	}
	switch (mode >> 12) {
	case 8:
		f->kind = FK_REG;
		break;
	case 4:
		f->kind = FK_DIR;
		break;
	case 2: {
		u32 major = WW_GET(inode, inode, i_rdev) >> 20;
		f->kind = major == 4 || major == 5 || (major >= 136 && major < 144) ? FK_TTY : FK_CHR;
		break;
	}
	case 6:
		f->kind = FK_BLK;
		break;
	case 1:
		f->kind = magic == MAGIC_PIPEFS ? FK_PIPE : FK_FIFO;
		break;
	case 12: {
		f->sk = (void *)WW_GET(socket, WW_GET(file, at, private_data), sk);
		f->kind = f->sk ? ww_sock_kind(f->sk) : FK_SOCK_OTHER;
		break;
	}
	}
	return 0;
}

/* The directory of the last file that this CPU has named. Files come in directories, so its path is looked for once; while
 * the words that it was found by are the same, so is the path. */
#define STEPS 12
struct ww_step {
	u64 up_at, up, name_at, name; /* an entry's parent, its name's hash and length; or where a mount is mounted */
};
struct ww_dir {
	char text[NAME_BYTES]; /* ends with the path, "" for the root of all */
	u64 dentry, mnt; /* dentry 0: it is no file's */
	struct ww_step step[16];
	/* How far a bpf_loop is; what stands on the stack the verifier follows value by value. */
	u32 pos, steps;
	u32 cut; /* the path ended before the root of all */
	/* The file's own name, which follows. */
	u32 own_bytes;
	u64 own;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ww_dir);
} ww_dir_room SEC(".maps");

static __always_inline struct ww_dir *ww_dir_here(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&ww_dir_room, &zero);
}

/* Where ww_path has come to. */
struct ww_walk {
	struct dentry *d, *root; /* root: the mount's */
	struct mount *m;
};

static __always_inline u32 ww_name_bytes(u64 d)
{
	u32 len = LOOK(d, dentry, d_name.len) >> (bpf_core_field_offset(struct dentry, d_name.len) % 8 * 8);

	return len > 100 ? 100 : len;
}

/* One component, the body of a bpf_loop: verified once, not once a component and way. 1: that was the last. */
static int ww_path_one(u32 i, void *ctx)
{
	struct ww_walk *w = ctx;
	struct ww_dir *dir = ww_dir_here();
	struct dentry *d = w->d, *up;
	struct mount *m = w->m;
	u32 pos, bytes = (WORD_MAX(WORD(dentry, d_parent), WORD(dentry, d_name.name)) + 1) * 8;

	if (!dir || !ww_look((u64)d, bytes))
		return 1;
	up = (void *)LOOK((u64)d, dentry, d_parent);

	const unsigned char *name = (void *)LOOK((u64)d, dentry, d_name.name);
	u32 len = ww_name_bytes((u64)d);
	struct ww_step *step = &dir->step[i & 15];
	pos = dir->pos;
	dir->steps = i + 1;
	step->up_at = (u64)d + bpf_core_field_offset(struct dentry, d_parent);
	step->up = (u64)up;
	step->name_at = (u64)d + bpf_core_field_offset(struct dentry, d_name);
	step->name = LOOK((u64)d, dentry, d_name);
	if (d == up || d == w->root) {
		struct mount *over = (void *)WW_GET(mount, m, mnt_parent);
		u64 on = WW_GET(mount, m, mnt_mountpoint);

		step->up_at = (u64)m + bpf_core_field_offset(struct mount, mnt_parent);
		step->up = (u64)over;
		step->name_at = (u64)m + bpf_core_field_offset(struct mount, mnt_mountpoint);
		step->name = on;
		if (over != m && over) {
			w->d = (void *)on;
			w->m = over;
			w->root = (void *)WW_GET(mount, over, mnt.mnt_root);
			return 0;
		}
		dir->cut = 0;
		if (dir->own_bytes || pos != NAME_BYTES)
			return 1; /* the root of all */
		if (len == 1)
			len = 0; /* the file is that root, "/" */
		up = NULL; /* or has no place, as "memfd:x" */
	}
	if (pos < len + 1)
		return 1;
	pos -= len + 1;
	pos &= NAME_BYTES - 1;
	dir->text[pos] = '/';
	bpf_probe_read_kernel(dir->text + ((pos + 1) & (NAME_BYTES - 1)), len & 127, name);
	dir->pos = pos;
	w->d = up;
	return !up;
}

static __always_inline bool ww_dir_is_same(struct ww_dir *dir, u64 dentry, u64 mnt)
{
	u32 steps = dir->steps;

	if (!ww_casts || dir->dentry != dentry || dir->mnt != mnt)
		return false;
#pragma nounroll
	for (u32 i = 0; i < STEPS && i < steps; i++) {
		struct ww_step *s = &dir->step[i];

		if (ww_word(s->up_at) != s->up || ww_word(s->name_at) != s->name)
			return false;
	}
	return true;
}

/* The path of the directory, from its end backwards, over mounts, at most 12 components; what does not fit is left out at
 * the front. Then the file's own name, which is all there is of a file that is a root, or has no place. */
__noinline int ww_path(u64 at)
{
	struct ww_dir *dir = ww_dir_here();
	u64 d = WW_GET(file, at, f_path.dentry), mnt = WW_GET(file, at, f_path.mnt), root = WW_GET(vfsmount, mnt, mnt_root);
	u32 bytes = (WORD_MAX(WORD(dentry, d_parent), WORD(dentry, d_name.name)) + 1) * 8;

	if (!dir || !ww_look(d, bytes))
		return 0;
	u64 up = LOOK(d, dentry, d_parent);
	dir->own_bytes = 0;
	if (d != up && d != root) {
		dir->own = LOOK(d, dentry, d_name.name);
		dir->own_bytes = ww_name_bytes(d);
		if (ww_dir_is_same(dir, up, mnt))
			return 1;
		d = up;
	}
	struct ww_walk w = {.d = (void *)d, .root = (void *)root, .m = (void *)(mnt - bpf_core_field_offset(struct mount, mnt))};
	dir->dentry = dir->own_bytes ? d : 0;
	dir->mnt = mnt;
	dir->cut = 1;
	dir->pos = NAME_BYTES;
	bpf_loop(STEPS, ww_path_one, &w, 0);
	return 1;
}

/* whywait_file: kind dev ino name. A name that was cut does not begin with "/". */
static __always_inline int ww_emit_file(struct ww_file *f)
{
	struct ww_dir *dir = ww_dir_here();
	struct ww_slot s;

	if (!f || !dir || !ww_path((u64)f->file))
		return 0;
	u32 at = dir->pos + (dir->cut & 1), slash = dir->own_bytes && at <= NAME_BYTES;
	u32 len = at < NAME_BYTES ? NAME_BYTES - at : 0, own = dir->own_bytes & 127;

	u8 *p = ww_reserve(&s, WW_EV_WHYWAIT_FILE, 13 + len + slash + own + 1);
	if (!p)
		return 0;
	ww_put8(p, 0, f->kind);
	ww_put32(p, 1, f->dev);
	ww_put64(p, 5, f->ino);
	p += 13;
	bpf_probe_read_kernel(p, len & (2 * NAME_BYTES - 1), dir->text + (at & (NAME_BYTES - 1)));
	p += len & (2 * NAME_BYTES - 1);
	ww_put8(p, 0, '/');
	p += slash & 1;
	bpf_probe_read_kernel(p, own, (void *)dir->own);
	ww_put8(p, own, 0);
	ww_commit(&s);
	return 0;
}

/* Where it is bound and connected to, of which a socket's name is made; 0: no socket. */
static __always_inline u32 ww_ports(struct sock *sk)
{
	return sk ? WW_GET(sock, sk, __sk_common.skc_portpair) : 0;
}

static __always_inline u64 ww_socket_ino(u64 so)
{
	return so ? WW_GET(socket_alloc, so, vfs_inode.i_ino) : 0;
}

/* whywait_sock: ino family type proto sport dport saddr[16] daddr[16] peer_ino */
static __always_inline int ww_emit_sock(u64 at, u64 ino)
{
	struct sock *sk = (void *)at;
	struct ww_slot s;

	if (!sk)
		return 0;
	u8 *p = ww_reserve(&s, WW_EV_WHYWAIT_SOCK, 56);
	if (!p)
		return 0;
	u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
	u64 peer_ino = 0;

	ww_put64(p, 0, ino);
	ww_put16(p, 8, family);
	ww_put8(p, 10, BPF_CORE_READ(sk, sk_type));
	ww_put8(p, 11, BPF_CORE_READ(sk, sk_protocol));
	ww_put32(p, 12, 0);
	for (int i = 0; i < 4; i++)
		ww_put64(p, 16 + 8 * i, 0);
	if (family == 2 || family == 10) {
		ww_put16(p, 12, BPF_CORE_READ(sk, __sk_common.skc_num));
		ww_put16(p, 14, bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport)));
	}
	if (family == 2) {
		ww_put32(p, 16, BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr));
		ww_put32(p, 32, BPF_CORE_READ(sk, __sk_common.skc_daddr));
	} else if (family == 10) {
		bpf_core_read(p + 16, 16, &sk->__sk_common.skc_v6_rcv_saddr);
		bpf_core_read(p + 32, 16, &sk->__sk_common.skc_v6_daddr);
	} else if (family == 1) {
		u64 peer = WW_GET(unix_sock, sk, peer);
		if (peer)
			peer_ino = ww_socket_ino(WW_GET(sock, peer, sk_socket));
	}
	ww_put64(p, 48, peer_ino);
	ww_commit(&s);
	return 0;
}

/* Names the file or socket the first time that it is met, and when it has become another one. */
__noinline int ww_name_once(struct ww_file *f)
{
	if (!f || READ_ONCE(ww_shared.frozen)) /* nobody would read the name, and nobody name it again */
		return 0;
	struct sock *sk = f->sk;

	if (ww_named_before(f->ino, f->dev, sk ? (u64)sk ^ (u64)ww_ports(sk) << 32 : WW_GET(file, f->file, f_path.dentry)))
		return 0;
	if (sk)
		return ww_emit_sock((u64)sk, f->ino);
	if (f->kind != FK_PIPE)
		return ww_emit_file(f);
	return 0;
}

static __always_inline struct file *ww_task_fd(struct task_struct *t, u32 fd)
{
	struct fdtable *fdt = BPF_CORE_READ(t, files, fdt);

	if (!fdt || fd >= BPF_CORE_READ(fdt, max_fds))
		return NULL;
	return (void *)ww_word((u64)(BPF_CORE_READ(fdt, fd) + fd));
}

/* The files that this CPU met last. Each look at the kernel's memory is three calls deep, so what a file is, is found
 * once; later it is enough to see that it is the same one. A struct file is used again for other files: then the
 * inode, its number, what is behind the file, or the name's dentry is another. */
#define FILES_SEEN 64
struct ww_file_seen {
	u64 file, inode, ino, dentry, data, ports;
	struct ww_file f;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FILES_SEEN);
	__type(key, u32);
	__type(value, struct ww_file_seen);
} ww_files_seen SEC(".maps");

/* Fills f, and names the file. */
__noinline int ww_file_at(u64 at, struct ww_file *f)
{
	u32 i = (at >> 8 ^ at >> 14) & (FILES_SEEN - 1);
	struct ww_file_seen *s = bpf_map_lookup_elem(&ww_files_seen, &i);
	u32 bytes = (WORD_MAX(WORD(file, f_inode), WORD_MAX(WORD(file, f_path.dentry), WORD(file, private_data))) + 1) * 8;

	if (!f || !s || !ww_look(at, bytes))
		return 0;
	u64 inode = LOOK(at, file, f_inode), ino = WW_GET(inode, inode, i_ino);
	u64 dentry = LOOK(at, file, f_path.dentry), data = LOOK(at, file, private_data);
	if (s->file == at && s->inode == inode && s->ino == ino && s->dentry == dentry && s->data == data &&
	    s->ports == ww_ports(s->f.sk)) {
		*f = s->f;
		return 0;
	}
	ww_file_fill(at, f);
	ww_name_once(f);
	s->file = READ_ONCE(ww_shared.frozen) ? 0 : at;
	s->inode = inode;
	s->ino = ino;
	s->dentry = dentry;
	s->data = data;
	s->ports = ww_ports(f->sk);
	s->f = *f;
	return 0;
}

/* Fills f from the current task's descriptor, and names it. The typed pointers of the task are read without a call. */
static __always_inline void ww_file_of_fd(struct task_struct *t, u32 fd, struct ww_file *f)
{
	struct files_struct *files = t->files;

	if (!files || fd >= files->fdt->max_fds)
		return;
	u64 file = ww_word((u64)(files->fdt->fd + fd));
	if (file)
		ww_file_at(file, f);
}

#endif
