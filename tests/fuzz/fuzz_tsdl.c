/* Fuzz target: any bytes as CTF metadata, packets or text, are classes or an error. */
#include "format/ctf/meta.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct ctf_meta *m = NULL;
	struct ww_err err = {0};

	if (ctf_meta_parse("metadata", p, n, &m, &err) == 0)
		ctf_meta_free(m);
	else
		WW_ASSERT(err.code && *err.message && (err.offset <= n || err.offset == WW_ERR_NO_OFFSET));
	return 0;
}
