/* syscalls.c - the tables. */
#include "base/syscalls.h"

#include "base/words.h"

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

static struct ww_words tables[WW_ABI_N] = {
	[WW_ABI_X86_64] = WW_WORDS(x86_64, x86_64[0]),
	[WW_ABI_I386] = WW_WORDS(i386, i386[0]),
	[WW_ABI_X32] = WW_WORDS(x32, x32[0]),
	[WW_ABI_AARCH64] = WW_WORDS(aarch64, aarch64[0]),
};

const char *ww_syscall_name(enum ww_abi abi, int64_t nr)
{
	if ((unsigned)abi >= WW_ABI_N)
		return NULL;
	if (abi == WW_ABI_X32)
		nr &= ~(int64_t)X32_BIT;
	return nr >= 0 && (uint64_t)nr < tables[abi].n ? tables[abi].first[nr] : NULL;
}

int64_t ww_syscall_number(enum ww_abi abi, const char *name)
{
	return (unsigned)abi < WW_ABI_N ? ww_words_find(&tables[abi], name) : -1;
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
