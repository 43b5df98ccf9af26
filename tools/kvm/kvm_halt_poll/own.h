/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file that "record" writes: CSV, with comments that tell the rest.
 *
 *	# kvm_halt_poll 1
 *	#kernel,6.12.117
 *	#params,200000,2,10000,2
 *	vcpu,time_ns,halt_ns,waited,valid
 *	#vcpu,74,70,CPU 0/KVM
 *	#interval,74,0,5123456000,0,10000
 *	74,5123456789,63210,1,1
 *	#lost,12
 *	#skip,74,0
 *	74,5123654321,187210,1,1
 *	#end,2
 *
 * The first line is the format's version.  Numbers are unsigned decimals, times
 * are nanoseconds of CLOCK_MONOTONIC.  A row without "#" is a halt (see struct
 * halt), where vcpu is the thread's pid.  The others are:
 *
 *	#kernel,RELEASE				before all events
 *	#params,MAX,GROW,GROW_START,SHRINK	kvm's parameters, as the recording began
 *	#vcpu,PID,VM,COMM			the thread's process (empty: unknown)
 *						and name, which may have commas
 *	#interval,PID,ID,TIME,OLD,NEW		an interval changed; ID is KVM's number
 *						of the vCPU
 *	#skip,PID,ID				KVM skipped the poll of this thread's next
 *						halt, for want of budget; ID as above
 *	#lost,N					N events were lost about here
 *	#end,N					the last line: there are N halts
 *
 * Rows are in order of time.  Other lines that begin with "#" mean nothing.
 * CSV without the first line is read, too, and needs no last line.
 */
#ifndef __OWN_H
#define __OWN_H

#define OWN_NAME	"# kvm_halt_poll "
#define OWN_VERSION	OWN_NAME "1"
#define OWN_HEADER	"vcpu,time_ns,halt_ns,waited,valid"
#define OWN_KERNEL	"#kernel,"
#define OWN_PARAMS	"#params,"
#define OWN_VCPU	"#vcpu,"
#define OWN_INTERVAL	"#interval,"
#define OWN_SKIP	"#skip,"
#define OWN_LOST	"#lost,"
#define OWN_END		"#end,"

#endif /* __OWN_H */
