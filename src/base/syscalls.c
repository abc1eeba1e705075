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

/* Functions whose names cannot be derived. */
static const struct {
	const char *function, *call;
} renamed[] = {{"umount", "umount2"}, {"llseek", "_llseek"}, {"sysctl", "_sysctl"}, {"newselect", "_newselect"}, {"old_getrlimit", "getrlimit"},
	       {"old_readdir", "readdir"}, {"old_select", "select"}, {"old_mmap", "mmap"}, {"mmap_pgoff", "mmap2"}};
static const char *const endings[] = {"", "_time32", "64", "32", "16"};

const char *ww_syscall_user_name(enum ww_abi abi, const char *name, char *buf, size_t size)
{
	if (ww_syscall_number(abi, name) >= 0)
		return name;
	for (size_t i = 0; i < WW_ARRAY_SIZE(renamed); i++)
		if (!strcmp(renamed[i].function, name) && ww_syscall_number(abi, renamed[i].call) >= 0)
			return renamed[i].call;
	const char *base = !strncmp(name, "new", 3) ? name + 3 : name;
	for (size_t i = 0; i < WW_ARRAY_SIZE(endings); i++) {
		const size_t n = strlen(base), cut = strlen(endings[i]);
		if (n <= cut || n - cut >= size || strcmp(base + n - cut, endings[i]))
			continue;
		memcpy(buf, base, n - cut);
		buf[n - cut] = 0;
		if (ww_syscall_number(abi, buf) >= 0)
			return buf;
	}
	return name;
}
