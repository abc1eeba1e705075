/* view_text.c - words in lines of a width: some by hand, and 20000 random ones of which no letter may be lost and no line
 * be too wide. */
#include "../tap.h"

#include "view/text.h"

static char *wrap(const char *words, uint32_t width, uint32_t at, uint32_t hang)
{
	const struct ww_text_opts o = {.width = width};
	char *text = NULL;
	size_t size = 0;
	struct ww_text t = {.out = open_memstream(&text, &size), .o = &o};

	ww_arena_init(&t.mem);
	ww_text_wrap(&t, at, hang, words, WW_P_NONE);
	fclose(t.out);
	ww_arena_release(&t.mem);
	return text;
}

static void by_hand(void)
{
	static const struct {
		const char *words;
		uint32_t width, at, hang;
		const char *want;
	} rows[] = {
		{"", 40, 0, 2, "\n"},
		{"one two", 40, 0, 2, "one two\n"},
		{"one two three", 24, 16, 4, "one two\n    three\n"},
		{"for read 371.8 us", 30, 16, 4, "for read\n    371.8 us\n"}, /* a number and its unit */
		{"0123456789012345678901234567890", 24, 4, 4, "01234567890123456789\n    01234567890\n"}, /* no line has room for it */
		{"01234567890123", 24, 14, 4, "\n    01234567890123\n"},
		{"a  b", 24, 22, 4, "a\n    b\n"}, /* no blanks at the end */
		{"\033[2J", 40, 0, 0, "?[2J\n"},   /* nothing steers the terminal */
		{"\xc2\x9b" "2J \x7f", 40, 0, 0, "?2J ?\n"},
		{"\xc3\xa9\xff\xe2\x82 \xe2\x82\xac", 40, 0, 0, "\xc3\xa9??? \xe2\x82\xac\n"}, /* and what comes out is UTF-8 */
	};

	for (size_t i = 0; i < WW_ARRAY_SIZE(rows); i++) {
		char *text = wrap(rows[i].words, rows[i].width, rows[i].at, rows[i].hang);
		is_str(text, rows[i].want, rows[i].words);
		free(text);
	}
}

static uint32_t seed = 1;

static uint32_t rnd(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

/* Words of letters, numbers, units and characters of two and three bytes; *ret_letters: without blanks. */
static void make_words(char *words, char *letters)
{
	static const char *const parts[] = {"a", "read", "12", "us", "\u00e9", "\u2588", "/a/long/path/", ",", " ", " ", "  ", "0123456789"};
	const uint32_t n = rnd(60);

	*words = *letters = 0;
	for (uint32_t i = 0; i < n; i++) {
		const char *p = parts[rnd(WW_ARRAY_SIZE(parts))];
		strcat(words, p);
		if (*p != ' ')
			strcat(letters, p);
	}
}

static bool is_good(const char *text, const char *letters, uint32_t width, uint32_t at)
{
	uint32_t column = at;
	size_t n = strlen(text);

	if (!n || text[n - 1] != '\n')
		return false;
	for (const char *p = text; *p; p++) {
		if (*p == '\n') {
			if (p > text && p[-1] == ' ')
				return false;
			column = 0;
		} else if (((unsigned char)*p & 0xc0) != 0x80 && ++column > width) {
			return false;
		}
		if (*p != '\n' && *p != ' ' && *p != *letters++)
			return false;
	}
	return !*letters;
}

static void by_chance(void)
{
	char words[1200], letters[1200];
	int bad = 0;

	for (int i = 0; i < 20000 && bad < 3; i++) {
		uint32_t width = 24 + rnd(90), at = rnd(width - 20), hang = rnd(width);
		make_words(words, letters);
		char *text = wrap(words, width, at, hang);
		if (!is_good(text, letters, width, at)) {
			printf("# width %u at %u hang %u: '%s' is\n# '%s'\n", width, at, hang, words, text);
			bad++;
		}
		free(text);
	}
	ok(!bad, "random words: none is lost, no line is wider");
}

int main(void)
{
	by_hand();
	by_chance();
	return done_testing();
}
