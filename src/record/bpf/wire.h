/* wire.h - what the eBPF programs and user space share: packet layout, ring layout, limits.
 *
 * A ring is nsub sub-buffers of one CPU; a sub-buffer is one element of an mmap-able ARRAY map: `sub_bytes`
 * of packet, then a page that begins with WW_SLACK bytes that are never used (a record of the largest size at
 * any masked offset stays inside the element, which is what the verifier wants to see) and ends with struct
 * ww_sub. So packets are page-aligned in memory, and can be written directly to the disk.
 *
 * Position `pos` counts bytes ever reserved on the CPU: sub-buffer number n = pos / sub_bytes, its
 * element n % nsub. Offset 0 in a sub-buffer means that nobody has begun it; a packet never fills its
 * sub-buffer to the last byte, so that this stays unambiguous.
 *
 * `committed` only grows: opening commits the header, each event its size, closing the rest, so that a
 * lap adds exactly sub_bytes and sub-buffer n is complete when its low 40 bits are (n / nsub + 1) *
 * sub_bytes. The high 24 bits count events, modulo 2^24.
 */
#ifndef WW_WIRE_H
#define WW_WIRE_H

#ifdef __bpf__
typedef __u8 ww_u8;
typedef __u16 ww_u16;
typedef __u32 ww_u32;
typedef __u64 ww_u64;
typedef __s32 ww_s32;
#define WW_STATIC_ASSERT(x) _Static_assert(x, #x)
#else
#include <stdint.h>
typedef uint8_t ww_u8;
typedef uint16_t ww_u16;
typedef uint32_t ww_u32;
typedef uint64_t ww_u64;
typedef int32_t ww_s32;
#define WW_STATIC_ASSERT(x) _Static_assert(x, #x)
#endif

#define WW_CTF_MAGIC   0xC1FC1FC1u
#define WW_MAX_CPUS    512
#define WW_MAX_PROGS   96
#define WW_MAX_RECORD  1024 /* largest event, header included */
#define WW_SLACK       (2 * WW_MAX_RECORD)
#define WW_TAIL        4096 /* bytes of an element after its packet */
#define WW_SUB_AT      (WW_TAIL - 64) /* of struct ww_sub, from the packet's end */
#define WW_EXTENDED_ID 65535

/* Packet header and context as LTTng lays them out, packed. */
struct ww_packet_head {
	ww_u32 magic;
	ww_u8 uuid[16];
	ww_u32 stream_id;
	ww_u64 stream_instance_id;
	ww_u64 timestamp_begin;
	ww_u64 timestamp_end;
	ww_u64 content_size; /* bits, head included */
	ww_u64 packet_size;  /* bits */
	ww_u64 packet_seq_num;
	ww_u64 events_discarded; /* since the start of the stream */
	ww_u32 cpu_id;
} __attribute__((packed));
WW_STATIC_ASSERT(sizeof(struct ww_packet_head) == 84);

#define WW_HEAD_BYTES 84
#define WW_COMMIT_EVENT (1ull << 40)
#define WW_COMMIT_BYTES (WW_COMMIT_EVENT - 1)

/* ww_shared.frozen: no event is taken. While a snapshot is read it is lost, and counted; before the recording's begin, which
 * is one moment for all programs, and after its end it is none of it. */
#define WW_FROZEN_SNAPSHOT 1
#define WW_FROZEN_OUTSIDE  2

/* What stands in the element beside the packet. */
struct ww_sub {
	ww_u64 committed; /* bytes and events, never reset */
	ww_u64 number;    /* n, of the packet that was opened last */
	ww_u64 begin_ts_ns, end_ts_ns;
	ww_u64 lost;      /* the CPU's lost and missed events when the packet was closed */
	ww_u64 lost_before; /* the same when it was opened */
	ww_u32 end_bytes; /* offset after the last event */
	ww_u32 pad[3];
};
WW_STATIC_ASSERT(sizeof(struct ww_sub) == WW_TAIL - WW_SUB_AT);
WW_STATIC_ASSERT(WW_SUB_AT >= WW_SLACK);

/* What all CPUs look at and hardly anybody changes. In .data.ctl before the next, whose page it shares: a look at a page
 * that was not looked at for long costs more than the look. */
struct ww_shared {
	ww_u32 frozen; /* WW_FROZEN_* */
	ww_u32 hides;  /* switches are hidden here: bpf/current.bpf.h */
	ww_u32 lives;  /* counts what ends an address space's use in the tree: an exec, an exit */
	ww_u32 throttled; /* somebody was: bpf/sched.bpf.h */
	ww_u32 tree;   /* counts what joins and leaves the tree */
	ww_u32 pad[27];
};
WW_STATIC_ASSERT(sizeof(struct ww_shared) == 128);

#define WW_KNOWN 4

/* One for each CPU, in the program's .data.ctl, on cache lines of its own: what most events need is the first. */
struct ww_ring_ctl {
	ww_u64 pos;        /* bytes reserved */
	ww_u64 last_ts_ns; /* at or below the last event's stamp */
	ww_u64 lost;
	ww_u32 in_tree;    /* the task on this CPU belongs to the target's tree */
	ww_s32 irq_depth;  /* handlers and softirqs that are running on this CPU */
	ww_u32 on;         /* whom the last switch gave the CPU to: tid + 1; 0 not known */
	ww_u32 fault_of;   /* who has begun a page fault here last: his `on` + 1; 0: it has ended */
	ww_u64 regs;       /* where the registers of who has it are saved; 0: not seen since the last switch */
	ww_u64 steal_ns;   /* the run queue's stolen time, when it was looked at last */
	ww_u64 pad0;
	ww_u64 read_n;     /* the reader's: sub-buffers below this number are free */
	ww_u64 missed;     /* programs that the kernel skipped here, when it was looked at last */
	ww_u64 function;   /* see bpf/function.bpf.h */
	ww_u64 known[WW_KNOWN]; /* processes that had the CPU last: tgid << 32 | ww_shared.tree << 1 | is in the tree */
	ww_u64 pad1;
};
WW_STATIC_ASSERT(sizeof(struct ww_ring_ctl) == 128);

/* What the iterators of bpf/iter.bpf.h write, one after the other. */
#define WW_ITER_LEVELS 4
struct ww_iter_task {
	ww_s32 tid, pid, ppid;
	ww_u32 flags;             /* PF_* */
	ww_u32 state, exit_state; /* task_struct's */
	ww_u32 cpu, levels;       /* of process id namespaces */
	char comm[16];
	ww_s32 vtid[WW_ITER_LEVELS], vpid[WW_ITER_LEVELS], vppid[WW_ITER_LEVELS];
	ww_u32 ns_inum[WW_ITER_LEVELS];
	ww_s32 nr; /* of the call it is in when it sleeps; -1 none */
	ww_u8 abi, iowait, fd_kind, pad;
	ww_u32 dev, pad2;
	ww_u64 ino;
	ww_u64 arg[6];
	ww_u64 cgroup; /* id in the second version's hierarchy */
};
WW_STATIC_ASSERT(sizeof(struct ww_iter_task) == 192);

struct ww_iter_file {
	ww_s32 pid, fd;
	ww_u32 flags, mode; /* O_*, FMODE_* */
	ww_u64 ino, peer_ino;
	ww_u32 dev;
	ww_u16 family, sport, dport; /* of sockets; ports in host order */
	ww_u8 kind, type, proto, bound; /* bound: bytes of unix_name */
	ww_u16 name_bytes;
	ww_u8 saddr[16], daddr[16];
	char unix_name[128]; /* its own bound name, or its peer's */
	char name[512];      /* as /proc/PID/fd shows it */
};
WW_STATIC_ASSERT(sizeof(struct ww_iter_file) == 720);
#define WW_ITER_FILE_HEAD 208 /* all but name */

struct ww_iter_map {
	ww_s32 pid;
	ww_u32 dev;
	ww_u64 ino;
	ww_u64 start, end, offset; /* addresses; bytes in the file */
	char name[256];
};
WW_STATIC_ASSERT(sizeof(struct ww_iter_map) == 296);

/* How the fields of a system call's event come about: generated from LTTng's shapes. `arg` 0 to 5 are the
 * arguments, 6 the return value, 7 what is said of the sequence that follows the fields (bpf/seq.bpf.h). */
enum ww_sc_kind {
	WW_SC_INT,    /* `size` bytes of `arg`, from its byte `off` */
	WW_SC_STR,    /* the user string that `arg` points to */
	WW_SC_BYTES,  /* `size` <= 8 bytes at `off` from where `arg` points; zeros when unreadable */
};
/* The sequence at the end of the event. */
enum ww_sc_seq {
	WW_SQ_NONE,
	WW_SQ_POLL,   /* entry: all descriptors; exit: those that are ready */
	WW_SQ_SELECT, /* three sets */
	WW_SQ_EPOLL,  /* events that epoll_wait returned */
	WW_SQ_ADDR,   /* an IPv4 and an IPv6 address, one of them or both empty */
};
#define WW_SC_FIELDS 8
#define WW_SC_TABLE  1024 /* entries; abi << 9 | nr */

struct ww_sc_field {
	ww_u8 kind, arg, size, off;
};
struct ww_sc_layout {
	ww_u16 id;    /* event id; 0: written as whywait_syscall_entry or _exit */
	ww_u8 n;      /* fields */
	ww_u8 strs;   /* strings among them */
	ww_u8 fixed;  /* bytes of the other fields */
	ww_u8 slow;   /* has fields other than WW_SC_INT */
	ww_u8 seq;    /* enum ww_sc_seq */
	ww_u8 pad;
	struct ww_sc_field f[WW_SC_FIELDS];
};
WW_STATIC_ASSERT(sizeof(struct ww_sc_layout) == 40);

/* What a system call does with descriptors. */
enum ww_fd_call {
	WW_FC_FIRST = 1,    /* its first argument is one */
	WW_FC_NEW = 2,      /* returns a new one */
	WW_FC_PAIR0 = 4,    /* two new ones, where argument 0 points */
	WW_FC_PAIR3 = 8,    /* the same, argument 3 */
	WW_FC_CLOSE = 16,   /* closes its first argument */
	WW_FC_SOCK = 32,    /* gives addresses to its first argument's socket */
	WW_FC_FCNTL = 64,   /* WW_FC_NEW when it duplicates */
	WW_FC_POLL = 128,
	WW_FC_SELECT = 256,
	WW_FC_EPOLL_WAIT = 512,
	WW_FC_EPOLL_CTL = 1024,
	WW_FC_RECVMSG = 2048, /* may receive descriptors */
	WW_FC_RANGE = 4096,   /* closes many */
};
/* Waits for several, and its own event does not say which were ready. */
#define WW_FC_READY (WW_FC_POLL | WW_FC_SELECT | WW_FC_EPOLL_WAIT)

/* The kernel's functions that timers and work items call, each named once. Slot: a hash of the address, or its
 * neighbour; a function that finds both taken stays without a name. */
#define WW_FUNCTIONS     1024
#define WW_FUNCTION_NAME 56
struct ww_function {
	ww_u64 address; /* 0: free */
	char name[WW_FUNCTION_NAME]; /* "wb_workfn", or "fn [module]" */
};

#endif
