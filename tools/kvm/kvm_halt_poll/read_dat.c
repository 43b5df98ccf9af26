// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads trace-cmd's trace.dat by way of libtracecmd.
 *
 * A file that is damaged can make that library crash.  So it runs in a process
 * of its own, which sends what it reads through a pipe; where there is more than
 * one CPU, that also takes the decoding off the one that evaluates.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <trace-cmd.h>

#include "events.h"
#include "reader.h"

/* Pids are below this: the kernel's PID_MAX_LIMIT. */
#define PID_LIMIT 4194304

enum message_type {
	MESSAGE_EVENT,
	MESSAGE_COMM,
	MESSAGE_LOST,
	MESSAGE_END,
	MESSAGE_ERROR,
};

/* What goes through the pipe. */
struct message {
	enum message_type type;
	enum event_kind kind;
	__u64 time_ns;
	__u64 offset;
	struct event event;
	union {
		char comm[16];
		char error[64];
		__u64 lost;
	};
};

/* The reading process. */
struct dat {
	struct event_formats formats;
	struct tep_handle *tep;
	int pipe;
	size_t nr_messages;
	struct message messages[1024];
	__u8 named[PID_LIMIT / 8];	/* whose names were sent */
};

static void flush(struct dat *dat)
{
	const char *s = (const char *)dat->messages;
	size_t left = dat->nr_messages * sizeof(*dat->messages);
	ssize_t written;

	while (left) {
		written = write(dat->pipe, s, left);
		if (written < 0) {
			if (errno == EINTR)
				continue;
			/* The other end has had enough. */
			_exit(0);
		}
		s += written;
		left -= written;
	}
	dat->nr_messages = 0;
}

static void send(struct dat *dat, const struct message *message)
{
	dat->messages[dat->nr_messages++] = *message;
	if (dat->nr_messages == sizeof(dat->messages) / sizeof(*dat->messages))
		flush(dat);
}

static void give_up(struct dat *dat, const char *error)
{
	struct message message = { .type = MESSAGE_ERROR };

	snprintf(message.error, sizeof(message.error), "%s", error);
	send(dat, &message);
	flush(dat);
	_exit(1);
}

static void send_comm(struct dat *dat, int pid)
{
	struct message message = { .type = MESSAGE_COMM, .event.pid = pid };
	const char *comm;

	if (pid < 0 || pid >= PID_LIMIT || dat->named[pid / 8] & 1 << pid % 8)
		return;
	dat->named[pid / 8] |= 1 << pid % 8;
	comm = tep_data_comm_from_pid(dat->tep, pid);
	if (!comm || !strcmp(comm, "<...>"))
		return;
	snprintf(message.comm, sizeof(message.comm), "%s", comm);
	send(dat, &message);
}

static int send_record(struct tracecmd_input *handle, struct tep_record *record, int cpu,
		       void *data)
{
	struct dat *dat = data;
	struct message message = {
		.type = MESSAGE_EVENT, .time_ns = record->ts, .offset = record->offset,
	};

	(void)handle;
	(void)cpu;
	/* Negative: lost, but not known how many. */
	if (record->missed_events)
		send(dat, &(struct message){
			.type = MESSAGE_LOST,
			.lost = record->missed_events > 0 ? record->missed_events : 1,
		});

	message.kind = event_decode(&dat->formats, record->data, record->size, &message.event);
	if (message.kind == EVENT_DAMAGED)
		give_up(dat, "damaged: an event is shorter than its fields");
	if (message.kind != EVENT_OTHER) {
		send_comm(dat, message.event.pid);
		send(dat, &message);
	}
	return 0;
}

static const char cannot_open[] = "damaged or cut short: libtracecmd cannot open it";

/* trace-cmd's -B makes buffers beside the main one: all of them, by time. */
static void send_all(struct dat *dat, struct tracecmd_input *handle)
{
	int i, nr = tracecmd_buffer_instances(handle);
	struct tracecmd_input **handles = calloc(nr + 1, sizeof(*handles));

	if (!handles)
		give_up(dat, "out of memory");
	handles[0] = handle;
	for (i = 0; i < nr; i++) {
		handles[i + 1] = tracecmd_buffer_instance_handle(handle, i);
		if (!handles[i + 1])
			give_up(dat, cannot_open);
	}
	tracecmd_iterate_events_multi(handles, nr + 1, send_record, dat);
}

static void run_reader(int fd, int pipe)
{
	struct dat *dat = calloc(1, sizeof(*dat));
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct tracecmd_input *handle;
	const char *error;

	if (!dat)
		_exit(1);
	dat->pipe = pipe;
	/* The library complains on both; ours is one line. */
	if (null < 0 || dup2(null, STDERR_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		_exit(1);
	handle = tracecmd_open_fd(fd, TRACECMD_FL_LOAD_NO_PLUGINS);
	if (!handle)
		give_up(dat, cannot_open);
	dat->tep = tracecmd_get_tep(handle);
	error = event_formats_find(&dat->formats, dat->tep);
	if (error)
		give_up(dat, error);
	send_all(dat, handle);
	send(dat, &(struct message){ .type = MESSAGE_END });
	flush(dat);
	_exit(0);
}

static int take_message(struct reader *r, const struct message *message)
{
	const struct event *event = &message->event;
	struct vcpu *vcpu;

	r->offset = message->offset;
	if (message->type == MESSAGE_ERROR)
		return reader_error(r, "%s", message->error);
	if (message->type == MESSAGE_LOST) {
		r->trace->lost += message->lost;
		return 0;
	}

	/* A negative pid fails as one that is too large. */
	vcpu = reader_vcpu(r, (__u32)event->pid);
	if (!vcpu)
		return -1;
	if (message->type == MESSAGE_COMM) {
		reader_comm(vcpu, message->comm, strlen(message->comm));
		return 0;
	}
	if (message->kind == EVENT_HALT)
		return reader_halt(r, vcpu, message->time_ns, event->ns, event->waited,
				   event->valid);
	vcpu->id = event->id;
	if (message->kind == EVENT_SKIP)
		return reader_skip(r, vcpu, message->time_ns);
	return reader_change(r, vcpu, message->time_ns, event->old_ns, event->new_ns);
}

/* Reads until @size bytes are there or there are no more. */
static size_t read_full(int fd, void *buf, size_t size)
{
	size_t got = 0;
	ssize_t n;

	while (got < size) {
		n = read(fd, (char *)buf + got, size - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += n;
	}
	return got;
}

static int take_all(struct reader *r, int fd)
{
	struct message messages[256];
	size_t i, nr;
	int ret;

	while ((nr = read_full(fd, messages, sizeof(messages)) / sizeof(*messages))) {
		for (i = 0; i < nr; i++) {
			if (messages[i].type == MESSAGE_END) {
				r->offset = 0;
				return 0;
			}
			ret = take_message(r, &messages[i]);
			if (ret)
				return ret;
		}
	}
	return reader_error(r, "damaged: libtracecmd failed on what comes behind");
}

/* The library seeks: what comes through a pipe is put into a file. */
static int spool(struct reader *r)
{
	const char *dir = getenv("TMPDIR") ?: P_tmpdir;
	struct input *in = &r->in;
	ssize_t got, written;
	char name[256];
	int fd;

	snprintf(name, sizeof(name), "%s/kvm_halt_poll.XXXXXX", dir);
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return reader_error(r, "no temporary file in %s: %s", dir, strerror(errno));
	unlink(name);
	for (got = in->end; got > 0; got = read_full(in->fd, in->buf, INPUT_SIZE)) {
		written = write(fd, in->buf, got);
		if (written != got) {
			reader_error(r, "cannot be put into a file in %s: %s", dir,
				     strerror(written < 0 ? errno : ENOSPC));
			close(fd);
			return -1;
		}
	}
	return fd;
}

/* A descriptor of the whole file that is the library's own. */
static int open_whole(struct reader *r)
{
	int fd;

	if (lseek(r->in.fd, 0, SEEK_CUR) != (off_t)r->in.end) {
		fd = spool(r);
	} else {
		fd = dup(r->in.fd);
		if (fd < 0)
			reader_error(r, "cannot be read: %s", strerror(errno));
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

int read_dat(struct reader *r)
{
	int fd, ret, ends[2];
	pid_t child;

	fd = open_whole(r);
	if (fd < 0)
		return -1;
	if (pipe2(ends, O_CLOEXEC)) {
		close(fd);
		return reader_error(r, "no pipe: %s", strerror(errno));
	}
	child = fork();
	if (!child) {
		close(ends[0]);
		run_reader(fd, ends[1]);
	}
	close(fd);
	close(ends[1]);
	ret = child < 0 ? reader_error(r, "no process: %s", strerror(errno))
			: take_all(r, ends[0]);
	close(ends[0]);
	if (child > 0) {
		/* It may be in the middle of a file that is of no use any more. */
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return ret;
}
