/* host_json.c - a host's clock and losses in JSON. */
#include "view/host_json.h"

void ww_json_clock(struct ww_json *j, const struct ww_facts *f, const char *accuracy)
{
	ww_json_obj(j, "clock");
	ww_json_str(j, "name", f->host.clock_name);
	ww_json_i64(j, "offset_ns", ww_set_epoch_offset(f));
	ww_json_bool(j, "epoch_known", f->host.epoch_known);
	if (accuracy)
		ww_json_str(j, "accuracy", accuracy);
	ww_json_end(j);
}

void ww_json_loss(struct ww_json *j, const struct ww_loss *loss)
{
	ww_json_obj(j, "loss");
	ww_json_u64(j, "lost_events", loss->lost_events);
	ww_json_u64(j, "bad_packets", loss->bad_packets);
	ww_json_u64(j, "out_of_order", loss->out_of_order);
	ww_json_u64(j, "unseen_switches", loss->unseen_switches);
	ww_json_i64(j, "gap_ns", loss->gap_ns);
	ww_json_end(j);
}

void ww_json_lacks(struct ww_json *j, const struct ww_lack *lacks, uint32_t n)
{
	ww_json_arr(j, "not_recorded");
	for (uint32_t i = 0; i < n; i++) {
		ww_json_obj(j, NULL);
		ww_json_str(j, "what", lacks[i].what);
		ww_json_str(j, "events", lacks[i].events);
		ww_json_bool(j, "all", lacks[i].all);
		if (lacks[i].threads)
			ww_json_u64(j, "threads", lacks[i].threads);
		ww_json_end(j);
	}
	ww_json_end(j);
}
