/* commands.c - the table of subcommands; commands.h says how to add one. */
#include "cmd/table_cmd.h"
#include "cmd/commands.h"

int cmd_record(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_tree(int argc, char **argv);
int cmd_path(int argc, char **argv);
int cmd_sync(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_sql(int argc, char **argv);
int cmd_events(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_snapshot(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

const struct ww_command ww_commands[] = {
	{"record", "run a command, or watch the whole system, and record it", cmd_record},
	{"report", "where the time went, the longest waits, what is worth looking at", cmd_report},
	{"tree", "for every wait, who was waited for, and for whom that one waited", cmd_tree},
	{"path", "the critical path: what decided when it finished, on one host or many", cmd_path},
	{"sync", "make the clocks of several hosts' traces one, from the packets they exchanged", cmd_sync},
	{"diff", "what takes longer now: recordings before and after a change, by cause", cmd_diff},
	{"threads", "every thread: how long it ran, was ready, waited, and for what most", ww_table_cmd},
	{"procs", "the process tree: who started whom, when, and what it used", ww_table_cmd},
	{"usage", "who had the CPUs: by thread, process, CPU, over time", ww_table_cmd},
	{"sched", "how long ready threads waited for a CPU, who took it from whom", ww_table_cmd},
	{"syscalls", "system calls by name: how many, how long, how much of it waiting", ww_table_cmd},
	{"files", "what was read and written, by file, and how long that took", ww_table_cmd},
	{"io", "block requests: by device, by who asked for them, their latency", ww_table_cmd},
	{"faults", "page faults: which page of which file, in what order, how long", ww_table_cmd},
	{"irq", "interrupts, softirqs, timers: how often, how long, whom they interrupted", ww_table_cmd},
	{"locks", "waiting for futexes and locks: which, who waited, who held it", ww_table_cmd},
	{"net", "connections: bytes, retransmissions, round trips, who waited for them", ww_table_cmd},
	{"stacks", "where in the program threads blocked, and how long (record --stacks, perf record -g)", ww_table_cmd},
	{"sql", "SQL over what happened and over every analysis; a prompt without a query", cmd_sql},
	{"events", "the raw events, one a line", cmd_events},
	{"info", "what a trace is: producer, clock, streams, event types", cmd_info},
	{"check", "is a trace sound: every packet, every invariant", cmd_check},
	{"snapshot", "save what the flight recorder holds", cmd_snapshot},
	{"doctor", "what this kernel and user may record, and what to do about it", cmd_doctor},
	{NULL, NULL, NULL},
};

const struct ww_command *ww_command_find(const char *name)
{
	for (const struct ww_command *c = ww_commands; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}
