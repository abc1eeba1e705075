/* outdir.h - the trace directory: made, an older one moved out of the way, given to the invoking user. */
#ifndef WW_OUTDIR_H
#define WW_OUTDIR_H

#include <sys/types.h>

#include "base/err.h"

/* ww_outdir_make - an empty directory at `path`.
 * What stands there already: nothing or an empty directory is used; a trace is renamed to `path`.1 (which,
 * when it is a trace too, is removed first); anything else is refused, never touched.
 * out   ret_dirfd  open directory; the caller closes it */
int ww_outdir_make(const char *path, int *ret_dirfd, struct ww_err *err);
/* The group may read what will be created in the directory: the invoker can, should we be killed. */
void ww_outdir_share(int dirfd, gid_t gid);
/* ww_outdir_give - the directory and all in it belong to that user from now on. Best effort; the last thing
 * to do: without CAP_DAC_OVERRIDE root cannot enter it afterwards. */
void ww_outdir_give(const char *path, uid_t uid, gid_t gid);

#endif
