/* SPDX-License-Identifier: GPL-2.0-only */
#include "pelt_lanes_parts.h"

#define PLAIN_CHUNK 256

#define FILL_ONCE(column)                                      \
	do {                                                   \
		if (once->column) {                            \
			for (size_t i = 0; i < fill; i++)      \
				full_##column[i] = *ev.column; \
			ev.column = full_##column;             \
		}                                              \
	} while (0)

#define STEP_ONCE(column, count)            \
	do {                                \
		if (!call->once.column)     \
			ev.column += count; \
	} while (0)

#define STEP_ALL(count)                     \
	do {                                \
		ev.now += count;            \
		STEP_ONCE(weight, count);   \
		STEP_ONCE(runnable, count); \
		STEP_ONCE(scale_freq, count); \
		STEP_ONCE(scale_cpu, count); \
		STEP_ONCE(running, count);  \
		STEP_ONCE(on_rq, count);    \
	} while (0)

struct pelt_lane lane_at(const struct pelt_lane *lane, size_t first,
			 const struct pelt_lanes_call *call)
{
	struct pelt_events ev = lane->ev;

	STEP_ALL(first);
	return (struct pelt_lane){ lane->avg, ev, lane->util_avg + first,
				   lane->load_avg ? lane->load_avg + first : NULL };
}

void lane_plain(const struct pelt_lane *lane, size_t first, size_t left,
		const struct pelt_lanes_call *call)
{
	const size_t fill = left < PLAIN_CHUNK ? left : PLAIN_CHUNK;
	const struct pelt_once *once = &call->once;
	struct pelt_lane at = lane_at(lane, first, call);
	struct pelt_events ev = at.ev;
	u64 full_weight[PLAIN_CHUNK], full_runnable[PLAIN_CHUNK];
	u64 full_scale_freq[PLAIN_CHUNK], full_scale_cpu[PLAIN_CHUNK];
	u8 full_running[PLAIN_CHUNK], full_on_rq[PLAIN_CHUNK];
	struct pelt_history out = { .util_avg = at.util_avg, .load_avg = at.load_avg };

	FILL_ONCE(weight);
	FILL_ONCE(runnable);
	FILL_ONCE(scale_freq);
	FILL_ONCE(scale_cpu);
	FILL_ONCE(running);
	FILL_ONCE(on_rq);
	while (left) {
		const size_t count = left < PLAIN_CHUNK ? left : PLAIN_CHUNK;

		call->plain(lane->avg, count, &ev, &out, call->params);
		STEP_ALL(count);
		out.util_avg += count;
		if (out.load_avg)
			out.load_avg += count;
		left -= count;
	}
}

/*
 * A sum below 2^26 is nothing after 26 half-lives, and so is the difference of
 * two. A difference of 1 then lives on by chance, half as likely every half-life.
 */
#define WARM_UP_HALF_LIVES 38

size_t lane_warm_up(const struct pelt_lane *lane, size_t first, size_t piece, size_t pieces,
		    const struct pelt_lanes_call *call)
{
	const u64 enough = (u64)WARM_UP_HALF_LIVES * call->params->half_life << 20;
	size_t warm = 64;

	for (size_t i = 1; i < pieces; i++) {
		const u64 *now = lane->ev.now + first + i * piece;

		while (warm < piece / 4 && now[0] - *(now - warm) < enough)
			warm *= 2;
	}
	return warm < piece / 4 ? warm : 0;
}

struct pelt_avg lane_from_nothing(const struct pelt_lane *lane, size_t i, enum lanes_era era)
{
	const struct pelt_avg *avg = lane->avg;
	const u64 start = avg->last_update_time - ((avg->period_contrib % PELT_PERIOD) << 10);
	const u64 position = (lane->ev.now[i - 1] - start) >> 10;
	struct pelt_avg from = { .last_update_time = start + (position << 10),
				 .period_contrib = position % PELT_PERIOD };

	if (era < LANES_v4_15) {
		from.runnable_sum = avg->runnable_sum;
		from.runnable_avg = avg->runnable_avg;
	}
	return from;
}

#define AT(column, i) (lane->ev.column[call->once.column ? 0 : (i)])

/* What event i, with no window end in it, added to load_sum and to runnable_sum (4.15 on). */
static u64 load_added(const struct pelt_lane *lane, size_t i, u64 units, enum lanes_era era,
		      const struct pelt_lanes_call *call)
{
	u64 contrib = AT(on_rq, i) ? units : 0;

	if (era < LANES_v5_1)
		contrib = (contrib * AT(scale_freq, i)) >> 10;
	return era < LANES_v4_15 ? contrib * AT(weight, i) : contrib;
}

/*
 * No average that is not asked for is kept up to date: those of the end can be
 * had from the sums of the end. Since the last refresh no window has ended, so
 * nothing has decayed; what was added since then is taken off again.
 *
 *	         last refresh                  end
 *	    v         v       v       v         v
 *	....|.....][..#.......#.......#.........#...
 *	           ^
 *	      window start: event times before it belong to an earlier window
 */
void lane_averages(const struct pelt_lane *lane, size_t since, size_t end,
		   const struct pelt_avg *before, enum lanes_era era,
		   const struct pelt_lanes_call *call)
{
	struct pelt_avg *avg = lane->avg;
	const u64 start = avg->last_update_time - (avg->period_contrib << 10);
	u64 load = avg->load_sum, added = 0, units, div;
	size_t i = end;

	if ((s64)(before->last_update_time - start) >= 0)
		return;
	units = avg->period_contrib;
	while (i-- > since + 1 && (s64)(lane->ev.now[i - 1] - start) >= 0) {
		const u64 earlier = (lane->ev.now[i - 1] - start) >> 10;

		added += load_added(lane, i, units - earlier, era, call);
		units = earlier;
	}
	load -= added;
	div = call->params->load_avg_max;
	if (era >= LANES_v4_13)
		div = div - PELT_PERIOD + units;
	avg->load_avg = load * (era < LANES_v4_15 ? 1 : AT(weight, i)) / div;
	if (era >= LANES_v5_7)
		avg->runnable_avg = (avg->runnable_sum - (added << 10)) / div;
	else if (era >= LANES_v4_15)
		avg->runnable_avg = (avg->runnable_sum - added) * AT(runnable, i) / div;
}

bool lane_takes_once(const struct pelt_lane *lane, enum lanes_era era,
		     const struct pelt_lanes_call *call)
{
	if (call->once.weight && *lane->ev.weight >> LANES_WEIGHT_BITS)
		return false;
	if (era >= LANES_v5_1)
		return true;
	return (!call->once.scale_freq || *lane->ev.scale_freq >> LANES_SCALE_BITS == 0) &&
	       (!call->once.scale_cpu || *lane->ev.scale_cpu >> LANES_SCALE_BITS == 0);
}

/*
 * The lanes need half_life | 32, so that one table of 32 entries serves all, and load_avg_max well
 * above a window (a reciprocal has to be approximated from it) and below 2^16, with the sum of whole
 * windows never negative: then what an update adds is not either. In kernels half_life is 8, 16 or 32.
 */
static bool takes_params(const struct pelt_params *params)
{
	const u32 highest = params->load_avg_max, half_life = params->half_life;

	if (!pelt_params_valid(params) || params->update_threshold != 0 ||
	    half_life < 8 || half_life > 32 || (half_life & (half_life - 1)) != 0)
		return false;
	if (highest < 11 * PELT_PERIOD || highest > 0xffff - 2 * PELT_PERIOD)
		return false;
	for (u32 i = 1; i < half_life; i++) {
		if (highest - (u32)(((u64)highest * params->inverse[i]) >> 32) < PELT_PERIOD)
			return false;
	}
	return true;
}

static bool wants_averages_alone(const struct pelt_history *out)
{
	struct pelt_history rest = *out;

	rest.load_avg = NULL;
	return out->util_avg && !pelt_wants_rest(&rest);
}

#define WHEN(version, family)                    \
	if (plain == pelt_track_task_##version)  \
		return LANES_##version;

static enum lanes_era era_of(pelt_track_fn *plain)
{
	PELT_LANES_FORMS(WHEN)
	return LANES_ERAS;
}

pelt_lanes_fn *pelt_lanes_for(pelt_track_fn *plain, const struct pelt_params *params,
			      const struct pelt_history *history, enum path path)
{
	const enum lanes_era era = era_of(plain);
	const bool load_avg = history->load_avg != NULL;

	if (!takes_params(params) || !wants_averages_alone(history) || !path_works(path))
		return NULL;
	switch (path) {
#if defined(__x86_64__)
	case PATH_AVX2:
		return pelt_lanes_avx2(era, load_avg);
	case PATH_AVX512:
		return pelt_lanes_avx512(era, load_avg);
#endif
	default:
		return pelt_lanes_portable(era, load_avg);
	}
}
