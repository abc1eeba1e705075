/* index.h - LTTng's index of a stream file, asked only where the stream itself is damaged. packet.c's. */
#ifndef WW_CTF_INDEX_H
#define WW_CTF_INDEX_H

#include "base/base.h"
#include "base/vec.h"

struct ctf_index_entry {
	uint64_t off, packet_bits, content_bits; /* off in bytes */
	uint64_t begin, end;                     /* cycles */
	uint64_t discarded, stream_id;
};

struct ctf_index {
	WW_VEC(struct ctf_index_entry) entries; /* of a file, without holes, in the file's order; empty: none to be believed */
	bool tried;
};

/* ctf_index_read - the index of the stream file `path`, index/NAME.idx beside it, when it can be true of that file:
 * its packets follow one another from byte 0 on and end within `size` bytes. Any other leaves *ret empty. */
void ctf_index_read(const char *path, uint64_t size, struct ctf_index *ret);
/* The packet that begins at `off`; NULL: the index does not know one. */
const struct ctf_index_entry *ctf_index_find(const struct ctf_index *x, uint64_t off);
void ctf_index_release(struct ctf_index *x);

#endif
