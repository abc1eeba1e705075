/* syscalls.c - the tables. Numbers are looked up by name once per event class, so a scan does. */
#include "base/syscalls.h"

static const char *const x86_64[] = {
#include "base/syscalls/x86_64.inc"
};
static const char *const i386[] = {
#include "base/syscalls/i386.inc"
};
static const char *const x32[] = {
#include "base/syscalls/x32.inc"
};
static const char *const aarch64[] = {
#include "base/syscalls/aarch64.inc"
};

#define X32_BIT 0x40000000

static const struct table {
	const char *const *names;
	size_t n;
} tables[WW_ABI_N] = {
	[WW_ABI_X86_64] = {x86_64, WW_ARRAY_SIZE(x86_64)},
	[WW_ABI_I386] = {i386, WW_ARRAY_SIZE(i386)},
	[WW_ABI_X32] = {x32, WW_ARRAY_SIZE(x32)},
	[WW_ABI_AARCH64] = {aarch64, WW_ARRAY_SIZE(aarch64)},
};

const char *ww_syscall_name(enum ww_abi abi, int64_t nr)
{
	if ((unsigned)abi >= WW_ABI_N)
		return NULL;
	if (abi == WW_ABI_X32)
		nr &= ~(int64_t)X32_BIT;
	const struct table *t = &tables[abi];
	return nr >= 0 && (uint64_t)nr < t->n ? t->names[nr] : NULL;
}

int64_t ww_syscall_number(enum ww_abi abi, const char *name)
{
	if ((unsigned)abi >= WW_ABI_N)
		return -1;
	for (size_t i = 0; i < tables[abi].n; i++)
		if (tables[abi].names[i] && !strcmp(tables[abi].names[i], name))
			return (int64_t)i;
	return -1;
}
