/* SPDX-License-Identifier: GPL-2.0-only */
/* Registration of performance states, and the look-up table of 2021; see em.h. */
#include "em.h"

/*
 * The first state that registration refuses (EINVAL), or -1: frequencies must
 * rise strictly from above 0, powers lie in 1 .. max_power.  max_power is 65535
 * up to 5.18 and 64000000 from 5.19.
 */
s64 em_first_refused(const u64 *freq, const u64 *power, size_t n, u64 max_power)
{
	u64 prev = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (freq[i] <= prev || power[i] == 0 || power[i] > max_power)
			return (s64)i;
		prev = freq[i];
	}
	return -1;
}

/* Up to 5.13: cost = power at full time share, scaled to the highest frequency. */
void em_create_table_v5_0(struct em_perf_state *table, const u64 *freq, const u64 *power,
			  size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		table[i] = (struct em_perf_state){
			.frequency = freq[i],
			.power = power[i],
			.cost = div_u64(freq[n - 1] * power[i], freq[i]),
		};
	}
}

/*
 * The same with the flags of the 2021 patch.  From the top downwards a state
 * is worth having only if it costs less than every one above it; equal cost
 * counts as inefficient, and the last state never does.  The patch keeps the
 * running minimum in 32 bits.
 */
void em_create_table_v5_12(struct em_perf_state *table, const u64 *freq, const u64 *power,
			   size_t n)
{
	u32 lowest;
	size_t i;

	em_create_table_v5_0(table, freq, power, n);
	if (n == 0)
		return;
	lowest = (u32)table[n - 1].cost;
	for (i = n - 1; i-- > 0;) {
		if (table[i].cost >= lowest)
			table[i].inefficient = 1;
		else
			lowest = (u32)table[i].cost;
	}
}

/*
 * From the top downwards a state is flagged if it does not cost less than every one above
 * it. Flags that are set already stay.
 */
static void flag_inefficient(struct em_perf_state *table, size_t n)
{
	u64 lowest = UINT64_MAX;

	for (size_t i = n; i-- > 0;) {
		if (table[i].cost >= lowest)
			table[i].inefficient = 1;
		else
			lowest = table[i].cost;
	}
}

/* 5.14 and 5.15: a cost in uW of powers in mW, so that fewer costs tie. */
void em_create_table_v5_14(struct em_perf_state *table, const u64 *freq, const u64 *power, size_t n,
			   u64 scale_cpu)
{
	(void)scale_cpu;
	for (size_t i = 0; i < n; i++) {
		table[i] = (struct em_perf_state){
			.frequency = freq[i],
			.power = power[i],
			.cost = div_u64(freq[n - 1] * (power[i] * 1000), freq[i]),
		};
	}
}

/* 5.16 .. 5.18: with flags. */
void em_create_table_v5_16(struct em_perf_state *table, const u64 *freq, const u64 *power, size_t n,
			   u64 scale_cpu)
{
	em_create_table_v5_14(table, freq, power, n, scale_cpu);
	flag_inefficient(table, n);
}

/* 5.19 .. 6.7: powers are in uW. */
void em_create_table_v5_19(struct em_perf_state *table, const u64 *freq, const u64 *power, size_t n,
			   u64 scale_cpu)
{
	(void)scale_cpu;
	em_create_table_v5_0(table, freq, power, n);
	flag_inefficient(table, n);
}

/*
 * From 6.9: what a state performs at a capacity, and its cost per unit of that:
 *
 *	performance = scale_cpu * freq / freq_max        cost = 10 * power / performance
 *
 * The power has no more digits than its unit: in mW many costs of a small CPU are equal, and all but one
 * of equal ones are flagged. Flags are never cleared.
 */
void em_change_capacity(struct em_perf_state *table, size_t n, u64 scale_cpu)
{
	for (size_t i = 0; i < n; i++) {
		table[i].performance = div_u64(scale_cpu * table[i].frequency, table[n - 1].frequency);
		table[i].cost = div_u64(table[i].power * 10, table[i].performance);
	}
	flag_inefficient(table, n);
}

void em_create_table_v6_9(struct em_perf_state *table, const u64 *freq, const u64 *power, size_t n,
			  u64 scale_cpu)
{
	for (size_t i = 0; i < n; i++)
		table[i] = (struct em_perf_state){ .frequency = freq[i], .power = power[i] };
	em_change_capacity(table, n, scale_cpu);
}

/* The lowest efficient state; 0 for an empty table. */
size_t em_lut_min_state(const struct em_perf_state *table, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!table[i].inefficient)
			return i;
	}
	return 0;
}

/*
 * A bin is the largest power of two that is not above the smallest distance of
 * neighbouring efficient states, but at least 1024 kHz.  One efficient state
 * alone has no neighbour: its distance is the largest unsigned long.
 */
u32 em_lut_shift(const struct em_perf_state *table, size_t n)
{
	u64 delta = UINT64_MAX, prev = 0;
	bool seen = false;
	u32 shift = 10;
	size_t i;

	for (i = 0; i < n; i++) {
		if (table[i].inefficient)
			continue;
		if (seen && table[i].frequency - prev < delta)
			delta = table[i].frequency - prev;
		prev = table[i].frequency;
		seen = true;
	}
	while (shift < 63 && delta >> (shift + 1))
		shift++;
	return shift;
}

/* Bins from the lowest efficient state to the last; grows without bound with range / bin. */
u64 em_lut_nr_entries(const struct em_perf_state *table, size_t n)
{
	if (n == 0)
		return 0;
	return ((table[n - 1].frequency - table[em_lut_min_state(table, n)].frequency) >>
		em_lut_shift(table, n)) + 1;
}

/*
 * Entry of one bin: the lowest efficient state at or above its left edge, or n
 * if there is none.  The patch computes the offset as an int, which is
 * undefined from 2^31 kHz on; 64 bits agree with it below that and hold every
 * offset that a table has.
 */
u64 em_lut_entry(const struct em_perf_state *table, size_t n, size_t min_state, u32 shift,
		 u64 index)
{
	u64 edge;
	size_t i;

	if (min_state >= n)
		return n;
	edge = table[min_state].frequency + (shift < 64 ? index << shift : 0);
	for (i = min_state; i < n; i++) {
		if (!table[i].inefficient && table[i].frequency >= edge)
			return i;
	}
	return n;
}
