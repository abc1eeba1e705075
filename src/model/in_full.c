/* in_full.c - of which threads were all system calls, page faults and call stacks recorded, so that their number is
 * known, and of which only some.
 *
 * Other tracers record what they record of everybody whom they record at all. Our own recorder takes all of the
 * command's tree, or of everybody (-a); of others it has the calls in which they blocked or woke somebody, and that is all
 * that --light has of anybody. The trace says which it was (whywait_in_full); older recordings do not, but
 * who has the entry of a call there was recorded in full.
 */
#include "model/model_private.h"

static const char *env_of(const struct ww_model *m, const char *name)
{
	const struct ww_trace_info *i = ww_trace_info(m->trace);

	for (uint32_t k = 0; k < i->nenv; k++)
		if (!strcmp(i->env[k].name, name))
			return i->env[k].value;
	return "";
}

static void mark(struct ww_facts *f, uint32_t thread, bool *process)
{
	f->thread.flags[thread] |= WW_TF_CALLS | WW_TF_FAULTS;
	/* What the recorder does in the command's process before the command is not the process'. */
	if (f->thread.process[thread] < f->process.n && !(f->thread.flags[thread] & WW_TF_RECORDER))
		process[f->thread.process[thread]] = true;
}

/* The tree is of processes: who belongs to it by one thread does so by all. */
static void mark_tree(struct ww_facts *f)
{
	bool *process = ww_xcalloc((size_t)f->process.n + 1, sizeof(*process));

	for (uint32_t i = 0; i < f->syscall.n; i++)
		if (f->syscall.known[i] & WW_SK_ENTRY)
			mark(f, f->syscall.thread[i], process);
	for (uint32_t t = 0; t < f->thread.n; t++)
		if (f->thread.flags[t] & WW_TF_TARGET)
			mark(f, t, process);
	for (uint32_t t = 0; t < f->thread.n; t++)
		if (f->thread.process[t] < f->process.n && process[f->thread.process[t]] && !(f->thread.flags[t] & WW_TF_RECORDER))
			mark(f, t, process);
	free(process);
}

void ww_in_full_mark(struct ww_model *m)
{
	struct ww_facts *f = m->f;
	/* The recorder records nothing of itself. */
	const bool all = !m->own || !strcmp(env_of(m, "whywait_in_full"), "all");

	for (uint32_t t = 0; all && t < f->thread.n; t++)
		if (!(f->thread.flags[t] & WW_TF_RECORDER))
			f->thread.flags[t] |= WW_TF_CALLS | WW_TF_FAULTS;
	if (!all)
		mark_tree(f);
	for (uint32_t t = 0; m->own && !m->has_syscalls && !m->has_own_entry && t < f->thread.n; t++)
		f->thread.flags[t] &= ~(uint32_t)WW_TF_CALLS;
}
