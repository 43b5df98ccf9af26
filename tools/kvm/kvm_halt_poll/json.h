/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * JSON: numbers are in base units, and the key's end tells which.  What cannot
 * be allocated is missing until json_print() says so.
 */
#ifndef __JSON_H
#define __JSON_H

#include <jansson.h>
#include <linux/kvm_halt_poll.h>

#include "recorded.h"
#include "trace.h"
#include "wake.h"

/* Takes over @value. */
void json_add(json_t *object, const char *key, json_t *value);
void json_append(json_t *array, json_t *value);

/* What does not fit in 63 bits is 2^63 - 1. */
void json_add_u64(json_t *object, const char *key, u64 value);
/* Any bytes: what is no UTF-8 becomes '?'. */
void json_add_string(json_t *object, const char *key, const char *text);

json_t *json_params(const struct kvm_halt_poll_params *p);
void json_add_trace(json_t *object, const struct trace *trace);
void json_add_wake(json_t *object, const struct wake_cost *cost);
void json_add_account(json_t *object, const struct account *a, unsigned int wake_ns);

/* The account, and what is not known of it. */
void json_add_recorded(json_t *object, const struct recorded *r, unsigned int wake_ns);

/* Prints and frees @root: 0, or -1 after one line on stderr. */
int json_print(json_t *root);

#endif /* __JSON_H */
