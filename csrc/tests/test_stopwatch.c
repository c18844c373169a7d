/* SPDX-License-Identifier: GPL-2.0-only */
/* The stopwatch without Python: clocks advance, brackets nest, kinds are found out. No figure is a limit. */
#include "core/stopwatch.h"

#include <stdio.h>

/* linux/time.h */
enum { REALTIME = 0, PROCESS_CPUTIME = 2, THREAD_CPUTIME = 3, REALTIME_COARSE = 5, REALTIME_ALARM = 8, TAI = 11 };

static int failures;

#define CHECK(condition)                                                           \
	do {                                                                       \
		if (!(condition)) {                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			failures++;                                                \
		}                                                                  \
	} while (0)

enum { CALLS = 1000 };

static u64 count_up(const struct stopwatch_clock *clock)
{
	return ++*(u64 *)clock->context;
}

/* Every call is made, warm-up included, and no result is lost to the optimiser. */
static void test_loops_make_every_call(void)
{
	u64 calls = 0, ticks[CALLS];
	struct stopwatch_clock clock = { "", STOPWATCH_CALLBACK, -1, count_up, &calls };

	(void)stopwatch_batch(&clock, 10, CALLS, NULL);
	CHECK(calls == 10 + CALLS);
	calls = 0;
	stopwatch_single(&clock, 10, ticks, CALLS, NULL);
	CHECK(calls == 10 + CALLS);
	calls = 0;
	(void)stopwatch_batch(&clock, 0, 0, NULL);
	CHECK(calls == 0);
}

/* A clock whose reads let the other racer arrive, at two of them. */
struct race {
	struct stopwatch_gate gate;
	u64 reads, arrives_at[2];
};

static u64 race(const struct stopwatch_clock *clock)
{
	struct race *race = clock->context;

	race->reads++;
	for (int i = 0; i < 2; i++)
		if (race->reads == race->arrives_at[i])
			race->gate.met++;
	return race->reads;
}

/* 10 to warm up, 5 until the other is here, all calls, 7 until the other has ended. */
static void test_racers_read_until_all_are_there(void)
{
	u64 ticks[CALLS];
	struct race all = { { 2, 6, 0 }, 0, { 15, 15 + CALLS + 7 } };
	struct stopwatch_clock clock = { "", STOPWATCH_CALLBACK, -1, race, &all };

	(void)stopwatch_batch(&clock, 10, CALLS, &all.gate);
	CHECK(all.reads == 10 + 5 + CALLS + 7 && all.gate.met == 10);
	all.reads = 0;
	stopwatch_single(&clock, 10, ticks, CALLS, &all.gate);
	CHECK(all.reads == 10 + 5 + CALLS + 7 && all.gate.met == 14);
}

/* One racer waits for nobody, nor does one whose race was called off, or that has no racers. */
static void test_nobody_waits_in_vain(void)
{
	struct race alone[] = { { { 1, 0, 0 }, 0, { 0, 0 } },
				{ { 2, 0, 1 }, 0, { 0, 0 } },
				{ { 0, 0, 0 }, 0, { 0, 0 } } };

	for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++) {
		struct stopwatch_clock clock = { "", STOPWATCH_CALLBACK, -1, race, &alone[i] };

		(void)stopwatch_batch(&clock, 10, CALLS, &alone[i].gate);
		CHECK(alone[i].reads == 10 + CALLS);
	}
}

/* The whole holds its parts: brackets inside a bracket never sum to more than it. */
static void test_brackets_nest(void)
{
	u64 ticks[CALLS], sum = 0, begin = stopwatch_begin(), whole;

	stopwatch_empty(ticks, CALLS);
	whole = stopwatch_end() - begin;
	for (int i = 0; i < CALLS; i++)
		sum += ticks[i];
	CHECK(sum <= whole);
}

static void test_pairs_advance(void)
{
	u64 ticks[2], ns[2];

	(void)stopwatch_pair(&ticks[0], &ns[0]);
	(void)stopwatch_pair(&ticks[1], &ns[1]);
	CHECK(ticks[0] <= ticks[1]);
	CHECK(ns[0] < ns[1]);
}

/* A call to the kernel never looks like one in user space; the rows say so of themselves. */
static void test_reach(void)
{
	int ids[64] = { 0 };
	enum stopwatch_reach reach[64];
	const size_t count = stopwatch_clock(SIZE_MAX, NULL);

	CHECK(count <= 64);
	for (size_t i = 0; i < count; i++) {
		struct stopwatch_clock clock;

		(void)stopwatch_clock(i, &clock);
		ids[i] = clock.id;
	}
	CHECK(stopwatch_reach(ids, reach, count));
	for (size_t i = 0; i < count; i++)
		if (ids[i] == PROCESS_CPUTIME || ids[i] == THREAD_CPUTIME)
			CHECK(reach[i] != STOPWATCH_IN_USER_SPACE);
	CHECK(stopwatch_reach(NULL, NULL, 0));
}

static bool may_be_set_back(int id)
{
	return id == REALTIME || id == REALTIME_COARSE || id == REALTIME_ALARM || id == TAI;
}

/* The child's filter is the child's: afterwards this process still reads its clocks. */
static void test_clocks_answer_and_advance(void)
{
	struct stopwatch_clock clock;
	u64 first;

	for (size_t row = 0; row < stopwatch_clock(row, &clock); row++) {
		if (!stopwatch_answers(&clock))
			continue;
		first = clock.read(&clock);
		CHECK(clock.id < 0 || first > 0);
		CHECK(may_be_set_back(clock.id) || clock.read(&clock) >= first);
	}
}

int main(void)
{
	test_loops_make_every_call();
	test_racers_read_until_all_are_there();
	test_nobody_waits_in_vain();
	test_brackets_nest();
	test_pairs_advance();
	test_reach();
	test_clocks_answer_and_advance();
	printf("stopwatch: %d failed\n", failures);
	return failures != 0;
}
