/* tracepoints.h - the kernel's tracepoints by name, found in one pass over its type information; what else that says. */
#ifndef WW_TRACEPOINTS_H
#define WW_TRACEPOINTS_H

#include "base/base.h"
#include "base/err.h"

struct ww_tracepoints;

/* -WW_EKERNEL: the kernel has no type information. While it lives, libbpf loads the programs for typed tracepoints
 * ("tp_btf/NAME") with its ids, on this thread, instead of looking through all types again for each.
 * source tools/lib/bpf/libbpf.h: libbpf_register_prog_handler */
int ww_tracepoints_new(struct ww_tracepoints **ret, struct ww_err *err);
void ww_tracepoints_free(struct ww_tracepoints *t);
/* The number of a tracepoint's arguments, its own data pointer among them; 0 when there is no such. */
uint32_t ww_tracepoints_args(const struct ww_tracepoints *t, const char *name);
/* It has bpf_rdonly_cast, which makes a typed pointer of an address. */
bool ww_tracepoints_casts(const struct ww_tracepoints *t);

#endif
