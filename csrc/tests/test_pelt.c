/* SPDX-License-Identifier: GPL-2.0-only */
/* PELT without Python: a few known answers, and states and parameters that must not trap. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "core/pelt.h"
#include "core/weight.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static u32 inverse[PELT_HALF_LIFE_LIMIT];

static struct pelt_params params_of(u32 half_life, u32 load_avg_max, u64 threshold)
{
	for (u32 i = 0; i < half_life && i < PELT_HALF_LIFE_LIMIT; i++)
		inverse[i] = (u32)(4294967295.0 * pow(pow(0.5, 1.0 / half_life), i));
	return (struct pelt_params){ half_life, load_avg_max, inverse, threshold };
}

/* n updates of an entity that always runs, step_ns apart. */
static struct pelt_avg run(pelt_track_fn *track, size_t n, u64 step_ns,
			   const struct pelt_params *params)
{
	struct pelt_avg avg = { 0 };
	const u64 full = 1024;
	const u8 yes = 1;
	u64 now = 0;

	for (size_t i = 0; i < n; i++) {
		const struct pelt_events ev = {
			&now, &full, &full, &full, &full, &yes, &yes, NULL, 0, NULL,
		};
		const struct pelt_history out = { 0 };

		now += step_ns;
		track(&avg, 1, &ev, &out, params);
	}
	return avg;
}

static void check_known_answers(void)
{
	const struct pelt_params params = params_of(32, 47742, 0);
	const struct pelt_params patched = params_of(32, 47742, 512);

	check("10 ms in 1", run(pelt_track_task_v4_13, 1, 10000000, &params).util_sum, 9035776);
	check("10 ms in 10", run(pelt_track_task_v4_13, 10, 1000000, &params).util_sum, 9036263);
	check("10 ms in 100", run(pelt_track_task_v5_7, 100, 100000, &params).util_sum, 9041549);
	check("10 ms in 1000", run(pelt_track_task_v5_7, 1000, 10000, &params).util_sum, 9036463);
	check("full, 4.13", run(pelt_track_task_v4_13, 4000, 1000000, &params).util_avg, 1024);
	check("511 units", run(pelt_track_task_v4_15, 1, 511 * 1024, &patched).util_avg, 0);
	check("512 units", run(pelt_track_task_v4_15, 1, 512 * 1024, &patched).util_avg, 11);
	check("as released", run(pelt_track_task_v4_15, 1, 512 * 1024, &params).util_avg, 0);
	check("no window, 4.12", decay_load_v4_12(1024, 0, 32, inverse[0]), 1023);
	check("no window, 4.3", decay_load_v4_3(1024, 0, 32, inverse[0]), 1024);
	check("2016 windows", decay_load_v4_12(UINT64_MAX, 2016, 32, inverse[0]), 0);
	check("3000 windows", accumulate_segments(3000, 1024, 10, 32, inverse[24], 47742), 46728);
	check("nice 0", nice_to_weight(0), 1024);
	check("64 windows, 4.6", compute_runnable_contrib_v3_8(64, inverse[0]), 35055);
	check("64 windows, 4.7", compute_runnable_contrib_v4_7(64, inverse[0]), 35056);
	check("for ever", compute_runnable_contrib_v4_7(UINT64_MAX, inverse[31]), 47742);
}

/* Up to 4.14 a run queue's runnable_load follows its weight: the runnable column is not read. */
static void check_unread_column(void)
{
	const struct pelt_params params = params_of(32, 47742, 0);
	const u64 now = 20000000, weight = 3072, scale = 1024;
	const u8 running = 1;
	const struct pelt_events ev = {
		&now, &weight, NULL, &scale, &scale, &running, NULL, NULL, 0, NULL,
	};
	const struct pelt_history out = { 0 };
	struct pelt_avg avg = { 0 };

	pelt_track_cfs_rq_v4_14(&avg, 1, &ev, &out, &params);
	check("load is there", avg.load_avg > 0, 1);
	check("runnable_load_sum", avg.runnable_sum, avg.load_sum);
	check("runnable_load_avg", avg.runnable_avg, avg.load_avg);
}

/* Entities of one stream are as they are alone; an index that leads nowhere leads nowhere. */
static void check_index(void)
{
	const struct pelt_params params = params_of(32, 47742, 0);
	const u64 now[] = { 3000000, 3500000, 4000000, 4000001, 9000000 };
	const u64 index[] = { 0, 1, 0, 2, 1 }, full[] = { 1024, 1024, 1024, 1024, 1024 };
	const u8 yes[] = { 1, 1, 1, 1, 1 };
	const u64 alone_now[] = { 3500000, 9000000 };
	struct pelt_avg avg[3] = { { 0 }, { 0 }, { 0 } }, alone = { 0 };
	u64 util[5] = { 7, 7, 7, 7, 7 };
	const struct pelt_history out = { .util_avg = util }, none = { 0 };
	const struct pelt_events ev = { now, full, full, full, full, yes, yes, index, 2, NULL };
	const struct pelt_events ev_alone = { alone_now, full, full, full, full, yes, yes, NULL, 0, NULL };

	pelt_track_task_v5_7(avg, COUNT(now), &ev, &out, &params);
	pelt_track_task_v5_7(&alone, COUNT(alone_now), &ev_alone, &none, &params);
	check("as alone", memcmp(&avg[1], &alone, sizeof(alone)) == 0, 1);
	check("its average", util[4], alone.util_avg);
	check("passed over", avg[2].last_update_time, 0);
	check("not recorded", util[3], 7);
}

/* Up to 4.11 there is one half-life, and it is written into the form. */
static bool has_parameters(const char *version)
{
	return version[1] > '4' || strlen(version) > strlen("v4_7");
}

/* Every form, from states and with parameters that no kernel has. */
static void check_nothing_traps(void)
{
	static const struct {
		pelt_track_fn *track;
		const char *version;
	} forms[] = {
#define LIST(entity, version) { pelt_track_##entity##_##version, #version },
		PELT_FORMS(LIST)
	};
	const u64 now[] = { 0, 1, 1u << 20, UINT64_MAX, 1ull << 63, 5, 1ull << 62 };
	const u64 huge[] = { UINT64_MAX, 0, 1, UINT64_MAX, 7, UINT64_MAX, 1ull << 32 };
	const u8 flag[] = { 1, 0, 255, 1, 0, 1, 1 };
	const u32 highest[] = { 0, 1, 1024, 1025, 47742, PELT_LOAD_AVG_MAX_LIMIT, UINT32_MAX };
	const u32 half_lives[] = { 0, 1, 32, PELT_HALF_LIFE_LIMIT, UINT32_MAX };
	const struct pelt_events ev = { now, huge, huge, huge, huge, flag, flag, NULL, 0, NULL };
	u64 load[7], runnable[7], util[7];
	const struct pelt_history out = {
		.load_now = load, .runnable_now = runnable, .util_now = util,
	};
	struct pelt_avg full, avg;

	memset(&full, 0xff, sizeof(full));
	for (size_t f = 0; f < COUNT(forms); f++)
		for (size_t i = 0; i < COUNT(half_lives) * COUNT(highest); i++) {
			const u32 half_life = half_lives[i / COUNT(highest)];
			const struct pelt_params params =
				params_of(half_life, highest[i % COUNT(highest)], 512);

			const bool own = half_life == 32 && params.load_avg_max == 47742;

			avg = full;
			forms[f].track(&avg, COUNT(now), &ev, &out, &params);
			if (has_parameters(forms[f].version) ? pelt_params_valid(&params) : own)
				check("period_contrib in range", avg.period_contrib < 1024, 1);
			else
				check("untouched", memcmp(&avg, &full, sizeof(avg)) == 0, 1);
		}
	check("half-life 0", decay_load_v3_8(5, 1, 0, 1) + decay_load_v4_12(5, 0, 0, 1), 0);
	check("half-life 0, segments", accumulate_segments(0, 1, 1, 0, 0, 1024), 1);
	check("nice too low", nice_to_weight(INT64_MIN), 88761);
	check("nice too high", nice_to_weight(INT64_MAX), 15);
}

int main(void)
{
	check_known_answers();
	check_unread_column();
	check_index();
	check_nothing_traps();
	return verdict("pelt");
}
