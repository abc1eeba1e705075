/* host_json.h - what every JSON answer says of a host's clock and losses, docs/json.md. */
#ifndef WW_HOST_JSON_H
#define WW_HOST_JSON_H

#include "analysis/analysis.h"
#include "base/jsonout.h"
#include "clock/set.h"

/* "clock": {...}; accuracy: of its correction in a set of hosts, NULL none is told. */
void ww_json_clock(struct ww_json *j, const struct ww_facts *f, const char *accuracy);
/* "not_reached": the hosts of the set that share no packets with the reference, by name. */
void ww_json_not_reached(struct ww_json *j, const struct ww_set *s);
/* "loss": {...} */
void ww_json_loss(struct ww_json *j, const struct ww_loss *loss);

/* "not_recorded": kinds of events that the answer is made of and the trace has not. */
void ww_json_lacks(struct ww_json *j, const struct ww_lack *lacks, uint32_t n);

#endif
