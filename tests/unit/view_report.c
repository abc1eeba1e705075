/* view_report.c - the text of a report whose facts are known (scene.h); the expected lines were written
 * by hand from the picture in analysis_report.c, not taken from the program's output. */
#include "../tap.h"

#include "base/jsonout.h"
#include "path_scene.h"
#include "view/view.h"

enum what { REPORT, TREE, REPORT_JSON };

static char *render_facts(const struct ww_facts *f, int32_t tid, const struct ww_text_opts *o, enum what what);

static char *render(struct scene *s, const struct ww_text_opts *o, enum what what)
{
	return render_facts(&s->f, -1, o, what);
}

static char *render_facts(const struct ww_facts *f, int32_t tid, const struct ww_text_opts *o, enum what what)
{
	const struct ww_query whole = {.tid = tid, .pid = -1, .from_ts_ns = INT64_MIN, .to_ts_ns = INT64_MAX};
	static const struct ww_report_opts full = {.waits = true, .family_waits = true};
	struct ww_arena mem;
	struct ww_report r;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	ww_arena_init(&mem);
	ww_report_make(&mem, f, &whole, &full, &r, NULL);
	if (what == REPORT)
		ww_report_text(out, &r, o);
	else if (what == TREE)
		ww_tree_text(out, &r, o);
	else
		ww_report_json(out, &r, true);
	fclose(out);
	ww_arena_release(&mem);
	return text;
}

/* Is there a line that begins so (after blanks), and how wide is the widest? */
static const char *line_with(const char *text, const char *begin)
{
	static char line[512];

	for (const char *p = text; *p; p += strcspn(p, "\n") + (p[strcspn(p, "\n")] == '\n')) {
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(p, "\n"), p);
		const char *q = line + strspn(line, " ");
		if (!strncmp(q, begin, strlen(begin)))
			return q;
	}
	return NULL;
}

/* Words as they are, whatever lines they stand in. */
static char *unfolded(const char *text)
{
	char *to = ww_xmalloc(strlen(text) + 1), *w = to;

	for (; *text; text++)
		if (*text != ' ' && *text != '\n')
			*w++ = *text;
	*w = 0;
	return to;
}

static bool trails(const char *text)
{
	return strstr(text, " \n") != NULL;
}

static size_t widest(const char *text)
{
	size_t most = 0;

	for (const char *p = text; *p; p += strcspn(p, "\n") + (p[strcspn(p, "\n")] == '\n')) {
		most = WW_MAX(most, strcspn(p, "\n"));
		if (strcspn(p, "\n") > 100)
			printf("# too wide: %.*s\n", (int)strcspn(p, "\n"), p);
	}
	return most;
}

/* a waits 1000 for b, which runs and sleeps by turns, 25 times each; then 100, of which b runs 97 and is preempted 3. */
static void many_short_steps(void)
{
	const struct ww_text_opts o = {.width = 100, .kinds = 6, .steps = 4, .permille = 50};
	struct play p;

	play_begin(&p);
	uint32_t a = actor(&p, "a", 0, 1200), b = actor(&p, "b", 0, 1200);
	runs(&p, a, 50), waits(&p, a, 1050, WW_CA_PIPE, WW_WK_THREAD, b, WW_NONE);
	runs(&p, a, 1080), waits(&p, a, 1180, WW_CA_FUTEX, WW_WK_THREAD, b, WW_NONE), runs(&p, a, 1200);
	runs(&p, b, 50);
	for (int i = 0; i < 25; i++)
		runs(&p, b, 80 + 40 * i), waits(&p, b, 90 + 40 * i, WW_CA_TIMER, WW_WK_TIMER, WW_NONE, WW_NONE);
	runs(&p, b, 1177), is_in(&p, b, 1180, WW_ST_PREEMPTED, a), runs(&p, b, 1200);
	play_end(&p);
	char *text = render_facts(&p.f, p.f.thread.tid[a], &o, REPORT);
	ok(line_with(text, "b (101) RUNNING 750 ns: 25 times, longest 30 ns") != NULL, "many short runs in one line");
	ok(line_with(text, "b (101) blocked: timer 250 ns: 25 times, longest 10 ns") != NULL, "and many short waits");
	ok(line_with(text, "b (101) RUNNING 97 ns: user 97 ns") != NULL, "a long run");
	ok(line_with(text, "b (101) ready: preempted 3 ns: by a (100)") != NULL, "what is short and alone is shown");
	ok(!strstr(text, "shorter step"), "nothing is left");
	free(text);
	play_release(&p);
}

int main(void)
{
	struct ww_text_opts o = {.width = 100, .top = 10, .steps = 5, .permille = 30};
	struct scene s;

	many_short_steps();
	build(&s);
	s.f.thread.comm[s.b] = str(&s.f, "wri\033[31mter");
	char *text = render(&s, &o, REPORT);
	ok(!strchr(text, '\033'), "no escape sequence without colour, nor out of the trace");
	s.f.thread.comm[s.b] = str(&s.f, "writer");
	free(text);

	text = render(&s, &o, REPORT);
	ok(widest(text) <= 100, "the report fits into 100 columns: %zu", widest(text));
	ok(line_with(text, "reader (1): wall time 100 ns") != NULL, "it names thread and wall time");
	ok(line_with(text, "50 ns  50.0 %      1     50 ns  blocked: pipe in read - pipe:[7], from writer (2)")
		   != NULL, "a row of the table");
	ok(line_with(text, "100 ns 100.0 %") != NULL, "the table ends in the wall time");
	ok(line_with(text, "--> Blocked in SYSCALL read(3 pipe:[7]) 50 ns") != NULL, "the longest wait");
	ok(line_with(text, "--> writer (2) Blocked in SYSCALL nanosleep 20 ns") != NULL, "its waker's own wait");
	ok(line_with(text, "writer (2) RUNNING 18 ns") != NULL, "its waker's running");
	ok(line_with(text, "--- Woken up in context of writer (2)") != NULL, "who woke");
	ok(line_with(text, "--- Woken up by block completion: vda write") != NULL, "the device woke");
	const char *f = line_with(text, "- 50 % of the wall time (50 ns)");
	ok(f && strstr(f, "pipe"), "the first finding");
	free(text);

	static const enum what both[] = {REPORT, TREE};
	for (int i = 0; i < 2; i++) {
		o.width = 400;
		char *wide = render(&s, &o, both[i]), *words = unfolded(wide);
		o.width = 60;
		char *narrow = render(&s, &o, both[i]), *same = unfolded(narrow);
		ok(widest(narrow) <= 60 && widest(narrow) > 50, "60 columns are 60 columns: %zu", widest(narrow));
		ok(!strcmp(words, same), "in which everything is said");
		ok(!trails(narrow) && !trails(wide) && !strstr(narrow, "..."), "no line ends in a blank, nothing is cut");
		free(wide), free(words), free(narrow), free(same);
	}
	o.width = 100;

	text = render(&s, &o, TREE);
	ok(widest(text) <= 100, "the tree fits into 100 columns: %zu", widest(text));
	const char *read_at = strstr(text, "read(3"), *fsync_at = strstr(text, "fsync(4");
	ok(read_at && fsync_at && read_at < fsync_at, "the tree has both waits, by time");
	free(text);

	o.kinds = 6;
	text = render(&s, &o, REPORT);
	ok(widest(text) <= 100, "by kinds it fits too: %zu", widest(text));
	ok(line_with(text, "The longest wait of each kind") != NULL, "waits by kind");
	ok(line_with(text, "50.0 % blocked") == NULL && line_with(text, "70.0 % blocked") != NULL, "the sums in short");
	ok(strstr(text, "3.0 % unknown") != NULL, "what the trace does not show has its name there too");
	ok(!strstr(text, "exit status") && !strstr(text, "killed") && !strstr(text, "Incomplete"),
	   "nothing is said of an end that is not known, nor of losses when there are none");
	free(text);

	s.f.target = s.a;
	s.f.target_status = 0;
	text = render(&s, &o, REPORT);
	ok(!strstr(text, "exit status"), "a good end is no news");
	free(text);
	s.f.target_status = 3 << 8;
	s.f.loss.lost_events = 12;
	text = render(&s, &o, REPORT);
	ok(line_with(text, "reader (1): wall time 100 ns, exit status 3, from") != NULL, "a bad end is");
	ok(line_with(text, "Incomplete: events lost: 12") != NULL, "losses come first");
	free(text);
	s.f.target_status = 9;
	text = render(&s, &o, REPORT);
	ok(strstr(text, "killed by signal 9 (Killed)") != NULL, "and a violent one");
	free(text);
	s.f.loss.lost_events = 0;

	s.f.target_status = 3 << 8;
	text = render(&s, &o, REPORT_JSON);
	ok(line_with(text, "\"target_status\": 768") && line_with(text, "\"exit_status\": 3") && !strstr(text, "\"signal\":"),
	   "JSON has the exit status as a plain number too");
	free(text);
	s.f.target_status = 9 | 128;
	text = render(&s, &o, REPORT_JSON);
	ok(line_with(text, "\"signal\": 9") && !strstr(text, "exit_status"), "or the signal");
	free(text);
	s.f.target_status = 0;

	o.color = true;
	text = render(&s, &o, REPORT);
	ok(strchr(text, '\033') != NULL, "colour when asked");
	free(text);

	text = render(&s, &o, REPORT_JSON);
	ok(strstr(text, "\"wall_ns\": 100") != NULL, "JSON has the wall time");
	ok(!strchr(text, '\033'), "and no colour");
	free(text);
	ww_facts_release(&s.f);
	return done_testing();
}
