/* text.c - colours, times and words that the text views share. */
#include "analysis/names.h"
#include "base/units.h"
#include "view/text.h"

static const char *const paints[] = {
	[WW_P_BOLD] = "\033[1m", [WW_P_DIM] = "\033[2m",    [WW_P_RUN] = "\033[32m",
	[WW_P_WAIT] = "\033[31m", [WW_P_QUEUE] = "\033[33m", [WW_P_UNKNOWN] = "\033[35m",
};

const char *ww_paint_on(const struct ww_text *t, enum ww_paint p)
{
	return t->o->color && p != WW_P_NONE ? paints[p] : "";
}

const char *ww_paint_off(const struct ww_text *t, enum ww_paint p)
{
	return t->o->color && p != WW_P_NONE ? "\033[0m" : "";
}

enum ww_paint ww_paint_of(enum ww_thread_state s)
{
	switch (s) {
	case WW_ST_RUNNING_USER:
	case WW_ST_RUNNING_KERNEL:
	case WW_ST_RUNNING:
		return WW_P_RUN;
	case WW_ST_BLOCKED:
		return WW_P_WAIT;
	case WW_ST_UNKNOWN:
		return WW_P_UNKNOWN;
	default:
		return WW_P_QUEUE;
	}
}

/* The bytes of the character at s, 1 of what is none. Not shown is what would steer a terminal (C0, DEL, C1), and what is
 * no UTF-8. */
static size_t may_show(const char *s, bool *ret_shown)
{
	const size_t n = ww_utf8_len(s, strnlen(s, 4));
	const unsigned char c = (unsigned char)s[0];

	*ret_shown = n && c >= 32 && c != 127 && !(c == 0xc2 && (unsigned char)s[1] < 0xa0);
	return n ? n : 1;
}

const char *ww_text_printable(struct ww_text *t, const char *s)
{
	const char *p = s;
	bool shown = true;

	for (size_t n; *p; p += n) {
		n = may_show(p, &shown);
		if (!shown)
			break;
	}
	if (!*p)
		return s;
	char *copy = ww_arena_strdup(&t->mem, s), *to = copy + (p - s);
	for (size_t n; *p; p += n) {
		n = may_show(p, &shown);
		if (shown)
			memcpy(to, p, n);
		else
			*to = '?';
		to += shown ? n : 1;
	}
	*to = 0;
	return copy;
}

const char *ww_text_fit(struct ww_text *t, const char *s, size_t width)
{
	size_t n;

	s = ww_text_printable(t, s);
	n = strlen(s);
	if (t->o->verbose || n <= width)
		return s;
	if (width < 8)
		return ww_arena_strndup(&t->mem, s, width);
	size_t head = (width - 3) / 2, tail = width - 3 - head;
	/* do not cut inside a UTF-8 sequence */
	while (head && ((unsigned char)s[head] & 0xc0) == 0x80)
		head--;
	while (tail && ((unsigned char)s[n - tail] & 0xc0) == 0x80)
		tail--;
	return ww_arena_printf(&t->mem, "%.*s...%s", (int)head, s, s + n - tail);
}

/* The bytes of the character at s, and its columns: none of a colour's sequence. */
static size_t char_bytes(const char *s, uint32_t *ret_columns)
{
	size_t n = 1;

	*ret_columns = s[0] != '\033';
	if (s[0] == '\033' && s[1] == '[') {
		n = 2 + strcspn(s + 2, "m\n");
		return n + (s[n] == 'm');
	}
	while (((unsigned char)s[n] & 0xc0) == 0x80)
		n++;
	return n;
}

/* One line, without its end; in more than one where it is wider: between words. */
static void fold_line(FILE *out, const char *line, size_t n, uint32_t width)
{
	size_t lead = strspn(line, " "), from = 0, word = 0, at = lead; /* `word`: begin of the last word */
	uint32_t column = (uint32_t)lead, columns, word_column = column;
	/* what goes on in a table stands under its last column */
	uint32_t indent = line[lead] >= '0' && line[lead] <= '9' && width >= 80 ? 42 : WW_MIN((uint32_t)lead + 8, width / 2);

	while (at < n) {
		size_t bytes = char_bytes(line + at, &columns);
		if (at > lead && line[at - 1] == ' ' && line[at] != ' ') {
			word = at;
			word_column = column;
		}
		column += columns;
		at += bytes;
		if (column > width && word > from && line[at - bytes] != ' ') {
			size_t end = word;
			while (end > from && line[end - 1] == ' ')
				end--;
			fprintf(out, "%.*s\n%*s", (int)(end - from), line + from, (int)indent, "");
			column = indent + column - word_column;
			from = word;
		}
	}
	fprintf(out, "%.*s\n", (int)(n - from), line + from);
}

void ww_text_fold(FILE *out, const char *text, uint32_t width)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		fold_line(out, text, n, width);
		text += n + (text[n] == '\n');
	}
}

/* Does the space belong to one word, a number and its unit? */
static bool is_tied(const char *space)
{
	const char before = space[-1], after = space[1];

	return before >= '0' && before <= '9' && ((after >= 'a' && after <= 'z') || (after >= 'A' && after <= 'Z') || after == '%');
}

/* Bytes of the words that so many columns hold: up to a space or, where there is none, up to where they are full. */
static size_t line_bytes(const char *s, uint32_t room, bool may_break)
{
	size_t at = 0, word = 0;
	uint32_t column = 0, columns;

	while (s[at]) {
		if (s[at] == ' ' && at && !is_tied(s + at))
			word = at;
		size_t bytes = char_bytes(s + at, &columns);
		if (column + columns > room && s[at] != ' ')
			return word ? word : may_break ? at : 0;
		column += columns;
		at += bytes;
	}
	return at;
}

void ww_text_wrap(struct ww_text *t, uint32_t at, uint32_t hang, const char *words, enum ww_paint paint)
{
	const uint32_t width = t->o->width;

	words = ww_text_printable(t, words);
	hang = WW_MIN(hang, width - WW_MIN(width, 20));
	for (;;) {
		uint32_t room = width > at ? width - at : 0;
		size_t n = line_bytes(words, room, at <= hang && room);

		size_t shown = n;

		while (shown && words[shown - 1] == ' ')
			shown--;
		if (shown)
			fprintf(t->out, "%s%.*s%s", ww_paint_on(t, paint), (int)shown, words, ww_paint_off(t, paint));
		words += n;
		words += strspn(words, " ");
		if (!*words)
			break;
		fprintf(t->out, "\n%*s", (int)hang, "");
		at = hang;
	}
	fputc('\n', t->out);
}

FILE *ww_text_begin(struct ww_text *t, FILE *out, struct ww_text_fold *f)
{
	*f = (struct ww_text_fold){.out = out, .o = *t->o};
	f->o.width = WW_MAX(f->o.width, WW_TEXT_LAYOUT);
	f->lines = open_memstream(&f->text, &f->size);
	t->columns = t->o->width;
	if (f->lines)
		t->o = &f->o;
	t->out = f->lines ? f->lines : out;
	return t->out;
}

void ww_text_end(struct ww_text *t, struct ww_text_fold *f)
{
	if (!f->lines)
		return;
	if (!fclose(f->lines) && f->text)
		ww_text_fold(f->out, f->text, t->columns);
	free(f->text);
}

const char *ww_text_at(struct ww_text *t, int64_t ts_ns)
{
	const int64_t rel = ts_ns - t->f->begin_ts_ns;
	const uint64_t us = (rel < 0 ? -(uint64_t)rel : (uint64_t)rel) / 1000;
	char text[2 + WW_DIGITS], *end = text + sizeof(text), *at;

	/* 1 s in front of it: the microseconds have all their digits */
	at = ww_digits_put(WW_US_PER_S + us % WW_US_PER_S, end);
	*at = '.';
	at = ww_digits_put(us / WW_US_PER_S, at);
	*--at = rel < 0 ? '-' : '+';
	return ww_arena_strndup(&t->mem, at, (size_t)(end - at));
}

void ww_text_title(struct ww_text *t, const char *s)
{
	fprintf(t->out, "\n%s%s%s\n", ww_paint_on(t, WW_P_BOLD), s, ww_paint_off(t, WW_P_BOLD));
}

const char *ww_text_dur(struct ww_text *t, int64_t ns)
{
	char buf[24];

	return ww_arena_strdup(&t->mem, ww_dur_format(ns, buf, sizeof(buf)));
}

const char *ww_text_state(struct ww_text *t, enum ww_thread_state s, enum ww_cause c)
{
	static const char *const states[WW_ST_N] = {
		[WW_ST_UNKNOWN] = "unknown",        [WW_ST_RUNNING_USER] = "running: user",
		[WW_ST_RUNNING_KERNEL] = "running: kernel", [WW_ST_INTERRUPTED] = "interrupted",
		[WW_ST_STOLEN] = "stolen by host",  [WW_ST_PREEMPTED] = "ready: preempted",
		[WW_ST_RUNQUEUE] = "ready: no CPU yet", [WW_ST_THROTTLED] = "ready: throttled",
		[WW_ST_STOPPED] = "stopped",        [WW_ST_RUNNING] = "running",
	};

	if (s == WW_ST_BLOCKED)
		return ww_arena_printf(&t->mem, "blocked: %s",
				       c == WW_CA_NONE ? "unknown" : c == WW_CA_FAULT ? "page fault" : ww_cause_name(c));
	return s < WW_ST_N && states[s] ? states[s] : "unknown";
}

enum ww_text_group ww_text_group(enum ww_thread_state s)
{
	switch (s) {
	case WW_ST_RUNNING_USER:
	case WW_ST_RUNNING_KERNEL:
	case WW_ST_RUNNING:
	case WW_ST_INTERRUPTED:
		return WW_TG_RUNNING;
	case WW_ST_PREEMPTED:
	case WW_ST_RUNQUEUE:
	case WW_ST_THROTTLED:
	case WW_ST_STOLEN:
		return WW_TG_READY;
	case WW_ST_BLOCKED:
	case WW_ST_STOPPED:
		return WW_TG_BLOCKED;
	default:
		return WW_TG_UNKNOWN;
	}
}

const char *ww_text_woken(struct ww_text *t, const struct ww_woken *w)
{
	const char *who = ww_text_printable(t, ww_name_thread_at(&t->mem, t->f, w->thread, w->ts_ns)), *name = ww_text_printable(t, w->name);

	switch (w->kind) {
	case WW_WK_THREAD:
		return ww_arena_printf(&t->mem, "in context of %s%s%s", *who ? who : "an unknown thread",
				       *w->in ? ", in RUNNING " : "", ww_text_printable(t, w->in));
	case WW_WK_BLOCK:
		return ww_arena_printf(&t->mem, "by block completion: %s%s%s%s", name, *who ? " (submitted by " : "", who,
				       *who ? ")" : "");
	case WW_WK_TIMER:
		return ww_arena_printf(&t->mem, "by timer%s%s%s%s%s", strcmp(name, "timer") ? " " : "",
				       strcmp(name, "timer") ? name : "", *who ? " (armed by " : "", who, *who ? ")" : "");
	case WW_WK_PACKET:
		return ww_arena_printf(&t->mem, "by %s%s%s%s%s", strncmp(name, "packet", 6) ? "packet " : "", name, *who ? " (sent by " : "", who, *who ? ")" : "");
	case WW_WK_WORK:
		return ww_arena_printf(&t->mem, "by deferred work%s%s%s%s%s", *name ? " " : "", name, *who ? " (run by " : "", who,
				       *who ? ")" : "");
	case WW_WK_IRQ:
	case WW_WK_SOFTIRQ:
		return ww_arena_printf(&t->mem, "by %s", *name ? name : ww_waker_name(w->kind));
	case WW_WK_IPI:
	case WW_WK_SIGNAL:
		return ww_arena_printf(&t->mem, "by %s%s%s%s%s", ww_waker_name(w->kind), *name ? " " : "", name,
				       *who ? " from " : "", who);
	default:
		return "";
	}
}

void ww_text_loss(struct ww_text *t)
{
	const struct ww_loss *l = &t->f->loss;

	if (!l->lost_events && !l->bad_packets)
		return;
	fprintf(t->out, "%sIncomplete: events lost: %" PRIu64 ", packets damaged: %" PRIu64 "; what overlaps the gaps is "
		"uncertain%s\n", ww_paint_on(t, WW_P_WAIT), l->lost_events, l->bad_packets, ww_paint_off(t, WW_P_WAIT));
}
