/* function.bpf.h - the names of the kernel's functions that timers and work items call, told at their first use:
 * whywait_function: address name. */
#ifndef WW_FUNCTION_BPF_H
#define WW_FUNCTION_BPF_H

#include "ring.bpf.h"

struct ww_function ww_functions[WW_FUNCTIONS];

__noinline int ww_emit_function(u32 at, u64 address)
{
	struct ww_function *f = &ww_functions[at & (WW_FUNCTIONS - 1)];
	static const char fmt[] = "%ps";
	struct ww_slot s;

	if (READ_ONCE(ww_shared.frozen) || __sync_val_compare_and_swap(&f->address, 0, address))
		return 0; /* or another CPU was faster */
	long bytes = bpf_snprintf(f->name, sizeof(f->name), fmt, &address, sizeof(address));
	u32 n = bytes > WW_FUNCTION_NAME ? WW_FUNCTION_NAME : bytes;

	if (bytes <= 1)
		return 0;
	u8 *p = ww_reserve(&s, WW_EV_WHYWAIT_FUNCTION, 8 + n);
	if (!p)
		return 0;
	ww_put64(p, 0, address);
	bpf_probe_read_kernel(p + 8, n & 63, f->name);
	ww_commit(&s);
	return 0;
}

/* The verifier knows where the address comes from and lets nobody count with it; what is read from a map is a number.
 * An interrupt's may have come in between: then that one is looked at, and this one next time. */
static __always_inline void ww_saw_function(u64 pointer)
{
	u64 *number = &ww_ctl[bpf_get_smp_processor_id() & (WW_MAX_CPUS - 1)].function;

	WRITE_ONCE(*number, pointer);

	u64 address = READ_ONCE(*number);
	u32 at = (u32)(address >> 4 ^ address >> 14) & (WW_FUNCTIONS - 1);

	if (ww_functions[at].address == address || ww_functions[at ^ 1].address == address)
		return;
	if (ww_functions[at].address)
		at ^= 1;
	if (!ww_functions[at].address)
		ww_emit_function(at, address);
}

#endif
