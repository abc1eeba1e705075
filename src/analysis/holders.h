/* holders.h - waits for locks, however they ended, and who had the lock meanwhile.
 *
 * A lock that is free is taken without a trace; what a trace has is who gave it up while somebody waited. So a lock that
 * one thread has at a time was, between two times at which it was given up, that thread's who gave it up at the later:
 *
 *   A waits for it from 0 on, B from 1 on.  At 90 M gives it up (A is woken), at 95 A does (B is woken).
 *   B's wait, 1 to 95: M had it until 90, then A.
 *
 * What gives it up is a wakeup of one that waits, and, for a wait that ended otherwise, the next futex call after it that
 * wakes: as long as a waiter's mark stands in the lock, nobody gives it up without that call. Which futexes are such locks
 * the arguments of the wait tell: the value 2 is "taken, and somebody waits" (glibc, Rust, Go; Drepper, Futexes Are
 * Tricky, mutex 2), and FUTEX_LOCK_PI. Of other futexes (conditions, semaphores, the end of a thread) nobody has
 * anything: there it is who ended the wait.
 */
#ifndef WW_HOLDERS_H
#define WW_HOLDERS_H

#include "analysis/rows.h"

/* WW_CA_FUTEX, WW_CA_LOCK (in the kernel) or WW_CA_FILELOCK of a wait for one, whatever ended it; else WW_CA_NONE. */
enum ww_cause ww_lock_wait(const struct ww_facts *f, uint32_t state);
/* Has one thread at a time what such a wait is for: a mutex, a lock of the kernel's or of a file? Of a condition, a semaphore,
 * the end of a thread nobody has anything; nor is it known of a futex that is used in another way than those above. */
bool ww_lock_has_holder(const struct ww_facts *f, uint32_t state);
/* Did it last until the trace's end? */
bool ww_lock_wait_open(const struct ww_facts *f, uint32_t state);

/* Adds to `shares` who had the lock, and for how long, in each of n waits: states[i] is of row rows[i]. What is not known
 * is nobody's. */
void ww_holders_share(const struct ww_facts *f, const uint32_t *states, const uint32_t *rows, uint32_t n, struct ww_rows *shares);

#endif
