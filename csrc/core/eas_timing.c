/* SPDX-License-Identifier: GPL-2.0-only */
/* Timing placements; see eas_timing.h. */
#include "eas_timing.h"

#include "stopwatch.h"

#if defined(__x86_64__)

static inline void evict_line(const u8 *line)
{
	__asm__ __volatile__("clflush %0" : : "m"(*line) : "memory");
}

/* Until here the lines may still be on their way out. */
static inline void evict_done(void)
{
	__asm__ __volatile__("mfence" : : : "memory");
}

bool eas_can_evict(void)
{
	return true;
}

#else

static inline void evict_line(const u8 *line)
{
	(void)line;
}

static inline void evict_done(void)
{
}

/* Whoever is told so gives a working set larger than every cache instead. */
bool eas_can_evict(void)
{
	return false;
}

#endif

/* Every line that a span has a byte in leaves every cache. Returns how many there are. */
size_t eas_evict(const struct eas_span *span)
{
	const u8 *start = span->start;
	size_t lines = 0, offset;

	if (span->bytes == 0)
		return 0;
	offset = (uintptr_t)start % EAS_LINE;
	for (size_t at = 0; at < offset + span->bytes; at += EAS_LINE, lines++)
		evict_line(start + (at < offset ? 0 : at - offset));
	return lines;
}

/* One load a line. Returns the sum, so that the loads are made. */
u64 eas_walk(const u8 *working_set, size_t bytes)
{
	const volatile u8 *set = working_set;
	u64 sum = 0;

	for (size_t at = 0; at < bytes; at += EAS_LINE)
		sum += set[at];
	return sum;
}

/* Bring what a case reads into the cache, so that the first arm does not pay for the others. */
static void touch_case(const struct eas_case *c)
{
	(void)eas_walk((const u8 *)c->task, sizeof(*c->task));
	(void)eas_walk((const u8 *)c->cpus, c->nr_cpus * sizeof(*c->cpus));
}

static void prepare(const struct eas_case *c, const struct eas_timing *how)
{
	const struct eas_span task = { c->task, sizeof(*c->task) };
	const struct eas_span cpus = { c->cpus, c->nr_cpus * sizeof(*c->cpus) };

	(void)eas_walk(how->working_set, how->working_set_bytes);
	if (how->nr_evicted == 0 && !how->evict_case)
		return;
	for (size_t i = 0; i < how->nr_evicted; i++)
		(void)eas_evict(&how->evicted[i]);
	if (how->evict_case) {
		(void)eas_evict(&task);
		(void)eas_evict(&cpus);
	}
	evict_done();
}

static u64 time_calls(const struct eas_case *c, eas_timed_fn *place, u64 batch, s64 *target)
{
	volatile s64 chosen = -1;
	u64 begin = stopwatch_begin(), end;

	for (u64 call = 0; call < batch; call++)
		chosen = place(c);
	end = stopwatch_end();
	*target = chosen;
	return end - begin;
}

/*
 * Given:	c		the case
 *		arms		nr_arms functions
 *		order		in which they run: a permutation of their numbers
 * Returned:	ticks		per arm, for all calls of a batch, the bracket included
 *		targets		per arm, what the last call gave
 */
void eas_time_case(const struct eas_case *c, eas_timed_fn *const *arms, const s64 *order, size_t nr_arms,
		   const struct eas_timing *how, u64 *ticks, s64 *targets)
{
	if (how->touch)
		touch_case(c);
	for (size_t turn = 0; turn < nr_arms; turn++) {
		const size_t arm = (size_t)order[turn];

		prepare(c, how);
		ticks[arm] = time_calls(c, arms[arm], how->batch, &targets[arm]);
	}
}
