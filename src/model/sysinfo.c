/* sysinfo.c - the table of system calls that wait, or that make descriptors. */
#include "model/sysinfo.h"

#include "base/words.h"
#include "facts/facts.h"

#define FD "fd|fildes|sockfd|oldfd|epfd|ufd "
#define FD1(name, class) {name, class, WW_FX_NONE, 0, 0, FD}

static const struct ww_sysinfo table[] = {
	{"nanosleep", WW_W_SLEEP, 0, 0, -1, NULL},
	{"clock_nanosleep", WW_W_SLEEP, 0, 0, -1, NULL},
	{"clock_nanosleep_time64", WW_W_SLEEP, 0, 0, -1, NULL},
	{"restart_syscall", WW_W_RESTART, 0, 0, -1, NULL},
	{"futex", WW_W_FUTEX, 0, 0, -1, "- uaddr op val"},
	{"futex_time64", WW_W_FUTEX, 0, 0, -1, "- uaddr op val"},
	{"futex_wait", WW_W_FUTEX, 0, 0, -1, "- uaddr val"},
	{"futex_waitv", WW_W_FUTEX, 0, 0, -1, "- waiters"},
	FD1("read", WW_W_FD), FD1("write", WW_W_FD), FD1("readv", WW_W_FD), FD1("writev", WW_W_FD),
	FD1("pread64", WW_W_FD), FD1("pwrite64", WW_W_FD), FD1("preadv", WW_W_FD),
	FD1("pwritev", WW_W_FD), FD1("preadv2", WW_W_FD), FD1("pwritev2", WW_W_FD),
	FD1("recvfrom", WW_W_FD), FD1("recvmsg", WW_W_FD), FD1("recvmmsg", WW_W_FD),
	FD1("recv", WW_W_FD), FD1("send", WW_W_FD), FD1("recvmmsg_time64", WW_W_FD),
	FD1("sendto", WW_W_FD), FD1("sendmsg", WW_W_FD), FD1("sendmmsg", WW_W_FD),
	{"sendfile", WW_W_FD, 0, 0, 1, "in_fd|fd out_fd", 1}, {"sendfile64", WW_W_FD, 0, 0, 1, "in_fd|fd out_fd", 1},
	{"splice", WW_W_FD, 0, 0, 0, "fd_in fd_in - fd_out", 3}, {"tee", WW_W_FD, 0, 0, 0, "fdin fdin fdout", 2},
	{"copy_file_range", WW_W_FD, 0, 0, 0, "fd_in fd_in - fd_out", 3},
	FD1("ioctl", WW_W_FD), FD1("getdents", WW_W_FD), FD1("getdents64", WW_W_FD),
	FD1("ftruncate", WW_W_FD), FD1("fallocate", WW_W_FD), FD1("fstat", WW_W_FD),
	FD1("fadvise64", WW_W_FD), FD1("shutdown", WW_W_FD),
	FD1("sync_file_range", WW_W_SYNC), FD1("fsync", WW_W_SYNC), FD1("fdatasync", WW_W_SYNC),
	FD1("syncfs", WW_W_SYNC),
	{"sync", WW_W_SYNC, 0, 0, -1, NULL}, {"msync", WW_W_SYNC, 0, 0, -1, NULL},
	{"poll", WW_W_POLL, 0, 0, -1, "- ufds nfds timeout_msecs"},
	{"ppoll", WW_W_POLL, 0, 0, -1, NULL}, {"ppoll_time64", WW_W_POLL, 0, 0, -1, NULL},
	{"select", WW_W_POLL, 0, 0, -1, NULL}, {"pselect6", WW_W_POLL, 0, 0, -1, NULL},
	{"_newselect", WW_W_POLL, 0, 0, -1, NULL}, {"pselect6_time64", WW_W_POLL, 0, 0, -1, NULL},
	{"epoll_wait", WW_W_POLL, 0, 0, 0, "epfd"}, {"epoll_pwait", WW_W_POLL, 0, 0, 0, "epfd"},
	{"epoll_pwait2", WW_W_POLL, 0, 0, 0, "epfd"},
	{"epoll_ctl", WW_W_OTHER, WW_FX_EPOLL_CTL, 0, 0, "epfd op|op_enum fd event.data_union.u64"},
	{"wait4", WW_W_CHILD, 0, 0, -1, "- upid|pid stat_addr options"},
	{"waitid", WW_W_CHILD, 0, 0, -1, "- which upid|pid infop"},
	{"waitpid", WW_W_CHILD, 0, 0, -1, "- pid stat_addr options"},
	{"vfork", WW_W_VFORK, 0, 0, -1, NULL}, {"fork", WW_W_OTHER, 0, 0, -1, NULL},
	{"clone", WW_W_VFORK, 0, 0, -1, "- flags|clone_flags"}, {"clone3", WW_W_VFORK, 0, 0, -1, NULL},
	{"prctl", WW_W_OTHER, WW_FX_PRCTL, 0, -1, "- option"},
	{"pause", WW_W_SIGNAL, 0, 0, -1, NULL}, {"rt_sigsuspend", WW_W_SIGNAL, 0, 0, -1, NULL},
	{"sigsuspend", WW_W_SIGNAL, 0, 0, -1, NULL},
	{"rt_sigtimedwait", WW_W_SIGNAL, 0, 0, -1, NULL},
	{"rt_sigtimedwait_time64", WW_W_SIGNAL, 0, 0, -1, NULL},
	{"flock", WW_W_FLOCK, 0, 0, 0, FD}, {"fcntl", WW_W_FCNTL, WW_FX_FCNTL, 0, 0, "fd fd cmd arg"},
	{"fcntl64", WW_W_FCNTL, WW_FX_FCNTL, 0, 0, "fd fd cmd arg"},
	{"msgrcv", WW_W_IPC, 0, 0, -1, NULL}, {"msgsnd", WW_W_IPC, 0, 0, -1, NULL},
	{"semop", WW_W_IPC, 0, 0, -1, NULL}, {"semtimedop", WW_W_IPC, 0, 0, -1, NULL},
	{"mq_timedsend", WW_W_IPC, 0, 0, -1, NULL}, {"mq_timedreceive", WW_W_IPC, 0, 0, -1, NULL},
	{"io_uring_enter", WW_W_URING, 0, 0, 0, FD}, {"io_getevents", WW_W_URING, 0, 0, -1, NULL},
	{"io_pgetevents", WW_W_URING, 0, 0, -1, NULL},
	{"open", WW_W_OTHER, WW_FX_OPEN, 0, -1, "- - flags - filename"},
	{"openat", WW_W_OTHER, WW_FX_OPEN, 0, -1, "- - flags - filename"},
	{"openat2", WW_W_OTHER, WW_FX_OPEN, 0, -1, "- - - - filename"},
	{"creat", WW_W_OTHER, WW_FX_OPEN, 0, -1, "- - - - pathname|filename"},
	{"close", WW_W_OTHER, WW_FX_CLOSE, 0, 0, FD},
	{"dup", WW_W_OTHER, WW_FX_DUP, 0, 0, FD},
	{"dup2", WW_W_OTHER, WW_FX_DUP2, 0, 0, "oldfd oldfd newfd"},
	{"dup3", WW_W_OTHER, WW_FX_DUP2, 0, 0, "oldfd oldfd newfd"},
	{"pipe", WW_W_OTHER, WW_FX_PIPE, 0, -1, NULL}, {"pipe2", WW_W_OTHER, WW_FX_PIPE, 0, -1, NULL},
	{"socket", WW_W_OTHER, WW_FX_SOCKET, 0, -1, "- family type protocol"},
	{"socketpair", WW_W_OTHER, WW_FX_SOCKETPAIR, 0, -1, "- family type protocol"},
	{"accept", WW_W_FD, WW_FX_ACCEPT, 0, 0, FD}, {"accept4", WW_W_FD, WW_FX_ACCEPT, 0, 0, FD},
	{"connect", WW_W_FD, WW_FX_CONNECT, 0, 0, "fd dport"},
	{"eventfd", WW_W_OTHER, WW_FX_ANON, WW_FK_EVENTFD, -1, NULL},
	{"eventfd2", WW_W_OTHER, WW_FX_ANON, WW_FK_EVENTFD, -1, NULL},
	{"epoll_create", WW_W_OTHER, WW_FX_ANON, WW_FK_EPOLL, -1, NULL},
	{"epoll_create1", WW_W_OTHER, WW_FX_ANON, WW_FK_EPOLL, -1, NULL},
	{"timerfd_create", WW_W_OTHER, WW_FX_ANON, WW_FK_TIMERFD, -1, NULL},
	{"signalfd", WW_W_OTHER, WW_FX_ANON, WW_FK_SIGNALFD, -1, NULL},
	{"signalfd4", WW_W_OTHER, WW_FX_ANON, WW_FK_SIGNALFD, -1, NULL},
	{"inotify_init", WW_W_OTHER, WW_FX_ANON, WW_FK_INOTIFY, -1, NULL},
	{"inotify_init1", WW_W_OTHER, WW_FX_ANON, WW_FK_INOTIFY, -1, NULL},
	{"pidfd_open", WW_W_OTHER, WW_FX_ANON, WW_FK_PIDFD, -1, NULL},
	{"io_uring_setup", WW_W_OTHER, WW_FX_ANON, WW_FK_IO_URING, -1, NULL},
	{"mmap", WW_W_OTHER, WW_FX_MMAP, 0, 4, "fd addr len offset"},
};

static const struct ww_sysinfo other = {"", WW_W_OTHER, 0, 0, -1, NULL};

const struct ww_sysinfo *ww_sysinfo_find(const char *name)
{
	static struct ww_words names = WW_WORDS(table, table[0].name);
	const int row = ww_words_find(&names, name);

	return row < 0 ? &other : &table[row];
}

bool ww_sysinfo_sends(const char *name)
{
	static const char *const names[] = {
		"write", "writev", "pwritev2", "send", "sendto", "sendmsg", "sendmmsg", "sendfile", "sendfile64", "splice",
		"connect", "shutdown", "close", "exit", "exit_group",
	};

	for (size_t i = 0; i < WW_ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}
