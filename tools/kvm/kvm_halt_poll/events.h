/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The two events as the kernel stores them, by libtraceevent: where their fields
 * are is asked once, not for every event.
 */
#ifndef __EVENTS_H
#define __EVENTS_H

#include <stdbool.h>

#include <event-parse.h>
#include <linux/types.h>

enum event_kind {
	EVENT_HALT,
	EVENT_CHANGE,
	EVENT_OTHER,		/* neither of the two */
	EVENT_DAMAGED,		/* shorter than its fields */
};

struct event {
	__s32 pid;
	bool waited, valid;		/* of a halt, as the next */
	__u64 ns;
	__u32 id, old_ns, new_ns;	/* of a change */
};

struct event_formats {
	struct tep_handle *tep;
	int wakeup_id, change_id;
	struct tep_format_field *type, *pid, *ns, *waited, *valid;
	struct tep_format_field *id, *old_ns, *new_ns;
};

/* NULL, or what is wrong. */
const char *event_formats_find(struct event_formats *f, struct tep_handle *tep);

enum event_kind event_decode(const struct event_formats *f, const void *data, int size,
			     struct event *event);

#endif /* __EVENTS_H */
