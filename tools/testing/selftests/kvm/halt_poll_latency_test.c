// SPDX-License-Identifier: GPL-2.0
/*
 * Measure how late a halted vCPU wakes up, for its timer or for an IPI of another
 * vCPU, and what the host spends on polling for that.
 *
 * Timer: the guest arms its timer (on x86 the local APIC's TSC deadline), halts,
 * and reads its counter (the TSC) as the first thing in the interrupt handler.
 * The latency is that reading minus the deadline.  IPI: another vCPU, which never
 * halts, lets the period pass, reads the counter and sends the IPI; the latency
 * starts there.
 *
 * Every period gets a VM of its own, so that it does not inherit the polling
 * interval of another, and a warm-up in which the interval settles.  Latencies
 * are kept in a log-linear histogram: percentiles are rounded up by at most 1/64,
 * minimum and maximum are exact.  Polls come from the vCPU's stats, read before
 * and after the measured halts, CPU time from the clock of the vCPU's thread.
 *
 * Time is printed, never judged.  What is asserted holds at any speed: every
 * deadline gave exactly one interrupt, no IPI was lost, the guest's halts reached
 * KVM, the stats agree with each other, and those of polling stand still if it is
 * off.
 *
 * What is in the figures, and what they cannot tell:
 * - The latency is that of the whole path: the host's timer interrupt or the
 *   sender's VM-Exit, the poll or the wakeup of the vCPU's task, VM-Enter,
 *   delivery of the interrupt.
 * - With lapic_timer_advance KVM fires the timer ahead of the deadline, by as much
 *   as it was late before, and spins away the rest at VM-Enter.  That hides most
 *   of the latency, blocking's above all, which other wake events do have.  Turn
 *   it off to compare polling with blocking; its state is printed.
 * - An interrupt that is early all the same counts as latency 0, and as "early".
 * - If arming takes longer than the period, the deadline is past before the vCPU
 *   has halted and nothing is waited for.  Such halts are counted as "late", as
 *   are those of which the IPI came before.
 * - CPU time is the vCPU's thread's, guest and host together: polls that miss, VM-
 *   Exits, the guest's own instructions.  The CPU's idle states are not in it.
 * - Under emulation, or in a VM, the figures are those of the emulator or of
 *   two hypervisors together: compare runs with each other only.
 */
#include <limits.h>
#include <pthread.h>
#include <sched.h>

#include "halt_poll_common.h"

#define MAX_PERIODS		32
#define MAX_PERIOD_US		1000000
#define MAX_HALTS		100000000
/* The sleeper and, for IPIs, the sender. */
#define MAX_VCPUS		2

/* Values below 2^SUB_BITS are exact, each power of two above has 64 buckets. */
#define SUB_BITS		6
#define NR_BUCKETS		((65 - SUB_BITS) << SUB_BITS)

/* When to give up on a guest that does not come back. */
#define GUARD_S			60
#define GUARD_US_PER_HALT	2000

static struct latency {
	u64 lost;		/* HLTs that ended without a timer interrupt */
	u64 extra;		/* interrupts beyond one per deadline */
	u64 late;		/* deadlines that were past before HLT */
	u64 early;		/* interrupts ahead of their deadline */
	u64 min, max;		/* in the counter's cycles, as is the histogram */
	u64 hist[NR_BUCKETS];
} lat;

static unsigned int bucket_of(u64 val)
{
	unsigned int msb = 63 - __builtin_clzll(val | 1);
	unsigned int shift = msb > SUB_BITS ? msb - SUB_BITS : 0;

	return (shift << SUB_BITS) + (val >> shift);
}

/* The greatest value that falls into the bucket. */
static u64 bucket_top(unsigned int bucket)
{
	unsigned int octave = bucket >> SUB_BITS;
	unsigned int shift = octave ? octave - 1 : 0;

	return ((bucket - (shift << SUB_BITS) + 1ull) << shift) - 1;
}

static void guest_record(u64 deadline)
{
	struct wakeup *w = &wakeups[0];
	u64 cycles = w->time - deadline;

	lat.late += w->late;
	if (!w->nr_irqs) {
		lat.lost++;
		return;
	}
	lat.extra += w->nr_irqs - 1;

	if (w->time < deadline) {
		lat.early++;
		cycles = 0;
	}

	lat.hist[bucket_of(cycles)]++;
	if (cycles < lat.min)
		lat.min = cycles;
	if (cycles > lat.max)
		lat.max = cycles;
}

enum source { TIMER, IPI };

/* How sleeper and sender keep in step; numbers go on behind the warm-up. */
static struct {
	u64 halting;		/* number of the sleeper's halt */
	u64 sent;		/* number of the last IPI */
	u64 sent_at;		/* when, by the guest's counter */
} ipi;

/* Halt until the sender's IPI; returns when it was sent. */
static u64 guest_halt_for_ipi(void)
{
	u64 nr = ipi.halting + 1;

	wakeups[0].nr_irqs = 0;
	wakeups[0].late = false;
	WRITE_ONCE(ipi.halting, nr);
	do {
		guest_wait();
	} while (READ_ONCE(ipi.sent) != nr);
	return ipi.sent_at;
}

static void guest_measure(u64 source, u64 nr_halts, u64 period)
{
	while (nr_halts--)
		guest_record(source == IPI ? guest_halt_for_ipi() : guest_halt(0, period));
}

static void guest_send(u64 nr_ipis, u64 period)
{
	u64 nr, start;

	for (nr = 1; nr <= nr_ipis; nr++) {
		while (READ_ONCE(ipi.halting) != nr)
			barrier();
		start = guest_counter();
		while (guest_counter() - start < period)
			barrier();
		ipi.sent_at = guest_counter();
		WRITE_ONCE(ipi.sent, nr);
		guest_send_ipi(0);
	}
}

static void guest_code(u64 id, u64 source, u64 nr_warmup, u64 nr_halts, u64 period)
{
	guest_setup(id);
	if (id) {
		guest_send(nr_warmup + nr_halts, period);
	} else {
		guest_measure(source, nr_warmup, period);
		GUEST_SYNC(0);
		guest_measure(source, nr_halts, period);
	}
	GUEST_DONE();
}

/* What the user wants KVM's module parameters to be; -1 is "leave it alone". */
static s64 wanted_params[NR_PARAMS] = { [0 ... NR_PARAMS - 1] = -1 };

static u32 periods_us[MAX_PERIODS] = { 5, 20, 50, 150, 1000 };
static unsigned int nr_periods = 5;
static u32 nr_halts = 1000, nr_warmup = 100;
static s64 vm_max_ns = -1;
static enum source source = TIMER;
static u32 cpus[MAX_VCPUS];
static unsigned int nr_cpus;
static bool print_hist;
static bool emulated;
static int counter_khz;
static const char *csv_path;
static FILE *csv;

static void setup_params(void)
{
	const char *problem;
	int i;

	setup_cleanup(restore_params);

	for (i = 0; i < NR_PARAMS; i++) {
		if (wanted_params[i] < 0)
			continue;
		problem = set_param(&params[i], wanted_params[i]);
		__TEST_REQUIRE(!problem, "%s", problem);
	}
	for (i = 0; i < NR_PARAMS; i++) {
		read_param(&params[i]);
		if (params[i].val < 0)
			ksft_print_msg("%s: absent\n", params[i].name);
		else
			ksft_print_msg("%s: %ld%s\n", params[i].name, params[i].val,
				       wanted_params[i] < 0 ? "" : " (set by this test)");
	}
}

/* Of the measured halts of one period; their latencies are in lat. */
struct measurement {
	struct stats stats;
	u64 cpu_ns;		/* of the sleeper's thread */
	u64 elapsed_ns;
	s64 skipped;		/* polls, for want of budget; 0 if there is no such stat */
};

static s64 max_ns(void)
{
	return vm_max_ns < 0 ? params[HALT_POLL_NS].val : vm_max_ns;
}

static void print_host(void)
{
	char buf[64];
	int i;

	emulated = print_host_arch();
	read_sysfs("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		   buf, sizeof(buf));
	ksft_print_msg("clocksource: %s\n", buf);

	ksft_print_msg("guest's counter: %d kHz\n", counter_khz);
	ksft_print_msg("these VMs may poll for: %ld ns\n", max_ns());
	ksft_print_msg("wake source: %s\n", source == IPI ? "IPI" : "timer");
	for (i = 0; i < nr_cpus; i++)
		ksft_print_msg("%s on CPU %u\n", i ? "sender" : "sleeper", cpus[i]);
}

/* Run the guest to its next ucall, with a clean slate for what it measures. */
static void run_phase(struct kvm_vcpu *vcpu, u32 period_us, u32 halts, u64 wanted)
{
	memset(&lat, 0, sizeof(lat));
	lat.min = ULLONG_MAX;
	sync_global_to_guest(vcpu->vm, lat);

	run_to_ucall(vcpu, wanted,
		     GUARD_S + (u64)halts * (period_us + GUARD_US_PER_HALT) / 1000000);

	sync_global_from_guest(vcpu->vm, lat);
	TEST_ASSERT(!lat.lost, "%u us: %lu of %u halts ended without an interrupt",
		    period_us, lat.lost, halts);
	/*
	 * Tolerated under emulation: QEMU's SVM now and then delivers twice what
	 * KVM injected once, as KVM's stat irq_injections shows.
	 */
	TEST_ASSERT(!lat.extra || emulated, "%u us: %u wakeups, %lu interrupts too many",
		    period_us, halts, lat.extra);
}

static void check_stats(u32 period_us, const struct measurement *m)
{
	s64 attempted = m->stats.val[ATTEMPTED], waited = nr_halts - lat.late;
	const char *problem = stats_problem(&m->stats, m->elapsed_ns);

	/*
	 * A deadline may pass between the guest's last look at the counter and its
	 * halt, which a CPU with Idle HLT does not leave the guest for, and an IPI
	 * may be there before the halt: settle for half.
	 */
	TEST_ASSERT(m->stats.val[EXITS] >= waited / 2,
		    "%u us: %ld halts ahead of their deadline, %ld exits: KVM does not intercept them, or the period is too short (-p)",
		    period_us, waited, m->stats.val[EXITS]);
	TEST_ASSERT(!problem, "%u us: %s", period_us, problem);
	TEST_ASSERT(max_ns() || !attempted, "%u us: polling is off, but there were %ld polls",
		    period_us, attempted);
}

static u64 to_ns(u64 cycles)
{
	return cycles * 1000000 / counter_khz;
}

/* The latency that so many thousandths of the halts did not exceed, in ns. */
static u64 percentile_ns(u64 permille)
{
	u64 rank = (nr_halts * permille + 999) / 1000;
	unsigned int i;
	u64 seen = 0;

	for (i = 0; i < NR_BUCKETS; i++) {
		seen += lat.hist[i];
		if (seen >= rank)
			return to_ns(min(bucket_top(i), lat.max));
	}
	TEST_FAIL("The histogram holds %lu of %u halts", seen, nr_halts);
}

static void print_histogram(u32 period_us)
{
	unsigned int i;

	for (i = 0; i < NR_BUCKETS; i++) {
		if (lat.hist[i])
			ksft_print_msg("%u us: up to %lu ns: %lu\n", period_us,
				       to_ns(bucket_top(i)), lat.hist[i]);
	}
}

static void report(u32 period_us, const struct measurement *m)
{
	u64 p50 = percentile_ns(500), p90 = percentile_ns(900);
	u64 p99 = percentile_ns(990), p999 = percentile_ns(999);
	const s64 *val = m->stats.val;
	double poll_ns = (double)(val[SUCCESS_NS] + val[FAIL_NS]) / nr_halts;
	double hits = 100.0 * val[SUCCESSFUL] / nr_halts;
	double cpu_ns = (double)m->cpu_ns / nr_halts;
	int i;

	ksft_print_msg("%u us: %u halts, min %lu p50 %lu p90 %lu p99 %lu p99.9 %lu max %lu ns\n",
		       period_us, nr_halts, to_ns(lat.min), p50, p90, p99, p999,
		       to_ns(lat.max));
	ksft_print_msg("%u us: poll hits %.1f %%, per halt polled %.1f ns, CPU time %.1f ns\n",
		       period_us, hits, poll_ns, cpu_ns);
	ksft_print_msg("%u us: late %lu, early %lu, extra %lu", period_us, lat.late,
		       lat.early, lat.extra);
	for (i = 0; i < NR_STATS; i++)
		printf(", %s %ld", scalars[i].name, val[i]);
	printf(", %s %ld\n", new_stats[SKIPPED].name, m->skipped);
	if (print_hist)
		print_histogram(period_us);

	if (!csv)
		return;

	fprintf(csv, "%u,%u,%lu,%lu,%lu,%lu,%lu,%lu,%.2f,%.1f,%.1f,%lu,%lu,%lu", period_us,
		nr_halts, to_ns(lat.min), p50, p90, p99, p999, to_ns(lat.max), hits, poll_ns,
		cpu_ns, lat.late, lat.early, lat.extra);
	for (i = 0; i < NR_STATS; i++)
		fprintf(csv, ",%ld", val[i]);
	fprintf(csv, ",%ld,%ld,%ld,%ld,%s,%ld,%ld,%lu\n", max_ns(), params[GROW].val,
		params[GROW_START].val, params[SHRINK].val, source == IPI ? "ipi" : "timer",
		params[BUDGET].val, m->skipped, m->elapsed_ns);
}

/* Not before it is certain that there will be something to write. */
static void open_csv(void)
{
	int i;

	csv = fopen(csv_path, "w");
	if (!csv)
		usage_error("-o: cannot write %s: %s", csv_path, strerror(errno));

	fputs("period_us,halts,min_ns,p50_ns,p90_ns,p99_ns,p999_ns,max_ns,", csv);
	fputs("hits_pct,poll_ns_per_halt,cpu_ns_per_halt,late,early,extra", csv);
	for (i = 0; i < NR_STATS; i++)
		fprintf(csv, ",%s", scalars[i].name);
	fputs(",poll_max_ns,grow,grow_start_ns,shrink,source,budget,skipped,elapsed_ns\n", csv);
}

static void pin_to(unsigned int nr)
{
	cpu_set_t one;

	if (nr >= nr_cpus)
		return;

	CPU_ZERO(&one);
	CPU_SET(cpus[nr], &one);
	__TEST_REQUIRE(!sched_setaffinity(0, sizeof(one), &one), "Cannot run on CPU %u: %s",
		       cpus[nr], strerror(errno));
}

static void *run_sender(void *vcpu)
{
	struct ucall uc;

	pin_to(1);
	vcpu_run(vcpu);
	TEST_ASSERT(get_ucall(vcpu, &uc) == UCALL_DONE, "The sender has not sent all IPIs");
	return NULL;
}

static u64 thread_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void measure(struct kvm_vcpu *vcpu, u32 period_us, struct measurement *m)
{
	struct stats start;
	s64 skipped;

	run_phase(vcpu, period_us, nr_warmup, UCALL_SYNC);

	read_stats(vcpu, &start);
	skipped = read_new_stat(vcpu, SKIPPED);
	m->elapsed_ns = monotonic_ns();
	m->cpu_ns = thread_cpu_ns();
	run_phase(vcpu, period_us, nr_halts, UCALL_DONE);
	m->cpu_ns = thread_cpu_ns() - m->cpu_ns;
	m->elapsed_ns = monotonic_ns() - m->elapsed_ns;
	read_stats(vcpu, &m->stats);
	sub_stats(&m->stats, &start);
	m->skipped = read_new_stat(vcpu, SKIPPED) - skipped;
}

static void run_period(u32 period_us)
{
	u64 period = (u64)period_us * counter_khz / 1000;
	unsigned int nr_vcpus = source == IPI ? 2 : 1, i;
	struct kvm_vcpu *vcpus[MAX_VCPUS];
	struct measurement m;
	pthread_t sender;
	struct kvm_vm *vm;

	vm = create_halting_vm(nr_vcpus, vcpus, guest_code);
	if (vm_max_ns >= 0)
		vm_enable_cap(vm, KVM_CAP_HALT_POLL, vm_max_ns);
	for (i = 0; i < nr_vcpus; i++)
		vcpu_args_set(vcpus[i], 5, (u64)i, (u64)source, (u64)nr_warmup, (u64)nr_halts,
			      period);

	if (source == IPI)
		TEST_ASSERT(!pthread_create(&sender, NULL, run_sender, vcpus[1]), "No thread");
	measure(vcpus[0], period_us, &m);
	if (source == IPI)
		pthread_join(sender, NULL);
	kvm_vm_free(vm);

	report(period_us, &m);
	check_stats(period_us, &m);
	ksft_test_result_pass("%u us\n", period_us);
}

/* Numbers with commas between them; returns how many. */
static unsigned int parse_list(char opt, char *list, u32 *vals, unsigned int room, u32 min, u32 max)
{
	unsigned int nr;
	char *item;

	for (nr = 0; (item = strsep(&list, ",")); nr++) {
		if (nr == room)
			usage_error("-%c: more than %u numbers", opt, room);
		vals[nr] = parse_u32(opt, item, min, max);
	}
	return nr;
}

static void parse_source(const char *name)
{
	if (!strcmp(name, "timer"))
		source = TIMER;
	else if (!strcmp(name, "ipi"))
		source = IPI;
	else
		usage_error("-w: wanted timer or ipi, got '%s'", name);
}

static void help(const char *name)
{
	printf("usage: %s [-h] [-w timer|ipi] [-p us,...] [-n halts] [-u halts] [-m ns]\n", name);
	printf("\t[-g factor] [-G ns] [-s divisor] [-b percent] [-c cpu[,cpu]] [-H] [-o file]\n\n");
	printf("-w: What wakes up the vCPU: its timer, or an IPI (default: timer).\n");
	printf("-p: Periods of the timer or the IPIs, in us (default: 5,20,50,150,1000).\n");
	printf("-n: Measured halts per period (default: %u).\n", nr_halts);
	printf("-u: Halts before that, to let the interval settle (default: %u).\n", nr_warmup);
	printf("-m: Most that this test's VMs may poll, in ns, 0 for no polling\n");
	printf("    (KVM_CAP_HALT_POLL; default: as the module says).\n");
	printf("-g, -G, -s: Set halt_poll_ns_grow, _grow_start (in ns) and _shrink for the\n");
	printf("    time of the test, for all VMs of the host (default: leave them alone).\n");
	printf("-b: Likewise halt_poll_budget, percent of the time that a vCPU may poll.\n");
	printf("-c: CPU to run the vCPU on, and CPU for the one that sends IPIs (default: any).\n");
	printf("-H: Print the histogram.\n");
	printf("-o: Write the results to this file as well, as CSV.\n");
}

static void parse_options(int argc, char *argv[])
{
	int opt;

	while ((opt = getopt(argc, argv, "hw:p:n:u:m:g:G:s:b:c:Ho:")) != -1) {
		switch (opt) {
		case 'w':
			parse_source(optarg);
			break;
		case 'c':
			nr_cpus = parse_list(opt, optarg, cpus, MAX_VCPUS, 0, CPU_SETSIZE - 1);
			break;
		case 'H':
			print_hist = true;
			break;
		case 'p':
			nr_periods = parse_list(opt, optarg, periods_us, MAX_PERIODS, 1,
						MAX_PERIOD_US);
			break;
		case 'n':
			nr_halts = parse_u32(opt, optarg, 1, MAX_HALTS);
			break;
		case 'u':
			nr_warmup = parse_u32(opt, optarg, 0, MAX_HALTS);
			break;
		case 'm':
			vm_max_ns = parse_u32(opt, optarg, 0, UINT_MAX);
			break;
		case 'g':
			wanted_params[GROW] = parse_u32(opt, optarg, 0, UINT_MAX);
			break;
		case 'G':
			wanted_params[GROW_START] = parse_u32(opt, optarg, 0, UINT_MAX);
			break;
		case 's':
			wanted_params[SHRINK] = parse_u32(opt, optarg, 0, UINT_MAX);
			break;
		case 'b':
			wanted_params[BUDGET] = parse_u32(opt, optarg, 0, 100);
			break;
		case 'o':
			csv_path = optarg;
			break;
		default:
			other_option(opt, help, argv[0]);
		}
	}

	expect_no_argument(argc, argv);
	if (source == IPI && nr_cpus == 1)
		usage_error("-c: IPIs take two CPUs, or none");
}

int main(int argc, char *argv[])
{
	int i;

	parse_options(argc, argv);

	ksft_print_header();
	if (vm_max_ns >= 0)
		TEST_REQUIRE(kvm_has_cap(KVM_CAP_HALT_POLL));
	__TEST_REQUIRE(source != IPI || count_cpus() > 1,
		       "One CPU: no vCPU can send IPIs while another halts");
	counter_khz = probe_kvm(guest_code);
	/* Try them all; this thread is the sleeper. */
	for (i = nr_cpus - 1; i >= 0; i--)
		pin_to(i);
	setup_params();
	print_host();
	if (csv_path)
		open_csv();

	ksft_set_plan(nr_periods);
	for (i = 0; i < nr_periods; i++)
		run_period(periods_us[i]);

	TEST_ASSERT(!csv || !(ferror(csv) | fclose(csv)), "The CSV file could not be written");
	ksft_finished();
}
