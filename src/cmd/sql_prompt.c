/* sql_prompt.c - the prompt: lines with libedit until a semicolon, and the commands that begin with a dot. */
#include <errno.h>
#include <histedit.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/load.h"
#include "cmd/sql_prompt.h"

#define HISTORY_LINES 1000

/* The line of the text that has the byte in it, and how many come before it. */
static const char *find_line(const char *text, size_t offset, unsigned *ret_number)
{
	const char *line = text;

	*ret_number = 1;
	for (const char *s = text; *s && (size_t)(s - text) < offset; s++)
		if (*s == '\n') {
			line = s + 1;
			++*ret_number;
		}
	return line;
}

void ww_sql_complain(const char *name, const char *text, const struct ww_err *err)
{
	const size_t offset = err->offset == WW_ERR_NO_OFFSET ? 0 : WW_MIN((size_t)err->offset, strlen(text));
	unsigned number;
	const char *line = find_line(text, offset, &number);
	const int len = (int)WW_MIN(strcspn(line, "\n"), 1000), at = (int)(offset - (size_t)(line - text));
	int column = 1;

	for (int i = 0; i < at && i < len; i++)
		column += ((unsigned char)line[i] & 0xc0) != 0x80;
	fprintf(stderr, "whywait sql: %s, line %u, column %d: %s%s%s\n", name, number, column, err->message,
		*err->hint ? "; " : "", err->hint);
	if (at <= 120) { /* longer, the mark would not stand below */
		fprintf(stderr, "  %.*s\n  ", WW_MIN(len, 160), line);
		for (int i = 0; i < at && i < len; i++)
			if (((unsigned char)line[i] & 0xc0) != 0x80)
				putc(line[i] == '\t' ? '\t' : ' ', stderr);
		fputs("^\n", stderr);
	}
}

/* ---- signals ---- */

static struct ww_sql *running; /* the query that Ctrl-C ends; NULL at the prompt */
static volatile sig_atomic_t interrupted;

static pthread_t prompt_thread;

static void on_interrupt(int sig)
{
	/* Facts have threads of their own; it is reading a line that must end. */
	if (!pthread_equal(pthread_self(), prompt_thread)) {
		pthread_kill(prompt_thread, sig);
		return;
	}
	interrupted = 1;
	if (running)
		ww_sql_interrupt(running);
}

/* ---- history ---- */

/* $XDG_STATE_HOME/whywait/sql_history, with its directories made; NULL: there is no home. The caller frees it. */
static char *history_path(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char *dir = state && *state == '/' ? ww_xstrdup(state)
		    : home && *home == '/' ? ww_xasprintf("%s/.local/state", home)
					   : NULL;

	if (!dir)
		return NULL;
	char *path = ww_xasprintf("%s/whywait/sql_history", dir);
	for (char *s = path + 1; *s; s++)
		if (*s == '/') {
			*s = 0;
			mkdir(path, 0700); /* that it cannot be made is seen when the file is written */
			*s = '/';
		}
	free(dir);
	return path;
}

/* ---- commands ---- */

struct prompt {
	struct ww_sql *q;
	struct ww_sql_print *p; /* of these two alone commands make use */
	EditLine *el;
	char *text; /* typed so far */
	size_t n;
	bool quit;
};

static const struct {
	const char *name;
	enum ww_sql_mode mode;
} modes[] = {{"table", WW_SQL_TABLE}, {"csv", WW_SQL_CSV}, {"json", WW_SQL_JSON}, {"lines", WW_SQL_LINES}};

static void do_help(struct prompt *t, const char *arg)
{
	puts("Type SQL, over as many lines as it takes, and end it with a semicolon.\n"
	     "  .tables            the tables there are\n"
	     "  .schema [TABLE]    the columns of one, or of all\n"
	     "  .mode [MODE]       how rows are printed: table, csv, json, lines\n"
	     "  .help              this text\n"
	     "  .quit              leave; so does Ctrl-D\n"
	     "Ctrl-C ends the query that runs, else drops what was typed. Times are ns; trace_start(), trace_end().");
}

static void do_tables(struct prompt *t, const char *arg)
{
	ww_sql_list_tables(t->q, stdout);
}

static void do_schema(struct prompt *t, const char *arg)
{
	if (!ww_sql_list_columns(t->q, stdout, *arg ? arg : NULL))
		fprintf(stderr, "no table '%s'; .tables lists them\n", arg);
}

static void do_mode(struct prompt *t, const char *arg)
{
	for (size_t i = 0; i < WW_ARRAY_SIZE(modes); i++) {
		if (!*arg && modes[i].mode == t->p->mode)
			puts(modes[i].name);
		if (strcmp(arg, modes[i].name))
			continue;
		t->p->mode = modes[i].mode;
		return;
	}
	if (*arg)
		fputs("the modes are table, csv, json, lines\n", stderr);
}

static void do_quit(struct prompt *t, const char *arg)
{
	t->quit = true;
}

static const struct {
	const char *name;
	void (*run)(struct prompt *t, const char *arg);
} commands[] = {
	{".tables", do_tables}, {".schema", do_schema}, {".mode", do_mode}, {".help", do_help},
	{".quit", do_quit}, {".exit", do_quit},
};

/* false: there is none of that name. */
static bool run_command(struct prompt *t, char *line)
{
	char *arg = line + strcspn(line, " \t");

	if (*arg)
		*arg++ = 0;
	arg += strspn(arg, " \t");
	arg[strcspn(arg, " \t;")] = 0;
	for (size_t i = 0; i < WW_ARRAY_SIZE(commands); i++)
		if (!strcmp(line, commands[i].name)) {
			commands[i].run(t, arg);
			return true;
		}
	fprintf(stderr, "no command '%s'; .help lists them\n", line);
	return false;
}

/* ---- a text ---- */

static int run_part(struct prompt *t, const char *name, const char *text)
{
	struct ww_err err = {0};

	if (!text[strspn(text, " \t\r\n")] || !ww_sql_run(t->q, text, t->p, &err))
		return WW_EXIT_DONE;
	ww_sql_complain(name, text, &err);
	return WW_EXIT_FAILED;
}

/* What has been run is blanked, so that lines keep their numbers. */
int ww_sql_script(struct ww_sql *q, const char *name, char *text, struct ww_sql_print *p)
{
	struct prompt t = {.q = q, .p = p};
	char *end;
	int rc = WW_EXIT_DONE;

	for (char *line = text; *line && !rc && !t.quit; line = *end ? end + 1 : end) {
		end = line + strcspn(line, "\n");
		if (*line != '.')
			continue;
		const char had = *line;
		*line = 0; /* what comes before: whole statements, or this is in the middle of one */
		const bool between = !text[strspn(text, " \t\r\n")] || ww_sql_complete(text);
		if (between)
			rc = run_part(&t, name, text);
		*line = had;
		if (!between || rc)
			continue;
		char *command = ww_xasprintf("%.*s", (int)strcspn(line, "\r\n"), line);
		rc = run_command(&t, command) ? WW_EXIT_DONE : WW_EXIT_FAILED;
		free(command);
		for (char *c = text; c < end; c++)
			*c = *c == '\n' ? '\n' : ' ';
	}
	return rc || t.quit ? rc : run_part(&t, name, text);
}

/* ---- at the prompt ---- */

static void run_query(struct prompt *t)
{
	struct ww_err err = {0};

	t->p->answers = t->p->nlacks = 0;
	interrupted = 0;
	running = t->q;
	int rc = ww_sql_run(t->q, t->text, t->p, &err);
	running = NULL;
	fflush(stdout);
	ww_load_note_lacks(t->p->lacks, t->p->nlacks, false);
	t->p->nlacks = 0;
	if (rc)
		ww_sql_complain("query", t->text, &err);
}

static void take_line(struct prompt *t, const char *line)
{
	const size_t len = strlen(line);

	if (!t->n && *line == '.') {
		char *copy = ww_xstrdup(line);
		run_command(t, copy);
		free(copy);
		return;
	}
	t->text = ww_xrealloc(t->text, t->n + len + 2);
	memcpy(t->text + t->n, line, len);
	t->n += len;
	t->text[t->n++] = '\n';
	t->text[t->n] = 0;
	if (!t->text[strspn(t->text, " \t\n")]) {
		t->n = 0;
	} else if (ww_sql_complete(t->text)) {
		run_query(t);
		t->n = 0;
	}
}

/* ---- the loop ---- */

static char *prompt_of(EditLine *el)
{
	static char first[] = "sql> ", more[] = "  -> ";
	struct prompt *t;

	el_get(el, EL_CLIENTDATA, &t);
	return t->n ? more : first;
}

static void read_lines(struct prompt *t, History *h, HistEvent *ev)
{
	while (!t->quit) {
		int n = 0;
		interrupted = 0;
		const char *got = el_gets(t->el, &n);
		if (interrupted) { /* Ctrl-C: what was typed is dropped */
			el_reset(t->el);
			puts("^C");
			t->n = 0;
			continue;
		}
		if (!got || n <= 0)
			break;
		char *line = ww_xstrdup(got);
		line[strcspn(line, "\r\n")] = 0;
		if (line[strspn(line, " \t")])
			history(h, ev, H_ENTER, line);
		take_line(t, line);
		free(line);
	}
	if (!t->quit)
		putchar('\n');
}

int ww_sql_prompt(struct ww_sql *q, struct ww_sql_print *p)
{
	struct sigaction on = {.sa_handler = on_interrupt}, old;
	struct prompt t = {.q = q, .p = p};
	char *path = history_path();
	HistEvent ev;

	t.el = el_init("whywait", stdin, stdout, stderr);
	History *h = history_init();
	if (!t.el || !h) {
		fputs("whywait sql: the terminal cannot be used\n", stderr);
		return WW_EXIT_FAILED;
	}
	prompt_thread = pthread_self();
	sigaction(SIGINT, &on, &old); /* no SA_RESTART: it ends reading a line */
	el_set(t.el, EL_CLIENTDATA, &t);
	el_set(t.el, EL_PROMPT, prompt_of);
	el_set(t.el, EL_EDITOR, "emacs");
	el_set(t.el, EL_HIST, history, h);
	el_source(t.el, NULL); /* ~/.editrc */
	history(h, &ev, H_SETSIZE, HISTORY_LINES);
	history(h, &ev, H_SETUNIQUE, 1);
	if (path)
		history(h, &ev, H_LOAD, path);
	puts("SQL over the trace; .help says more.");
	read_lines(&t, h, &ev);
	if (path && history(h, &ev, H_SAVE, path) < 0)
		fprintf(stderr, "whywait sql: %s: the history could not be kept\n", path);
	sigaction(SIGINT, &old, NULL);
	history_end(h);
	el_end(t.el);
	free(t.text);
	free(path);
	return WW_EXIT_DONE;
}
