/* units.h - numbers as a person reads them, and back. */
#ifndef WW_UNITS_H
#define WW_UNITS_H

#include "base/base.h"

#define WW_NS_PER_S 1000000000LL
#define WW_US_PER_S 1000000ULL

/* The number's digits, which end before `end`: where they begin, at most WW_DIGITS bytes before it. */
#define WW_DIGITS 20
char *ww_digits_put(uint64_t v, char *end);
/* The same of a signed one, and its minus: at most 1 + WW_DIGITS bytes. */
char *ww_number_put(int64_t v, char *end);
/* "2.668 ms", "41 ns", "1.204 s": four significant digits. Returns buf, which has room for it with WW_DUR_BYTES. */
#define WW_DUR_BYTES 24
char *ww_dur_format(int64_t dur_ns, char *buf, size_t size);
/* "12.3 MB". */
char *ww_bytes_format(uint64_t bytes, char *buf, size_t size);
/* "1.5s", "20ms", "300us", "7ns", "1.5" (seconds). Returns false when it is none of these. */
bool ww_dur_parse(const char *s, int64_t *ret_ns);
/* "64M", "1G", "4096". */
bool ww_bytes_parse(const char *s, uint64_t *ret_bytes);

#endif
