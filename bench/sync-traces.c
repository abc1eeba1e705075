/* sync-traces.c - writes the traces of hosts that talk with one another, for measuring `whywait sync` as a whole.
 *
 *   sync-traces DIR HOSTS PACKETS      DIR/h0, DIR/h1, ...: CTF, only packets, the traffic of sync_traffic.h
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/ctf/writer.h"
#include "record/classes.h"
#include "sync_traffic.h"

struct sink {
	struct ww_ctf_out out;
	uint32_t send, receive; /* class ids */
	struct ww_err err;
};

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v & 0xffff);
}

/* The fields of net_dev_queue and net_if_receive_skb: address, length, device, then the headers of the wire. */
static void write_packet(void *ctx, const struct ww_packet *p)
{
	struct sink *s = ctx;
	uint8_t ip[20] = {0x45}, tcp[20] = {0};

	put16(ip + 2, 40 + p->payload);
	ip[8] = 64;
	ip[9] = p->proto;
	put32(ip + 12, (uint32_t)p->saddr_lo);
	put32(ip + 16, (uint32_t)p->daddr_lo);
	put16(tcp, p->sport);
	put16(tcp + 2, p->dport);
	put32(tcp + 4, p->seq);
	put32(tcp + 8, p->ack);
	tcp[12] = 0x50;
	tcp[13] = p->tcp_flags;
	if (ww_ctf_rec_begin(&s->out, p->sent ? s->send : s->receive, (uint64_t)p->ts_ns, &s->err))
		exit(1);
	ww_ctf_rec_u64(&s->out, 0xffff888000000000);
	ww_ctf_rec_u32(&s->out, 40 + p->payload);
	ww_ctf_rec_str(&s->out, "eth0");
	ww_ctf_rec_u8(&s->out, 1);
	ww_ctf_rec_bytes(&s->out, ip, sizeof(ip));
	ww_ctf_rec_u8(&s->out, 1);
	ww_ctf_rec_bytes(&s->out, tcp, sizeof(tcp));
	ww_ctf_rec_end(&s->out);
}

static void write_host(const char *dir, uint32_t self, uint32_t hosts, uint32_t packets)
{
	const struct ww_class *cls[] = {ww_class_find("net_dev_queue"), ww_class_find("net_if_receive_skb")};
	struct ww_ctf_class c[2];
	struct sink s = {.send = cls[0]->id, .receive = cls[1]->id};
	char path[4096], uuid[40];

	for (int i = 0; i < 2; i++)
		c[i] = (struct ww_ctf_class){cls[i]->id, cls[i]->name, cls[i]->body};
	snprintf(uuid, sizeof(uuid), "da73ec23-9747-4445-b5bd-43ebe3b2%04x", self);
	snprintf(path, sizeof(path), "%s/h%u", dir, self);
	mkdir(dir, 0755);
	mkdir(path, 0755);
	struct ww_ctf_meta m = {.clock_uuid = uuid, .clock_offset_ns = 1700000000000000000, .trace_name = "sync",
				.creation = "20260101T000000+0000", .classes = c, .nclasses = 2};
	int fd = open(path, O_RDONLY | O_DIRECTORY);
	if (fd < 0 || ww_ctf_uuid_make(m.uuid, &s.err) || ww_ctf_meta_write(fd, "metadata", &m, &s.err) ||
	    ww_ctf_out_open(&s.out, fd, "c0_0", m.uuid, 0, 0, &s.err))
		exit(1);
	sync_traffic(self, hosts, packets, write_packet, &s);
	if (ww_ctf_out_close(&s.out, &s.err))
		exit(1);
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	for (uint32_t h = 0; h < (uint32_t)atoi(argv[2]); h++)
		write_host(argv[1], h, (uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]));
	return 0;
}
