/* formats.c - the table of formats. A new one is a folder and a row here. */
#include "format/format.h"

/* meson.build defines WW_HAVE_* for the formats that are in the tree; first match wins. */
const struct ww_format *const ww_formats[] = {
#ifdef WW_HAVE_CTF
	&ww_format_ctf,
#endif
#ifdef WW_HAVE_TRACEDAT
	&ww_format_tracedat,
#endif
#ifdef WW_HAVE_PERFDATA
	&ww_format_perfdata,
#endif
	NULL,
};
