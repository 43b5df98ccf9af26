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
#include <event-parse.h>

#include "reader.h"

/* Pids are below this: the kernel's PID_MAX_LIMIT. */
#define PID_LIMIT (1U << 22)

enum message_type {
	MESSAGE_HALT,
	MESSAGE_CHANGE,
	MESSAGE_COMM,
	MESSAGE_LOST,
	MESSAGE_END,
	MESSAGE_ERROR,
};

enum dat_error {
	ERROR_OPEN,
	ERROR_EVENTS,
	ERROR_FIELDS,
	ERROR_RECORD,
	ERROR_MEMORY,
};

static const char * const error_texts[] = {
	[ERROR_OPEN] = "damaged or cut short: libtracecmd cannot open it",
	[ERROR_EVENTS] = "has no event kvm_vcpu_wakeup",
	[ERROR_FIELDS] = "the events have other fields than the kernel's",
	[ERROR_RECORD] = "damaged: an event is too short",
	[ERROR_MEMORY] = "out of memory",
};

/* What goes through the pipe. */
struct message {
	__u8 type;
	__u8 waited, valid;
	__s32 pid;
	__u32 id;
	__u32 old_ns, new_ns;
	__u64 time_ns;
	__u64 offset;
	union {
		__u64 ns;
		__u64 count;
		__u32 error;
		char comm[16];
	};
};

/* The reading process. */
struct dat {
	struct tep_handle *tep;
	int wakeup_id, change_id;
	struct tep_format_field *type, *pid, *ns, *waited, *valid;
	struct tep_format_field *id, *old_ns, *new_ns;
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

static void __attribute__((noreturn)) give_up(struct dat *dat, enum dat_error error)
{
	send(dat, &(struct message){ .type = MESSAGE_ERROR, .error = error });
	flush(dat);
	_exit(1);
}

static void find_formats(struct dat *dat)
{
	struct tep_event *wakeup, *change;

	wakeup = tep_find_event_by_name(dat->tep, "kvm", "kvm_vcpu_wakeup");
	if (!wakeup)
		give_up(dat, ERROR_EVENTS);
	dat->wakeup_id = wakeup->id;
	dat->type = tep_find_common_field(wakeup, "common_type");
	dat->pid = tep_find_common_field(wakeup, "common_pid");
	dat->ns = tep_find_field(wakeup, "ns");
	dat->waited = tep_find_field(wakeup, "waited");
	dat->valid = tep_find_field(wakeup, "valid");
	if (!dat->type || !dat->pid || !dat->ns || !dat->waited || !dat->valid)
		give_up(dat, ERROR_FIELDS);

	/* Who recorded may have left this one out. */
	dat->change_id = -1;
	change = tep_find_event_by_name(dat->tep, "kvm", "kvm_halt_poll_ns");
	if (!change)
		return;
	dat->change_id = change->id;
	dat->id = tep_find_field(change, "vcpu_id");
	dat->old_ns = tep_find_field(change, "old");
	dat->new_ns = tep_find_field(change, "new");
	if (!dat->id || !dat->old_ns || !dat->new_ns)
		give_up(dat, ERROR_FIELDS);
}

static __u64 number(struct dat *dat, const struct tep_record *record,
		    const struct tep_format_field *field)
{
	if (field->offset < 0 || field->size < 0 || record->size < 0 ||
	    field->offset + field->size > record->size)
		give_up(dat, ERROR_RECORD);
	return tep_read_number(dat->tep, (char *)record->data + field->offset, field->size);
}

static void send_comm(struct dat *dat, int pid)
{
	struct message message = { .type = MESSAGE_COMM, .pid = pid };
	const char *comm;

	if (pid < 0 || pid >= (int)PID_LIMIT || dat->named[pid / 8] & 1 << pid % 8)
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
	struct message message = { .time_ns = record->ts, .offset = record->offset };
	int type;

	(void)handle;
	(void)cpu;
	/* Negative: lost, but not known how many. */
	if (record->missed_events)
		send(dat, &(struct message){
			.type = MESSAGE_LOST,
			.count = record->missed_events > 0 ? record->missed_events : 1,
		});

	type = number(dat, record, dat->type);
	if (type == dat->wakeup_id) {
		message.type = MESSAGE_HALT;
		message.ns = number(dat, record, dat->ns);
		message.waited = number(dat, record, dat->waited) != 0;
		message.valid = number(dat, record, dat->valid) != 0;
	} else if (type == dat->change_id) {
		message.type = MESSAGE_CHANGE;
		message.id = number(dat, record, dat->id);
		message.old_ns = number(dat, record, dat->old_ns);
		message.new_ns = number(dat, record, dat->new_ns);
	} else {
		return 0;
	}
	message.pid = number(dat, record, dat->pid);
	send_comm(dat, message.pid);
	send(dat, &message);
	return 0;
}

/* trace-cmd's -B makes buffers beside the main one: all of them, by time. */
static void send_all(struct dat *dat, struct tracecmd_input *handle)
{
	int i, nr = tracecmd_buffer_instances(handle);
	struct tracecmd_input **handles = calloc(nr + 1, sizeof(*handles));

	if (!handles)
		give_up(dat, ERROR_MEMORY);
	handles[0] = handle;
	for (i = 0; i < nr; i++) {
		handles[i + 1] = tracecmd_buffer_instance_handle(handle, i);
		if (!handles[i + 1])
			give_up(dat, ERROR_OPEN);
	}
	tracecmd_iterate_events_multi(handles, nr + 1, send_record, dat);
}

static void __attribute__((noreturn)) run_reader(int fd, int pipe)
{
	struct dat *dat = calloc(1, sizeof(*dat));
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct tracecmd_input *handle;

	if (!dat)
		_exit(1);
	dat->pipe = pipe;
	/* The library complains on both; ours is one line. */
	if (null < 0 || dup2(null, STDERR_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		_exit(1);
	handle = tracecmd_open_fd(fd, TRACECMD_FL_LOAD_NO_PLUGINS);
	if (!handle)
		give_up(dat, ERROR_OPEN);
	dat->tep = tracecmd_get_tep(handle);
	find_formats(dat);
	send_all(dat, handle);
	send(dat, &(struct message){ .type = MESSAGE_END });
	flush(dat);
	_exit(0);
}

static int take_message(struct reader *r, const struct message *message)
{
	struct vcpu *vcpu;

	r->offset = message->offset;
	if (message->type == MESSAGE_ERROR)
		return reader_error(r, "%s", error_texts[message->error]);
	if (message->type == MESSAGE_LOST) {
		r->trace->lost += message->count;
		return 0;
	}

	/* A negative pid fails as one that is too large. */
	vcpu = reader_vcpu(r, (__u32)message->pid);
	if (!vcpu)
		return -1;
	if (message->type == MESSAGE_COMM) {
		reader_comm(vcpu, message->comm, strlen(message->comm));
		return 0;
	}
	if (message->type == MESSAGE_HALT)
		return reader_halt(r, vcpu, message->time_ns, message->ns, message->waited,
				   message->valid);
	vcpu->id = message->id;
	return reader_change(r, vcpu, message->time_ns, message->old_ns, message->new_ns);
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

	if (lseek(r->in.fd, 0, SEEK_CUR) != (off_t)r->in.end)
		fd = spool(r);
	else if ((fd = dup(r->in.fd)) < 0)
		reader_error(r, "cannot be read: %s", strerror(errno));
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
