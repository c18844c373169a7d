/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The energy model and placement: a table of performance states is a core
 * dimension of gufuncs; placements are methods over arrays of cases.
 */
#include "bind.h"

#include "core/eas.h"
#include "core/em.h"
#include "core/stopwatch.h"

#define U64_AT(p) (*(const npy_uint64 *)(p))
#define SET_U64(p, value) (*(npy_uint64 *)(p) = (value))
#define SET_S64(p, value) (*(npy_int64 *)(p) = (value))
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
	if (!w->copy) {
		NPY_ALLOW_C_API_DEF
		NPY_ALLOW_C_API
		PyErr_NoMemory();
		NPY_DISABLE_C_API
	}
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

/* (n),(n)->(n,5); data is the form. */
static void create_table_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
	const npy_intp count = dimensions[0], n = dimensions[1], width = dimensions[2];
	create_table *const create = *(create_table *const *)data;
	struct em_perf_state *table = malloc(((size_t)n + 1) * sizeof(*table));
	struct words freq = { 0 }, power = { 0 };

	if (table && words_open(&freq, n, 1, steps[3], 0) && words_open(&power, n, 1, steps[4], 0)) {
		for (npy_intp i = 0; i < count; i++) {
			create(table, words_at(&freq, args[0] + i * steps[0]),
			       words_at(&power, args[1] + i * steps[1]), (size_t)n);
			for (npy_intp row = 0; row < n; row++) {
				for (npy_intp k = 0; k < width; k++)
					SET_U64(args[2] + i * steps[2] + row * steps[5] + k * steps[6],
						((const u64 *)&table[row])[k]);
			}
		}
	} else if (!table) {
		NPY_ALLOW_C_API_DEF
		NPY_ALLOW_C_API
		PyErr_NoMemory();
		NPY_DISABLE_C_API
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
	struct words words;

	(void)data;
	if (!words_open(&words, n, dimensions[2], steps[3], steps[4]))
		return;
	for (npy_intp i = 0; i < count; i++)
		SET_S64(args[2] + i * steps[2],
			em_state_walk_v5_0(table_at(&words, args[0] + i * steps[0]), (size_t)n,
					   U64_AT(args[1] + i * steps[1])));
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
static void energy_walk_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
	const npy_intp count = dimensions[0], n = dimensions[1];
	struct words words;

	(void)data;
	if (!words_open(&words, n, dimensions[2], steps[5], steps[6]))
		return;
	for (npy_intp i = 0; i < count; i++) {
		const struct em_perf_domain pd = {
			.table = table_at(&words, args[0] + i * steps[0]),
			.nr_states = (size_t)n,
			.scale_cpu = U64_AT(args[1] + i * steps[1]),
		};

		SET_U64(args[4] + i * steps[4],
			em_cpu_energy_v5_0(&pd, U64_AT(args[2] + i * steps[2]),
					   U64_AT(args[3] + i * steps[3]), false)
				.energy);
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
				&pd, U64_AT(args[5] + i * steps[5]), U64_AT(args[6] + i * steps[6]), true);

			SET_U64(args[7] + i * steps[7], out.energy);
			SET_U64(args[8] + i * steps[8], out.freq_req);
			SET_BOOL(args[9] + i * steps[9], out.past_end);
		}
	}
	words_close(&words);
	words_close(&entries);
}

static create_table *create_v5_0 = em_create_table_v5_0;
static create_table *create_v5_12 = em_create_table_v5_12;

#define U NPY_UINT64
#define S NPY_INT64
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
	{ "em_lut_shape", "(n,5)->(),(),()", lut_shape_loop, NULL, 1, 3, { U, U, U, U } },
	{ "em_lut_entry", "(n,5),(),(),()->()", lut_entry_loop, NULL, 4, 1, { U, U, U, U, U } },
	{ "em_state_walk_v5_0", "(n,5),()->()", state_walk_loop, NULL, 2, 1, { U, U, S } },
	{ "em_state_lut", "(n,5),(m),(),(),()->()", state_lut_loop, NULL, 5, 1, { U, U, U, U, U, S } },
	{ "em_cpu_energy_v5_0", "(n,5),(),(),()->()", energy_walk_loop, NULL, 4, 1, { U, U, U, U, U } },
	{ "em_cpu_energy_lut", "(n,5),(m),(),(),(),(),()->(),(),()", energy_lut_loop, NULL, 7, 3,
	  { U, U, U, U, U, U, U, U, U, NPY_BOOL } },
};
#undef U
#undef S

enum { NR_GUFUNCS = sizeof(gufuncs) / sizeof(gufuncs[0]) };

/* NumPy keeps pointers to these. */
static PyUFuncGenericFunction gufunc_loops[NR_GUFUNCS];
static void *gufunc_data[NR_GUFUNCS];

static int add_gufuncs(PyObject *module)
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

/*
 * A model as the core wants it, from a tuple per domain: CPU mask, capacity,
 * table (n,5), entries of the look-up table, its lowest state, its shift.
 * It borrows the arrays of the tuple.
 */
static struct em_perf_domain *open_model(PyObject *model)
{
	const Py_ssize_t count = PyTuple_GET_SIZE(model);
	struct em_perf_domain *domains = PyMem_Calloc((size_t)count + 1, sizeof(*domains));

	if (!domains)
		return (struct em_perf_domain *)PyErr_NoMemory();
	for (Py_ssize_t i = 0; i < count; i++) {
		struct em_perf_domain *pd = &domains[i];
		unsigned long long cpus, scale_cpu, min_state;
		PyArrayObject *table, *entries;

		if (!PyArg_ParseTuple(PyTuple_GET_ITEM(model, i), "KKO!O!KI", &cpus, &scale_cpu, &PyArray_Type,
				      &table, &PyArray_Type, &entries, &min_state, &pd->lut.shift)) {
			PyMem_Free(domains);
			return NULL;
		}
		pd->cpus = cpus;
		pd->scale_cpu = scale_cpu;
		pd->table = PyArray_DATA(table);
		pd->nr_states = (size_t)PyArray_DIM(table, 0);
		pd->lut.entries = PyArray_DATA(entries);
		pd->lut.nr_entries = (size_t)PyArray_DIM(entries, 0);
		pd->lut.min_state = min_state;
	}
	return domains;
}

enum { TASK, CPUS, DOMAIN_MASK, UCLAMP_USED, OVERUTILIZED, TARGET, COUNT, CALLS, NR_OPERANDS };

/* Signals are looked at, and other threads get a turn, after this many placements. */
enum { CHUNK = 4096 };

typedef s64 place_function(const struct eas_case *c, struct eas_log *log);

static const struct {
	const char *name;
	place_function *place;
} forms[] = {
	{ "v5.12-walk", find_energy_efficient_cpu_v5_12 },
	{ "v5.12-lut", find_energy_efficient_cpu_lut_v5_12 },
	{ "v5.13-walk", find_energy_efficient_cpu_v5_13 },
};

static place_function *find_form(const char *name)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (strcmp(forms[i].name, name) == 0)
			return forms[i].place;
	}
	PyErr_Format(PyExc_ValueError, "no placement form %s", name);
	return NULL;
}

static void read_case(struct eas_case *c, char *const *p)
{
	c->task = (const struct eas_task *)p[TASK];
	c->cpus = (const struct eas_cpu *)p[CPUS];
	c->domain_mask = U64_AT(p[DOMAIN_MASK]);
	c->uclamp_used = *(const npy_bool *)p[UCLAMP_USED];
	c->overutilized = *(const npy_bool *)p[OVERUTILIZED];
}

static void place_one(struct eas_case *c, place_function *place, char *const *p, struct eas_log *log)
{
	read_case(c, p);
	log->calls = (struct eas_call *)p[CALLS];
	log->count = 0;
	SET_S64(p[TARGET], place(c, log));
	SET_S64(p[COUNT], (s64)log->count);
	for (size_t i = log->count; i < EAS_CALLS_PER_DOMAIN * c->nr_domains; i++)
		log->calls[i] = (struct eas_call){ .state = -1, .domain = -1, .dst_cpu = -1 };
}

/*
 * All cases of an iterator. Stops at the first that leaves the look-up table.
 * Returns how many are done, -1 with an exception.
 */
static npy_intp place_all(NpyIter *iter, struct eas_case *c, place_function *place, struct eas_log *log)
{
	NpyIter_IterNextFunc *next = NpyIter_GetIterNext(iter, NULL);
	char **pointers = NpyIter_GetDataPtrArray(iter);
	const npy_intp *strides = NpyIter_GetInnerStrideArray(iter);
	const npy_intp *size = NpyIter_GetInnerLoopSizePtr(iter);
	npy_intp done = 0, turn = 0;
	PyThreadState *state;

	if (!next)
		return -1;
	state = PyEval_SaveThread();
	do {
		const npy_intp count = *size;
		char *p[NR_OPERANDS];

		memcpy(p, pointers, sizeof(p));
		for (npy_intp i = 0; i < count; i++) {
			place_one(c, place, p, log);
			if (log->past_end)
				goto out;
			done++;
			for (int k = 0; k < NR_OPERANDS; k++)
				p[k] += strides[k];
			if (++turn == CHUNK) {
				turn = 0;
				PyEval_RestoreThread(state);
				if (PyErr_CheckSignals())
					return -1;
				state = PyEval_SaveThread();
			}
		}
	} while (next(iter));
out:
	PyEval_RestoreThread(state);
	return done;
}

/*
 * place(form, model, nr_cpus, task, cpus, domain_mask, uclamp_used, overutilized, target, count,
 * calls): arrays of one shape; cpus and calls are views of the first of the elements that a case
 * has in a row. None, or (case, domain, frequency) of a look-up that leaves the table.
 */
static PyObject *py_place(PyObject *module, PyObject *args)
{
	const char *name;
	PyObject *model, *result = NULL;
	PyArrayObject *operands[NR_OPERANDS];
	npy_uint32 flags[NR_OPERANDS];
	struct em_perf_domain *domains;
	struct eas_case c = { 0 };
	struct eas_log log = { 0 };
	place_function *place;
	Py_ssize_t nr_cpus;
	NpyIter *iter;
	npy_intp done;

	(void)module;
	if (!PyArg_ParseTuple(args, "sO!nO!O!O!O!O!O!O!O!", &name, &PyTuple_Type, &model, &nr_cpus,
			      &PyArray_Type, &operands[TASK], &PyArray_Type, &operands[CPUS], &PyArray_Type,
			      &operands[DOMAIN_MASK], &PyArray_Type, &operands[UCLAMP_USED], &PyArray_Type,
			      &operands[OVERUTILIZED], &PyArray_Type, &operands[TARGET], &PyArray_Type,
			      &operands[COUNT], &PyArray_Type, &operands[CALLS]))
		return NULL;
	place = find_form(name);
	if (!place)
		return NULL;
	for (int k = 0; k < NR_OPERANDS; k++)
		flags[k] = k < TARGET ? NPY_ITER_READONLY : NPY_ITER_WRITEONLY;
	iter = NpyIter_MultiNew(NR_OPERANDS, operands, NPY_ITER_EXTERNAL_LOOP | NPY_ITER_ZEROSIZE_OK, NPY_CORDER,
				NPY_NO_CASTING, flags, NULL);
	if (!iter)
		return NULL;
	domains = open_model(model);
	if (domains) {
		c.domains = domains;
		c.nr_domains = (size_t)PyTuple_GET_SIZE(model);
		c.nr_cpus = (size_t)nr_cpus;
		done = NpyIter_GetIterSize(iter) ? place_all(iter, &c, place, &log) : 0;
		if (done >= 0 && log.past_end)
			result = Py_BuildValue("nnK", (Py_ssize_t)done, (Py_ssize_t)log.past_end_domain,
					       (unsigned long long)log.past_end_freq);
		else if (done >= 0)
			result = Py_NewRef(Py_None);
	}
	PyMem_Free(domains);
	if (NpyIter_Deallocate(iter) != NPY_SUCCEED)
		Py_CLEAR(result);
	return result;
}

typedef s64 bare_function(const struct eas_case *c);

/* Bring what a case reads into the cache, so that the first arm does not pay for the others. */
static void touch_case(const struct eas_case *c)
{
	volatile u64 sink = c->task->util_avg + c->task->affinity;

	for (size_t cpu = 0; cpu < c->nr_cpus; cpu++)
		sink += c->cpus[cpu].util_avg + c->cpus[cpu].online;
	(void)sink;
}

static inline u64 time_one(const struct eas_case *c, bare_function *place)
{
	volatile s64 target;
	u64 begin = stopwatch_begin(), end;

	target = place(c);
	end = stopwatch_end();
	(void)target;
	return end - begin;
}

/* time_placements(model, nr_cpus, task, cpus, domain_mask, uclamp_used, overutilized, arms, order, ticks) */
static PyObject *py_time_placements(PyObject *module, PyObject *args)
{
	PyArrayObject *in[TARGET], *arms, *order, *ticks;
	struct em_perf_domain *domains;
	struct eas_case c = { 0 };
	npy_intp count, nr_arms;
	Py_ssize_t nr_cpus;
	PyObject *model;

	(void)module;
	if (!PyArg_ParseTuple(args, "O!nO!O!O!O!O!O!O!O!", &PyTuple_Type, &model, &nr_cpus, &PyArray_Type,
			      &in[TASK], &PyArray_Type, &in[CPUS], &PyArray_Type, &in[DOMAIN_MASK], &PyArray_Type,
			      &in[UCLAMP_USED], &PyArray_Type, &in[OVERUTILIZED], &PyArray_Type, &arms,
			      &PyArray_Type, &order, &PyArray_Type, &ticks))
		return NULL;
	domains = open_model(model);
	if (!domains)
		return NULL;
	c.domains = domains;
	c.nr_domains = (size_t)PyTuple_GET_SIZE(model);
	c.nr_cpus = (size_t)nr_cpus;
	count = PyArray_DIM(ticks, 0);
	nr_arms = PyArray_DIM(ticks, 1);

	for (npy_intp done = 0; done < count;) {
		const npy_intp stop = count - done < CHUNK ? count : done + CHUNK;

		Py_BEGIN_ALLOW_THREADS;
		for (; done < stop; done++) {
			char *p[TARGET];

			for (int k = 0; k < TARGET; k++)
				p[k] = PyArray_GETPTR1(in[k], done);
			read_case(&c, p);
			touch_case(&c);
			for (npy_intp turn = 0; turn < nr_arms; turn++) {
				const npy_int64 arm = *(const npy_int64 *)PyArray_GETPTR2(order, done, turn);
				const bool lut = *(const npy_bool *)PyArray_GETPTR1(arms, arm);

				SET_U64(PyArray_GETPTR2(ticks, done, arm),
					time_one(&c, lut ? find_energy_efficient_cpu_lut_bare_v5_12
							 : find_energy_efficient_cpu_bare_v5_12));
			}
		}
		Py_END_ALLOW_THREADS;
		if (PyErr_CheckSignals()) {
			PyMem_Free(domains);
			return NULL;
		}
	}
	PyMem_Free(domains);
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
	{ "place", py_place, METH_VARARGS, NULL },
	{ "time_placements", py_time_placements, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

int add_placement(PyObject *module)
{
	if (PyModule_AddIntConstant(module, "EAS_CALLS_PER_DOMAIN", EAS_CALLS_PER_DOMAIN) ||
	    add_gufuncs(module))
		return -1;
	return PyModule_AddFunctions(module, methods);
}
