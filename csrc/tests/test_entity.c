/* SPDX-License-Identifier: GPL-2.0-only */
/* What surrounds the PELT update, without Python: a few known answers, and operands that must not trap. */
#include <string.h>

#include "check.h"
#include "core/attach.h"
#include "core/clock_pelt.h"
#include "core/util_est.h"
#include "core/weight.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static u64 load_left(attach_fn *detach)
{
	struct pelt_avg se = { .load_sum = 47741, .load_avg = 1024 };
	struct pelt_avg cfs = { .load_sum = (2 * 88761ull + 1024) * 47741,
				.load_avg = 2 * 88761 + 1024 };

	detach(&se, &cfs, 1024);
	return cfs.load_sum;
}

static u64 load_sum_attached(attach_fn *attach, u64 weight, u64 load_avg)
{
	struct pelt_avg se = { .load_avg = load_avg }, cfs = { .period_contrib = 1023 };

	attach(&se, &cfs, weight);
	return se.load_sum;
}

static u64 lost(clock_pelt_fn *step, u64 util_sum)
{
	const struct clock_pelt_step s = { .entering_idle = 1, .util_sum = util_sum };
	struct clock_pelt c = { .clock_task = 5000, .clock_pelt = 2000 };

	step(&c, &s);
	return c.lost_idle_time;
}

/* The estimate after a utilisation of 400, then of 200. */
static u64 estimate(util_est_fn *est)
{
	struct util_est_stay stay = { 400, 400, 0, 1, 1, 1024 };
	struct util_est_state state = { 0, 0, 0 };
	struct util_est_seen seen;

	est(&state, &stay, &seen);
	stay.util_enqueue = stay.util_dequeue = 200;
	est(&state, &stay, &seen);
	return seen.task_util_est_after;
}

static void check_known_answers(void)
{
	check("detach, 5.7", load_left(detach_v5_7), 8475077802);
	check("detach, 5.18", load_left(detach_v5_18), 4180110506);
	check("attach, 5.7", load_sum_attached(attach_v5_7, 88761, 1), 0);
	check("attach, 5.18", load_sum_attached(attach_v5_18, 88761, 1), 1);
	check("weight 0, 4.15", load_sum_attached(attach_v4_15, 0, 7), 47741);
	check("weight 0, 5.18", load_sum_attached(attach_v5_18, 0, 7), 0);
	check("idle time, 5.1", lost(clock_pelt_v5_1, 47791489), 0);
	check("lost idle time, 5.1", lost(clock_pelt_v5_1, 47791490), 3000);
	check("lost idle time, 6.0", lost(clock_pelt_v6_0, 47791490), 3000);
	check("estimate, 4.17", estimate(util_est_v4_17), 201);
	check("estimate, 5.5", estimate(util_est_v5_5), 351);
	check("estimate, 5.13", estimate(util_est_v5_13), 350);
	check("estimate, 6.8", estimate(util_est_v6_8), 350);
	check("new task, 4.10", post_init_entity_util_avg_v4_10(0, 5, 446, 1 << 20), 512);
	check("new task, 6.9", post_init_entity_util_avg_v4_15(100, 1024, 1024, 1 << 20), 462);
	check("new task, 6.10", post_init_entity_util_avg_v6_10(100, 1024, 1024, 1 << 20), 99);
	check("share of 2, 5.6", scale_load_down_v4_12(2), 0);
	check("share of 2, 5.7", scale_load_down_v5_7(2), 2);
	check("nice 0", nice_to_wmult(0), 4194304);
}

/* Every form, with operands that no kernel has. */
static void check_nothing_traps(void)
{
#define LIST_ATTACH(op, version) op##_##version,
	static attach_fn *const attach[] = { ATTACH_FORMS(LIST_ATTACH) };
#define LIST_UTIL_EST(version) util_est_##version,
	static util_est_fn *const util_est[] = { UTIL_EST_FORMS(LIST_UTIL_EST) };
	static clock_pelt_fn *const clock[] = { clock_pelt_v5_1, clock_pelt_v6_0 };
	static const int patterns[] = { 0x00, 0xff, 0x7f, 0x80 };
	u64 sum = 0;

	for (size_t i = 0; i < COUNT(patterns) * COUNT(patterns); i++) {
		const int left = patterns[i / COUNT(patterns)], right = patterns[i % COUNT(patterns)];
		struct pelt_avg se, cfs;
		struct util_est_state state;
		struct util_est_stay stay;
		struct util_est_seen seen;
		struct clock_pelt c;
		struct clock_pelt_step step;
		u64 x, y;

		memset(&x, left, sizeof(x));
		memset(&y, right, sizeof(y));
		for (size_t f = 0; f < COUNT(attach); f++) {
			memset(&se, left, sizeof(se));
			memset(&cfs, right, sizeof(cfs));
			attach[f](&se, &cfs, x);
			sum += cfs.load_sum;
		}
		for (size_t f = 0; f < COUNT(util_est); f++) {
			memset(&state, left, sizeof(state));
			memset(&stay, right, sizeof(stay));
			util_est[f](&state, &stay, &seen);
			check("32 bits", state.task_enqueued_raw >> 32, 0);
		}
		for (size_t f = 0; f < COUNT(clock); f++) {
			memset(&c, left, sizeof(c));
			memset(&step, right, sizeof(step));
			clock[f](&c, &step);
			sum += c.clock_pelt;
		}
		sum += post_init_entity_util_avg_v4_10(x, y, x, y);
		sum += post_init_entity_util_avg_v4_15(x >> 1, UINT64_MAX, y, x);
		sum += post_init_entity_util_avg_v6_10(x, y, y, x);
	}
	check("something was computed", sum != 0, 1);
	check("nice too low", nice_to_wmult(INT64_MIN), 48388);
	check("nice too high", nice_to_wmult(INT64_MAX), 286331153);
}

int main(void)
{
	check_known_answers();
	check_nothing_traps();
	return verdict("entity");
}
