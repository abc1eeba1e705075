/* loopback.c - who woke, when a packet did that was sent on this host and the trace has no packets.
 *
 * What a thread sends to its own host is put on its CPU's queue, NET_RX is asked for (raised), and as soon as
 * the call lets softirqs run again it comes, on top of that call: what it wakes is woken by what the thread sent.
 *
 *   20 calls write | raise NET_RX | NET_RX begins | wakes 10 | NET_RX ends | 20's write returns
 *
 * That it was so is proven, else nobody is named:
 * - every raise since the CPU was last known to have nothing to receive (NET_RX began and cleared them; the idle
 *   thread was chosen, which ksoftirqd goes before) came from that one call, in the thread's own context, and is
 *   worked off in that call. What NET_RX leaves over it raises itself, from its own context;
 * - no interrupt came on top of NET_RX: while it runs, a device's may add to it and need not raise;
 * - the call is one that sends. (Polling calls may raise to look after a device.) And who is woken waits for
 *   something to come, not for room to send: a driver that cleans up behind what others sent may use the moment.
 *   What a poll waits for is not seen; a UDP socket that was full and sends to another host could be such a one.
 * source net/core/dev.c:enqueue_to_backlog, ____napi_schedule, net_rx_action;
 * kernel/softirq.c:__raise_softirq_irqoff, __local_bh_enable_ip; drivers/net/virtio_net.c:start_xmit
 */
#include "model/model_private.h"

void ww_loopback_forget(struct ww_cpu *c)
{
	c->rx_known = false;
	c->rx_call = WW_NONE;
}

void ww_loopback_switched(struct ww_cpu *c, bool to_idle)
{
	if (to_idle)
		c->rx_known = true;
	else if (c->rx_call != WW_NONE) /* worked off by another than the call, or not yet */
		c->rx_known = false;
	c->rx_call = WW_NONE;
}

/* In a call that began after the CPU was known, and that sends. */
static bool is_sending(const struct ww_model *m, const struct ww_thr *t)
{
	const struct ww_facts *f = m->f;

	return t->in_syscall && f->syscall.known[t->sc_row] & WW_SK_ENTRY &&
	       f->syscall.start_ts_ns[t->sc_row] >= m->cpu->known_from &&
	       ww_sysinfo_sends(ww_facts_str(f, f->syscall.name[t->sc_row]));
}

void ww_loopback_raised(struct ww_model *m, int32_t flags)
{
	struct ww_cpu *c = m->cpu;
	struct ww_thr *t = ww_thr_current(m);
	bool own = !c->depth && t && !t->idle && is_sending(m, t) &&
		   (flags >= 0 ? !(flags & WW_IN_INTERRUPT) : ww_contexts_are_recorded(m));

	if (!own || (c->rx_call != WW_NONE && c->rx_call != t->sc_row))
		c->rx_known = false;
	else
		c->rx_call = t->sc_row;
}

void ww_loopback_entered(struct ww_model *m)
{
	struct ww_cpu *c = m->cpu;
	struct ww_thr *t = ww_thr_current(m);

	if (c->rx_known && c->rx_call != WW_NONE && c->depth == 1 && t && t->in_syscall && t->sc_row == c->rx_call)
		c->frame[0].sent_in = c->rx_call;
	c->rx_known = true;
	c->rx_call = WW_NONE;
}

bool ww_loopback_woke(const struct ww_model *m, const struct ww_thr *wakee, bool waking, uint32_t target_cpu)
{
	const struct ww_cpu *c = m->cpu;

	if (c->depth != 1 || c->frame[0].sent_in == WW_NONE || m->f->packet.n || !m->has_irq)
		return false;
	/* Else only put on the run queue here, on behalf of another CPU's waker. */
	bool direct = waking || (target_cpu != WW_NONE && target_cpu != m->cpu_nr);
	/* It may be woken by an interrupt that is not recorded. */
	if (!direct || (m->wake_flags >= 0 ? m->wake_flags & WW_IN_HARD_INTERRUPT : !ww_contexts_are_recorded(m)))
		return false;
	return wakee->in_syscall && (wakee->sc->wait == WW_W_FD || wakee->sc->wait == WW_W_POLL) &&
	       !ww_sysinfo_sends(wakee->sc->name);
}
