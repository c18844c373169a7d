/* SPDX-License-Identifier: GPL-2.0-only */
/* States and energies found by search, by every path, are those of the walk, on tables that no kernel registers too. */
#include "check.h"
#include "core/em_search.h"

enum { MAX_STATES = 140, TABLES = 4000 };

static u64 seed = 1;

static u64 draw(u64 below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 16) % below;
}

static u64 size_of_any(void)
{
	const u64 wide = draw(2) ? seed : seed >> 32 ^ seed << 32;

	return wide >> draw(64);
}

/* Rising as a kernel has them, or anything. */
static void draw_table(struct em_perf_state *table, size_t n, bool anything)
{
	/* Small numbers divide each other. */
	const u64 step = draw(2) ? 200000 : 20;
	u64 frequency = draw(5 * step), performance = draw(30);

	for (size_t i = 0; i < n; i++) {
		frequency += 1 + draw(step);
		performance += draw(50);
		table[i] = (struct em_perf_state){
			.frequency = anything ? size_of_any() >> 20 : frequency,
			.performance = anything ? size_of_any() >> 20 : performance,
			.cost = anything ? size_of_any() : draw(1u << 30),
			.inefficient = draw(3) == 0,
		};
	}
}

/* Near a key of the table, near the end of 32 bits, or anything. */
static u64 draw_request(const struct em_perf_domain *pd, u64 key_of_state)
{
	switch (draw(4)) {
	case 0:
		return key_of_state + draw(3) - 1;
	case 1:
		return UINT32_MAX - 2 + draw(4);
	case 2:
		return draw(2 * pd->scale_cpu + 2);
	default:
		return size_of_any();
	}
}

static void check_blocks(const struct em_search *search, const struct em_perf_domain *pd, u64 allowed,
			 u64 (*state)(const struct em_perf_domain *, u64),
			 u64 (*energy)(const struct em_perf_domain *, u64, u64, u64))
{
	u64 request[EM_SEARCH_BLOCK], sum[EM_SEARCH_BLOCK], found[EM_SEARCH_BLOCK];
	s64 states[EM_SEARCH_BLOCK];
	const size_t count = draw(3) ? EM_SEARCH_BLOCK : draw(EM_SEARCH_BLOCK);
	bool within = true;

	for (size_t i = 0; i < count; i++) {
		const struct em_perf_state *ps = &pd->table[draw(pd->nr_states)];

		request[i] = draw_request(pd, draw(2) ? ps->frequency : ps->performance);
		sum[i] = draw(3) ? draw(5000) : size_of_any();
		if (request[i] > search->highest)
			request[i] = search->highest + (draw(100) == 0) - draw(2);
		within = within && request[i] <= search->highest;
	}
	for (int path = 0; path < PATHS; path++) {
		const struct em_searchers by = em_searchers_of((enum path)path);

		if (!path_works((enum path)path))
			continue;
		if (state) {
			check("within", by.states(search, request, count, states), within);
			for (size_t i = 0; within && i < count; i++)
				check("state", (u64)states[i], state(pd, request[i]));
		} else {
			check("within", by.energies(search, request, sum, count, found), within);
			for (size_t i = 0; within && i < count; i++)
				check("energy", found[i], energy(pd, request[i], sum[i], allowed));
		}
	}
}

static u64 state_v5_0(const struct em_perf_domain *pd, u64 request)
{
	return (u64)em_state_walk_v5_0(pd->table, pd->nr_states, request);
}

static u64 state_v5_16(const struct em_perf_domain *pd, u64 request)
{
	return (u64)em_state_walk_v5_16(pd->table, pd->nr_states, request, pd->skip_inefficient);
}

static u64 state_v6_9(const struct em_perf_domain *pd, u64 request)
{
	return (u64)em_state_walk_v6_9(pd, request);
}

static u64 energy_v5_0(const struct em_perf_domain *pd, u64 max_util, u64 sum_util, u64 allowed)
{
	(void)allowed;
	return em_cpu_energy_v5_0(pd, max_util, sum_util, EM_WALK).energy;
}

static u64 energy_v5_16(const struct em_perf_domain *pd, u64 max_util, u64 sum_util, u64 allowed)
{
	return em_cpu_energy_v5_16(pd, max_util, sum_util, allowed, false).energy;
}

static u64 energy_v5_16_32bit(const struct em_perf_domain *pd, u64 max_util, u64 sum_util, u64 allowed)
{
	return em_cpu_energy_v5_16(pd, max_util, sum_util, allowed, true).energy;
}

static u64 energy_v6_9(const struct em_perf_domain *pd, u64 max_util, u64 sum_util, u64 allowed)
{
	return em_cpu_energy_v6_9(pd, max_util, sum_util, allowed).energy;
}

static void check_domain(const struct em_perf_domain *pd, u64 allowed, u64 *searched)
{
	struct em_search search;

	if (em_search_v5_0(&search, pd->table, pd->nr_states) && ++*searched)
		check_blocks(&search, pd, 0, state_v5_0, NULL);
	if (em_search_v5_16(&search, pd->table, pd->nr_states, pd->skip_inefficient) && ++*searched)
		check_blocks(&search, pd, 0, state_v5_16, NULL);
	if (em_search_v6_9(&search, pd) && ++*searched)
		check_blocks(&search, pd, 0, state_v6_9, NULL);
	if (em_search_energy_v5_0(&search, pd) && ++*searched)
		check_blocks(&search, pd, 0, NULL, energy_v5_0);
	if (em_search_energy_v5_16(&search, pd, allowed, false) && ++*searched)
		check_blocks(&search, pd, allowed, NULL, energy_v5_16);
	if (em_search_energy_v5_16(&search, pd, allowed, true) && ++*searched)
		check_blocks(&search, pd, allowed, NULL, energy_v5_16_32bit);
	if (em_search_energy_v6_9(&search, pd, allowed) && ++*searched)
		check_blocks(&search, pd, allowed, NULL, energy_v6_9);
}

int main(void)
{
	static struct em_perf_state table[MAX_STATES];
	const struct em_perf_domain empty = { .table = table, .scale_cpu = 1 };
	u64 searched = 0;

	check_domain(&empty, 1024, &searched);
	check("an empty table", searched, 0);
	for (int i = 0; i < TABLES; i++) {
		const bool anything = draw(4) == 0;
		const size_t n = 1 + draw(draw(2) ? 40 : MAX_STATES);
		struct em_perf_domain pd = {
			.table = table, .nr_states = n, .skip_inefficient = draw(2), .max_ps = n - 1,
			.scale_cpu = anything ? size_of_any() : 1 + draw(1024),
		};

		draw_table(table, n, anything);
		if (draw(2)) {
			pd.min_ps = draw(n);
			pd.max_ps = pd.min_ps + draw(n + 1 - pd.min_ps);
		}
		check_domain(&pd, draw(2) ? draw(2048) : size_of_any(), &searched);
	}
	/* Most of what could be is: the test tests something. */
	check("searched", searched > 4 * TABLES, 1);
	return verdict("em_search");
}
