/* analyses.c - the table of analyses whose answer is rows. docs/howto/add-analysis.md. */
#include "analysis/analysis.h"

extern const struct ww_analysis ww_analysis_threads, ww_analysis_syscalls, ww_analysis_path, ww_analysis_path_arrows, ww_analysis_usage,
	ww_analysis_usage_process, ww_analysis_usage_cgroup, ww_analysis_usage_cpu, ww_analysis_usage_time, ww_analysis_usage_thread_time,
	ww_analysis_usage_process_time, ww_analysis_usage_cgroup_time, ww_analysis_sched,
	ww_analysis_sched_histogram, ww_analysis_sched_pairs, ww_analysis_sched_numa, ww_analysis_irq, ww_analysis_irq_thread,
	ww_analysis_io, ww_analysis_io_process, ww_analysis_io_file, ww_analysis_io_latency, ww_analysis_files_process, ww_analysis_syscalls_process,
	ww_analysis_files, ww_analysis_files_thread, ww_analysis_faults, ww_analysis_faults_file, ww_analysis_locks, ww_analysis_net,
	ww_analysis_procs, ww_analysis_stacks, ww_analysis_threads_time;

const struct ww_analysis *const ww_analyses[] = {
	&ww_analysis_threads,
	&ww_analysis_threads_time,
	&ww_analysis_syscalls,
	&ww_analysis_syscalls_process,
	&ww_analysis_path,
	&ww_analysis_path_arrows,
	&ww_analysis_usage,
	&ww_analysis_usage_process,
	&ww_analysis_usage_cgroup,
	&ww_analysis_usage_cpu,
	&ww_analysis_usage_time,
	&ww_analysis_usage_thread_time,
	&ww_analysis_usage_process_time,
	&ww_analysis_usage_cgroup_time,
	&ww_analysis_sched,
	&ww_analysis_sched_histogram,
	&ww_analysis_sched_pairs,
	&ww_analysis_sched_numa,
	&ww_analysis_irq,
	&ww_analysis_irq_thread,
	&ww_analysis_io,
	&ww_analysis_io_process,
	&ww_analysis_io_file,
	&ww_analysis_io_latency,
	&ww_analysis_files,
	&ww_analysis_files_process,
	&ww_analysis_files_thread,
	&ww_analysis_faults,
	&ww_analysis_faults_file,
	&ww_analysis_locks,
	&ww_analysis_net,
	&ww_analysis_procs,
	&ww_analysis_stacks,
	NULL,
};

const struct ww_analysis *ww_analysis_find(const char *name)
{
	for (const struct ww_analysis *const *a = ww_analyses; *a; a++)
		if (!strcmp((*a)->name, name))
			return *a;
	return NULL;
}
