// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "events.h"

static const char other_fields[] = "the events have other fields than the kernel's";

/* Whoever recorded may have left this one out, as the next. */
static bool find_change(struct event_formats *f)
{
	struct tep_event *change = tep_find_event_by_name(f->tep, "kvm", "kvm_halt_poll_ns");

	f->change_id = -1;
	if (!change)
		return true;
	f->change_id = change->id;
	f->id = tep_find_field(change, "vcpu_id");
	f->old_ns = tep_find_field(change, "old");
	f->new_ns = tep_find_field(change, "new");
	return f->id && f->old_ns && f->new_ns;
}

/* Not in kernels without a budget. */
static bool find_skip(struct event_formats *f)
{
	struct tep_event *skip = tep_find_event_by_name(f->tep, "kvm", "kvm_halt_poll_skip");

	f->skip_id = -1;
	if (!skip)
		return true;
	f->skip_id = skip->id;
	f->skip_vcpu = tep_find_field(skip, "vcpu_id");
	return f->skip_vcpu;
}

const char *event_formats_find(struct event_formats *f, struct tep_handle *tep)
{
	struct tep_event *wakeup;

	memset(f, 0, sizeof(*f));
	f->tep = tep;
	wakeup = tep_find_event_by_name(tep, "kvm", "kvm_vcpu_wakeup");
	if (!wakeup)
		return "no event kvm_vcpu_wakeup";
	f->wakeup_id = wakeup->id;
	f->type = tep_find_common_field(wakeup, "common_type");
	f->pid = tep_find_common_field(wakeup, "common_pid");
	f->ns = tep_find_field(wakeup, "ns");
	f->waited = tep_find_field(wakeup, "waited");
	f->valid = tep_find_field(wakeup, "valid");
	if (!f->type || !f->pid || !f->ns || !f->waited || !f->valid)
		return other_fields;
	return find_change(f) && find_skip(f) ? NULL : other_fields;
}

/* The size comes first, as what is damaged may claim any. */
static bool inside(const struct tep_format_field *field, int size)
{
	return field->size >= 0 && field->size <= size && field->offset >= 0 &&
	       field->offset <= size - field->size;
}

static __u64 number(const struct event_formats *f, const struct tep_format_field *field,
		    const void *data)
{
	return tep_read_number(f->tep, (const char *)data + field->offset, field->size);
}

enum event_kind event_decode(const struct event_formats *f, const void *data, int size,
			     struct event *event)
{
	int type;

	if (!inside(f->type, size) || !inside(f->pid, size))
		return EVENT_DAMAGED;
	type = number(f, f->type, data);
	event->pid = number(f, f->pid, data);

	if (type == f->wakeup_id) {
		if (!inside(f->ns, size) || !inside(f->waited, size) || !inside(f->valid, size))
			return EVENT_DAMAGED;
		event->ns = number(f, f->ns, data);
		event->waited = number(f, f->waited, data);
		event->valid = number(f, f->valid, data);
		return EVENT_HALT;
	}
	if (type == f->change_id) {
		if (!inside(f->id, size) || !inside(f->old_ns, size) || !inside(f->new_ns, size))
			return EVENT_DAMAGED;
		event->id = number(f, f->id, data);
		event->old_ns = number(f, f->old_ns, data);
		event->new_ns = number(f, f->new_ns, data);
		return EVENT_CHANGE;
	}
	if (type == f->skip_id) {
		if (!inside(f->skip_vcpu, size))
			return EVENT_DAMAGED;
		event->id = number(f, f->skip_vcpu, data);
		return EVENT_SKIP;
	}
	return EVENT_OTHER;
}
