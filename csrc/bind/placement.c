/* SPDX-License-Identifier: GPL-2.0-only */
/* Placements: methods over arrays of cases. */
#include "placement.h"

/*
 * The ways to a state that no kernel has, from a tuple: keys, states, entries of the bins, their shift, steps,
 * the direct table; None where they do not matter.
 */
static bool open_ways(struct em_ways *ways, PyObject *from)
{
	PyArrayObject *keys, *states, *entries, *direct;

	if (from == Py_None)
		return true;
	if (!PyTuple_Check(from)) {
		PyErr_SetString(PyExc_TypeError, "ways must be a tuple or None");
		return false;
	}
	if (!PyArg_ParseTuple(from, "O!O!O!IIO!", &PyArray_Type, &keys, &PyArray_Type, &states, &PyArray_Type,
			      &entries, &ways->bins.shift, &ways->bins.steps, &PyArray_Type, &direct))
		return false;
	ways->key = PyArray_DATA(keys);
	ways->state = PyArray_DATA(states);
	ways->n = (size_t)PyArray_SIZE(keys);
	ways->bins.entries = PyArray_DATA(entries);
	ways->bins.nr_entries = (size_t)PyArray_SIZE(entries);
	ways->direct = PyArray_DATA(direct);
	ways->nr_direct = (size_t)PyArray_SIZE(direct);
	return true;
}

/*
 * A model as the core wants it, from a tuple per domain: CPU mask, capacity,
 * table (n,5), entries of the look-up table, its lowest state, its shift, whether
 * inefficient states are passed over, and further ways to a state.
 * It borrows the arrays of the tuple.
 */
struct em_perf_domain *open_model(PyObject *model)
{
	const Py_ssize_t count = PyTuple_GET_SIZE(model);
	struct em_perf_domain *domains = PyMem_Calloc((size_t)count + 1, sizeof(*domains));

	if (!domains)
		return (struct em_perf_domain *)PyErr_NoMemory();
	for (Py_ssize_t i = 0; i < count; i++) {
		struct em_perf_domain *pd = &domains[i];
		unsigned long long cpus, scale_cpu, min_state;
		PyArrayObject *table, *entries;
		PyObject *ways;
		int skip;

		if (!PyArg_ParseTuple(PyTuple_GET_ITEM(model, i), "KKO!O!KIpO", &cpus, &scale_cpu, &PyArray_Type,
				      &table, &PyArray_Type, &entries, &min_state, &pd->lut.shift, &skip, &ways) ||
		    !open_ways(&pd->ways, ways)) {
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
		pd->skip_inefficient = skip != 0;
		pd->max_ps = pd->nr_states - 1;
	}
	return domains;
}

enum { TARGET = CASE_OPERANDS, COUNT, CALLS, NR_OPERANDS };

/* Signals are looked at, and other threads get a turn, after this many placements. */
enum { CHUNK = 4096 };

typedef s64 place_function(const struct eas_case *c, struct eas_log *log);

static const struct form {
	const char *name;
	place_function *place;
	bool pressure;		/* is looked at */
} forms[] = {
	{ "v5.12-walk", find_energy_efficient_cpu_v5_12, false },
	{ "v5.12-lut", find_energy_efficient_cpu_lut_v5_12, false },
	{ "v5.12-bins", find_energy_efficient_cpu_bins_v5_12, false },
	{ "v5.12-search", find_energy_efficient_cpu_search_v5_12, false },
	{ "v5.12-direct", find_energy_efficient_cpu_direct_v5_12, false },
	{ "v5.13-walk", find_energy_efficient_cpu_v5_13, false },
	{ "v6.1-walk", find_energy_efficient_cpu_v6_1, true },
	{ "v6.12-walk", find_energy_efficient_cpu_v6_12, true },
	{ "v7.3-walk", find_energy_efficient_cpu_v6_12, true },
};

static const struct form *find_form(const char *name)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (strcmp(forms[i].name, name) == 0)
			return &forms[i];
	}
	PyErr_Format(PyExc_ValueError, "no placement form %s", name);
	return NULL;
}

void read_case(struct eas_case *c, char *const *p)
{
	c->task = (const struct eas_task *)p[TASK];
	c->cpus = (const struct eas_cpu *)p[CPUS];
	c->domain_mask = U64_AT(p[DOMAIN_MASK]);
	c->uclamp_used = BOOL_AT(p[UCLAMP_USED]);
	c->overutilized = BOOL_AT(p[OVERUTILIZED]);
}

/* What the values of a case must not be above. A CPU has no more pressure than capacity, one of no domain has none. */
struct ranges {
	u64 pressure[64];
	const struct eas_cpu *seen;	/* CPUs that are in range: a row may serve many cases */
};

enum { UCLAMP_MOST = 1024 };

static void open_ranges(struct ranges *ranges, const struct eas_case *c, bool pressure)
{
	ranges->seen = NULL;
	for (size_t cpu = 0; cpu < 64; cpu++)
		ranges->pressure[cpu] = pressure ? 0 : UINT64_MAX;
	for (size_t d = 0; pressure && d < c->nr_domains; d++) {
		for (size_t cpu = 0; cpu < 64; cpu++) {
			if (has_cpu(c->domains[d].cpus, cpu))
				ranges->pressure[cpu] = c->domains[d].scale_cpu;
		}
	}
}

/*
 * Looked at just before the placement, which reads the same lines of memory. The face then finds out which
 * value it was, and says so.
 */
static bool is_in_range(struct ranges *ranges, const struct eas_case *c)
{
	bool bad = c->task->prev_cpu >= c->nr_cpus || c->task->uclamp_min > UCLAMP_MOST ||
		   c->task->uclamp_max > UCLAMP_MOST;

	if (c->cpus != ranges->seen) {
		for (size_t cpu = 0; cpu < c->nr_cpus; cpu++) {
			const struct eas_cpu *rq = &c->cpus[cpu];

			bad |= (rq->uclamp_min > UCLAMP_MOST) | (rq->uclamp_max > UCLAMP_MOST) |
			       (rq->pressure > ranges->pressure[cpu & 63]);
		}
		ranges->seen = c->cpus;
	}
	return !bad;
}

static void place_one(struct eas_case *c, place_function *place, char *const *p, struct eas_log *log)
{
	log->calls = (struct eas_call *)p[CALLS];
	log->count = 0;
	SET_S64(p[TARGET], place(c, log));
	SET_S64(p[COUNT], (s64)log->count);
	for (size_t i = log->count; i < EAS_CALLS_PER_DOMAIN * c->nr_domains; i++)
		log->calls[i] = (struct eas_call){ .state = -1, .domain = -1, .dst_cpu = -1 };
}

/*
 * All cases of an iterator. Stops at the first that leaves the look-up table, or is out of range.
 * Returns how many are done, -1 with an exception.
 */
static npy_intp place_all(NpyIter *iter, struct eas_case *c, const struct form *form, struct eas_log *log)
{
	struct ranges ranges;
	NpyIter_IterNextFunc *next = NpyIter_GetIterNext(iter, NULL);
	char **pointers = NpyIter_GetDataPtrArray(iter);
	const npy_intp *strides = NpyIter_GetInnerStrideArray(iter);
	const npy_intp *size = NpyIter_GetInnerLoopSizePtr(iter);
	npy_intp done = 0, turn = 0;
	PyThreadState *state;

	if (!next)
		return -1;
	open_ranges(&ranges, c, form->pressure);
	state = PyEval_SaveThread();
	do {
		const npy_intp count = *size;
		char *p[NR_OPERANDS];

		memcpy(p, pointers, sizeof(p));
		for (npy_intp i = 0; i < count; i++) {
			read_case(c, p);
			if (!is_in_range(&ranges, c))
				goto out;
			place_one(c, form->place, p, log);
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
 * has in a row. None, or (case, domain, frequency) of a look-up that leaves the table; domain -1: a value of
 * this case is out of range.
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
	const struct form *form;
	Py_ssize_t nr_cpus;
	npy_intp done, cases;
	NpyIter *iter;

	(void)module;
	if (!PyArg_ParseTuple(args, "sO!nO!O!O!O!O!O!O!O!", &name, &PyTuple_Type, &model, &nr_cpus,
			      &PyArray_Type, &operands[TASK], &PyArray_Type, &operands[CPUS], &PyArray_Type,
			      &operands[DOMAIN_MASK], &PyArray_Type, &operands[UCLAMP_USED], &PyArray_Type,
			      &operands[OVERUTILIZED], &PyArray_Type, &operands[TARGET], &PyArray_Type,
			      &operands[COUNT], &PyArray_Type, &operands[CALLS]))
		return NULL;
	form = find_form(name);
	if (!form)
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
		cases = NpyIter_GetIterSize(iter);
		done = cases ? place_all(iter, &c, form, &log) : 0;
		if (done >= 0 && log.past_end)
			result = Py_BuildValue("nnK", (Py_ssize_t)done, (Py_ssize_t)log.past_end_domain,
					       (unsigned long long)log.past_end_freq);
		else if (done >= 0 && done < cases)
			result = Py_BuildValue("nni", (Py_ssize_t)done, (Py_ssize_t)-1, 0);
		else if (done >= 0)
			result = Py_NewRef(Py_None);
	}
	PyMem_Free(domains);
	if (NpyIter_Deallocate(iter) != NPY_SUCCEED)
		Py_CLEAR(result);
	return result;
}

static PyMethodDef methods[] = {
	{ "place", py_place, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

int add_placement(PyObject *module)
{
	if (PyModule_AddIntConstant(module, "EAS_CALLS_PER_DOMAIN", EAS_CALLS_PER_DOMAIN))
		return -1;
	return PyModule_AddFunctions(module, methods);
}
