/* SPDX-License-Identifier: GPL-2.0-only */
#include "em_search.h"

static s32 as_key(u64 limit)
{
	return (s32)((s64)limit + INT32_MIN);
}

static u64 limit_of(const struct em_search *search, size_t k)
{
	return (u64)((s64)search->key[k] - INT32_MIN);
}

/* One more state that may serve. False: no room, or a key that 32 bits do not hold. */
static bool add_state(struct em_search *search, u64 key, size_t state, u64 cost)
{
	const size_t n = search->n;

	if (n == EM_SEARCH_KEYS || key >= EM_NEVER || state > UINT32_MAX)
		return false;
	search->key[n] = as_key(n > 0 && limit_of(search, n - 1) > key ? limit_of(search, n - 1) : key);
	search->state[n] = (u32)state;
	search->cost[n] = cost;
	search->n++;
	return true;
}

static bool finish(struct em_search *search, size_t last, u64 cost)
{
	for (size_t k = search->n; k < EM_SEARCH_FEW; k++)
		search->key[k] = as_key(EM_NEVER);
	search->state[search->n] = (u32)last;
	search->cost[search->n] = cost;
	return last <= UINT32_MAX;
}

bool em_search_v5_16(struct em_search *search, const struct em_perf_state *table, size_t n, bool skip)
{
	*search = (struct em_search){ .highest = UINT64_MAX, .divisor = 1 };
	if (n == 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!(skip && table[i].inefficient) && !add_state(search, table[i].frequency, i, table[i].cost))
			return false;
	}
	return finish(search, n - 1, table[n - 1].cost);
}

bool em_search_v5_0(struct em_search *search, const struct em_perf_state *table, size_t n)
{
	return em_search_v5_16(search, table, n, false);
}

bool em_search_v6_9(struct em_search *search, const struct em_perf_domain *pd)
{
	*search = (struct em_search){ .highest = UINT64_MAX, .divisor = 1 };
	if (pd->min_ps > pd->max_ps || pd->max_ps >= pd->nr_states)
		return false;
	for (size_t i = pd->min_ps; i <= pd->max_ps; i++) {
		const struct em_perf_state *ps = &pd->table[i];

		if (!(pd->skip_inefficient && ps->inefficient) && !add_state(search, ps->performance, i, ps->cost))
			return false;
	}
	return finish(search, pd->max_ps, pd->table[pd->max_ps].cost);
}

/*
 * From requests by frequency to requests by utilisation:
 *
 *	mul * util / div > key    <=>    mul * util >= (key + 1) * div    <=>    util > ((key + 1) * div - 1) / mul
 */
static bool map_keys(struct em_search *search, u64 mul, u64 div)
{
	if (mul == 0 || div == 0)
		return false;
	for (size_t k = 0; k < search->n; k++) {
		const u64 above = limit_of(search, k) + 1;

		if (div > UINT64_MAX / above || (above * div - 1) / mul >= EM_NEVER)
			return false;
		search->key[k] = as_key((above * div - 1) / mul);
	}
	search->highest = UINT64_MAX / mul;
	return true;
}

/* What is asked is no more than `most`: keys from there on are above every request. */
static void cap_keys(struct em_search *search, u64 most)
{
	for (size_t k = 0; k < search->n; k++) {
		if (limit_of(search, k) >= most)
			search->key[k] = as_key(EM_NEVER);
	}
	if (most <= search->highest)
		search->highest = UINT64_MAX;
}

/*
 * The largest util with util + util / 4 <= most. With util = 4 a + b the left side is 5 a + b, b in
 * 0 .. 3, so that it passes over every fifth number.
 */
static u64 without_headroom(u64 most)
{
	return most / 5 * 4 + (most % 5 < 4 ? most % 5 : 3);
}

bool em_search_energy_v5_0(struct em_search *search, const struct em_perf_domain *pd)
{
	const size_t n = pd->nr_states;

	if (!em_search_v5_0(search, pd->table, n) || pd->table[n - 1].frequency > UINT64_MAX / 2)
		return false;
	search->divisor = pd->scale_cpu;
	return map_keys(search, pd->table[n - 1].frequency + (pd->table[n - 1].frequency >> 2), pd->scale_cpu);
}

bool em_search_energy_v5_16(struct em_search *search, const struct em_perf_domain *pd, u64 allowed_cpu_cap,
			    bool long_32)
{
	const size_t n = pd->nr_states;

	if (!em_search_v5_16(search, pd->table, n, pd->skip_inefficient) ||
	    !map_keys(search, pd->table[n - 1].frequency, pd->scale_cpu))
		return false;
	cap_keys(search, allowed_cpu_cap);
	for (size_t k = 0; k < search->n; k++) {
		if (limit_of(search, k) != EM_NEVER)
			search->key[k] = as_key(without_headroom(limit_of(search, k)));
	}
	search->highest = without_headroom(search->highest);
	search->divisor = long_32 ? 1 : pd->scale_cpu;
	for (size_t k = 0; long_32 && k <= search->n; k++)
		search->cost[k] /= pd->scale_cpu;
	return true;
}

bool em_search_energy_v6_9(struct em_search *search, const struct em_perf_domain *pd, u64 allowed_cpu_cap)
{
	if (!em_search_v6_9(search, pd))
		return false;
	cap_keys(search, allowed_cpu_cap);
	return true;
}
