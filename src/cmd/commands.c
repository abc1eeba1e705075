/* commands.c - the table of subcommands; commands.h says how to add one. */
#include "cmd/commands.h"

/* meson.build defines WW_HAVE_CMD_* for the commands that are part of this build. */
#define X(name) int cmd_##name(int argc, char **argv);
#ifdef WW_HAVE_CMD_RECORD
X(record)
#endif
#ifdef WW_HAVE_CMD_REPORT
X(report)
#endif
#ifdef WW_HAVE_CMD_TREE
X(tree)
#endif
#ifdef WW_HAVE_CMD_PATH
X(path)
#endif
#ifdef WW_HAVE_CMD_SYNC
X(sync)
#endif
#ifdef WW_HAVE_CMD_THREADS
X(threads)
#endif
#ifdef WW_HAVE_CMD_SYSCALLS
X(syscalls)
#endif
#ifdef WW_HAVE_CMD_EVENTS
X(events)
#endif
#ifdef WW_HAVE_CMD_INFO
X(info)
#endif
#ifdef WW_HAVE_CMD_CHECK
X(check)
#endif
#ifdef WW_HAVE_CMD_SNAPSHOT
X(snapshot)
#endif
#ifdef WW_HAVE_CMD_DOCTOR
X(doctor)
#endif
#undef X

const struct ww_command ww_commands[] = {
#ifdef WW_HAVE_CMD_RECORD
	{"record", "run a command, or watch the whole system, and record it", cmd_record},
#endif
#ifdef WW_HAVE_CMD_REPORT
	{"report", "where the time went, the longest waits, what is worth looking at", cmd_report},
#endif
#ifdef WW_HAVE_CMD_TREE
	{"tree", "for every wait, who was waited for, and for whom that one waited", cmd_tree},
#endif
#ifdef WW_HAVE_CMD_PATH
	{"path", "the critical path: what decided when it finished, on one host or many", cmd_path},
#endif
#ifdef WW_HAVE_CMD_SYNC
	{"sync", "make the clocks of several hosts' traces one, from the packets they exchanged", cmd_sync},
#endif
#ifdef WW_HAVE_CMD_THREADS
	{"threads", "every thread: how long it ran, was ready, waited, and for what most", cmd_threads},
#endif
#ifdef WW_HAVE_CMD_SYSCALLS
	{"syscalls", "system calls by name: how many, how long, how much of it waiting", cmd_syscalls},
#endif
#ifdef WW_HAVE_CMD_EVENTS
	{"events", "the raw events, one a line", cmd_events},
#endif
#ifdef WW_HAVE_CMD_INFO
	{"info", "what a trace is: producer, clock, streams, event types", cmd_info},
#endif
#ifdef WW_HAVE_CMD_CHECK
	{"check", "is a trace sound: every packet, every invariant", cmd_check},
#endif
#ifdef WW_HAVE_CMD_SNAPSHOT
	{"snapshot", "save what the flight recorder holds", cmd_snapshot},
#endif
#ifdef WW_HAVE_CMD_DOCTOR
	{"doctor", "what this kernel and user may record, and what to do about it", cmd_doctor},
#endif
	{NULL, NULL, NULL},
};

const struct ww_command *ww_command_find(const char *name)
{
	for (const struct ww_command *c = ww_commands; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}
