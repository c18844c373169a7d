/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timing loops without Python: every call is made, in its order, on tables that give what em.h
 * gives. No figure of time is looked at.
 */
#include <string.h>

#include "check.h"
#include "core/eas_timing.h"
#include "core/em_timed.h"

enum { ARMS = 3, BATCH = 5, MOST_CALLS = 64 };

static size_t nr_calls;
static char calls[MOST_CALLS];

static s64 called(char arm, s64 target)
{
	if (nr_calls < MOST_CALLS)
		calls[nr_calls++] = arm;
	return target;
}

static s64 place_a(const struct eas_case *c)
{
	(void)c;
	return called('a', 10);
}

static s64 place_b(const struct eas_case *c)
{
	(void)c;
	return called('b', 11);
}

static void expect_calls(const char *what, const char *expected)
{
	check(what, nr_calls, strlen(expected));
	check(what, (u64)memcmp(calls, expected, strlen(expected)), 0);
	nr_calls = 0;
}

static void check_loops(void)
{
	eas_timed_fn *const arms[ARMS] = { place_a, place_b, place_a };
	const s64 forwards[ARMS] = { 0, 1, 2 }, mixed[ARMS] = { 1, 2, 0 };
	struct eas_task task = { 0 };
	struct eas_cpu cpus[2] = { { 0 } };
	u8 set[1000] = { 0 };
	const struct eas_span spans[] = { { set, sizeof(set) }, { set, 0 } };
	const struct eas_case c = { .task = &task, .cpus = cpus, .nr_cpus = 2 };
	struct eas_timing how = { .touch = true, .batch = 1 };
	u64 ticks[ARMS];
	s64 targets[ARMS] = { 0 };

	eas_time_case(&c, arms, forwards, ARMS, &how, ticks, targets);
	expect_calls("in order", "aba");
	check("target", (u64)targets[0], 10);
	check("target", (u64)targets[1], 11);

	how = (struct eas_timing){ .batch = BATCH, .working_set = set, .working_set_bytes = sizeof(set) };
	eas_time_case(&c, arms, mixed, ARMS, &how, ticks, targets);
	expect_calls("batches, mixed", "bbbbbaaaaaaaaaa");

	how = (struct eas_timing){ .evicted = spans, .nr_evicted = 2, .evict_case = true, .batch = 1 };
	eas_time_case(&c, arms, forwards, 2, &how, ticks, targets);
	expect_calls("evicted", "ab");
	eas_time_case(&c, arms, forwards, 0, &how, ticks, targets);
	expect_calls("no arms", "");
}

/* As many lines as bytes of a span lie in, wherever in a line it begins. */
static void check_lines(void)
{
	static _Alignas(EAS_LINE) u8 memory[4 * EAS_LINE];

	for (size_t start = 0; start < EAS_LINE; start++) {
		for (size_t bytes = 1; bytes <= 2 * EAS_LINE; bytes++) {
			const struct eas_span span = { memory + start, bytes };
			const size_t last = (start + bytes - 1) / EAS_LINE;

			check("lines", eas_evict(&span), last + 1);
		}
	}
	for (size_t i = 0; i < sizeof(memory); i++)
		memory[i] = i % EAS_LINE ? 100 : 1;
	check("one load a line", eas_walk(memory, sizeof(memory)), 4);
	check("no working set", eas_walk(NULL, 0), 0);
}

enum { STATES = 6, BINS = 64 };

/* Every request, below the first state to above the last, through the four. */
static void check_look_ups(void)
{
	static const u64 freq[STATES] = { 300000, 403200, 499200, 940800, 1708800, 1785600 };
	static const u64 power[STATES] = { 24, 25, 27, 47, 115, 128 };
	static struct em_perf_state table[STATES];
	static struct em_timed_state states[STATES];
	static const struct em_timed_state *entries[BINS + 1];
	static struct em_timed_bin bins[BINS + 1];
	static u64 indexes[BINS];
	struct em_perf_domain pd = { .table = table, .nr_states = STATES, .scale_cpu = 261 };
	struct em_timed_table t;

	em_create_table_v5_0(table, freq, power, STATES);
	pd.lut.entries = indexes;
	pd.lut.shift = em_lut_shift(table, STATES);
	pd.lut.nr_entries = em_lut_nr_entries(table, STATES);
	check("bins fit", pd.lut.nr_entries <= BINS, 1);
	for (size_t bin = 0; bin < pd.lut.nr_entries; bin++)
		indexes[bin] = em_lut_entry(table, STATES, 0, pd.lut.shift, bin);
	em_timed_fill(&t, &pd, states, entries, bins);

	for (u64 util = 0; util <= 300; util++) {
		const u64 energy = em_cpu_energy_v5_0(&pd, util, 200, EM_WALK).energy;

		check("walk", em_timed_energy(&t, &pd, util, 200, TIMED_WALK), energy);
		check("chained walk", em_timed_energy(&t, &pd, util, 200, TIMED_CHAINED), energy);
		check("table", em_timed_energy(&t, &pd, util, 200, TIMED_LUT), energy);
		check("held", em_timed_energy(&t, &pd, util, 200, TIMED_HELD), energy);
	}
	for (u64 freq_req = 299000; freq_req <= 1787000; freq_req += 100) {
		const s64 state = em_state_walk_v5_0(table, STATES, freq_req);

		check("walk", em_walked_cost(&t, freq_req), table[state].cost);
		check("chained walk", em_chained_cost(&t, freq_req), table[state].cost);
		check("table", em_lut_cost(&t, freq_req), table[state].cost);
		check("held", em_held_cost(&t, freq_req), table[state].cost);
	}
	check("idle", em_timed_energy(&t, &pd, 5, 0, TIMED_HELD), 0);
}

int main(void)
{
	check_loops();
	check_lines();
	check_look_ups();
	return verdict("eas_timing");
}
