// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows what polling does for each vCPU while it happens.
 *
 * A period is what happened from one moment to another, however late it is shown.
 * Where showing falls behind, by more than a period, the next one is longer.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd.h"
#include "frame.h"
#include "live.h"
#include "options.h"
#include "screen.h"

struct top {
	const struct options *o;
	struct trace trace;
	struct follow follow;
	struct live *live;
	u64 lost;		/* as of the last frame */
};

static int add_step(void *ctx, struct vcpu *vcpu, const struct step *step)
{
	struct top *top = ctx;

	load_add(follow_data(vcpu), step, &top->trace.params);
	return 0;
}

/* What was summed up, which starts anew. */
static void fill_frame(struct top *top, struct frame *f, u64 period_ns)
{
	time_t now = time(NULL);
	size_t i;

	strftime(f->when, sizeof(f->when), "%H:%M:%S", localtime(&now));
	f->key = top->o->sort;
	f->period_ns = period_ns;
	f->lost = live_lost(top->live);
	f->lost_now = f->lost - top->lost;
	top->lost = f->lost;
	for (i = 0; i < top->trace.nr_vcpus; i++) {
		struct vcpu *vcpu = top->trace.vcpus[i];
		struct load *load = follow_data(vcpu);

		frame_add(f, vcpu, load, live_vm_comm(vcpu));
		memset(&load->r, 0, sizeof(load->r));
	}
	frame_arrange(f);
}

static int show_frame(struct top *top, u64 period_ns)
{
	struct frame frame;
	size_t size = 0;
	char *text = NULL;
	FILE *file;
	int ret;

	if (follow_flush(&top->follow) || frame_init(&frame, top->trace.nr_vcpus))
		return -1;
	fill_frame(top, &frame, period_ns);
	file = open_memstream(&text, &size);
	if (file)
		frame_print(&frame, file);
	if (!file || fclose(file))
		ret = fail("out of memory at %zu vCPUs", top->trace.nr_vcpus);
	else
		ret = screen_show(stdout, text);
	free(text);
	frame_free(&frame);
	live_drop_gone(top->live, follow_forget);
	live_read_params(top->live);
	return ret;
}

static int show_until_stopped(struct top *top)
{
	const u64 period_ns = top->o->seconds * 1e9;
	u64 start_ns = live_now_ns(), end_ns = start_ns + period_ns;
	unsigned int left = top->o->count;

	while (!live_stopped()) {
		u64 settled_ns = live_settled_ns();

		if (live_read(top->live))
			return -1;
		if (settled_ns < end_ns) {
			if (live_deliver(top->live, settled_ns))
				return -1;
			live_pause();
			continue;
		}
		if (settled_ns - end_ns > period_ns)
			end_ns = settled_ns;
		if (live_deliver(top->live, end_ns) || show_frame(top, end_ns - start_ns))
			return -1;
		if (left && !--left)
			break;
		start_ns = end_ns;
		end_ns += period_ns;
	}
	return 0;
}

static int top(struct top *top)
{
	const struct options *o = top->o;
	const struct trace_sink sink = follow_sink(&top->follow);
	int ret;

	top->live = live_open(&top->trace, &sink);
	if (!top->live)
		return -1;
	ret = live_start(top->live, o->buffer_kb, o->pids, o->nr_pids) ?:
	      show_until_stopped(top);
	live_close(top->live);
	return ret;
}

int cmd_top(int argc, char **argv)
{
	struct options o = { .seconds = 1, .buffer_kb = LIVE_BUFFER_KB };
	struct top t = {
		.o = &o,
		.follow = { .trace = &t.trace, .step = add_step, .ctx = &t,
			    .size = sizeof(struct load) },
	};
	int status;

	if (options_parse(&o, argc, argv, OPTION_LIVE | OPTION_PERIOD | OPTION_COUNT | OPTION_SORT,
			  "Shows what polling does for each VM and vCPU of this host, while it happens,\n"
			  "until it is interrupted.", &status)) {
		status = top(&t) ? EXIT_ERROR : EXIT_OK;
		follow_free(&t.follow);
		trace_free(&t.trace);
	}
	options_free(&o);
	return status;
}
