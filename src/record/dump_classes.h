/* dump_classes.h - the event classes that user space writes itself: the state dump, clocks, the target.
 *
 * Their ids begin where no class of the kernel side is (classes.h).
 */
#ifndef WW_DUMP_CLASSES_H
#define WW_DUMP_CLASSES_H

#include "format/ctf/writer.h"

enum ww_dump_class {
	WW_DUMP_START = 60000,
	WW_DUMP_END,
	WW_DUMP_PROCESS_STATE,
	WW_DUMP_PROCESS_PID_NS,
	WW_DUMP_FILE_DESCRIPTOR,
	WW_DUMP_NETWORK_INTERFACE,
	WW_DUMP_BLOCK_DEVICE,
	WW_DUMP_INTERRUPT,
	WW_DUMP_WW_CLOCK,
	WW_DUMP_WW_TARGET,
	WW_DUMP_WW_RECORDER,
	WW_DUMP_WW_COST,
	WW_DUMP_WW_FD,
	WW_DUMP_WW_FILE,
	WW_DUMP_WW_SOCK,
	WW_DUMP_CLASS_END
};

/* In the order of the enumeration. */
extern const struct ww_ctf_class ww_dump_classes[];
extern const uint32_t ww_dump_classes_n;

#endif
