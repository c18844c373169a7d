/* SPDX-License-Identifier: GPL-2.0-only */
#include "clock_pelt.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum era { v5_1, v6_0 };

#define LOAD_AVG_MAX 47742u

/*
 * The sum at the start of a window of a CPU that was never idle as far as PELT
 * remembers, less one unit of its average for rounding.
 */
#define FULLY_USED (((LOAD_AVG_MAX - 1024) << 10) - LOAD_AVG_MAX)

/*
 * A CPU at half its speed lets clock_pelt pass at half the pace of clock_task.
 * The distance between the two is the time by which the same work would have
 * been over earlier at full speed, and an idle CPU has it back at once: both
 * clocks agree again. From 6.0 the moment is kept on either clock.
 */
ALWAYS_INLINE void catch_up(struct clock_pelt *c, enum era era)
{
	c->clock_pelt = c->clock_task;
	if (era >= v6_0) {
		c->clock_idle = c->clock_task;
		c->clock_pelt_idle = c->clock_pelt - c->lost_idle_time;
	}
}

ALWAYS_INLINE void advance(struct clock_pelt *c, const struct clock_pelt_step *step, enum era era)
{
	const u64 delta = step->delta_ns * step->multiplier;

	c->clock_task += delta;
	if (step->curr_is_idle)
		catch_up(c, era);
	else
		c->clock_pelt += (((delta * step->cpu_scale) >> 10) * step->freq_scale) >> 10;
}

/*
 * A CPU that was busy all along cannot have had the idle time it is about to
 * catch up with: on a fast CPU it would still be busy. That time is lost, and
 * PELT's now goes on from where it was. Up to 5.18 clock_pelt itself catches up
 * at the next update only.
 */
ALWAYS_INLINE void enter_idle(struct clock_pelt *c, const struct clock_pelt_step *step, enum era era)
{
	if (step->util_sum >= FULLY_USED)
		c->lost_idle_time += c->clock_task - c->clock_pelt;
	if (era >= v6_0)
		catch_up(c, era);
}

ALWAYS_INLINE void go_on(struct clock_pelt *clock, const struct clock_pelt_step *step, enum era era)
{
	advance(clock, step, era);
	if (step->entering_idle)
		enter_idle(clock, step, era);
}

void clock_pelt_v5_1(struct clock_pelt *clock, const struct clock_pelt_step *step)
{
	go_on(clock, step, v5_1);
}

void clock_pelt_v6_0(struct clock_pelt *clock, const struct clock_pelt_step *step)
{
	go_on(clock, step, v6_0);
}
