/* units.c - durations and sizes for people. */
#include "base/units.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

struct unit {
	const char *name;
	double scale;
};

char *ww_digits_put(uint64_t v, char *end)
{
	do
		*--end = (char)('0' + v % 10);
	while (v /= 10);
	return end;
}

char *ww_number_put(int64_t v, char *end)
{
	end = ww_digits_put(v < 0 ? -(uint64_t)v : (uint64_t)v, end);
	if (v < 0)
		*--end = '-';
	return end;
}

/* Four significant digits: 2.668, 26.68, 266.8, 2668. */
static int decimals(double v)
{
	v = fabs(v);
	return v < 9.9995 ? 3 : v < 99.995 ? 2 : v < 999.95 ? 1 : 0;
}

/* What printf makes of the quotient, a tenth of the time; false where a double's own value decides: in the middle between
 * two numbers of so many digits, and when it is long. */
static bool format_whole(int64_t ns, char *buf)
{
	static const struct {
		int64_t ns;
		const char *name;
	} units[] = {{1, " ns"}, {1000, " us"}, {1000000, " ms"}, {1000000000, " s"}};
	char digits[WW_DIGITS];
	size_t u = 0, decimals = 0;

	if (ns < 0 || ns >= 1000000 * WW_NS_PER_S)
		return false;
	while (u + 1 < WW_ARRAY_SIZE(units) && 2 * ns >= 1999 * (units[u + 1].ns / 1000))
		u++;
	int64_t step = u ? units[u].ns / 1000 : 1; /* of the last digit */
	for (decimals = u ? 3 : 0; decimals && 2 * ns >= 19999 * step; decimals--)
		step *= 10;
	const int64_t rest = ns % step;
	if (2 * rest == step)
		return false;
	const char *from = ww_digits_put((uint64_t)(ns / step + (2 * rest > step)), digits + sizeof(digits)),
		   *point = digits + sizeof(digits) - decimals;
	while (from < point)
		*buf++ = *from++;
	if (decimals)
		*buf++ = '.';
	memcpy(buf, point, decimals);
	strcpy(buf + decimals, units[u].name);
	return true;
}

char *ww_dur_format(int64_t dur_ns, char *buf, size_t size)
{
	static const struct unit units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	double v = (double)dur_ns;
	size_t u = 0;

	if (size >= WW_DUR_BYTES && format_whole(dur_ns, buf))
		return buf;
	while (u + 1 < WW_ARRAY_SIZE(units) && fabs(v) >= 0.9995 * units[u + 1].scale)
		u++;
	v /= units[u].scale;
	snprintf(buf, size, "%.*f %s", u ? decimals(v) : 0, v, units[u].name);
	return buf;
}

char *ww_bytes_format(uint64_t bytes, char *buf, size_t size)
{
	static const struct unit units[] = {{"B", 1}, {"KiB", 1024}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
					    {"TiB", 1024.0 * (1 << 30)}};
	size_t u = 0;

	while (u + 1 < WW_ARRAY_SIZE(units) && (double)bytes >= units[u + 1].scale)
		u++;
	double v = (double)bytes / units[u].scale;
	snprintf(buf, size, "%.*f %s", v == floor(v) ? 0 : 1, v, units[u].name);
	return buf;
}

static bool parse_scaled(const char *s, const struct unit *units, size_t n, double *ret)
{
	char *end;

	if (!isdigit((unsigned char)*s) && *s != '.')
		return false;
	double v = strtod(s, &end);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(end, units[i].name))
			continue;
		*ret = v * units[i].scale;
		return isfinite(*ret) && *ret < 9.2e18;
	}
	return false;
}

bool ww_dur_parse(const char *s, int64_t *ret_ns)
{
	static const struct unit units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3},
					    {"ns", 1}, {"m", 60e9}, {"h", 3600e9}};
	double v;

	if (!parse_scaled(s, units, WW_ARRAY_SIZE(units), &v))
		return false;
	*ret_ns = (int64_t)llround(v);
	return true;
}

bool ww_bytes_parse(const char *s, uint64_t *ret_bytes)
{
	static const struct unit units[] = {{"", 1}, {"B", 1}, {"k", 1024}, {"K", 1024}, {"M", 1 << 20},
					    {"G", 1 << 30}, {"T", 1024.0 * (1 << 30)}};
	double v;

	if (!parse_scaled(s, units, WW_ARRAY_SIZE(units), &v))
		return false;
	*ret_bytes = (uint64_t)v;
	return true;
}
