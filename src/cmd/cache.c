/* cache.c - reads the facts file where there is one of this trace, else has it written while the answer is made. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/place.h"
#include "cmd/cache.h"
#include "cmd/commands.h"
#include "cmd/load.h"

struct ww_cache {
	char *path;
	struct ww_opts opts;
	struct ww_facts_key key;
	struct ww_facts_again again;
	char *used; /* the file that the facts are from */
	struct ww_facts_places places;
	const struct ww_facts *f; /* being written */
	struct ww_facts_notes notes;
	pthread_t writer;
	bool writing;
	const char *kept; /* where they were written; NULL not */
	struct ww_err err;
};

static void say(const struct ww_cache *c, const struct ww_err *err)
{
	char text[1200];

	if (!c->opts.verbose || !err->code)
		return;
	ww_err_format(err, text, sizeof(text));
	fprintf(stderr, "whywait: %s\n", text);
}

/* A damaged block in a large facts file: the facts come from the trace from here on. Who waits for them cannot be told
 * that there are none. */
static void make_again(void *ctx, const struct ww_facts *damaged, struct ww_facts *ret)
{
	struct ww_cache *c = ctx;
	struct ww_facts_notes notes = {0};
	struct ww_facts_key now;
	struct ww_err err = {0};

	unlink(c->used);
	if (c->opts.verbose)
		fprintf(stderr, "whywait: %s is damaged: the trace is read again\n", c->used);
	ww_facts_init(ret);
	int rc = ww_facts_key_make(c->path, &now, &err);
	if (!rc)
		rc = ww_load_model(c->path, &c->opts, ret, &notes, &err);
	ww_facts_notes_release(&notes);
	if (!rc && ww_facts_key_equal(&now, &c->key) && ww_facts_same_shape(damaged, ret))
		return;
	fprintf(stderr, "whywait: %s was damaged and is removed; run the command again\n", c->used);
	_exit(WW_EXIT_FAILED);
}

struct ww_cache *ww_cache_new(const char *path, const struct ww_opts *opts)
{
	const char *no = getenv("WHYWAIT_NO_CACHE");
	struct ww_facts_key key;

	if (opts->no_cache || (no && *no) || ww_facts_key_make(path, &key, NULL) || key.bytes < WW_CACHE_MIN_BYTES)
		return NULL;
	struct ww_cache *c = ww_xcalloc(1, sizeof(*c));
	c->path = ww_xstrdup(path);
	c->opts = *opts;
	c->again = (struct ww_facts_again){.make = make_again, .ctx = c};
	c->key = key;
	ww_facts_places_make(path, &c->places);
	return c;
}

/* Notes name files by the path that the trace was opened with, which may be another one now. */
static bool same_words(const struct ww_cache *c, const struct ww_facts *f, const struct ww_facts_notes *notes)
{
	return !notes->n || !strcmp(f->host.trace_path, c->path);
}

static bool read_from(struct ww_cache *c, const char *file, struct ww_facts *f, struct ww_facts_notes *notes)
{
	struct ww_err err = {0};

	if (!*file)
		return false;
	free(c->used);
	c->used = ww_xstrdup(file);
	if (ww_facts_open(f, &c->key, file, &c->again, notes, &err)) {
		if (err.code != WW_ENOENT && err.code != WW_EFORMAT)
			say(c, &err);
		return false;
	}
	if (!same_words(c, f, notes)) {
		ww_facts_notes_release(notes);
		ww_facts_release(f);
		ww_facts_init(f);
		return false;
	}
	f->host.trace_path = ww_arena_strdup(&f->mem, c->path);
	if (file == c->places.cache) /* used: it stays longer there */
		utimensat(AT_FDCWD, file, NULL, 0);
	if (c->opts.verbose)
		fprintf(stderr, "whywait: the facts are from %s\n", file);
	return true;
}

bool ww_cache_read(struct ww_cache *c, struct ww_facts *f, struct ww_facts_notes *notes)
{
	return c && (read_from(c, c->places.beside, f, notes) || read_from(c, c->places.cache, f, notes));
}

static void *write_facts(void *arg)
{
	struct ww_cache *c = arg;
	struct ww_facts_key now;

	/* A trace that is still being written, or was changed meanwhile, is not what was read. */
	if (ww_facts_key_make(c->path, &now, NULL) || !ww_facts_key_equal(&now, &c->key))
		return NULL;
	if (c->places.write_beside && !ww_facts_save(c->f, &c->key, &c->notes, c->places.beside, &c->err)) {
		c->kept = c->places.beside;
		return NULL;
	}
	const bool elsewhere = *c->places.cache && (!c->err.code || c->err.code == WW_EPERM);
	if (elsewhere) {
		ww_err_clear(&c->err);
		if (!ww_facts_save(c->f, &c->key, &c->notes, c->places.cache, &c->err)) {
			c->kept = c->places.cache;
			ww_place_prune(c->places.cache, ".facts", ww_place_cache_bytes());
		}
	}
	return NULL;
}

void ww_cache_keep(struct ww_cache *c, const struct ww_facts *f, const struct ww_facts_notes *notes)
{
	if (!c || c->writing || !f->sealed)
		return;
	for (uint32_t i = 0; i < notes->n; i++)
		ww_facts_notes_add(&c->notes, notes->line[i]);
	c->f = f;
	c->writing = !pthread_create(&c->writer, NULL, write_facts, c);
}

void ww_cache_wait(struct ww_cache *c)
{
	if (!c || !c->writing)
		return;
	pthread_join(c->writer, NULL);
	c->writing = false;
	say(c, &c->err);
	if (c->kept && c->opts.verbose)
		fprintf(stderr, "whywait: the facts are kept in %s\n", c->kept);
}

void ww_cache_free(struct ww_cache *c)
{
	if (!c)
		return;
	ww_cache_wait(c);
	ww_facts_notes_release(&c->notes);
	ww_facts_places_release(&c->places);
	free(c->used);
	free(c->path);
	free(c);
}
