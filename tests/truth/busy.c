/* busy.c - computes and makes cheap system calls: running all the time, never waiting. */
#include "truth.h"

static void worker(void)
{
	T_compute(T_rand(50 * MS, 90 * MS));
	for (int i = 0; i < 20000; i++)
		syscall(SYS_getppid);
	T_compute(T_rand(10 * MS, 30 * MS));
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"worker", worker, ",\"never\":\"blocked\""}};

	T_begin(argc, argv, "busy", 1);
	T_roles(parts, 1, T_ANY);
	return T_end();
}
