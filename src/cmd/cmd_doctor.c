/* cmd_doctor.c - `whywait doctor`: what this kernel and user may record, and what to do about it.
 *
 * Exit status 0: recording works; 1: it does not.
 */
#include <stdio.h>

#include "base/jsonout.h"
#include "cmd/commands.h"
#include "cmd/opts.h"
#include "record/doctor.h"
#include "record/recorder.h"

static int print_json(const struct ww_doctor *d)
{
	struct ww_json j;

	ww_json_init(&j, stdout, true);
	ww_json_obj(&j, NULL);
	ww_json_str(&j, "whywait", "doctor");
	ww_json_i64(&j, "version", 1);
	ww_json_bool(&j, "can_record", d->can_record);
	ww_json_arr(&j, "checks");
	for (uint32_t i = 0; i < d->n; i++) {
		const struct ww_doctor_row *r = &d->rows[i];
		ww_json_obj(&j, NULL);
		ww_json_str(&j, "id", r->id);
		ww_json_str(&j, "level", ww_doctor_level_name(r->level));
		ww_json_str(&j, "found", r->found);
		ww_json_str(&j, "todo", *r->todo ? r->todo : NULL);
		ww_json_end(&j);
	}
	ww_json_end(&j);
	ww_json_end(&j);
	return ww_json_finish(&j);
}

static int print_text(const struct ww_doctor *d, bool color, bool quiet)
{
	static const char *const paint[] = {"\033[32m", "\033[33m", "\033[31m"};

	for (uint32_t i = 0; i < d->n; i++) {
		const struct ww_doctor_row *r = &d->rows[i];
		if (quiet && r->level == WW_DOCTOR_OK)
			continue;
		printf("%s%-4s%s %-12s %s\n", color ? paint[r->level] : "", ww_doctor_level_name(r->level),
		       color ? "\033[0m" : "", r->id, r->found);
		if (*r->todo)
			printf("%17s -> %s\n", "", r->todo);
	}
	puts(d->can_record ? "Recording works here: whywait -- CMD" : "Recording does not work here; see the rows marked bad.");
	return fflush(stdout) || ferror(stdout) ? -1 : 0;
}

int cmd_doctor(int argc, char **argv)
{
	struct ww_opts o;
	struct ww_opts_spec spec = {.name = "doctor", .args = "", .groups = WW_OG_JSON,
				    .summary = "What this kernel and user may record, and what to do about it."};
	struct ww_doctor d;
	int rc = ww_opts_parse(&o, argc, argv, &spec);

	if (rc >= 0)
		return rc;
	if (o.verbose)
		ww_recorder_log(stderr);
	ww_doctor_examine(&d);
	if (o.json ? print_json(&d) : print_text(&d, ww_opts_color(&o, stdout), o.quiet))
		return WW_EXIT_FAILED;
	return d.can_record ? WW_EXIT_DONE : WW_EXIT_FAILED;
}
