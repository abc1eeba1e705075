/* analysis_own_cost.c - the bound of what recording system calls costs, of calls that are laid by hand. */
#include "analysis/report.h"
#include "../tap.h"
#include "path_scene.h"

int main(void)
{
	struct play p;
	uint32_t calls;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 1000), b = actor(&p, "b", 0, 1000);
	/* 30 before, 40 in the shortest call, 25 between the nearest two. */
	add_syscall(&p.f, a, "read", 30, 90, -1, WW_NONE);
	add_syscall(&p.f, a, "read", 115, 155, -1, WW_NONE);
	add_syscall(&p.f, a, "read", 300, 500, -1, WW_NONE);
	p.f.syscall.known[add_syscall(&p.f, a, "exit_group", 510, 511, -1, WW_NONE)] = WW_SK_ENTRY; /* does not return */
	add_syscall(&p.f, b, "read", 100, 101, -1, WW_NONE);
	runs(&p, a, 1000), runs(&p, b, 1000);
	play_end(&p);
	is_i64(ww_own_cost_bound(&p.f, a, 0, 1000, &calls), 3 * (40 + 25), "calls times the shortest of both");
	is_i64(calls, 3, "of three calls, as the fourth did not return");
	is_i64(ww_own_cost_bound(&p.f, a, 100, 1000, &calls), 2 * (40 + 145), "of a range");
	is_i64(calls, 2, "two calls begin in it");
	is_i64(ww_own_cost_bound(&p.f, b, 0, 1000, &calls), 0, "of one call nothing is known");
	play_release(&p);
	return done_testing();
}
