/* symbols.c - names for the frames of call stacks: the kernel's from the recording's .kallsyms, user space's from the
 * files themselves, by libdw (their symbol tables, or separate debug files where the machine has them).
 *
 * A file is looked into only when it still is the one that was recorded: a regular file with that inode number. What
 * cannot be named keeps an empty symbol. Each (file, offset) is looked up once.
 */
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/model_private.h"

enum { KALLSYMS_MAX_BYTES = 64 << 20 };

struct kernel_symbol {
	uint64_t address;
	const char *name; /* a string of the facts only when a frame is there: there are 200,000 */
};
typedef WW_VEC(struct kernel_symbol) kernel_symbols;

struct names {
	struct ww_model *m;
	struct ww_u64map known; /* (file, offset) -> symbol */
	struct ww_u64map modules; /* file -> index in v */
	WW_VEC(struct module { Dwfl *dwfl; Dwfl_Module *mod; }) v;
	kernel_symbols kernel;
	struct ww_arena kernel_names;
	bool kernel_read;
};

/* ---- the kernel ---- */

static int by_address(const void *a, const void *b)
{
	const struct kernel_symbol *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static void kernel_read(struct names *n)
{
	char *path = ww_xasprintf("%s/.kallsyms", n->m->trace->info.path), line[320], name[256];
	FILE *f = fopen(path, "re");
	unsigned long long at;
	long bytes = 0;

	n->kernel_read = true;
	free(path);
	while (f && bytes < KALLSYMS_MAX_BYTES && fgets(line, sizeof(line), f)) {
		bytes += (long)strlen(line);
		if (sscanf(line, "%llx %255s", &at, name) == 2)
			*ww_vec_push(&n->kernel) = (struct kernel_symbol){at, ww_arena_strdup(&n->kernel_names, name)};
	}
	if (f)
		fclose(f);
	if (n->kernel.n)
		qsort(n->kernel.v, n->kernel.n, sizeof(*n->kernel.v), by_address);
}

static uint32_t kernel_name(struct names *n, uint64_t address)
{
	size_t lo = 0, hi;

	if (!n->kernel_read)
		kernel_read(n);
	hi = n->kernel.n;
	while (lo < hi) { /* the last one at or below */
		size_t mid = lo + (hi - lo) / 2;

		if (n->kernel.v[mid].address <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && lo < n->kernel.n ? ww_intern(n->m, n->kernel.v[lo - 1].name) : 0;
}

/* ---- files ---- */

static struct module open_module(struct names *n, uint32_t file)
{
	static char *no_path;
	static const Dwfl_Callbacks calls = {.find_elf = dwfl_build_id_find_elf,
					     .find_debuginfo = dwfl_standard_find_debuginfo,
					     .section_address = dwfl_offline_section_address,
					     .debuginfo_path = &no_path};
	const struct ww_facts *f = n->m->f;
	const char *path = ww_facts_str(f, f->file.name[file]);
	struct module m = {NULL, NULL};
	struct stat st;
	int fd = *path == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;

	if (fd < 0)
		return m;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_ino != f->file.ino[file]) {
		close(fd);
		return m;
	}
	m.dwfl = dwfl_begin(&calls);
	if (m.dwfl) {
		dwfl_report_begin(m.dwfl);
		m.mod = dwfl_report_offline(m.dwfl, "", path, fd); /* takes the descriptor when it succeeds */
		dwfl_report_end(m.dwfl, NULL, NULL);
	}
	if (!m.mod)
		close(fd);
	return m;
}

/* Where the file's byte is in the module's addresses; false when no segment loads it. */
static bool address_of(Dwfl_Module *mod, uint64_t offset, GElf_Addr *ret)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(mod, &bias);
	size_t count = 0;

	if (!elf || elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr h;

		if (gelf_getphdr(elf, (int)i, &h) && h.p_type == PT_LOAD && offset >= h.p_offset &&
		    offset - h.p_offset < h.p_filesz) {
			*ret = h.p_vaddr + (offset - h.p_offset) + bias;
			return true;
		}
	}
	return false;
}

static struct module *module_get(struct names *n, uint32_t file)
{
	bool fresh = false;
	size_t index = (size_t)*ww_u64map_get(&n->modules, file, n->v.n, &fresh);

	if (fresh)
		*ww_vec_push(&n->v) = open_module(n, file);
	return &n->v.v[index];
}

static uint32_t file_name(struct names *n, uint32_t file, uint64_t offset)
{
	Dwfl_Module *mod = module_get(n, file)->mod;
	GElf_Off into;
	GElf_Addr address;
	GElf_Sym sym;

	if (!mod || !address_of(mod, offset, &address))
		return 0;
	const char *s = dwfl_module_addrinfo(mod, address, &into, &sym, NULL, NULL, NULL);
	return s ? ww_intern(n->m, s) : 0;
}

/* ---- callers without a frame ---- */

enum { DWARF_RSP = 7, RETURN_BYTES = 8 }; /* System V ABI, x86-64: figure 3.36 */

/* Which word of the stack holds the return address of the function that is at this place; -1: it has a frame that was
 * walked, or its unwinding tables do not say. Example: CFA = rsp + 8, so it is the word 0. */
static int return_word(struct names *n, uint32_t file, uint64_t offset)
{
	struct module *mod = module_get(n, file);
	GElf_Addr address, bias;
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops = NULL;
	size_t nops = 0;
	int word = -1;

	Dwarf_CFI *cfi = mod->mod && address_of(mod->mod, offset, &address) ? dwfl_module_eh_cfi(mod->mod, &bias) : NULL;
	if (!cfi || dwarf_cfi_addrframe(cfi, address - bias, &frame))
		return -1;
	if (!dwarf_frame_cfa(frame, &ops, &nops) && nops == 1) {
		Dwarf_Word at = 0;

		if (ops[0].atom == DW_OP_breg0 + DWARF_RSP)
			at = ops[0].number;
		else if (ops[0].atom == DW_OP_bregx && ops[0].number == DWARF_RSP)
			at = ops[0].number2;
		if (at >= RETURN_BYTES && at % 8 == 0 && at / 8 <= WW_STACK_TOPS)
			word = (int)(at / 8) - 1;
	}
	free(frame);
	return word;
}

static bool is_x86_64(struct module *mod)
{
	GElf_Addr bias;
	GElf_Ehdr h;
	Elf *elf = mod->mod ? dwfl_module_getelf(mod->mod, &bias) : NULL;

	return elf && gelf_getehdr(elf, &h) && h.e_machine == EM_X86_64;
}

/* From the innermost function outwards, as long as functions have no frame and the words reach. The first that has
 * one is where the walk by frame pointers began. */
static void find_callers_of(struct names *n, const struct ww_stack_top *t)
{
	struct ww_stack_frame_cols *fr = &n->m->f->stack_frame;
	uint32_t from = t->frame - 1, base = 0;

	for (uint32_t k = 0; k < WW_STACK_FREE; k++) {
		uint32_t to = t->frame + k;

		if (fr->file[from] == WW_NONE || !is_x86_64(module_get(n, fr->file[from])))
			return;
		int w = return_word(n, fr->file[from], fr->offset[from]);
		if (w < 0 || base + (uint32_t)w >= WW_STACK_TOPS || t->file[base + (uint32_t)w] == WW_NONE)
			return;
		base += (uint32_t)w;
		fr->address[to] = t->address[base];
		fr->file[to] = t->file[base];
		fr->offset[to] = t->offset[base];
		from = to;
		base++;
	}
}

static void find_callers(struct names *n)
{
	for (size_t i = 0; i < n->m->stack_tops.n; i++)
		find_callers_of(n, &n->m->stack_tops.v[i]);
}

void ww_symbols_resolve(struct ww_model *m)
{
	struct ww_stack_frame_cols *fr = &m->f->stack_frame;
	struct names n = {.m = m};

	ww_arena_init(&n.kernel_names);
	find_callers(&n);
	for (uint32_t s = 0; s < m->f->stack.n; s++) {
		for (uint32_t i = m->f->stack.first[s], k = 0; k < m->f->stack.frames[s] && i < fr->n; i++, k++) {
			bool kernel = m->f->stack.kernel[s], fresh = false;
			if (!kernel && fr->file[i] == WW_NONE)
				continue;
			uint64_t at = kernel ? fr->address[i] - (k > 0) : fr->offset[i];
			uint64_t *known = ww_u64map_get(&n.known, ww_hash_mix(kernel ? WW_NONE : fr->file[i], at), 0, &fresh);
			if (fresh) {
				uint32_t name = kernel ? kernel_name(&n, at) : file_name(&n, fr->file[i], at);
				ww_u64map_put(&n.known, ww_hash_mix(kernel ? WW_NONE : fr->file[i], at), name);
				fr->symbol[i] = name;
			} else {
				fr->symbol[i] = (uint32_t)*known;
			}
		}
	}
	for (size_t i = 0; i < n.v.n; i++)
		if (n.v.v[i].dwfl)
			dwfl_end(n.v.v[i].dwfl);
	ww_vec_free(&m->stack_tops);
	ww_vec_free(&n.v);
	ww_vec_free(&n.kernel);
	ww_arena_release(&n.kernel_names);
	ww_u64map_release(&n.known);
	ww_u64map_release(&n.modules);
}
