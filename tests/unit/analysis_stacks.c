/* analysis_stacks.c - the words of a call stack, on frames laid by hand. */
#include "../tap.h"
#include "analysis/stacks.h"
#include "scene.h"

static void add_frame(struct ww_facts *f, uint64_t address, uint32_t file, const char *symbol)
{
	const struct ww_stack_frame fr = {.address = address, .file = file, .symbol = *symbol ? str(f, symbol) : 0};

	ww_stack_frame_push(f, &fr);
}

static uint32_t add_stack(struct ww_facts *f, bool kernel, uint32_t frames)
{
	const struct ww_stack s = {.kernel = kernel, .first = (uint32_t)f->stack_frame.n - frames, .frames = frames};

	return ww_stack_push(f, &s);
}

int main(void)
{
	struct ww_facts f;
	struct ww_arena mem;

	ww_facts_init(&f);
	ww_arena_init(&mem);
	const struct ww_file libc = {.kind = WW_FK_REG, .name = str(&f, "/lib/libc.so.6"), .peer = WW_NONE};
	const uint32_t file = ww_file_push(&f, &libc);

	add_frame(&f, 0x7f01, file, "read");
	add_frame(&f, 0, WW_NONE, "");
	add_frame(&f, 0x9999, WW_NONE, "");
	add_frame(&f, 0x7f02, file, "main");
	add_frame(&f, 0x100004a59, WW_NONE, "");
	add_frame(&f, 0x7ffeb2eebac8, WW_NONE, "");
	is_str(ww_stack_text(&mem, &f, add_stack(&f, false, 6)), "read < 0x9999 < main",
	       "what is no code ends the stack, code without a file within it stays");

	add_frame(&f, 0x9999, WW_NONE, "");
	add_frame(&f, 0x8888, WW_NONE, "");
	is_str(ww_stack_text(&mem, &f, add_stack(&f, false, 2)), "0x9999 < 0x8888", "where no file is known all is shown");

	add_frame(&f, 0xffffffff81000000, WW_NONE, "schedule");
	add_frame(&f, 0xffffffff81000010, WW_NONE, "do_syscall_64");
	is_str(ww_stack_text(&mem, &f, add_stack(&f, true, 2)), "schedule < do_syscall_64", "the kernel's has no files");

	ww_arena_release(&mem);
	ww_facts_release(&f);
	return done_testing();
}
