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

/* ww_privilege_drop - gives up every capability but CAP_KILL (CMD may run as somebody else, and signals are
 * passed on to it) and, with keep_files, those needed to create files in somebody's directory; sets
 * no_new_privs. Affects the calling thread: call it while there is only one. */
int ww_privilege_drop(bool keep_files, struct ww_err *err);

/* Bit mask of the effective capabilities of this process. */
uint64_t ww_privilege_caps(void);

#endif
