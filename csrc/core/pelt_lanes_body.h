/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The body of a path: included once by each, after it has defined
 *
 *   WIDTH, BLOCK, TARGET     lanes, events of a block, and the attribute of functions that use them
 *   UNROLLED                 what the loop over a block is told, or nothing
 *   vec, flags               WIDTH values of 64 bits; a condition for each
 *   vec_*, flags_*           what is done with them
 *
 * A lane is a stream. Events are taken in blocks of BLOCK of each stream: turned on
 * their way in and out, since what is side by side there is of one lane.
 *
 * Positions are units of 1024 ns since a start that is a window's start:
 *
 *	start      window 1     window 2     window 3
 *	|...........|............|............|.....
 *	       ^                      ^
 *	    position before        position now     (same remainder of 1024 ns:
 *	                                             the rest of a delta is kept)
 *
 * so that window = position / 1024, period_contrib = position % 1024, and an
 * update passes as many window ends as the windows differ by. With none passed
 * the factor is one exactly, and then the formula for what is added (pelt.c) gives
 *
 *	(1024 - before) + (MAX - MAX - 1024) + now = now - before
 *
 * which is right too: no case is told from another.
 */
#include "pelt_lanes_parts.h"

#define INLINE ALWAYS_INLINE TARGET

/* What a form does, known at compile time. */
struct rule {
	enum lanes_era era;	/* 5.1 counts as 4.15 with scales that are not looked at */
	bool load_avg;	/* wanted after every event */
	bool follows;	/* runnable_sum needs no arithmetic of its own; see follows() */
	bool near;	/* no update of the block passes a half-life: nothing is halved */
};

struct lanes {
	vec start;
	vec position;
	vec load_sum;
	vec runnable_sum;
	vec util_sum;
	vec util_avg;
	vec load_avg;
};

struct fixed {
	struct table table;
	vec half_lives;		/* a number of windows shifted right by this is one of half-lives */
	vec near;		/* units that are zero shifted right by this pass no half-life */
	vec highest;		/* load_avg_max */
	bool scaled;		/* some scale is not 1024 */
};

/* A block of every column; those of one entry are filled once and stay. */
struct columns {
	vec now[BLOCK], weight[BLOCK], scale_freq[BLOCK], scale_cpu[BLOCK];
	flags_row running, on_rq;
};

/*
 * Where the events of a block are. False if a lane saw what is for the plain function: a clock
 * that goes backwards or a sleep of a month and more, a weight or a scale beyond its limit.
 */
INLINE bool positions(vec *position, vec *seen, const struct lanes *a, const struct columns *c,
		      const struct fixed *k, const struct pelt_once *once)
{
	vec before = a->position, beyond;

	*seen = vec_set(0);
	for (int i = 0; i < BLOCK; i++) {
		position[i] = vec_shr(vec_sub(c->now[i], a->start), 10);
		*seen = vec_or(*seen, vec_sub(position[i], before));
		before = position[i];
	}
	beyond = vec_shr(*seen, LANES_UNIT_BITS);
	for (int i = 0; i < BLOCK; i++) {
		if (!once->weight)
			beyond = vec_or(beyond, vec_shr(c->weight[i], LANES_WEIGHT_BITS));
		if (k->scaled && !once->scale_freq)
			beyond = vec_or(beyond, vec_shr(c->scale_freq[i], LANES_SCALE_BITS));
		if (k->scaled && !once->scale_cpu)
			beyond = vec_or(beyond, vec_shr(c->scale_cpu[i], LANES_SCALE_BITS));
	}
	return vec_is_zero(beyond);
}

/*
 * 32 bits have to hold a sum (for load_sum up to 4.14 see sums()). All that ever ran adds up to
 * load_avg_max, so however long a block is, a sum ends less than four times that (the scales),
 * shifted by 10, above what it was: by less than 2^28.
 */
INLINE bool sums_have_room(const struct lanes *a, enum lanes_era era)
{
	vec sums = vec_or(a->load_sum, a->util_sum);

	if (era >= LANES_v4_15) {
		/* A weight has 20 bits, and 38 have to hold the product. */
		sums = vec_or(sums, a->runnable_sum);
		sums = vec_or(sums, vec_shl(vec_shr(a->load_sum, LANES_LOAD_BITS), 31));
	}
	return vec_is_zero(vec_shr(sums, 31));
}

/* The sums and averages after a block. False if load_sum, weighted up to 4.14, leaves 32 bits. */
INLINE bool sums(struct lanes *a, const vec *positions, const struct columns *c,
		 const struct fixed *k, vec *util_avg, vec *load_avg, struct rule rule)
{
	vec before = a->position, large = vec_set(0);

	UNROLLED
	for (int i = 0; i < BLOCK; i++) {
		const vec position = positions[i];
		const vec passed = vec_sub(vec_shr(position, 10), vec_shr(before, 10));
		const vec contrib = vec_and(position, vec_set(1023));
		const struct factor f = factor_of(passed, k->half_lives, &k->table, rule.near);
		const vec open = vec_sub(contrib, vec_set(PELT_PERIOD));
		const vec head = vec_sub(vec_set(PELT_PERIOD), vec_and(before, vec_set(1023)));
		const vec body = vec_lost(k->highest, f, rule.near);
		flags queued = flags_of(c->on_rq, i), running = queued;
		vec added = vec_add(vec_decay(head, f, rule.near), vec_add(body, open));
		vec scaled, div;
		divider by;

		if (rule.era == LANES_v4_14)
			queued = flags_both(queued, flags_nonzero(c->weight[i]));
		if (rule.era < LANES_v5_7 || !rule.follows)
			running = flags_of(c->running, i);
		if (rule.era >= LANES_v4_14)
			running = flags_both(running, queued);

		a->load_sum = vec_decay(a->load_sum, f, rule.near);
		a->util_sum = vec_decay(a->util_sum, f, rule.near);
		if (rule.era >= LANES_v4_15 && !rule.follows)
			a->runnable_sum = vec_decay(a->runnable_sum, f, rule.near);

		if (rule.era < LANES_v5_7 && k->scaled) {
			added = vec_shr(vec_mul(added, c->scale_freq[i]), 10);
			scaled = vec_mul(added, c->scale_cpu[i]);
		} else {
			scaled = vec_shl(added, 10);
		}
		if (rule.era < LANES_v4_15) {
			a->load_sum = vec_add_if(a->load_sum, queued, vec_mul(added, c->weight[i]));
			large = vec_or(large, a->load_sum);
		} else {
			a->load_sum = vec_add_if(a->load_sum, queued, added);
			if (!rule.follows)
				a->runnable_sum = vec_add_if(a->runnable_sum, queued,
							     rule.era < LANES_v5_7 ? added : scaled);
		}
		a->util_sum = vec_add_if(a->util_sum, running, scaled);

		div = rule.era < LANES_v4_13 ? k->highest : vec_add(k->highest, open);
		by = divider_of(div, &k->table);
		a->util_avg = vec_refreshed(a->util_avg, f, vec_quotient(a->util_sum, by));
		util_avg[i] = a->util_avg;
		if (rule.load_avg) {
			const vec load = rule.era < LANES_v4_15 ? a->load_sum
								: vec_mul(a->load_sum, c->weight[i]);

			a->load_avg = vec_refreshed(a->load_avg, f, vec_long_quotient(load, by));
			load_avg[i] = a->load_avg;
		}
		before = position;
	}
	a->position = before;
	if (rule.follows)
		a->runnable_sum = rule.era < LANES_v5_7 ? a->load_sum : a->util_sum;
	return rule.era >= LANES_v4_15 || vec_is_zero(vec_shr(large, 32));
}

/* BLOCK events of every lane. False, and nothing is done, if one of them is not for lanes. */
INLINE bool block(struct lanes *lanes, const struct columns *c, const struct fixed *k,
		  const struct pelt_once *once, vec *util_avg, vec *load_avg, struct rule rule)
{
	vec position[BLOCK], seen;
	struct lanes a = *lanes;
	bool done;

	if (!positions(position, &seen, &a, c, k, once) || !sums_have_room(&a, rule.era))
		return false;
	rule.near = rule.follows || rule.era < LANES_v4_15;
	if (rule.near && vec_is_zero(vec_shrv(seen, k->near))) {
		done = sums(&a, position, c, k, util_avg, load_avg, rule);
	} else {
		rule.near = false;
		done = sums(&a, position, c, k, util_avg, load_avg, rule);
	}
	if (done)
		*lanes = a;
	return done;
}

INLINE struct lanes load_lanes(const struct pelt_lane *lane)
{
	u64 row[7][WIDTH];

	for (int i = 0; i < WIDTH; i++) {
		const struct pelt_avg *avg = lane[i].avg;

		row[0][i] = avg->last_update_time - ((avg->period_contrib % PELT_PERIOD) << 10);
		row[1][i] = avg->period_contrib % PELT_PERIOD;
		row[2][i] = avg->load_sum;
		row[3][i] = avg->runnable_sum;
		row[4][i] = (u32)avg->util_sum;
		row[5][i] = avg->util_avg;
		row[6][i] = avg->load_avg;
	}
	return (struct lanes){ vec_load(row[0]), vec_load(row[1]), vec_load(row[2]), vec_load(row[3]),
			       vec_load(row[4]), vec_load(row[5]), vec_load(row[6]) };
}

/* Back to the states after events since .. end; the averages nobody asked for come last. */
INLINE void store_lanes(const struct lanes *a, const struct pelt_lane *lane, size_t since, size_t end,
			const struct pelt_lanes_call *call, enum lanes_era era)
{
	u64 row[6][WIDTH];

	if (since == end)
		return;
	vec_store(row[0], a->start);
	vec_store(row[1], a->position);
	vec_store(row[2], a->load_sum);
	vec_store(row[3], a->runnable_sum);
	vec_store(row[4], a->util_sum);
	vec_store(row[5], a->util_avg);
	for (int i = 0; i < WIDTH; i++) {
		struct pelt_avg *avg = lane[i].avg;
		const struct pelt_avg before = *avg;

		avg->last_update_time = row[0][i] + (row[1][i] << 10);
		avg->period_contrib = row[1][i] % PELT_PERIOD;
		avg->load_sum = row[2][i];
		if (era >= LANES_v4_15)
			avg->runnable_sum = row[3][i];
		avg->util_sum = row[4][i];
		avg->util_avg = row[5][i];
		lane_averages(&lane[i], since, end, &before, era, call);
	}
}

#define ROWS(column)                                        \
	do {                                                \
		const u64 *from[WIDTH];                     \
		for (int i = 0; i < WIDTH; i++)             \
			from[i] = lane[i].ev.column + first; \
		vec_turn_in(c->column, from);               \
	} while (0)

#define FLAG_ROWS(column)                                     \
	do {                                                  \
		const u8 *from[WIDTH];                        \
		for (int i = 0; i < WIDTH; i++)               \
			from[i] = lane[i].ev.column + first;  \
		c->column = flags_turn_in(from);              \
	} while (0)

INLINE void load_columns(struct columns *c, const struct pelt_lane *lane, size_t first,
			 const struct pelt_once *once, bool scaled)
{
	ROWS(now);
	if (!once->weight)
		ROWS(weight);
	if (scaled && !once->scale_freq)
		ROWS(scale_freq);
	if (scaled && !once->scale_cpu)
		ROWS(scale_cpu);
	if (!once->running)
		FLAG_ROWS(running);
	if (!once->on_rq)
		FLAG_ROWS(on_rq);
}

/* The same entry in every row. */
#define ONCE(column)                                        \
	do {                                                \
		u64 row[WIDTH];                             \
		for (int i = 0; i < WIDTH; i++)             \
			row[i] = *lane[i].ev.column;        \
		for (int i = 0; i < BLOCK; i++)             \
			c->column[i] = vec_load(row);       \
	} while (0)

#define FLAG_ONCE(column)                                           \
	do {                                                        \
		u8 row[WIDTH][BLOCK];                               \
		const u8 *from[WIDTH];                              \
		for (int i = 0; i < WIDTH; i++) {                   \
			memset(row[i], *lane[i].ev.column, BLOCK);  \
			from[i] = row[i];                           \
		}                                                   \
		c->column = flags_turn_in(from);                    \
	} while (0)

INLINE void fill_columns(struct columns *c, const struct pelt_lane *lane,
			 const struct pelt_once *once, enum lanes_era era)
{
	memset(c, 0, sizeof(*c));
	if (once->weight)
		ONCE(weight);
	if (era < LANES_v5_1 && once->scale_freq)
		ONCE(scale_freq);
	if (era < LANES_v5_1 && once->scale_cpu)
		ONCE(scale_cpu);
	if (once->running)
		FLAG_ONCE(running);
	if (once->on_rq)
		FLAG_ONCE(on_rq);
}

INLINE bool is_full_scale(vec scale)
{
	return vec_is_zero(vec_sub(scale, vec_set(1024)));
}

INLINE struct fixed load_fixed(const struct columns *c, const struct pelt_lanes_call *call,
			       enum lanes_era era)
{
	const u32 half_life = call->params->half_life;
	u32 factors[32], log = 0;
	struct fixed k;

	for (u32 i = 0; i < 32; i++)
		factors[i] = call->params->inverse[i % half_life];
	while (half_life >> (log + 1))
		log++;
	k.table = table_of(factors, call->params->load_avg_max);
	k.half_lives = vec_set(log);
	k.near = vec_set(9 + log);
	k.highest = vec_set(call->params->load_avg_max);
	k.scaled = era < LANES_v5_1 &&
		   (!call->once.scale_freq || !call->once.scale_cpu ||
		    !is_full_scale(c->scale_freq[0]) || !is_full_scale(c->scale_cpu[0]));
	return k;
}

/*
 * runnable_sum does as load_sum does from 4.15, and as util_sum does from 5.7 if a
 * task runs whenever it is queued. Equal before, they are equal after.
 */
INLINE bool follows(const struct pelt_lane *lane, const struct pelt_lanes_call *call,
		    enum lanes_era era)
{
	for (int i = 0; i < WIDTH; i++) {
		const struct pelt_avg *avg = lane[i].avg;

		if (era >= LANES_v5_7 && (lane[i].ev.running != lane[i].ev.on_rq ||
					  call->once.running != call->once.on_rq))
			return false;
		if (avg->runnable_sum != (era >= LANES_v5_7 ? avg->util_sum : avg->load_sum))
			return false;
	}
	return era >= LANES_v4_15;
}

INLINE void track_lanes(const struct pelt_lane *lane, size_t first, size_t end,
			const struct pelt_lanes_call *call, struct rule rule, enum lanes_era era)
{
	struct lanes a = load_lanes(lane);
	size_t since = first;
	struct columns c;
	struct fixed k;

	fill_columns(&c, lane, &call->once, era);
	k = load_fixed(&c, call, era);

	for (; end - first >= BLOCK; first += BLOCK) {
		vec util_avg[BLOCK], load_avg[BLOCK];

		load_columns(&c, lane, first, &call->once, k.scaled);
		if (block(&a, &c, &k, &call->once, util_avg, load_avg, rule)) {
			u64 *to[WIDTH];

			for (int i = 0; i < WIDTH; i++)
				to[i] = lane[i].util_avg + first;
			vec_turn_out(to, util_avg);
			if (rule.load_avg) {
				for (int i = 0; i < WIDTH; i++)
					to[i] = lane[i].load_avg + first;
				vec_turn_out(to, load_avg);
			}
			continue;
		}
		store_lanes(&a, lane, since, first, call, era);
		for (int i = 0; i < WIDTH; i++)
			lane_plain(&lane[i], first, BLOCK, call);
		a = load_lanes(lane);
		since = first + BLOCK;
	}
	store_lanes(&a, lane, since, first, call, era);
	for (int i = 0; i < WIDTH; i++)
		lane_plain(&lane[i], first, end - first, call);
}

/* WIDTH lanes, each fit. */
INLINE void track_group(const struct pelt_lane *lane, size_t first, size_t end,
			const struct pelt_lanes_call *call, struct rule rule, enum lanes_era era)
{
	rule.follows = rule.era >= LANES_v4_15 && follows(lane, call, rule.era);
	if (rule.era >= LANES_v4_15 && rule.follows) {
		rule.follows = true;
		track_lanes(lane, first, end, call, rule, era);
	} else {
		rule.follows = false;
		track_lanes(lane, first, end, call, rule, era);
	}
}

typedef void group_fn(const struct pelt_lane *lane, size_t first, size_t end,
		      const struct pelt_lanes_call *call, enum lanes_era era);

/*
 * One stream alone, cut into WIDTH pieces that are lanes. A piece begins where
 * the one before ends, in a state not known yet; but a state forgets: two of
 * them fed with the same events come closer by half every half-life, and as
 * sums are integers, at last become the same. So each piece starts from
 * nothing some time before its first event, and what it has become there is
 * compared with what the piece before has become at its end:
 *
 *	piece 0  ###############|
 *	piece 1         ........|###############|
 *	piece 2                         ........|###############|
 *	                 warm-up ^ same?         ^ same?
 *
 * By induction equal states make the piece right; one that is not equal is
 * done again from the right one. Histories written while warming up are written over.
 */
INLINE bool track_pieces(const struct pelt_lane *whole, size_t first, size_t n,
			 const struct pelt_lanes_call *call, enum lanes_era era, group_fn *group)
{
	const size_t piece = n / WIDTH / BLOCK * BLOCK;
	const size_t warm = lane_warm_up(whole, first, piece, WIDTH, call);
	struct pelt_avg state[WIDTH], assumed[WIDTH];
	struct pelt_lane lane[WIDTH];

	if (warm == 0 || WIDTH == 1)
		return false;
	for (size_t i = 0; i < WIDTH; i++) {
		const size_t begin = first + (i ? i : 1) * piece - warm;

		state[i] = lane_from_nothing(whole, begin, era);
		lane[i] = lane_at(whole, begin, call);
		lane[i].avg = &state[i];
	}
	group(lane, 0, warm, call, era);
	memcpy(assumed, state, sizeof(assumed));
	state[0] = *whole->avg;
	for (size_t i = 0; i < WIDTH; i++) {
		lane[i] = lane_at(whole, first + i * piece, call);
		lane[i].avg = &state[i];
	}
	group(lane, 0, piece, call, era);
	for (size_t i = 1; i < WIDTH; i++) {
		if (memcmp(&state[i - 1], &assumed[i], sizeof(assumed[i])) == 0)
			continue;
		state[i] = state[i - 1];
		lane_plain(&lane[i], 0, piece, call);
	}
	*whole->avg = state[WIDTH - 1];
	lane_plain(whole, first + WIDTH * piece, n - WIDTH * piece, call);
	return true;
}

/* Any number of streams; lanes left over repeat one, with a state of their own. */
TARGET static void track_all(const struct pelt_lane *lanes, size_t count, size_t first, size_t n,
			     const struct pelt_lanes_call *call, enum lanes_era era, group_fn *group)
{
	for (size_t at = 0; at < count; at += WIDTH) {
		const size_t left = count - at < WIDTH ? count - at : WIDTH;
		struct pelt_avg spare[WIDTH];
		struct pelt_lane lane[WIDTH];
		bool fit = true;

		for (size_t i = 0; i < left; i++) {
			lane[i] = lanes[at + i];
			fit = fit && lane_takes_once(&lane[i], era, call);
		}
		for (size_t i = left; i < WIDTH; i++) {
			lane[i] = lanes[at];
			spare[i] = *lane[i].avg;
			lane[i].avg = &spare[i];
		}
		if (fit && left == 1 && track_pieces(lane, first, n, call, era, group))
			continue;
		if (fit && (left > 1 || WIDTH == 1)) {
			group(lane, first, first + n, call, era);
			continue;
		}
		if (fit) {
			pelt_lanes_portable(era, lane->load_avg != NULL)(lane, 1, first, n, call);
			continue;
		}
		for (size_t i = 0; i < left; i++)
			lane_plain(&lane[i], first, n, call);
	}
}

#define FAMILY(version, load_avg)                                                                 \
	TARGET static void group_##version##_##load_avg(const struct pelt_lane *lane,             \
							size_t first, size_t end,                 \
							const struct pelt_lanes_call *call,       \
							enum lanes_era era)                       \
	{                                                                                         \
		const struct rule rule = { LANES_##version, load_avg, false, false };             \
                                                                                                  \
		track_group(lane, first, end, call, rule, era);                                   \
	}
#define FAMILIES(load_avg)                                                                        \
	FAMILY(v4_12, load_avg) FAMILY(v4_13, load_avg) FAMILY(v4_14, load_avg)                   \
	FAMILY(v4_15, load_avg) FAMILY(v5_7, load_avg)
FAMILIES(0)
FAMILIES(1)

#define MEMBER(version, family, load_avg)                                                         \
	TARGET static void track_##version##_##load_avg(                                          \
		const struct pelt_lane *lanes, size_t count, size_t first, size_t n,              \
		const struct pelt_lanes_call *call)                                               \
	{                                                                                         \
		track_all(lanes, count, first, n, call, LANES_##version,                          \
			  group_##family##_##load_avg);                                           \
	}
#define MEMBERS(version, family) MEMBER(version, family, 0) MEMBER(version, family, 1)
PELT_LANES_FORMS(MEMBERS)

/* The function of a form, by a switch: a table of pointers would be writable until it is relocated. */
#define CASE(version, family)    \
	case LANES_##version:    \
		return load_avg ? track_##version##_1 : track_##version##_0;
#define DEFINE_PATH(name)                                                        \
	pelt_lanes_fn *pelt_lanes_##name(enum lanes_era era, bool load_avg)      \
	{                                                                        \
		switch (era) {                                                   \
			PELT_LANES_FORMS(CASE)                                   \
		default:                                                         \
			return NULL;                                             \
		}                                                                \
	}
