/* SPDX-License-Identifier: GPL-2.0-only */
/* The energy model: a table of performance states is a core dimension of gufuncs. */
#include "em_search.h"

#include "core/cpufreq.h"
#include "core/em.h"

#define SET_BOOL(p, value) (*(npy_bool *)(p) = (value))

/*
 * A core dimension as words in a row. The faces hand contiguous tables over,
 * so the copy is for other callers. NULL with the exception set if there is no memory.
 */
struct words {
	u64 *copy;
	size_t rows, width;
	npy_intp row_step, word_step;
	bool contiguous;
};

static void no_memory(void)
{
	NPY_ALLOW_C_API_DEF
	NPY_ALLOW_C_API
	PyErr_NoMemory();
	NPY_DISABLE_C_API
}

static bool words_open(struct words *w, npy_intp rows, npy_intp width, npy_intp row_step, npy_intp word_step)
{
	*w = (struct words){
		.rows = (size_t)rows,
		.width = (size_t)width,
		.row_step = row_step,
		.word_step = word_step,
		.contiguous = (rows <= 1 || row_step == width * (npy_intp)sizeof(u64)) &&
			      (width <= 1 || word_step == (npy_intp)sizeof(u64)),
	};
	if (w->contiguous)
		return true;
	w->copy = malloc(w->rows * w->width * sizeof(u64));
	if (!w->copy)
		no_memory();
	return w->copy != NULL;
}

static const u64 *words_at(struct words *w, const char *p)
{
	if (w->contiguous)
		return (const u64 *)p;
	for (size_t i = 0; i < w->rows; i++) {
		for (size_t k = 0; k < w->width; k++)
			w->copy[i * w->width + k] =
				U64_AT(p + (npy_intp)i * w->row_step + (npy_intp)k * w->word_step);
	}
	return w->copy;
}

static const struct em_perf_state *table_at(struct words *w, const char *p)
{
	return (const struct em_perf_state *)words_at(w, p);
}

static void words_close(struct words *w)
{
	free(w->copy);
}

/* (n),(n),()->() */
static void first_refused_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
	const npy_intp count = dimensions[0], n = dimensions[1];
	struct words freq = { 0 }, power = { 0 };

	(void)data;
	if (words_open(&freq, n, 1, steps[4], 0) && words_open(&power, n, 1, steps[5], 0)) {
		for (npy_intp i = 0; i < count; i++)
			SET_S64(args[3] + i * steps[3],
				em_first_refused(words_at(&freq, args[0] + i * steps[0]),
						 words_at(&power, args[1] + i * steps[1]), (size_t)n,
						 U64_AT(args[2] + i * steps[2])));
	}
	words_close(&freq);
	words_close(&power);
}

typedef void create_table(struct em_perf_state *table, const u64 *freq, const u64 *power, size_t n);

static void put_table(const struct em_perf_state *table, npy_intp n, npy_intp width, char *to, npy_intp row_step,
		      npy_intp word_step)
{
	for (npy_intp row = 0; row < n; row++) {
		for (npy_intp k = 0; k < width; k++)
			SET_U64(to + row * row_step + k * word_step, ((const u64 *)&table[row])[k]);
	}
}

/* (n),(n)->(n,5); data is the form. */
static void create_table_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
	const npy_intp count = dimensions[0], n = dimensions[1];
	create_table *const create = *(create_table *const *)data;
	struct em_perf_state *table = malloc(((size_t)n + 1) * sizeof(*table));
	struct words freq = { 0 }, power = { 0 };

	if (!table)
		no_memory();
	if (table && words_open(&freq, n, 1, steps[3], 0) && words_open(&power, n, 1, steps[4], 0)) {
		for (npy_intp i = 0; i < count; i++) {
			create(table, words_at(&freq, args[0] + i * steps[0]),
			       words_at(&power, args[1] + i * steps[1]), (size_t)n);
			put_table(table, n, dimensions[2], args[2] + i * steps[2], steps[5], steps[6]);
		}
	}
	words_close(&freq);
	words_close(&power);
	free(table);
}

/* (n,5)->(),(),(): the lowest efficient state, shift, number of entries */
static void lut_shape_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
	const npy_intp count = dimensions[0], n = dimensions[1];
	struct words words;

	(void)data;
	if (!words_open(&words, n, dimensions[2], steps[4], steps[5]))
		return;
	for (npy_intp i = 0; i < count; i++) {
		const struct em_perf_state *table = table_at(&words, args[0] + i * steps[0]);

		SET_U64(args[1] + i * steps[1], em_lut_min_state(table, (size_t)n));
		SET_U64(args[2] + i * steps[2], em_lut_shift(table, (size_t)n));
		SET_U64(args[3] + i * steps[3], em_lut_nr_entries(table, (size_t)n));
	}
	words_close(&words);
}

/* (n,5),(),(),()->(): table, lowest efficient state, shift, bin */
static void lut_entry_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
	const npy_intp count = dimensions[0], n = dimensions[1];
	struct words words;

	(void)data;
	if (!words_open(&words, n, dimensions[2], steps[5], steps[6]))
		return;
	for (npy_intp i = 0; i < count; i++)
		SET_U64(args[4] + i * steps[4],
			em_lut_entry(table_at(&words, args[0] + i * steps[0]), (size_t)n,
				     U64_AT(args[1] + i * steps[1]), (u32)U64_AT(args[2] + i * steps[2]),
				     U64_AT(args[3] + i * steps[3])));
	words_close(&words);
}

/* (n,5),()->() */
static void state_walk_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
	const npy_intp count = dimensions[0], n = dimensions[1];
	struct em_search search;
	struct words words;
	bool quick;

	(void)data;
	if (!words_open(&words, n, dimensions[2], steps[3], steps[4]))
		return;
	quick = is_for_many(count, steps[0]) && em_search_v5_0(&search, table_at(&words, args[0]), (size_t)n);
	for (npy_intp i = 0, end; i < count; i = end) {
		end = block_end(i, count);
		if (quick && states_of_block(&search, args[1], steps[1], args[2], steps[2], i, end))
			continue;
		for (; i < end; i++)
			SET_S64(args[2] + i * steps[2],
				em_state_walk_v5_0(table_at(&words, args[0] + i * steps[0]), (size_t)n,
						   U64_AT(args[1] + i * steps[1])));
	}
	words_close(&words);
}

/* (n,5),(m),(),(),()->(): table, entries, lowest efficient state, shift, frequency */
static void state_lut_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
	const npy_intp count = dimensions[0], n = dimensions[1], m = dimensions[3];
	struct words words = { 0 }, entries = { 0 };

	(void)data;
	if (words_open(&words, n, dimensions[2], steps[6], steps[7]) &&
	    words_open(&entries, m, 1, steps[8], 0)) {
		for (npy_intp i = 0; i < count; i++) {
			const struct em_lut lut = {
				.entries = words_at(&entries, args[1] + i * steps[1]),
				.nr_entries = (size_t)m,
				.min_state = U64_AT(args[2] + i * steps[2]),
				.shift = (u32)U64_AT(args[3] + i * steps[3]),
			};

			SET_S64(args[5] + i * steps[5],
				em_state_lut(table_at(&words, args[0] + i * steps[0]), (size_t)n, &lut,
					     U64_AT(args[4] + i * steps[4])));
		}
	}
	words_close(&words);
	words_close(&entries);
}

/* (n,5),(),(),()->(): table, scale_cpu, max_util, sum_util */
static struct em_perf_domain domain_v5_0(struct words *words, char *const *args, const npy_intp *steps, npy_intp i)
{
	return (struct em_perf_domain){
		.table = table_at(words, args[0] + i * steps[0]),
		.nr_states = words->rows,
		.scale_cpu = U64_AT(args[1] + i * steps[1]),
	};
}

static void energy_walk_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
	const npy_intp count = dimensions[0];
	struct em_search search;
	struct words words;
	bool quick = false;

	(void)data;
	if (!words_open(&words, dimensions[1], dimensions[2], steps[5], steps[6]))
		return;
	if (is_for_many(count, steps[0] | steps[1])) {
		const struct em_perf_domain pd = domain_v5_0(&words, args, steps, 0);

		quick = em_search_energy_v5_0(&search, &pd);
	}
	for (npy_intp i = 0, end; i < count; i = end) {
		end = block_end(i, count);
		if (quick && energies_of_block(&search, &args[2], &steps[2], args[4], steps[4], i, end))
			continue;
		for (; i < end; i++) {
			const struct em_perf_domain pd = domain_v5_0(&words, args, steps, i);

			SET_U64(args[4] + i * steps[4],
				em_cpu_energy_v5_0(&pd, U64_AT(args[2] + i * steps[2]),
						   U64_AT(args[3] + i * steps[3]), EM_WALK)
					.energy);
		}
	}
	words_close(&words);
}

/*
 * (n,5),(m),(),(),(),(),()->(),(),(): table, entries, lowest efficient state, shift, scale_cpu,
 * max_util, sum_util to energy, the frequency asked for, and whether the look-up leaves the table
 */
static void energy_lut_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
	const npy_intp count = dimensions[0], n = dimensions[1], m = dimensions[3];
	struct words words = { 0 }, entries = { 0 };

	(void)data;
	if (words_open(&words, n, dimensions[2], steps[10], steps[11]) &&
	    words_open(&entries, m, 1, steps[12], 0)) {
		for (npy_intp i = 0; i < count; i++) {
			const struct em_perf_domain pd = {
				.table = table_at(&words, args[0] + i * steps[0]),
				.nr_states = (size_t)n,
				.scale_cpu = U64_AT(args[4] + i * steps[4]),
				.lut = {
					.entries = words_at(&entries, args[1] + i * steps[1]),
					.nr_entries = (size_t)m,
					.min_state = U64_AT(args[2] + i * steps[2]),
					.shift = (u32)U64_AT(args[3] + i * steps[3]),
				},
			};
			const struct em_energy out = em_cpu_energy_v5_0(
				&pd, U64_AT(args[5] + i * steps[5]), U64_AT(args[6] + i * steps[6]), EM_PATCH);

			SET_U64(args[7] + i * steps[7], out.energy);
			SET_U64(args[8] + i * steps[8], out.freq_req);
			SET_BOOL(args[9] + i * steps[9], out.past_end);
		}
	}
	words_close(&words);
	words_close(&entries);
}

typedef void create_table_of_capacity(struct em_perf_state *table, const u64 *freq, const u64 *power, size_t n,
				      u64 scale_cpu);

/* (n),(n),()->(n,5): frequencies, powers, scale_cpu; data is the form. */
static void create_of_capacity_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
	const npy_intp count = dimensions[0], n = dimensions[1];
	create_table_of_capacity *const create = *(create_table_of_capacity *const *)data;
	struct em_perf_state *table = malloc(((size_t)n + 1) * sizeof(*table));
	struct words freq = { 0 }, power = { 0 };

	if (!table)
		no_memory();
	if (table && words_open(&freq, n, 1, steps[4], 0) && words_open(&power, n, 1, steps[5], 0)) {
		for (npy_intp i = 0; i < count; i++) {
			create(table, words_at(&freq, args[0] + i * steps[0]),
			       words_at(&power, args[1] + i * steps[1]), (size_t)n,
			       U64_AT(args[2] + i * steps[2]));
			put_table(table, n, dimensions[2], args[3] + i * steps[3], steps[6], steps[7]);
		}
	}
	words_close(&freq);
	words_close(&power);
	free(table);
}

/* (n,5),()->(n,5): table, scale_cpu */
static void change_capacity_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
	const npy_intp count = dimensions[0], n = dimensions[1], width = dimensions[2];
	struct em_perf_state *table = malloc(((size_t)n + 1) * sizeof(*table));
	struct words words = { 0 };

	(void)data;
	if (!table)
		no_memory();
	if (table && words_open(&words, n, width, steps[3], steps[4])) {
		for (npy_intp i = 0; i < count; i++) {
			memcpy(table, words_at(&words, args[0] + i * steps[0]), (size_t)n * sizeof(*table));
			em_change_capacity(table, (size_t)n, U64_AT(args[1] + i * steps[1]));
			put_table(table, n, width, args[2] + i * steps[2], steps[5], steps[6]);
		}
	}
	words_close(&words);
	free(table);
}

/* (n,5),(),()->(): table, frequency, skip */
static void state_walk_v5_16_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
	const npy_intp count = dimensions[0], n = dimensions[1];
	struct em_search search;
	struct words words;
	bool quick;

	(void)data;
	if (!words_open(&words, n, dimensions[2], steps[4], steps[5]))
		return;
	quick = is_for_many(count, steps[0] | steps[2]) &&
		em_search_v5_16(&search, table_at(&words, args[0]), (size_t)n, BOOL_AT(args[2]));
	for (npy_intp i = 0, end; i < count; i = end) {
		end = block_end(i, count);
		if (quick && states_of_block(&search, args[1], steps[1], args[3], steps[3], i, end))
			continue;
		for (; i < end; i++)
			SET_S64(args[3] + i * steps[3],
				em_state_walk_v5_16(table_at(&words, args[0] + i * steps[0]), (size_t)n,
						    U64_AT(args[1] + i * steps[1]),
						    BOOL_AT(args[2] + i * steps[2])));
	}
	words_close(&words);
}

/* (n,5), then from `first` on skip, min_ps, max_ps */
static struct em_perf_domain domain_v6_9(struct words *words, char *const *args, const npy_intp *steps, int first,
					 npy_intp i)
{
	return (struct em_perf_domain){
		.table = table_at(words, args[0] + i * steps[0]),
		.nr_states = words->rows,
		.skip_inefficient = BOOL_AT(args[first] + i * steps[first]),
		.min_ps = U64_AT(args[first + 1] + i * steps[first + 1]),
		.max_ps = U64_AT(args[first + 2] + i * steps[first + 2]),
	};
}

/* (n,5),(),(),(),()->(): table, utilisation, skip, min_ps, max_ps */
static void state_walk_v6_9_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
	const npy_intp count = dimensions[0];
	struct em_search search;
	struct words words;
	bool quick = false;

	(void)data;
	if (!words_open(&words, dimensions[1], dimensions[2], steps[6], steps[7]))
		return;
	if (is_for_many(count, steps[0] | steps[2] | steps[3] | steps[4])) {
		const struct em_perf_domain pd = domain_v6_9(&words, args, steps, 2, 0);

		quick = em_search_v6_9(&search, &pd);
	}
	for (npy_intp i = 0, end; i < count; i = end) {
		end = block_end(i, count);
		if (quick && states_of_block(&search, args[1], steps[1], args[5], steps[5], i, end))
			continue;
		for (; i < end; i++) {
			const struct em_perf_domain pd = domain_v6_9(&words, args, steps, 2, i);

			SET_S64(args[5] + i * steps[5], em_state_walk_v6_9(&pd, U64_AT(args[1] + i * steps[1])));
		}
	}
	words_close(&words);
}

/* (n,5),(),(),(),(),()->(): table, scale_cpu, max_util, sum_util, allowed_cpu_cap, skip; data: for 32 bits */
static struct em_perf_domain domain_v5_16(struct words *words, char *const *args, const npy_intp *steps, npy_intp i)
{
	struct em_perf_domain pd = domain_v5_0(words, args, steps, i);

	pd.skip_inefficient = BOOL_AT(args[5] + i * steps[5]);
	return pd;
}

static void energy_v5_16_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
	const npy_intp count = dimensions[0];
	const bool long_32 = data != NULL;
	struct em_search search;
	struct words words;
	bool quick = false;

	if (!words_open(&words, dimensions[1], dimensions[2], steps[7], steps[8]))
		return;
	if (is_for_many(count, steps[0] | steps[1] | steps[4] | steps[5])) {
		const struct em_perf_domain pd = domain_v5_16(&words, args, steps, 0);

		quick = em_search_energy_v5_16(&search, &pd, U64_AT(args[4]), long_32);
	}
	for (npy_intp i = 0, end; i < count; i = end) {
		end = block_end(i, count);
		if (quick && energies_of_block(&search, &args[2], &steps[2], args[6], steps[6], i, end))
			continue;
		for (; i < end; i++) {
			const struct em_perf_domain pd = domain_v5_16(&words, args, steps, i);

			SET_U64(args[6] + i * steps[6],
				em_cpu_energy_v5_16(&pd, U64_AT(args[2] + i * steps[2]),
						    U64_AT(args[3] + i * steps[3]),
						    U64_AT(args[4] + i * steps[4]), long_32)
					.energy);
		}
	}
	words_close(&words);
}

/* (n,5),(),(),(),(),(),()->(): table, max_util, sum_util, allowed_cpu_cap, skip, min_ps, max_ps */
static void energy_v6_9_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
	const npy_intp count = dimensions[0];
	struct em_search search;
	struct words words;
	bool quick = false;

	(void)data;
	if (!words_open(&words, dimensions[1], dimensions[2], steps[8], steps[9]))
		return;
	if (is_for_many(count, steps[0] | steps[3] | steps[4] | steps[5] | steps[6])) {
		const struct em_perf_domain pd = domain_v6_9(&words, args, steps, 4, 0);

		quick = em_search_energy_v6_9(&search, &pd, U64_AT(args[3]));
	}
	for (npy_intp i = 0, end; i < count; i = end) {
		end = block_end(i, count);
		if (quick && energies_of_block(&search, &args[1], &steps[1], args[7], steps[7], i, end))
			continue;
		for (; i < end; i++) {
			const struct em_perf_domain pd = domain_v6_9(&words, args, steps, 4, i);

			SET_U64(args[7] + i * steps[7],
				em_cpu_energy_v6_9(&pd, U64_AT(args[1] + i * steps[1]),
						   U64_AT(args[2] + i * steps[2]),
						   U64_AT(args[3] + i * steps[3]))
					.energy);
		}
	}
	words_close(&words);
}

/* (n),(n),(),(),(),(),()->(): frequencies, flags, target, policy_min, policy_max, relation, efficient */
static void cpufreq_resolve_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
	const npy_intp count = dimensions[0], n = dimensions[1];
	struct words freq = { 0 }, flags = { 0 };

	(void)data;
	if (words_open(&freq, n, 1, steps[8], 0) && words_open(&flags, n, 1, steps[9], 0)) {
		for (npy_intp i = 0; i < count; i++)
			SET_U64(args[7] + i * steps[7],
				cpufreq_resolve(words_at(&freq, args[0] + i * steps[0]),
						words_at(&flags, args[1] + i * steps[1]), (size_t)n,
						U64_AT(args[2] + i * steps[2]), U64_AT(args[3] + i * steps[3]),
						U64_AT(args[4] + i * steps[4]),
						(enum cpufreq_relation)U64_AT(args[5] + i * steps[5]),
						BOOL_AT(args[6] + i * steps[6])));
	}
	words_close(&freq);
	words_close(&flags);
}

static create_table_of_capacity *create_v5_14 = em_create_table_v5_14;
static create_table_of_capacity *create_v5_16 = em_create_table_v5_16;
static create_table_of_capacity *create_v5_19 = em_create_table_v5_19;
static create_table_of_capacity *create_v6_9 = em_create_table_v6_9;
static char for_32_bits;

static create_table *create_v5_0 = em_create_table_v5_0;
static create_table *create_v5_12 = em_create_table_v5_12;

#define U NPY_UINT64
#define S NPY_INT64
#define B NPY_BOOL
static const struct gufunc {
	const char *name, *signature;
	PyUFuncGenericFunction loop;
	void *data;
	int nin, nout;
	char types[12];
} gufuncs[] = {
	{ "em_first_refused", "(n),(n),()->()", first_refused_loop, NULL, 3, 1, { U, U, U, S } },
	{ "em_create_table_v5_0", "(n),(n)->(n,5)", create_table_loop, &create_v5_0, 2, 1, { U, U, U } },
	{ "em_create_table_v5_12", "(n),(n)->(n,5)", create_table_loop, &create_v5_12, 2, 1, { U, U, U } },
	{ "em_create_table_v5_14", "(n),(n),()->(n,5)", create_of_capacity_loop, &create_v5_14, 3, 1, { U, U, U, U } },
	{ "em_create_table_v5_16", "(n),(n),()->(n,5)", create_of_capacity_loop, &create_v5_16, 3, 1, { U, U, U, U } },
	{ "em_create_table_v5_19", "(n),(n),()->(n,5)", create_of_capacity_loop, &create_v5_19, 3, 1, { U, U, U, U } },
	{ "em_create_table_v6_9", "(n),(n),()->(n,5)", create_of_capacity_loop, &create_v6_9, 3, 1, { U, U, U, U } },
	{ "em_change_capacity", "(n,5),()->(n,5)", change_capacity_loop, NULL, 2, 1, { U, U, U } },
	{ "em_state_walk_v5_16", "(n,5),(),()->()", state_walk_v5_16_loop, NULL, 3, 1, { U, U, B, S } },
	{ "em_state_walk_v6_9", "(n,5),(),(),(),()->()", state_walk_v6_9_loop, NULL, 5, 1, { U, U, B, U, U, S } },
	{ "em_cpu_energy_v5_16", "(n,5),(),(),(),(),()->()", energy_v5_16_loop, NULL, 6, 1,
	  { U, U, U, U, U, B, U } },
	{ "em_cpu_energy_v5_19_32bit", "(n,5),(),(),(),(),()->()", energy_v5_16_loop, &for_32_bits, 6, 1,
	  { U, U, U, U, U, B, U } },
	{ "em_cpu_energy_v6_9", "(n,5),(),(),(),(),(),()->()", energy_v6_9_loop, NULL, 7, 1,
	  { U, U, U, U, B, U, U, U } },
	{ "cpufreq_resolve", "(n),(n),(),(),(),(),()->()", cpufreq_resolve_loop, NULL, 7, 1,
	  { U, U, U, U, U, U, B, U } },
	{ "em_lut_shape", "(n,5)->(),(),()", lut_shape_loop, NULL, 1, 3, { U, U, U, U } },
	{ "em_lut_entry", "(n,5),(),(),()->()", lut_entry_loop, NULL, 4, 1, { U, U, U, U, U } },
	{ "em_state_walk_v5_0", "(n,5),()->()", state_walk_loop, NULL, 2, 1, { U, U, S } },
	{ "em_state_lut", "(n,5),(m),(),(),()->()", state_lut_loop, NULL, 5, 1, { U, U, U, U, U, S } },
	{ "em_cpu_energy_v5_0", "(n,5),(),(),()->()", energy_walk_loop, NULL, 4, 1, { U, U, U, U, U } },
	{ "em_cpu_energy_lut", "(n,5),(m),(),(),(),(),()->(),(),()", energy_lut_loop, NULL, 7, 3,
	  { U, U, U, U, U, U, U, U, U, B } },
};
#undef U
#undef S
#undef B

enum { NR_GUFUNCS = sizeof(gufuncs) / sizeof(gufuncs[0]) };

/* NumPy keeps pointers to these. */
static PyUFuncGenericFunction gufunc_loops[NR_GUFUNCS];
static void *gufunc_data[NR_GUFUNCS];

int add_em(PyObject *module)
{
	for (size_t i = 0; i < NR_GUFUNCS; i++) {
		const struct gufunc *g = &gufuncs[i];
		PyObject *ufunc;
		int failed;

		gufunc_loops[i] = g->loop;
		gufunc_data[i] = g->data;
		ufunc = PyUFunc_FromFuncAndDataAndSignature(&gufunc_loops[i], &gufunc_data[i], g->types, 1,
							    g->nin, g->nout, PyUFunc_None, g->name, NULL, 0,
							    g->signature);
		failed = PyModule_AddObjectRef(module, g->name, ufunc);
		Py_XDECREF(ufunc);
		if (failed)
			return -1;
	}
	return 0;
}
