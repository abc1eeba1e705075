/* file_private.h - the layout of a facts file, between the files of src/facts that write and read it.
 *
 *   head | blocks of columns, in no order | meta | directory: columns, blocks
 * All in the byte order of the machine that wrote it; another one makes its own.
 */
#ifndef WW_FILE_PRIVATE_H
#define WW_FILE_PRIVATE_H

#include <stdatomic.h>

#include "base/pack.h"
#include "base/span.h"
#include "base/vec.h"
#include "facts/facts_file.h"

#define FILE_MAGIC "wwfacts3"
#define FILE_ENDIAN 0x01020304u

struct file_head {
	char magic[8];
	uint32_t endian, columns;
	struct ww_facts_key key;
	uint64_t file_bytes;
	uint64_t meta_offset, meta_bytes, meta_sum;
	uint64_t dir_offset, dir_bytes, dir_sum;
	uint64_t blocks; /* of all columns; the directory is `columns` column_place and so many block_place */
	uint64_t sum;    /* of all that stands before it */
};
_Static_assert(sizeof(struct file_head) == 120, "the head of a facts file is 120 bytes on disk");

struct column_place {
	uint64_t rows, first_block;
};
_Static_assert(sizeof(struct column_place) == 16, "a column of the directory is 16 bytes on disk");

struct block_place { /* of 4096 rows; the last one of a column may have fewer */
	uint64_t offset;
	uint32_t bytes, sum;
};
_Static_assert(sizeof(struct block_place) == 16, "a block of the directory is 16 bytes on disk");

/* What the values of a column may be, so that whoever uses them as an index is safe. */
struct column_rule {
	uint64_t least, limit; /* as packed: least <= v < limit */
};

/* A column of a fact, or an index that sealing made: where it is in struct ww_facts. */
struct file_column {
	const char *fact, *name;
	uint32_t id;      /* enum ww_column_id; WW_NONE: an index or a mark, on the heap */
	uint32_t size;
	bool is_signed;
	const char *unit; /* with `sql`, what its values are */
	const char *sql;
	size_t at;        /* of the pointer to it */
	size_t rows_at;   /* of the number of rows */
	uint32_t more;    /* rows than that: of those that say where others begin, which are checked as a whole */
	bool is_length;   /* of what begins at the column before it: what is packed is by how much it differs from the
			   * distance to the next row's begin, mostly by nothing */
};

#define FILE_COLUMNS_MAX 256u
/* All columns, in the file's order. */
uint32_t ww_file_columns(struct file_column ret[FILE_COLUMNS_MAX]);
struct column_rule ww_file_rule(const struct file_column *c, const struct ww_facts *f);

static inline void **ww_file_pointer(const struct file_column *c, const struct ww_facts *f)
{
	return (void **)((char *)(uintptr_t)f + c->at);
}

static inline uint32_t ww_file_rows(const struct file_column *c, const struct ww_facts *f)
{
	uint32_t n;

	memcpy(&n, (const char *)f + c->rows_at, sizeof(n));
	return n;
}

static inline uint32_t ww_file_rows_in(uint64_t rows, uint64_t block)
{
	return (uint32_t)WW_MIN(rows - block * WW_PACK_ROWS, WW_PACK_ROWS);
}

/* Between a column's own type and the unsigned numbers that are packed: near numbers stay near, WW_NONE is 0. */
void ww_file_widen(const struct file_column *c, const void *from, uint32_t n, uint64_t *ret);
void ww_file_narrow(const struct file_column *c, const uint64_t *from, uint32_t n, void *ret);
static inline bool ww_file_rule_allows(const struct column_rule *r, uint64_t min, uint64_t max)
{
	return min >= r->least && (!r->limit || max < r->limit);
}

struct ww_pack_range ww_file_range(const uint64_t *v, uint32_t n);
/* Do all n values obey? */
bool ww_file_obeys(const struct column_rule *r, const uint64_t *v, uint32_t n);
/* An open file. */
struct file_reader {
	struct ww_facts *f;
	const char *file;
	struct ww_err *err;
	const uint8_t *p; /* the file, mapped */
	uint64_t bytes;
	struct file_head h;
	struct file_column columns[FILE_COLUMNS_MAX];
	uint32_t ncolumns;
	const struct column_place *places;
	const struct block_place *blocks;
	_Atomic uint64_t bad; /* offset of a block that is damaged; 0 none */
	_Atomic uint8_t *checked; /* by block: its checksum is right, somebody looked; NULL: nobody keeps that */
};
/* `count` values of block b of column i from `first` on, as they were widened; false: they, or what they depend on, are damaged. */
bool ww_file_unpack(const struct file_reader *r, uint32_t i, uint64_t b, uint32_t first, uint32_t count, uint64_t *ret);
/* Unpacks block b of column i to `to`; false: it is damaged, and r->bad says where. */
bool ww_file_block(struct file_reader *r, uint32_t i, uint64_t b, const struct column_rule *rule, void *to);

/* ---- facts_lazy.c ---- */
/* Gives columns of more than LAZY_ROWS rows an address at which they are unpacked when they are read. Takes over r's
 * mapping of the file; frees itself with the facts. NULL: this system cannot. */
struct ww_facts_lazy *ww_facts_lazy_new(const struct file_reader *r, const struct ww_facts_again *again);
void ww_facts_lazy_free(struct ww_facts_lazy *l);
#define LAZY_ROWS 4096u /* are unpacked together */
/* Copies rows first .. first + n - 1 of a column without making its pages; false: it cannot, `column` is to be read. */
bool ww_facts_lazy_peek(struct ww_facts_lazy *l, const void *column, uint32_t first, uint32_t n, void *ret);

/* Copies n values of `size` bytes of a column, from wherever they are with the least trouble. */
static inline void ww_file_peek(const struct ww_facts *f, const void *column, uint32_t size, uint32_t first, uint32_t n,
				void *ret)
{
	if (n && (!f->lazy || !ww_facts_lazy_peek(f->lazy, column, first, n, ret)))
		memcpy(ret, (const char *)column + (size_t)first * size, (size_t)n * size);
}

/* What is in struct ww_facts beside columns: written when `in` is NULL, else read from it. */
struct meta_io {
	struct ww_span *in;
	WW_VEC(uint8_t) out;
};
bool ww_file_meta(struct meta_io *io, struct ww_facts *f, struct ww_facts_notes *notes);

#endif
