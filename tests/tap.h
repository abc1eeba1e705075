/* tap.h - a unit test in one header: checks print a line of TAP each, done_testing() the plan.
 *
 *   int main(void)
 *   {
 *       ok(f(2) == 4, "f doubles %d", 2);
 *       is_i64(f(3), 6, "f(3)");            the two values are printed when they differ
 *       is_str(name, "x", "name");
 *       tap_skip(3, "no BTF here");         counts as three skips; tests/allowed-skips decides
 *       return done_testing();                  exit status: 0 all passed, 1 otherwise
 *   }
 * Every check is counted and none ends the program; TAP_NEED ends it, for what later checks stand on.
 */
#ifndef WW_TAP_H
#define WW_TAP_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	int n, failed;
} tap;

__attribute__((format(printf, 4, 5), unused)) static bool tap_ok(bool pass, const char *file, int line,
								  const char *fmt, ...)
{
	va_list ap;

	printf("%sok %d - ", pass ? "" : "not ", ++tap.n);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	if (!pass) {
		tap.failed++;
		printf("# failed at %s:%d\n", file, line);
	}
	fflush(stdout);
	return pass;
}

__attribute__((unused)) static bool tap_i64(int64_t got, int64_t want, const char *file, int line,
					    const char *what)
{
	bool pass = tap_ok(got == want, file, line, "%s", what);

	if (!pass)
		printf("#  got %" PRId64 " (0x%" PRIx64 ")\n# want %" PRId64 " (0x%" PRIx64 ")\n", got,
		       (uint64_t)got, want, (uint64_t)want);
	return pass;
}

__attribute__((unused)) static bool tap_str(const char *got, const char *want, const char *file, int line,
					    const char *what)
{
	bool pass = tap_ok(got && want ? !strcmp(got, want) : got == want, file, line, "%s", what);

	if (!pass)
		printf("#  got %s\n# want %s\n", got ? got : "(null)", want ? want : "(null)");
	return pass;
}

__attribute__((format(printf, 2, 3), unused)) static void tap_skip(int n, const char *fmt, ...)
{
	char why[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	while (n-- > 0)
		printf("ok %d # SKIP %s\n", ++tap.n, why);
}

/* A test without a single check has not tested anything. */
__attribute__((unused)) static int done_testing(void)
{
	printf("1..%d\n", tap.n);
	return tap.failed || !tap.n;
}

#define ok(cond, ...) tap_ok(!!(cond), __FILE__, __LINE__, __VA_ARGS__)
#define is_i64(got, want, what) tap_i64((int64_t)(got), (int64_t)(want), __FILE__, __LINE__, what)
#define is_str(got, want, what) tap_str(got, want, __FILE__, __LINE__, what)
#define TAP_NEED(cond, ...)                                                  \
	do {                                                                 \
		if (!tap_ok(!!(cond), __FILE__, __LINE__, __VA_ARGS__))      \
			exit(done_testing());                                    \
	} while (0)

#endif
