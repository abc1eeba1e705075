/* facts_private.h - between the files of src/facts only. */
#ifndef WW_FACTS_PRIVATE_H
#define WW_FACTS_PRIVATE_H

#include "facts/facts.h"

void ww_facts_columns_release(struct ww_facts *f);

#endif
