/* syscalls.h - system call names and numbers per architecture.
 *
 * source arch/x86/entry/syscalls/syscall_{64,32}.tbl and include/uapi/asm-generic/unistd.h, as Linux 6.18
 *        has them; one file a table in syscalls/, shipped so that a trace of one machine can be read on
 *        another.
 */
#ifndef WW_SYSCALLS_H
#define WW_SYSCALLS_H

#include "base/base.h"

enum ww_abi { WW_ABI_X86_64, WW_ABI_I386, WW_ABI_X32, WW_ABI_AARCH64, WW_ABI_N };

/* NULL when the number has no name. For x32 the number may carry bit 0x40000000. */
const char *ww_syscall_name(enum ww_abi abi, int64_t nr);
/* -1 when there is none. */
int64_t ww_syscall_number(enum ww_abi abi, const char *name);

/* The name that programs, strace and manual pages use, of a call that a tracer names after the kernel's function:
 * "newuname" is "uname", "sendfile64" "sendfile" where the architecture's table has no call of the former name. */
const char *ww_syscall_user_name(enum ww_abi abi, const char *name, char *buf, size_t size);

#endif
