/* SPDX-License-Identifier: GPL-2.0-only */
/* Energy model and placement without Python: a few known answers, and inputs that must not trap. */
#include "check.h"
#include "core/eas.h"
#include "core/em_lut.h"
#include "core/em_search.h"

/* The vendor's model of the Pixel 4: kHz and mW. */
static const u64 little_freq[] = { 300000,  403200,  499200,  576000,  672000,  768000,
				   844800,  940800,  1036800, 1113600, 1209600, 1305600,
				   1382400, 1478400, 1555200, 1632000, 1708800, 1785600 };
static const u64 little_power[] = { 24, 25, 27, 29, 33, 37, 42, 47,  54,
				    59, 66, 73, 79, 88, 96, 105, 115, 128 };
static const u64 mid_freq[] = { 710400,	 825600,  940800,  1056000, 1171200, 1286400,
				1401600, 1497600, 1612800, 1708800, 1804800, 1920000,
				2016000, 2131200, 2227200, 2323200, 2419200 };
static const u64 mid_power[] = { 165, 195, 228, 264, 301, 339, 378, 411, 453,
				 491, 534, 594, 654, 740, 825, 920, 1022 };
static const u64 prime_freq[] = { 825600,  940800,  1056000, 1171200, 1286400, 1401600, 1497600,
				  1612800, 1708800, 1804800, 1920000, 2016000, 2131200, 2227200,
				  2323200, 2419200, 2534400, 2649600, 2745600, 2841600 };
static const u64 prime_power[] = { 227, 262, 302, 348, 398, 451, 498, 556,  606,  655,
				   716, 766, 826, 878, 933, 992, 1075, 1179, 1288, 1427 };

enum { LITTLE = 18, MID = 17, PRIME = 20, NR_CPUS = 8, NR_DOMAINS = 3, MAX_BINS = 64 };

static struct em_perf_state little[LITTLE], mid[MID], prime[PRIME];
static u64 bins[NR_DOMAINS][MAX_BINS];
static struct em_perf_domain domains[NR_DOMAINS] = {
	{ .table = little, .nr_states = LITTLE, .scale_cpu = 261, .cpus = 0x0f },
	{ .table = mid, .nr_states = MID, .scale_cpu = 871, .cpus = 0x70 },
	{ .table = prime, .nr_states = PRIME, .scale_cpu = 1024, .cpus = 0x80 },
};

static void build_lut(struct em_perf_domain *pd, u64 *entries)
{
	pd->lut.entries = entries;
	pd->lut.nr_entries = em_lut_nr_entries(pd->table, pd->nr_states);
	pd->lut.min_state = em_lut_min_state(pd->table, pd->nr_states);
	pd->lut.shift = em_lut_shift(pd->table, pd->nr_states);
	for (size_t i = 0; i < pd->lut.nr_entries && i < MAX_BINS; i++)
		entries[i] = em_lut_entry(pd->table, pd->nr_states, pd->lut.min_state,
					  pd->lut.shift, i);
}

/* Where three ways lead to, for every request of a table with states closer than a bin of 2021. */
static void check_look_ups(void)
{
	enum { STATES = 5, REQUESTS = 4 * EM_SEARCH_BLOCK + 3 };
	static const u64 key[STATES] = { 20, 21, 22, 150, 151 };
	static const uint16_t state[STATES] = { 0, 1, 2, 5, 9 };
	uint16_t entries[EM_BINS_MAX];
	u64 request[REQUESTS];
	s64 found[REQUESTS];
	struct em_bins bins = { .entries = entries, .shift = em_bins_shift(key, STATES) };

	bins.nr_entries = em_bins_nr_entries(key, STATES, bins.shift);
	bins.steps = em_bins_fill(key, STATES, bins.shift, entries, bins.nr_entries);
	check("bins", bins.nr_entries, 132);
	check("a bin per request needs no step", bins.steps, 0);
	bins.shift = 6;
	bins.nr_entries = em_bins_nr_entries(key, STATES, bins.shift);
	bins.steps = em_bins_fill(key, STATES, bins.shift, entries, bins.nr_entries);
	check("wide bins", bins.nr_entries, 3);
	check("steps of wide bins", bins.steps, 3);
	for (size_t i = 0; i < REQUESTS; i++)
		request[i] = i;
	for (int path = 0; path < PATHS; path++) {
		if (!path_works((enum path)path))
			continue;
		em_halve_all(key, state, STATES, request, found, REQUESTS, (enum path)path);
		for (size_t i = 0; i < REQUESTS; i++) {
			size_t walked = 0;

			while (walked + 1 < STATES && key[walked] < i)
				walked++;
			check("halves", em_halve(key, STATES, i), walked);
			check("bins", em_bins_search(key, STATES, &bins, i), walked);
			check("counted", (u64)found[i], state[walked]);
		}
	}
	check("no state", em_halve(key, 0, 5) + em_bins_search(key, 0, &bins, 5) + em_direct(entries, 0, 5), 0);
}

static void check_tables(void)
{
	u64 flagged = 0;

	check("registered", (u64)em_first_refused(little_freq, little_power, LITTLE, 65535),
	      (u64)-1);
	check("limit", (u64)em_first_refused(little_freq, little_power, LITTLE, 127), LITTLE - 1);
	em_create_table_v5_12(little, little_freq, little_power, LITTLE);
	em_create_table_v5_12(mid, mid_freq, mid_power, MID);
	em_create_table_v5_12(prime, prime_freq, prime_power, PRIME);
	for (size_t i = 0; i < LITTLE; i++)
		flagged += little[i].inefficient;
	check("inefficient", flagged, 5);
	check("cost", little[0].cost, 142);
	for (size_t d = 0; d < NR_DOMAINS; d++)
		build_lut(&domains[d], bins[d]);
	check("little bins", domains[0].lut.nr_entries, 16);
	check("mid bins", domains[1].lut.nr_entries, 27);
	check("prime bins", domains[2].lut.nr_entries, 31);
	check("shift", domains[2].lut.shift, 16);
}

/* The fifth phase of the staircase, the task on the big CPU: 659 against 701, and it stays. */
static void check_phase_4(void)
{
	struct eas_call calls[NR_DOMAINS * EAS_CALLS_PER_DOMAIN];
	struct eas_log log = { .calls = calls };
	struct eas_task task = { .prev_cpu = 7,
				 .util_avg = 640,
				 .util_est = 640,
				 .uclamp_max = 1024,
				 .affinity = 0xff };
	struct eas_cpu cpus[NR_CPUS] = { 0 };
	struct eas_case c = { .domains = domains,
			      .nr_domains = NR_DOMAINS,
			      .task = &task,
			      .cpus = cpus,
			      .nr_cpus = NR_CPUS,
			      .domain_mask = 0xff };

	for (size_t cpu = 0; cpu < NR_CPUS; cpu++) {
		cpus[cpu].capacity_of = cpu < 4 ? 261 : cpu < 7 ? 871 : 1024;
		cpus[cpu].online = 1;
	}
	cpus[7].util_avg = 640;
	check("target", (u64)find_energy_efficient_cpu_v5_12(&c, &log), 7);
	check("calls", log.count, 5);
	check("on mid", calls[2].energy, 659);
	check("on prime", calls[4].energy, 701);
	log.count = 0;
	check("by the table", (u64)find_energy_efficient_cpu_lut_v5_12(&c, &log), 7);

	task.prev_cpu = UINT64_MAX;
	log.count = 0;
	check("no such prev_cpu", (u64)find_energy_efficient_cpu_v5_12(&c, &log), (u64)-1);
}

/* The same with the tables of 6.1 and 6.9, in uW: no margin keeps the task on the big CPU. */
static void check_phase_4_later(void)
{
	const u64 *freq[] = { little_freq, mid_freq, prime_freq };
	const u64 *power[] = { little_power, mid_power, prime_power };
	static struct em_perf_state tables[NR_DOMAINS][PRIME];
	struct eas_call calls[NR_DOMAINS * EAS_CALLS_PER_DOMAIN];
	struct em_perf_domain later[NR_DOMAINS];
	struct eas_log log = { .calls = calls };
	struct eas_task task = { .prev_cpu = 7,
				 .util_avg = 640,
				 .util_est = 640,
				 .uclamp_max = 1024,
				 .affinity = UINT64_MAX };
	struct eas_cpu cpus[NR_CPUS] = { 0 };
	struct eas_case c = { .domains = later,
			      .nr_domains = NR_DOMAINS,
			      .task = &task,
			      .cpus = cpus,
			      .nr_cpus = NR_CPUS,
			      .domain_mask = UINT64_MAX };

	for (size_t cpu = 0; cpu < NR_CPUS; cpu++) {
		cpus[cpu].capacity_of = cpu < 4 ? 261 : cpu < 7 ? 871 : 1024;
		cpus[cpu].uclamp_max = 1024;
		cpus[cpu].online = 1;
	}
	cpus[7].util_avg = 640;
	for (int v6_9 = 0; v6_9 <= 1; v6_9++) {
		for (size_t d = 0; d < NR_DOMAINS; d++) {
			u64 uw[PRIME];

			later[d] = domains[d];
			later[d].table = tables[d];
			later[d].max_ps = domains[d].nr_states - 1;
			for (size_t i = 0; i < domains[d].nr_states; i++)
				uw[i] = power[d][i] * 1000;
			(v6_9 ? em_create_table_v6_9 : em_create_table_v5_19)(
				tables[d], freq[d], uw, domains[d].nr_states, domains[d].scale_cpu);
		}
		log.count = 0;
		check("target", (u64)(v6_9 ? find_energy_efficient_cpu_v6_12(&c, &log)
					   : find_energy_efficient_cpu_v6_1(&c, &log)), 4);
		check("calls", log.count, 4);
		check("on mid", calls[1].energy, v6_9 ? 6591360 : 658457);
		check("on prime", calls[3].energy, v6_9 ? 7006080 : 700128);
	}

	for (task.prev_cpu = NR_CPUS; task.prev_cpu <= 64; task.prev_cpu += 28) {
		check("no such prev_cpu", (u64)find_energy_efficient_cpu_v6_1(&c, &log), (u64)-1);
		check("no such prev_cpu", (u64)find_energy_efficient_cpu_v6_12(&c, &log), (u64)-1);
	}
}

static void check_nonsense(void)
{
	const struct em_lut none = { 0 };
	const struct em_perf_domain empty = { .scale_cpu = 0 };

	check("empty walk", (u64)em_state_walk_v5_0(NULL, 0, 5), (u64)-1);
	check("empty look-up", (u64)em_state_lut(little, LITTLE, &none, 400000), (u64)-1);
	check("empty domain", em_cpu_energy_v5_0(&empty, 5, 5, EM_WALK).energy, 0);
	check("capacity 0", map_util_freq_v5_0(5, 5, 0), 0);
	check("irq above capacity", effective_energy_util_v5_12(5, 0, 0, 7, 0), 0);
	check("wide shift", em_lut_entry(little, LITTLE, 0, 64, UINT64_MAX), 5);
	check("wrap", fits_capacity(UINT64_MAX, 1), 0);
}

int main(void)
{
	check_tables();
	check_look_ups();
	check_phase_4();
	check_phase_4_later();
	check_nonsense();
	return verdict("em");
}
