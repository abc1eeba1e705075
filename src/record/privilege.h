/* privilege.h - who invoked us, and giving up what is not needed any more. */
#ifndef WW_PRIVILEGE_H
#define WW_PRIVILEGE_H

#include <sys/types.h>

#include "base/err.h"

struct ww_invoker {
	uid_t uid;
	gid_t gid;
	char name[64], home[256], shell[128]; /* "" unknown */
};

/* ww_privilege_invoker - the person behind sudo, from SUDO_UID and SUDO_GID; false when we are not root, or
 * not run through sudo, or by root itself. */
bool ww_privilege_invoker(struct ww_invoker *ret);

/* ww_privilege_become - the calling process becomes that person: groups, ids, HOME, USER, LOGNAME, SHELL.
 * Capabilities go with the uid. 0 or an errno. Meant for a child before it executes. */
int ww_privilege_become(const struct ww_invoker *who);

enum ww_keep {
	WW_KEEP_KILL = 1,  /* CMD may run as somebody else, and signals are passed on to it */
	WW_KEEP_GIVE = 2,  /* the trace is given to the invoker when all is done */
	WW_KEEP_PROC = 4,  /* a snapshot reads all of /proc again */
};

/* ww_privilege_drop - gives up every capability but those for `keep` (enum ww_keep), and sets no_new_privs.
 * Affects the calling thread: call it while there is only one. */
int ww_privilege_drop(unsigned keep, struct ww_err *err);

/* ww_privilege_check - may this process record here? Needed are CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN, the
 * kernel's own process ids and its types (BTF).
 * error -WW_EPERM, -WW_EKERNEL: exactly what is missing, and how to get it */
int ww_privilege_check(struct ww_err *err);

/* Bit mask of the effective capabilities of this process. */
uint64_t ww_privilege_caps(void);

#endif
