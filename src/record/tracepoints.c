/* tracepoints.c - a sorted table of the kernel's `btf_trace_NAME` types, and libbpf's way to them.
 *
 * libbpf looks for each program's tracepoint in all of the kernel's types, one after the other: with sixty programs
 * and 100 000 types that alone takes a tenth of a second.
 */
#include "record/tracepoints.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "btf_trace_"

struct tracepoint {
	const char *name; /* the type information's */
	uint32_t type;
};

struct ww_tracepoints {
	struct btf *btf;
	struct tracepoint *all;
	size_t n;
	bool casts;
};

static _Thread_local const struct ww_tracepoints *current;

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct tracepoint *)a)->name, ((const struct tracepoint *)b)->name);
}

static const struct tracepoint *find(const struct ww_tracepoints *t, const char *name)
{
	struct tracepoint key = {.name = name};

	return t && t->n ? bsearch(&key, t->all, t->n, sizeof(key), by_name) : NULL;
}

/* What libbpf calls just before it loads a program. */
static int prepare_load(struct bpf_program *p, struct bpf_prog_load_opts *o, long cookie)
{
	const struct tracepoint *tp = find(current, strchr(bpf_program__section_name(p), '/') + 1);

	(void)cookie;
	if (!tp)
		return -ESRCH;
	o->attach_btf_id = tp->type;
	return 0;
}

static int attach(const struct bpf_program *p, long cookie, struct bpf_link **ret)
{
	(void)cookie;
	*ret = bpf_program__attach_trace(p);
	return *ret ? 0 : -errno;
}

static int handler_register(void)
{
	static bool done;
	LIBBPF_OPTS(libbpf_prog_handler_opts, o, .prog_prepare_load_fn = prepare_load, .prog_attach_fn = attach);

	if (!done && libbpf_register_prog_handler("tp_btf+", BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, &o) < 0)
		return -1;
	done = true;
	return 0;
}

int ww_tracepoints_new(struct ww_tracepoints **ret, struct ww_err *err)
{
	struct ww_tracepoints *t = ww_xcalloc(1, sizeof(*t));
	size_t room = 0;

	t->btf = btf__load_vmlinux_btf();
	if (!t->btf || handler_register()) {
		ww_tracepoints_free(t);
		return ww_err_set(err, WW_EKERNEL, "/sys/kernel/btf/vmlinux", WW_ERR_NO_OFFSET,
				  "this kernel has no type information (BTF)");
	}
	for (uint32_t id = 1, end = btf__type_cnt(t->btf); id < end; id++) {
		const struct btf_type *type = btf__type_by_id(t->btf, id);
		const char *name = btf_is_typedef(type) || btf_is_func(type) ? btf__str_by_offset(t->btf, type->name_off) : NULL;

		if (btf_is_func(type)) {
			t->casts |= !strcmp(name, "bpf_rdonly_cast");
			continue;
		}
		if (!name || strncmp(name, PREFIX, sizeof(PREFIX) - 1))
			continue;
		if (t->n == room) {
			room = room ? 2 * room : 1024;
			t->all = ww_xrealloc(t->all, room * sizeof(*t->all));
		}
		t->all[t->n++] = (struct tracepoint){name + sizeof(PREFIX) - 1, id};
	}
	if (t->n)
		qsort(t->all, t->n, sizeof(*t->all), by_name);
	current = t;
	*ret = t;
	return 0;
}

void ww_tracepoints_free(struct ww_tracepoints *t)
{
	if (!t)
		return;
	if (current == t)
		current = NULL;
	btf__free(t->btf);
	free(t->all);
	free(t);
}

bool ww_tracepoints_casts(const struct ww_tracepoints *t)
{
	return t->casts;
}

uint32_t ww_tracepoints_args(const struct ww_tracepoints *t, const char *name)
{
	const struct tracepoint *tp = find(t, name);

	if (!tp)
		return 0;
	const struct btf_type *type = btf__type_by_id(t->btf, tp->type);
	type = btf__type_by_id(t->btf, type->type);               /* pointer */
	type = type ? btf__type_by_id(t->btf, type->type) : NULL; /* to a function */
	return type && btf_is_func_proto(type) ? btf_vlen(type) : 1;
}
