/* statedump_sock.c - the sockets there are: addresses, ports, and which unix socket is whose peer.
 *
 * From sock_diag (the kernel's own answer to ss); where a protocol's diag module is missing, from
 * /proc/net, which has no unix peers. Network namespaces are entered one after the other (a socket's inode
 * number is unique over all of them); without the right to, only our own is seen.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/bpf/event_ids.h"
#include "record/statedump.h"

static struct ww_dump_sock *socks_push(struct ww_dump_socks *s, uint64_t ino)
{
	bool is_new;

	if (!ino) /* a socket that no descriptor names: closing, or not accepted yet */
		return NULL;
	ww_u64map_get(&s->by_ino, ino, s->n, &is_new);
	if (!is_new)
		return NULL;
	if (s->n == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 256;
		s->v = ww_xrealloc(s->v, s->cap * sizeof(*s->v));
	}
	struct ww_dump_sock *r = &s->v[s->n++];
	*r = (struct ww_dump_sock){.ino = ino};
	return r;
}

/* ---- sock_diag ---- */

static void take_inet(struct ww_dump_socks *s, const struct nlmsghdr *h, uint8_t proto)
{
	const struct inet_diag_msg *m = NLMSG_DATA(h);

	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
		return;
	struct ww_dump_sock *k = socks_push(s, m->idiag_inode);
	if (!k)
		return;
	k->family = m->idiag_family;
	k->proto = proto;
	k->type = proto == IPPROTO_TCP ? SOCK_STREAM : SOCK_DGRAM;
	k->kind = proto == IPPROTO_TCP ? WW_DK_SOCK_TCP : WW_DK_SOCK_UDP;
	k->sport = ntohs(m->id.idiag_sport);
	k->dport = ntohs(m->id.idiag_dport);
	memcpy(k->saddr, m->id.idiag_src, m->idiag_family == AF_INET ? 4 : 16);
	memcpy(k->daddr, m->id.idiag_dst, m->idiag_family == AF_INET ? 4 : 16);
}

static void take_unix(struct ww_dump_socks *s, const struct nlmsghdr *h)
{
	const struct unix_diag_msg *m = NLMSG_DATA(h);

	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
		return;
	struct ww_dump_sock *k = socks_push(s, m->udiag_ino);
	if (!k)
		return;
	k->family = AF_UNIX;
	k->type = m->udiag_type;
	k->kind = WW_DK_SOCK_UNIX;
	unsigned left = h->nlmsg_len - NLMSG_LENGTH(sizeof(*m));
	const struct nlattr *a = (const void *)(m + 1);
	while (left >= sizeof(*a) && a->nla_len >= sizeof(*a) && a->nla_len <= left) {
		const char *data = (const char *)(a + 1);
		size_t n = a->nla_len - sizeof(*a);
		if (a->nla_type == UNIX_DIAG_PEER && n >= 4) {
			uint32_t peer;
			memcpy(&peer, data, 4);
			k->peer_ino = peer;
		} else if (a->nla_type == UNIX_DIAG_NAME && n > 0) {
			k->path = ww_xasprintf("%s%.*s", data[0] ? "" : "@", (int)(data[0] ? n : n - 1),
					       data[0] ? data : data + 1);
		}
		unsigned step = WW_MIN(left, (unsigned)NLMSG_ALIGN(a->nla_len));
		left -= step;
		a = (const void *)((const char *)a + step);
	}
}

/* Reads the answers to one dump request; false when the kernel cannot answer it. */
static bool diag_receive(struct ww_dump_socks *s, int fd, uint8_t family, uint8_t proto)
{
	static const size_t size = 64 * 1024;
	char *buf = ww_xmalloc(size);
	bool ok = true, done = false;

	while (!done) {
		ssize_t n = recv(fd, buf, size, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			ok = false;
			break;
		}
		unsigned left = (unsigned)n;
		for (struct nlmsghdr *h = (void *)buf; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
			if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR) {
				ok = h->nlmsg_type == NLMSG_DONE;
				done = true;
				break;
			}
			if (family == AF_UNIX)
				take_unix(s, h);
			else
				take_inet(s, h, proto);
		}
	}
	free(buf);
	return ok;
}

static bool diag_dump(struct ww_dump_socks *s, int fd, uint8_t family, uint8_t proto)
{
	struct {
		struct nlmsghdr h;
		union {
			struct inet_diag_req_v2 in;
			struct unix_diag_req un;
		};
	} q = {.h = {.nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};

	if (family == AF_UNIX) {
		q.h.nlmsg_len = NLMSG_LENGTH(sizeof(q.un));
		q.un = (struct unix_diag_req){.sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX,
					      .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER};
	} else {
		q.h.nlmsg_len = NLMSG_LENGTH(sizeof(q.in));
		q.in = (struct inet_diag_req_v2){.sdiag_family = family, .sdiag_protocol = proto,
						 .idiag_states = UINT32_MAX};
	}
	struct sockaddr_nl to = {.nl_family = AF_NETLINK};
	if (sendto(fd, &q, q.h.nlmsg_len, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
		return false;
	return diag_receive(s, fd, family, proto);
}

/* ---- /proc/net ---- */

/* "  0: 0100007F:1F90 00000000:0000 0A ... uid timeout inode": addresses as 32-bit words in host order. */
static void proc_inet(struct ww_dump_socks *s, const char *path, uint8_t family, uint8_t proto)
{
	FILE *f = fopen(path, "re");
	char line[512];

	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		char src[40], dst[40];
		unsigned sport, dport;
		unsigned long long ino;
		if (sscanf(line, " %*d: %32[0-9A-F]:%x %32[0-9A-F]:%x %*x %*x:%*x %*x:%*x %*x %*u %*u %llu",
			   src, &sport, dst, &dport, &ino) != 5)
			continue;
		struct ww_dump_sock *k = socks_push(s, ino);
		if (!k)
			continue;
		k->family = family;
		k->proto = proto;
		k->type = proto == IPPROTO_TCP ? SOCK_STREAM : SOCK_DGRAM;
		k->kind = proto == IPPROTO_TCP ? WW_DK_SOCK_TCP : WW_DK_SOCK_UDP;
		k->sport = (uint16_t)sport;
		k->dport = (uint16_t)dport;
		for (size_t w = 0; w < (family == AF_INET ? 1 : 4); w++) {
			unsigned a = 0, b = 0;
			(void)sscanf(src + 8 * w, "%8x", &a);
			(void)sscanf(dst + 8 * w, "%8x", &b);
			memcpy(k->saddr + 4 * w, &a, 4);
			memcpy(k->daddr + 4 * w, &b, 4);
		}
	}
	fclose(f);
}

/* "Num RefCount Protocol Flags Type St Inode Path" */
static void proc_unix(struct ww_dump_socks *s)
{
	FILE *f = fopen("/proc/net/unix", "re");
	char line[512];

	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		unsigned type;
		unsigned long long ino;
		char path[256] = "";
		if (sscanf(line, "%*[^:]: %*x %*x %*x %x %*x %llu %255s", &type, &ino, path) < 2)
			continue;
		struct ww_dump_sock *k = socks_push(s, ino);
		if (!k)
			continue;
		k->family = AF_UNIX;
		k->type = (uint8_t)type;
		k->kind = WW_DK_SOCK_UNIX;
		k->path = *path ? ww_xstrdup(path) : NULL;
	}
	fclose(f);
}

/* "sk Eth Pid Groups Rmem Wmem Dump Locks Drops Inode" */
static void proc_netlink(struct ww_dump_socks *s)
{
	FILE *f = fopen("/proc/net/netlink", "re");
	char line[256];

	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		unsigned proto;
		unsigned long long ino;
		if (sscanf(line, "%*x %u %*u %*x %*d %*d %*d %*d %*d %llu", &proto, &ino) != 2)
			continue;
		struct ww_dump_sock *k = socks_push(s, ino);
		if (!k)
			continue;
		k->family = AF_NETLINK;
		k->type = SOCK_RAW;
		k->proto = (uint8_t)proto;
		k->kind = WW_DK_SOCK_NETLINK;
	}
	fclose(f);
}

static void collect_here(struct ww_dump_socks *s)
{
	static const struct {
		uint8_t family, proto;
		const char *proc;
	} inet[] = {{AF_INET, IPPROTO_TCP, "/proc/net/tcp"}, {AF_INET6, IPPROTO_TCP, "/proc/net/tcp6"},
		    {AF_INET, IPPROTO_UDP, "/proc/net/udp"}, {AF_INET6, IPPROTO_UDP, "/proc/net/udp6"}};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	for (size_t i = 0; i < WW_ARRAY_SIZE(inet); i++)
		if (fd < 0 || !diag_dump(s, fd, inet[i].family, inet[i].proto))
			proc_inet(s, inet[i].proc, inet[i].family, inet[i].proto);
	if (fd < 0 || !diag_dump(s, fd, AF_UNIX, 0))
		proc_unix(s);
	proc_netlink(s);
	if (fd >= 0)
		close(fd);
}

/* Enters the namespace of each process that is in one not seen yet. */
static void collect_elsewhere(struct ww_dump_socks *s, struct ww_u64map *seen, DIR *proc)
{
	for (struct dirent *e; (e = readdir(proc));) {
		char path[300];
		struct stat st;
		bool is_new;
		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "%s/ns/net", e->d_name);
		if (fstatat(dirfd(proc), path, &st, 0))
			continue;
		ww_u64map_get(seen, st.st_ino, 1, &is_new);
		int fd = is_new ? openat(dirfd(proc), path, O_RDONLY | O_CLOEXEC) : -1;
		if (fd < 0)
			continue;
		if (!setns(fd, CLONE_NEWNET))
			collect_here(s);
		close(fd);
	}
}

void ww_dump_socks_collect(struct ww_dump_socks *s)
{
	struct ww_u64map seen = {0};
	struct stat st;
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	DIR *proc = home < 0 ? NULL : opendir("/proc");

	collect_here(s);
	if (proc && !fstat(home, &st)) {
		ww_u64map_put(&seen, st.st_ino, 1);
		collect_elsewhere(s, &seen, proc);
		(void)!setns(home, CLONE_NEWNET);
	}
	if (proc)
		closedir(proc);
	if (home >= 0)
		close(home);
	ww_u64map_release(&seen);
}

void ww_dump_socks_release(struct ww_dump_socks *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i].path);
	free(s->v);
	ww_u64map_release(&s->by_ino);
	*s = (struct ww_dump_socks){0};
}

int ww_dump_sock_write(const struct ww_dump_sock *k, struct ww_ctf_out *o, struct ww_err *err)
{
	int rc = ww_ctf_rec_begin(o, WW_EV_WHYWAIT_SOCK, ww_dump_now_ns(), err);

	if (rc)
		return rc;
	ww_ctf_rec_u64(o, k->ino);
	ww_ctf_rec_u16(o, k->family);
	ww_ctf_rec_u8(o, k->type);
	ww_ctf_rec_u8(o, k->proto);
	ww_ctf_rec_u16(o, k->sport);
	ww_ctf_rec_u16(o, k->dport);
	ww_ctf_rec_bytes(o, k->saddr, 16);
	ww_ctf_rec_bytes(o, k->daddr, 16);
	ww_ctf_rec_u64(o, k->peer_ino);
	ww_ctf_rec_end(o);
	return 0;
}

int ww_dump_socks_write(const struct ww_dump_socks *s, struct ww_ctf_out *o, struct ww_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < s->n; i++)
		rc = ww_dump_sock_write(&s->v[i], o, err);
	return rc;
}
