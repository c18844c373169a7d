/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading the processor's counter around a call, and timing clocks with it.
 *
 *	begin = stopwatch_begin();
 *	the call
 *	ticks = stopwatch_end() - begin;
 *
 * A processor executes out of order, and a plain counter read may move into
 * the call or past it. The barriers keep it in its place:
 *
 *	begin:	everything before has finished | read | the call starts after
 *	end:	the call has finished | read | what follows starts after
 *
 * rdtscp waits for what precedes it, lfence holds back what follows; isb does
 * both on arm64. The counter runs at a constant rate there (stopwatch.py
 * calibrates it); where neither exists the two reads return nanoseconds.
 */
#ifndef SCHEDPY_STOPWATCH_H
#define SCHEDPY_STOPWATCH_H

#include "types.h"

/* Nanoseconds of CLOCK_MONOTONIC: the counter of last resort. */
u64 stopwatch_monotonic_ns(void);

/* How a clock is reached; whether libc needs the kernel is asked separately. */
enum stopwatch_kind {
	STOPWATCH_EMPTY_CALL,
	STOPWATCH_INSTRUCTION,
	STOPWATCH_LIBC,
	STOPWATCH_SYSTEM_CALL,
	STOPWATCH_CALLBACK,
};

/*
 * A clock is one function behind a pointer, so that every one of them is timed
 * by the same loop and pays the same indirect call. id is the CLOCK_* number
 * where there is one, else -1; context belongs to the reader.
 */
struct stopwatch_clock {
	const char *name;
	enum stopwatch_kind kind;
	int id;
	u64 (*read)(const struct stopwatch_clock *clock);
	void *context;
};

enum stopwatch_reach { STOPWATCH_UNKNOWN, STOPWATCH_IN_USER_SPACE, STOPWATCH_IN_KERNEL };

/*
 * Where several threads meet: none goes on before all have come. racers is how
 * many there are; met counts arrivals and is never set back, so that one gate
 * serves for every meeting of the same threads. A gate that was called off
 * holds nobody any more. Its fields are shared: see stopwatch_meet().
 */
struct stopwatch_gate {
	u64 racers;
	u64 met;
	u64 called_off;
};

size_t stopwatch_clock(size_t row, struct stopwatch_clock *clock);
bool stopwatch_answers(const struct stopwatch_clock *clock);
u64 stopwatch_resolution_ns(const struct stopwatch_clock *clock);
bool stopwatch_reach(const int *ids, enum stopwatch_reach *reach, size_t count);

u64 stopwatch_batch(const struct stopwatch_clock *clock, size_t warmup, size_t calls,
		    struct stopwatch_gate *gate);
void stopwatch_single(const struct stopwatch_clock *clock, size_t warmup, u64 *ticks, size_t calls,
		      struct stopwatch_gate *gate);
void stopwatch_empty(u64 *ticks, size_t brackets);
void stopwatch_deltas(u64 *ticks, size_t count);
u64 stopwatch_pair(u64 *ticks, u64 *raw_ns);

#if defined(__x86_64__)

#define STOPWATCH_COUNTER "tsc"

static inline u64 stopwatch_begin(void)
{
	u32 low, high;

	__asm__ __volatile__("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
	return (u64)high << 32 | low;
}

static inline u64 stopwatch_end(void)
{
	u32 low, high;

	__asm__ __volatile__("rdtscp\n\tlfence" : "=a"(low), "=d"(high) : : "rcx", "memory");
	return (u64)high << 32 | low;
}

#elif defined(__aarch64__)

#define STOPWATCH_COUNTER "cntvct_el0"

static inline u64 stopwatch_begin(void)
{
	u64 ticks;

	__asm__ __volatile__("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks) : : "memory");
	return ticks;
}

static inline u64 stopwatch_end(void)
{
	return stopwatch_begin();
}

#else

#define STOPWATCH_COUNTER "CLOCK_MONOTONIC"

static inline u64 stopwatch_begin(void)
{
	return stopwatch_monotonic_ns();
}

static inline u64 stopwatch_end(void)
{
	return stopwatch_monotonic_ns();
}

#endif
#endif
