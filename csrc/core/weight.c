/* SPDX-License-Identifier: GPL-2.0-only */
#include "weight.h"

u64 scale_load_down_v4_12(u64 raw)
{
	return raw >> 10;
}

/* A group's smallest shares must not end as a weight of 0 (26cf52229efc). */
u64 scale_load_down_v5_7(u64 raw)
{
	const u64 scaled = raw >> 10;

	return raw && scaled < 2 ? 2 : scaled;
}

/* -20 .. 19 as the place in a table of 40. */
static size_t place_of(s64 nice)
{
	const s64 cut = nice < -20 ? -20 : nice > 19 ? 19 : nice;

	return (size_t)(cut + 20);
}

/* Neighbours differ by a factor of about 1.25; nice 0 is 1024. */
static const u32 prio_to_weight[40] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916,
	9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277,
	1024, 820, 655, 526, 423, 335, 272, 215, 172, 137,
	110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
};

u64 nice_to_weight(s64 nice)
{
	return prio_to_weight[place_of(nice)];
}

/* About 2^32 / weight, but neither rounded down nor to the nearest throughout: a table, not a formula. */
static const u32 prio_to_wmult[40] = {
	48388, 59856, 76040, 92818, 118348, 147320, 184698, 229616,
	287308, 360437, 449829, 563644, 704093, 875809, 1099582, 1376151,
	1717300, 2157191, 2708050, 3363326, 4194304, 5237765, 6557202, 8165337,
	10153587, 12820798, 15790321, 19976592, 24970740, 31350126, 39045157, 49367440,
	61356676, 76695844, 95443717, 119304647, 148102320, 186737708, 238609294, 286331153,
};

u64 nice_to_wmult(s64 nice)
{
	return prio_to_wmult[place_of(nice)];
}
