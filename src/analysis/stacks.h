/* stacks.h - call stacks of waits (record --stacks), for other analyses. */
#ifndef WW_STACKS_H
#define WW_STACKS_H

#include "analysis/analysis.h"

/* The stack of the program (kernel false) or of the kernel at the switch with which the wait began, a stack index;
 * WW_NONE: not recorded. */
uint32_t ww_stack_of_wait(const struct ww_facts *f, uint32_t state, bool kernel);
/* "futex_wait < lock < main", the innermost first; "" of WW_NONE. In `mem`. */
const char *ww_stack_text(struct ww_arena *mem, const struct ww_facts *f, uint32_t stack);

#endif
