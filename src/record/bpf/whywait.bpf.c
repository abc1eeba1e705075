/* whywait.bpf.c - the recorder's eBPF programs, one object. */
#include "ring.bpf.h"
#include "task.bpf.h"
#include "file.bpf.h"
#include "sched.bpf.h"
#include "irq.bpf.h"
#include "block.bpf.h"
#include "syscall.bpf.h"
#include "net.bpf.h"
#include "mm.bpf.h"
#include "misc.bpf.h"
#include "iter.bpf.h"

char LICENSE[] SEC("license") = "GPL";
