/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The three events as the kernel stores them, by libtraceevent: where their fields
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
	EVENT_SKIP,		/* the poll of the next halt was skipped */
	EVENT_OTHER,		/* none of these */
	EVENT_DAMAGED,		/* shorter than its fields */
};

struct event {
	__s32 pid;
	bool waited, valid;		/* of a halt, as the next */
	__u64 ns;
	__u32 id;			/* of a change or skip */
	__u32 old_ns, new_ns;		/* of a change */
};

struct event_formats {
	struct tep_handle *tep;
	int wakeup_id;
	int change_id, skip_id;		/* -1: there is none */
	struct tep_format_field *type, *pid, *ns, *waited, *valid;
	struct tep_format_field *id, *old_ns, *new_ns;
	struct tep_format_field *skip_vcpu;
};

/* NULL, or what is wrong. */
const char *event_formats_find(struct event_formats *f, struct tep_handle *tep);

enum event_kind event_decode(const struct event_formats *f, const void *data, int size,
			     struct event *event);

#endif /* __EVENTS_H */
