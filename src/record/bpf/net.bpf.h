/* net.bpf.h - packets with their headers, the sockets they belong to. */
#ifndef WW_NET_BPF_H
#define WW_NET_BPF_H

#include "current.bpf.h"
#include "file.bpf.h"

enum { HDR_NONE, HDR_IPV4, HDR_IPV6 };
enum { TP_NONE, TP_TCP, TP_UDP, TP_ICMP };

/* net_dev_queue, net_if_receive_skb: skbaddr len name network_header_type, then the headers as they are on
 * the wire, each followed by the kind of the next: LTTng's fields are the wire's. */
static __always_inline void ww_emit_skb(u32 id, struct sk_buff *skb, u8 *ip)
{
	struct net_device *dev = skb->dev;
	u16 ether = bpf_ntohs(skb->protocol);
	u8 kind = HDR_NONE, tp = TP_NONE, proto = 0;
	u32 ip_len = 0, skip = 0, tp_len = 0, n = 1, total;
	char name[16] = {};
	u8 h[40] = {};
	struct ww_slot s;
	u8 *p;

	if (dev) {
		long r = bpf_probe_read_kernel_str(name, sizeof(name), dev->name);
		if (r > 0)
			n = r;
	}
	if (ether == 0x0800 && !bpf_probe_read_kernel(h, 20, ip) && h[0] >> 4 == 4) {
		kind = HDR_IPV4;
		ip_len = 20;
		skip = (h[0] & 15) * 4;
		/* Only the first fragment has the transport's header. */
		proto = (h[6] & 0x1f) | h[7] ? 0 : h[9];
	} else if (ether == 0x86dd && !bpf_probe_read_kernel(h, 40, ip) && h[0] >> 4 == 6) {
		kind = HDR_IPV6;
		ip_len = skip = 40;
		proto = h[6];
	}
	if (proto == 6)
		tp = TP_TCP, tp_len = 20;
	else if (proto == 17)
		tp = TP_UDP, tp_len = 8;
	else if (proto == 1)
		tp = TP_ICMP, tp_len = 8;
	n = ((n - 1) & 15) + 1;
	total = 12 + n + 1 + (kind ? ip_len + 1 + tp_len : 0);
	p = ww_reserve(&s, id, total);
	if (!p)
		return;
	ww_put64(p, 0, (u64)skb);
	ww_put32(p, 8, skb->len);
	bpf_probe_read_kernel(p + 12, n, name);
	p += 12 + n;
	ww_put8(p, 0, kind);
	if (kind) {
		p++;
		bpf_probe_read_kernel(p, ip_len & 63, h);
		p += ip_len & 63;
		ww_put8(p, 0, tp);
		if (tp_len)
			bpf_probe_read_kernel(p + 1, tp_len & 31, ip + skip);
	}
	ww_commit(&s);
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(ww_net_dev_queue, struct sk_buff *skb)
{
	ww_see(bpf_get_current_task_btf());
	ww_emit_skb(WW_EV_NET_DEV_QUEUE, skb, skb->head + skb->network_header);
	return 0;
}

/* The network header's place is set only after this tracepoint, but that is where data points. */
SEC("tp_btf/netif_receive_skb")
int BPF_PROG(ww_netif_receive_skb, struct sk_buff *skb)
{
	ww_emit_skb(WW_EV_NET_IF_RECEIVE_SKB, skb, skb->data);
	return 0;
}

/* whywait_sk_ready: ino sport dport proto. Since 6.3 (40e0b0908142). */
SEC("tp_btf/sk_data_ready")
int BPF_PROG(ww_sk_data_ready, struct sock *sk)
{
	u16 family = sk->__sk_common.skc_family;
	bool inet = family == 2 || family == 10;
	u64 ino = ww_socket_ino(WW_GET(sock, sk, sk_socket));
	struct ww_slot s;
	u8 *p = ww_reserve_here(&s, WW_EV_WHYWAIT_SK_READY, 13);

	if (!p)
		return 0;
	ww_put64(p, 0, ino);
	ww_put16(p, 8, inet ? sk->__sk_common.skc_num : 0);
	ww_put16(p, 10, inet ? bpf_ntohs(sk->__sk_common.skc_dport) : 0);
	ww_put8(p, 12, sk->sk_protocol);
	ww_commit(&s);
	return 0;
}

#endif
