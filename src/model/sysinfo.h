/* sysinfo.h - what the model knows about a system call by its name. */
#ifndef WW_MODEL_SYSINFO_H
#define WW_MODEL_SYSINFO_H

#include "base/base.h"

/* What a wait inside the call waits for; cause.c decides by it. */
enum ww_wait_class {
	WW_W_OTHER, WW_W_SLEEP, WW_W_FUTEX, WW_W_FD, WW_W_POLL, WW_W_CHILD, WW_W_VFORK, WW_W_SIGNAL,
	WW_W_SYNC, WW_W_FLOCK, WW_W_FCNTL, WW_W_IPC, WW_W_URING, WW_W_RESTART
};

/* What the call does to the table of descriptors (or of mappings); fd.c does it. */
enum ww_fd_effect {
	WW_FX_NONE, WW_FX_OPEN, WW_FX_CLOSE, WW_FX_DUP, WW_FX_DUP2, WW_FX_PIPE, WW_FX_SOCKET,
	WW_FX_SOCKETPAIR, WW_FX_ACCEPT, WW_FX_ANON, WW_FX_EPOLL_CTL, WW_FX_CONNECT, WW_FX_MMAP,
	WW_FX_FCNTL, WW_FX_PRCTL
};

struct ww_sysinfo {
	const char *name;
	uint8_t wait;   /* enum ww_wait_class */
	uint8_t effect; /* enum ww_fd_effect */
	uint8_t made;   /* enum ww_file_kind: WW_FX_ANON makes it */
	int8_t fd_arg;  /* which argument is a descriptor; -1 none */
	/* Slots FD A0 A1 A2 STR as the field list of a named entry event; NULL: "fd" and no more. */
	const char *fields;
	uint8_t out; /* 1 + which argument is the descriptor that it writes to, beside the one that it reads; 0 none */
};

/* Never NULL: an unknown name gets the row for all others, whose name is "". */
const struct ww_sysinfo *ww_sysinfo_find(const char *name);

/* May this call put packets on their way: what it does is send, connect, or close? */
bool ww_sysinfo_sends(const char *name);

#endif
