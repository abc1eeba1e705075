/* main.c - finds the subcommand and calls it. */
#include <stdio.h>

#include "cmd/commands.h"

static void usage(FILE *out)
{
	fputs("usage: whywait [OPTIONS] -- CMD [ARG...]   run CMD, then say why it waited\n"
	      "       whywait [OPTIONS] -p PID            watch what runs already, then say why it waited\n"
	      "       whywait COMMAND [OPTIONS] [TRACE...]\n\n",
	      out);
	for (const struct ww_command *c = ww_commands; c->name; c++)
		fprintf(out, "  %-10s %s\n", c->name, c->summary);
	fputs("\nTRACE is ./whywait.ctf unless named. `whywait COMMAND --help` lists the options.\n", out);
}

/* `whywait -o DIR -- CMD`: no subcommand, but options of record's, or a command line to run. */
static bool is_record(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--"))
			return true;
	return argc >= 2 && argv[1][0] == '-';
}

int main(int argc, char **argv)
{
	if (argc >= 2 && argv[1][0] != '-') {
		const struct ww_command *c = ww_command_find(argv[1]);
		if (c)
			return c->run(argc - 1, argv + 1);
	}
	if (argc >= 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))) {
		usage(stdout);
		return WW_EXIT_DONE;
	}
	if (argc >= 2 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))) {
		puts("whywait " WW_VERSION);
		return WW_EXIT_DONE;
	}
	const struct ww_command *record = ww_command_find("record");
	if (record && is_record(argc, argv)) {
		argv[0] = (char *)"whywait";
		return record->run(argc, argv);
	}
	if (argc >= 2 && argv[1][0] != '-')
		fprintf(stderr, "whywait: no command '%s'; to run a program write: whywait -- %s\n\n", argv[1],
			argv[1]);
	usage(stderr);
	return WW_EXIT_USAGE;
}
