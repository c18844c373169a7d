/* SPDX-License-Identifier: GPL-2.0-only */
/* The clocks of this machine, how each is reached, and the loops that time them. */
#define _GNU_SOURCE

#include "stopwatch.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NSEC_PER_SEC 1000000000ULL

/* The compiler must believe that somebody looks at the value. */
static inline void keep(u64 value)
{
	__asm__ __volatile__("" : : "r"(value) : "memory");
}

static inline u64 timespec_ns(const struct timespec *time)
{
	return (u64)time->tv_sec * NSEC_PER_SEC + (u64)time->tv_nsec;
}

static u64 clock_ns(clockid_t id)
{
	struct timespec now = { 0, 0 };

	(void)clock_gettime(id, &now);
	return timespec_ns(&now);
}

u64 stopwatch_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static u64 read_nothing(const struct stopwatch_clock *clock)
{
	(void)clock;
	return 0;
}

static u64 read_libc(const struct stopwatch_clock *clock)
{
	return clock_ns(clock->id);
}

static u64 read_kernel(const struct stopwatch_clock *clock)
{
	struct timespec now = { 0, 0 };

	(void)syscall(SYS_clock_gettime, clock->id, &now);
	return timespec_ns(&now);
}

static u64 read_getppid(const struct stopwatch_clock *clock)
{
	(void)clock;
	return (u64)syscall(SYS_getppid);
}

#if defined(__x86_64__)

#define INSTRUCTION(name, code)                                                          \
	static u64 name(const struct stopwatch_clock *clock)                             \
	{                                                                                \
		u32 low, high;                                                           \
                                                                                         \
		(void)clock;                                                             \
		__asm__ __volatile__(code : "=a"(low), "=d"(high) : : "rcx", "memory");  \
		return (u64)high << 32 | low;                                            \
	}

INSTRUCTION(read_rdtsc, "rdtsc")
INSTRUCTION(read_rdtscp, "rdtscp")
INSTRUCTION(read_lfence_rdtsc, "lfence\n\trdtsc")
INSTRUCTION(read_rdtscp_lfence, "rdtscp\n\tlfence")

#define INSTRUCTIONS                                                                     \
	{ "rdtsc", STOPWATCH_INSTRUCTION, -1, read_rdtsc, NULL },                        \
	{ "rdtscp", STOPWATCH_INSTRUCTION, -1, read_rdtscp, NULL },                      \
	{ "lfence;rdtsc", STOPWATCH_INSTRUCTION, -1, read_lfence_rdtsc, NULL },          \
	{ "rdtscp;lfence", STOPWATCH_INSTRUCTION, -1, read_rdtscp_lfence, NULL },

#elif defined(__aarch64__)

#define INSTRUCTION(name, code)                                                          \
	static u64 name(const struct stopwatch_clock *clock)                             \
	{                                                                                \
		u64 ticks;                                                               \
                                                                                         \
		(void)clock;                                                             \
		__asm__ __volatile__(code : "=r"(ticks) : : "memory");                   \
		return ticks;                                                            \
	}

INSTRUCTION(read_cntvct, "mrs %0, cntvct_el0")
INSTRUCTION(read_isb_cntvct, "isb\n\tmrs %0, cntvct_el0")

#define INSTRUCTIONS                                                                     \
	{ "cntvct_el0", STOPWATCH_INSTRUCTION, -1, read_cntvct, NULL },                  \
	{ "isb;cntvct_el0", STOPWATCH_INSTRUCTION, -1, read_isb_cntvct, NULL },

#else
#define INSTRUCTIONS
#endif

#define LIBC(id) { #id, STOPWATCH_LIBC, id, read_libc, NULL }

/*
 * The clocks that a machine may have, one a row.
 *
 * Returned:	clock		the row, if there is one of that number
 *		how many rows there are
 */
size_t stopwatch_clock(size_t row, struct stopwatch_clock *clock)
{
	const struct stopwatch_clock rows[] = {
		{ "empty call", STOPWATCH_EMPTY_CALL, -1, read_nothing, NULL },
		INSTRUCTIONS
		LIBC(CLOCK_REALTIME),
		LIBC(CLOCK_REALTIME_COARSE),
		LIBC(CLOCK_REALTIME_ALARM),
		LIBC(CLOCK_MONOTONIC),
		LIBC(CLOCK_MONOTONIC_COARSE),
		LIBC(CLOCK_MONOTONIC_RAW),
		LIBC(CLOCK_BOOTTIME),
		LIBC(CLOCK_BOOTTIME_ALARM),
		LIBC(CLOCK_TAI),
		LIBC(CLOCK_PROCESS_CPUTIME_ID),
		LIBC(CLOCK_THREAD_CPUTIME_ID),
		{ "syscall(clock_gettime)", STOPWATCH_SYSTEM_CALL, CLOCK_MONOTONIC, read_kernel, NULL },
		{ "syscall(getppid)", STOPWATCH_SYSTEM_CALL, -1, read_getppid, NULL },
	};
	const size_t count = sizeof(rows) / sizeof(rows[0]);

	if (row < count)
		*clock = rows[row];
	return count;
}

bool stopwatch_answers(const struct stopwatch_clock *clock)
{
	struct timespec now;

	return clock->id < 0 || clock_gettime(clock->id, &now) == 0;
}

/* What clock_getres says; 0 for what is no CLOCK_*. */
u64 stopwatch_resolution_ns(const struct stopwatch_clock *clock)
{
	struct timespec step = { 0, 0 };

	if (clock->kind == STOPWATCH_LIBC)
		(void)clock_getres(clock->id, &step);
	return timespec_ns(&step);
}

/* From here on this task's clock_gettime system calls fail with EOVERFLOW. */
static bool refuse_clock_gettime(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (u32)offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOVERFLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };
	struct timespec now;

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 &&
	       syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) == -1 && errno == EOVERFLOW;
}

static enum stopwatch_reach reach_of(clockid_t id)
{
	struct timespec now;

	if (clock_gettime(id, &now) == 0)
		return STOPWATCH_IN_USER_SPACE;
	return errno == EOVERFLOW ? STOPWATCH_IN_KERNEL : STOPWATCH_UNKNOWN;
}

/*
 * Does reading each clock enter the kernel? A child gives up the system call
 * and reads again: what still answers is answered in user space (the vDSO).
 * That needs no privilege. The filter refuses the call instead of killing the
 * caller, so one child tells about all clocks and leaves neither a core file
 * nor a line in the audit log.
 *
 * The child of a process with threads may only do what is async-signal-safe:
 * it makes system calls, stores to the shared page and leaves by _exit. Signals
 * are held back over the fork, so that no handler of the parent runs in it.
 *
 * Given:	ids		count numbers of CLOCK_*
 * Returned:	reach		for each id; UNKNOWN where seccomp is not permitted
 *		false if no child could be made (errno says why)
 */
bool stopwatch_reach(const int *ids, enum stopwatch_reach *reach, size_t count)
{
	size_t bytes = (count + 1) * sizeof(*reach);
	volatile enum stopwatch_reach *shared;
	sigset_t all, before;
	pid_t child;
	int error;

	shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return false;
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	child = fork();
	if (child == 0) {
		if (refuse_clock_gettime())
			for (size_t i = 0; i < count; i++)
				shared[i] = reach_of(ids[i]);
		_exit(0);
	}
	error = errno;
	if (child > 0)
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	for (size_t i = 0; i < count; i++)
		reach[i] = shared[i];
	(void)munmap((void *)shared, bytes);
	errno = error;
	return child > 0;
}

/*
 * Wait for the other racers, reading the clock meanwhile. Arrivals are numbered
 * from 0; the one numbered n is of meeting n / racers, and that is complete
 * when met has reached (n / racers + 1) * racers. A racer that is late to see
 * it finds a larger number, for nobody leaves the next meeting without it.
 *
 * Without a gate nobody is waited for.
 */
static void stopwatch_meet(const struct stopwatch_clock *clock, struct stopwatch_gate *gate)
{
	u64 racers, complete;

	if (!gate || gate->racers == 0)
		return;
	racers = gate->racers;
	complete = (__atomic_fetch_add(&gate->met, 1, __ATOMIC_ACQ_REL) / racers + 1) * racers;
	while (__atomic_load_n(&gate->met, __ATOMIC_ACQUIRE) < complete &&
	       !__atomic_load_n(&gate->called_off, __ATOMIC_ACQUIRE))
		keep(clock->read(clock));
}

/*
 * Batch: one bracket around all calls, so its own cost vanishes in the mean.
 * With a gate all racers read from before the first stamp until after the last
 * of any of them:
 *
 *	warm-up | read until all are here | begin | read ... read | end | read until all have ended
 *
 * Given:	warmup		calls before, which nobody times
 *		calls		calls between the two stamps
 *		gate		where the racers meet; NULL: alone
 * Returned:	ticks of the counter for all calls together
 */
u64 stopwatch_batch(const struct stopwatch_clock *clock, size_t warmup, size_t calls,
		    struct stopwatch_gate *gate)
{
	u64 begin, ticks;

	for (size_t i = 0; i < warmup; i++)
		keep(clock->read(clock));
	stopwatch_meet(clock, gate);
	begin = stopwatch_begin();
	for (size_t i = 0; i < calls; i++)
		keep(clock->read(clock));
	ticks = stopwatch_end() - begin;
	stopwatch_meet(clock, gate);
	return ticks;
}

/*
 * Single: a bracket around each call. ticks holds what the bracket measured,
 * its own cost included: that of stopwatch_empty(). The gate as above.
 */
void stopwatch_single(const struct stopwatch_clock *clock, size_t warmup, u64 *ticks, size_t calls,
		      struct stopwatch_gate *gate)
{
	for (size_t i = 0; i < warmup; i++)
		keep(clock->read(clock));
	stopwatch_meet(clock, gate);
	for (size_t i = 0; i < calls; i++) {
		u64 begin = stopwatch_begin();

		keep(clock->read(clock));
		ticks[i] = stopwatch_end() - begin;
	}
	stopwatch_meet(clock, gate);
}

/* Brackets around nothing. */
void stopwatch_empty(u64 *ticks, size_t brackets)
{
	for (size_t i = 0; i < brackets; i++) {
		u64 begin = stopwatch_begin();

		ticks[i] = stopwatch_end() - begin;
	}
}

/*
 * Differences of two reads with 0..63 empty turns between them, in scrambled
 * order. A counter that moves in steps shows differences near multiples of its
 * step alone; without the turns most of them were one and the same number.
 */
void stopwatch_deltas(u64 *ticks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		u32 turns = (u32)i * 2654435761U >> 26;
		u64 begin = stopwatch_begin();

		for (u32 turn = 0; turn < turns; turn++)
			keep(turn);
		ticks[i] = stopwatch_end() - begin;
	}
}

/*
 * The counter and CLOCK_MONOTONIC_RAW at one instant: two such pairs give the
 * counter's frequency. Returns how many ticks the pair took, the uncertainty.
 */
u64 stopwatch_pair(u64 *ticks, u64 *raw_ns)
{
	u64 begin = stopwatch_begin();
	u64 width;

	*raw_ns = clock_ns(CLOCK_MONOTONIC_RAW);
	width = stopwatch_end() - begin;
	*ticks = begin + width / 2;
	return width;
}
