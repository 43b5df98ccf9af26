// SPDX-License-Identifier: GPL-2.0
/*
 * What a guest does while the host is measured.  Each workload prints one line
 * of name=value: operations, the time they took, and the latency of one: of a
 * timer, how late it was.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NSEC_PER_USEC 1000L
#define NSEC_PER_SEC 1000000000L
#define BLOCK 4096
#define MAX_COUNT 10000000L

static long *samples;
/* Whether the host is told of begin and end. */
static int told;

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	va_list ap;

	fputs("work: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* All is set up: from here on it counts; what the host answers is one byte. */
static long begin(void)
{
	char go;

	if (told) {
		puts("ready");
		fflush(stdout);
		if (read(STDIN_FILENO, &go, 1) != 1)
			die("not told to go on");
	}
	return now_ns();
}

static long end(void)
{
	long ns = now_ns();

	if (told) {
		puts("done");
		fflush(stdout);
	}
	return ns;
}

static void sleep_until(long ns)
{
	struct timespec ts = { ns / NSEC_PER_SEC, ns % NSEC_PER_SEC };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

static void sleep_us(long us)
{
	if (us)
		sleep_until(now_ns() + us * NSEC_PER_USEC);
}

static void full(ssize_t got, size_t wanted, const char *what)
{
	if (got < 0)
		die("%s: %s", what, strerror(errno));
	if ((size_t)got != wanted)
		die("%s: %zd of %zu bytes", what, got, wanted);
}

static int compare(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	return (x > y) - (x < y);
}

static void report(long count, long ns)
{
	qsort(samples, count, sizeof(*samples), compare);
	printf("ops=%ld ns=%ld p50_ns=%ld p99_ns=%ld\n", count, ns,
	       samples[(count - 1) / 2], samples[(count - 1) * 99 / 100]);
}

/* Direct reads or writes, a pause after each burst of them; the pauses do not count. */
static void disk(const char *path, int writes, long count, long burst, long pause_us)
{
	int fd = open(path, (writes ? O_WRONLY : O_RDONLY) | O_DIRECT);
	long i, start, busy = 0;
	void *buf;

	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	if (posix_memalign(&buf, BLOCK, BLOCK))
		die("no memory");
	memset(buf, 0, BLOCK);
	begin();
	for (i = 0; i < count; i++) {
		start = now_ns();
		full(writes ? pwrite(fd, buf, BLOCK, 0) : pread(fd, buf, BLOCK, 0), BLOCK, path);
		samples[i] = now_ns() - start;
		busy += samples[i];
		if ((i + 1) % burst == 0)
			sleep_us(pause_us);
	}
	end();
	report(count, busy);
}

/* A byte there and back, and what the other side waits before it answers. */
static void __attribute__((noreturn)) answer(int in, int out, long delay_us)
{
	ssize_t n;
	char byte;

	while ((n = read(in, &byte, 1)) == 1) {
		sleep_us(delay_us);
		full(write(out, &byte, 1), 1, "answer");
	}
	_exit(n ? 1 : 0);
}

static void ask(int in, int out, long count, pid_t child)
{
	long i, start = begin(), asked, ns;
	int status;
	char byte = 0;

	for (i = 0; i < count; i++) {
		asked = now_ns();
		full(write(out, &byte, 1), 1, "request");
		full(read(in, &byte, 1), 1, "response");
		samples[i] = now_ns() - asked;
	}
	ns = end() - start;
	if (shutdown(out, SHUT_WR))
		close(out);
	if (waitpid(child, &status, 0) != child || status)
		die("the other side failed");
	report(count, ns);
}

static void ping_pong(long count)
{
	int there[2], back[2];
	pid_t child;

	if (pipe(there) || pipe(back))
		die("pipe: %s", strerror(errno));
	child = fork();
	if (child < 0)
		die("fork: %s", strerror(errno));
	if (!child) {
		close(there[1]);
		answer(there[0], back[1], 0);
	}
	/* Should the other side die, it must show. */
	close(there[0]);
	close(back[1]);
	ask(back[0], there[1], count, child);
}

static void request_response(long count, long delay_us)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int server = socket(AF_INET, SOCK_STREAM, 0), fd, one = 1;
	socklen_t len = sizeof(addr);
	pid_t child;

	if (server < 0 || bind(server, (void *)&addr, len) || listen(server, 1) ||
	    getsockname(server, (void *)&addr, &len))
		die("loopback: %s", strerror(errno));
	child = fork();
	if (child < 0)
		die("fork: %s", strerror(errno));
	if (!child) {
		fd = accept(server, NULL, NULL);
		if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
			die("accept: %s", strerror(errno));
		answer(fd, fd, delay_us);
	}
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, (void *)&addr, len) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		die("connect: %s", strerror(errno));
	close(server);
	ask(fd, fd, count, child);
}

/* Woken at fixed times, like media or control loops; a late one skips none. */
static void timer(long period_us, long count)
{
	long i, start = begin(), due = start;

	for (i = 0; i < count; i++) {
		due += period_us * NSEC_PER_USEC;
		sleep_until(due);
		samples[i] = now_ns() - due;
	}
	report(count, end() - start);
}

static long number(const char *text, long min)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (errno || end == text || *end || n < min || n > MAX_COUNT)
		die("'%s' is no number from %ld to %ld", text, min, MAX_COUNT);
	return n;
}

static long want_samples(const char *count)
{
	long n = number(count, 1);

	samples = malloc(n * sizeof(*samples));
	if (!samples)
		die("no memory");
	/* Page faults are not to be measured. */
	memset(samples, 0, n * sizeof(*samples));
	return n;
}

static void __attribute__((noreturn)) usage(void)
{
	fputs("usage: work [-t] read|write DEVICE COUNT BURST PAUSE_US\n"
	      "       work [-t] pipe COUNT\n"
	      "       work [-t] rr COUNT DELAY_US\n"
	      "       work [-t] timer PERIOD_US COUNT\n"
	      "-t: tells \"ready\", waits for a byte, and tells \"done\"\n", stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	const char *what;

	told = argc > 1 && !strcmp(argv[1], "-t");
	argc -= told;
	argv += told;
	what = argc > 1 ? argv[1] : "";
	/* Or timers were 50 us late. */
	prctl(PR_SET_TIMERSLACK, 1);
	if ((!strcmp(what, "read") || !strcmp(what, "write")) && argc == 6)
		disk(argv[2], *what == 'w', want_samples(argv[3]), number(argv[4], 1),
		     number(argv[5], 0));
	else if (!strcmp(what, "pipe") && argc == 3)
		ping_pong(want_samples(argv[2]));
	else if (!strcmp(what, "rr") && argc == 4)
		request_response(want_samples(argv[2]), number(argv[3], 0));
	else if (!strcmp(what, "timer") && argc == 4)
		timer(number(argv[2], 1), want_samples(argv[3]));
	else
		usage();
	return 0;
}
