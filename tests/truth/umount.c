/* umount.c - a file system is taken down after the call that asks for it has returned, on the way back to user code: what was
 * written to it goes to the disk then. Those waits are told as that call's. */
#include "loopdev.h"

#define ROUNDS 4

static void dirty(int n)
{
	static char b[65536];
	char path[100];

	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/f%d", where, i);
		int fd = T_TRY(open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600));
		memset(b, (int)T_rand(1, 255), sizeof(b));
		for (int k = 0; k < 8; k++)
			T_TRY(write(fd, b, sizeof(b)));
		T_TRY(close(fd));
	}
}

static void taker(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct t_span s;

		if (i)
			T_TRY(mount(device, where, "ext4", 0, NULL));
		dirty((int)T_rand(40, 90)); /* long, beside what has no cause of its own: RCU, workers that end */
		T_in(&s);
		T_TRY(umount2(where, 0));
		T_out(&s);
		T_wait(&s, "disk|work|kthread", "", -1, "umount2|umount", "");
	}
}

int main(int argc, char **argv)
{
	const struct t_part parts[] = {{"taker", taker, NULL}};
	T_begin(argc, argv, "umount", 0);
	make_fs(0);
	T_roles(parts, 1, T_THREADS);
	remove_fs();
	return T_end();
}
