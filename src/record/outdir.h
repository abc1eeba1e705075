/* outdir.h - the trace directory: made, an older one moved out of the way, given to the invoking user.
 *
 * Whose it is: the directory is locked (flock) from when it is made until the last copy of the descriptor is closed,
 * at the latest with the process. A locked one is moved by nobody.
 * When it is whole: the hidden file WW_OUTDIR_MARK is in it until the recording has ended as it should.
 */
#ifndef WW_OUTDIR_H
#define WW_OUTDIR_H

#include <sys/types.h>

#include "base/err.h"

#define WW_OUTDIR_MARK ".recording"

/* ww_outdir_make - an empty directory at `path`, locked.
 * What stands there already: nothing or an empty directory is used; a trace is renamed to `path`.1 (which,
 * when it is a trace too, is removed first); anything else is refused, never touched.
 * What is being recorded by another is refused, or with `other` the next free one of NAME-2.ctf, NAME-3.ctf, ... is
 * made instead of NAME.ctf.
 * in    path, size  on return it is the path of what was made, without slashes at its end
 * out   ret_dirfd   open directory; the caller closes it */
int ww_outdir_make(char *path, size_t size, bool other, int *ret_dirfd, struct ww_err *err);
/* ww_outdir_look - whether ww_outdir_make is going to work, as far as can be seen without making or moving anything: so
 * that a wrong name is told before the programs are loaded. The error is ww_outdir_make's. */
int ww_outdir_look(const char *path, bool other, struct ww_err *err);
/* The trace in it is not whole yet. */
int ww_outdir_mark(int dirfd, struct ww_err *err);
void ww_outdir_unmark(int dirfd);
enum ww_outdir_state { WW_OUTDIR_WHOLE, WW_OUTDIR_CUT, WW_OUTDIR_RECORDING };
/* Of any path: a directory whose recording ended before its time, or that is being recorded just now; WHOLE: of
 * neither is there a sign. */
enum ww_outdir_state ww_outdir_state(const char *path);
/* The group may read what will be created in the directory: the invoker can, should we be killed. */
void ww_outdir_share(int dirfd, gid_t gid);
/* ww_outdir_give - the directory and all in it belong to that user from now on. Best effort; the last thing
 * to do: without CAP_DAC_OVERRIDE root cannot enter it afterwards. */
void ww_outdir_give(const char *path, uid_t uid, gid_t gid);

#endif
