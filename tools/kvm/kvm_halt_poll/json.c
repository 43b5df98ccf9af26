// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "json.h"

static bool out_of_memory;

void json_add(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		out_of_memory = true;
}

void json_append(json_t *array, json_t *value)
{
	if (json_array_append_new(array, value))
		out_of_memory = true;
}

void json_add_u64(json_t *object, const char *key, u64 value)
{
	json_add(object, key, json_integer(value < LLONG_MAX ? value : LLONG_MAX));
}

void json_add_string(json_t *object, const char *key, const char *text)
{
	json_t *string = json_string(text);
	char *ascii, *s;

	if (!string) {
		ascii = strdup(text);
		for (s = ascii; s && *s; s++) {
			if (*s & 0x80)
				*s = '?';
		}
		string = ascii ? json_string(ascii) : NULL;
		free(ascii);
	}
	json_add(object, key, string);
}

json_t *json_params(const struct kvm_halt_poll_params *p)
{
	json_t *object = json_object();

	json_add_u64(object, "halt_poll_ns", p->max_ns);
	json_add_u64(object, "halt_poll_ns_grow", p->grow);
	json_add_u64(object, "halt_poll_ns_grow_start_ns", p->grow_start_ns);
	json_add_u64(object, "halt_poll_ns_shrink", p->shrink);
	return object;
}

void json_add_trace(json_t *object, const struct trace *trace)
{
	json_add_string(object, "file", trace->name);
	json_add_string(object, "kind", trace->kind);
	if (trace->release[0])
		json_add_string(object, "kernel", trace->release);
	json_add_u64(object, "vcpus", trace->nr_vcpus);
	json_add_u64(object, "events_lost", trace->lost);
}

void json_add_wake(json_t *object, const struct wake_cost *cost)
{
	json_add_u64(object, "wake_cost_ns", cost->ns);
	json_add_string(object, "wake_cost_source", wake_source_name(cost));
	json_add_u64(object, "wake_cost_pairs", cost->pairs);
	json_add_u64(object, "wake_cost_error_ns", cost->error_ns);
}

void json_add_account(json_t *object, const struct account *a, unsigned int wake_ns)
{
	json_add_u64(object, "halts", a->halts);
	json_add_u64(object, "hits", a->hits);
	json_add_u64(object, "blocked", a->halts - a->hits);
	json_add_u64(object, "polled_ns", account_polled_ns(a));
	json_add_u64(object, "polled_in_vain_ns", a->vain_ns);
	json_add_u64(object, "latency_added_ns", account_latency_ns(a, wake_ns));
}

void json_add_recorded(json_t *object, const struct recorded *r, unsigned int wake_ns)
{
	json_add_account(object, &r->a, wake_ns);
	json_add_u64(object, "blocked_interval_unknown", r->unknown);
	if (r->skipped)
		json_add_u64(object, "polls_skipped", r->skipped);
}

int json_print(json_t *root)
{
	char *text = NULL;
	int ret = 0;

	if (root && !out_of_memory)
		text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	json_decref(root);
	if (!text)
		return fail("out of memory for JSON");
	/* What is left in the buffer is written in main(). */
	if (puts(text) < 0)
		ret = fail("standard output: cannot be written: %s", strerror(errno));
	free(text);
	return ret;
}
