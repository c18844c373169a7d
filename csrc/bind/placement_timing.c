/* SPDX-License-Identifier: GPL-2.0-only */
/* Placements timed for Python: the tables laid out in lines of their own, and rounds that nobody disturbed. */
#define _GNU_SOURCE
#include "placement.h"

#include "core/eas_timing.h"
#include "core/em_timed.h"

#include <sys/resource.h>

static const struct {
	const char *name;
	eas_timed_fn *place;
} arms_known[] = {
	{ "walk", find_energy_efficient_cpu_timed_walk_v5_12 },
	{ "lut", find_energy_efficient_cpu_timed_lut_v5_12 },
	{ "held", find_energy_efficient_cpu_timed_held_v5_12 },
	{ "chained", find_energy_efficient_cpu_timed_chained_v5_12 },
	{ "bins", find_energy_efficient_cpu_timed_bins_v5_12 },
	{ "search", find_energy_efficient_cpu_timed_search_v5_12 },
	{ "direct", find_energy_efficient_cpu_timed_direct_v5_12 },
};

enum { ARMS_MAX = 16 };

/* What can be thrown out of the caches before each call, by bit. */
enum { STATES, ENTRIES, HELD, DOMAINS, NR_PARTS };
/* Of the ways of em_lut.h: keys, states, entries of the bins, the direct table. */
enum { WAYS_ARRAYS = 4 };
enum { RUN_QUEUES = NR_PARTS };

struct layout {
	void *memory;
	struct em_timed_table *tables;
	struct eas_span *spans;
	size_t nr_spans;
};

/* Hands out memory that begins a line and shares none; with data NULL it counts how much that takes. */
struct lines {
	u8 *data;
	size_t used;
};

static void *take(struct lines *lines, size_t bytes)
{
	void *start = lines->data ? lines->data + lines->used : NULL;

	lines->used += (bytes + EAS_LINE - 1) / EAS_LINE * EAS_LINE;
	return start;
}

static void add_span(struct layout *layout, u32 parts, int part, const void *start, size_t bytes)
{
	if (parts >> part & 1)
		layout->spans[layout->nr_spans++] = (struct eas_span){ start, bytes };
}

static void lay_out(struct layout *layout, struct lines *lines, const struct em_perf_domain *domains, size_t count,
		    u32 parts)
{
	layout->tables = take(lines, count * sizeof(*layout->tables));
	layout->spans = take(lines, ((NR_PARTS + WAYS_ARRAYS) * count + 2) * sizeof(*layout->spans));
	layout->nr_spans = 0;
	for (size_t d = 0; d < count; d++) {
		const struct em_perf_domain *pd = &domains[d];
		const size_t bins = pd->lut.nr_entries + 1;
		struct em_timed_state *states = take(lines, pd->nr_states * sizeof(*states));
		const struct em_timed_state **entries = take(lines, bins * sizeof(*entries));
		struct em_timed_bin *held = take(lines, bins * sizeof(*held));

		if (!lines->data)
			continue;
		em_timed_fill(&layout->tables[d], pd, states, entries, held);
		add_span(layout, parts, STATES, states, pd->nr_states * sizeof(*states));
		add_span(layout, parts, ENTRIES, entries, bins * sizeof(*entries));
		add_span(layout, parts, ENTRIES, pd->ways.key, pd->ways.n * sizeof(*pd->ways.key));
		add_span(layout, parts, ENTRIES, pd->ways.state, pd->ways.n * sizeof(*pd->ways.state));
		add_span(layout, parts, ENTRIES, pd->ways.bins.entries,
			 pd->ways.bins.nr_entries * sizeof(*pd->ways.bins.entries));
		add_span(layout, parts, ENTRIES, pd->ways.direct, pd->ways.nr_direct * sizeof(*pd->ways.direct));
		add_span(layout, parts, HELD, held, bins * sizeof(*held));
	}
	if (!lines->data)
		return;
	add_span(layout, parts, DOMAINS, layout->tables, count * sizeof(*layout->tables));
	add_span(layout, parts, DOMAINS, domains, count * sizeof(*domains));
}

/* Every request that a bin is asked for has one; false with an exception set. */
static bool tables_hold(const struct em_perf_domain *domains, size_t count)
{
	for (size_t d = 0; d < count; d++) {
		const struct em_perf_domain *pd = &domains[d];
		u64 range;

		if (pd->nr_states && pd->lut.min_state < pd->nr_states && pd->lut.shift < 64) {
			range = pd->table[pd->nr_states - 1].frequency - pd->table[pd->lut.min_state].frequency;
			if (range >> pd->lut.shift < pd->lut.nr_entries)
				continue;
		}
		PyErr_Format(PyExc_ValueError, "domain %zu: its look-up table is not one of its states", d);
		return false;
	}
	return true;
}

static bool open_layout(struct layout *layout, const struct em_perf_domain *domains, size_t count, u32 parts)
{
	struct lines lines = { NULL, 0 };
	uintptr_t first;

	lay_out(layout, &lines, domains, count, parts);
	layout->memory = PyMem_Calloc(lines.used + EAS_LINE, 1);
	if (!layout->memory) {
		PyErr_NoMemory();
		return false;
	}
	first = ((uintptr_t)layout->memory + EAS_LINE - 1) / EAS_LINE * EAS_LINE;
	lines = (struct lines){ (u8 *)first, 0 };
	lay_out(layout, &lines, domains, count, parts);
	return true;
}

/* A tuple of names; how many, or -1 with an exception set. */
static npy_intp open_arms(PyObject *names, eas_timed_fn **arms)
{
	const npy_intp count = PyTuple_GET_SIZE(names);

	if (count > ARMS_MAX) {
		PyErr_Format(PyExc_ValueError, "%zd arms: at most %d", (Py_ssize_t)count, ARMS_MAX);
		return -1;
	}
	for (npy_intp i = 0; i < count; i++) {
		const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));
		const size_t known = sizeof(arms_known) / sizeof(arms_known[0]);
		size_t k = 0;

		if (!name)
			return -1;
		while (k < known && strcmp(arms_known[k].name, name) != 0)
			k++;
		if (k == known) {
			PyErr_Format(PyExc_ValueError, "no arm %s", name);
			return -1;
		}
		arms[i] = arms_known[k].place;
	}
	return count;
}

/*
 * In the kernel nothing preempts a placement.  A block of cases during which another task had the
 * CPU is timed again, in the same order: which arm a preemption hits does not decide what is kept.
 * Where preparing a call takes long the blocks are short, for a long one is never left alone.
 */
enum { BLOCK = 8, TRIES = 20, LINES_PER_BLOCK = 8192, LINES_WALKED_PER_EVICTED = 16 };

/* Signals are let in when about so many placements' time has passed. */
enum { WORK_BETWEEN_SIGNALS = 1 << 17, LINES_PER_WORK = 64, WORK_OF_EVICTION = 32 };

struct run {
	struct eas_case c;
	PyArrayObject *in[CASE_OPERANDS];
	eas_timed_fn *arms[ARMS_MAX];
	npy_intp nr_arms;
	const s64 *order;
	u64 *ticks;
	s64 *targets;
	struct eas_timing how;
	npy_intp block;
	npy_intp retimed, disturbed;
};

static npy_intp block_of(const struct run *run)
{
	size_t lines = run->how.working_set_bytes / EAS_LINE / LINES_WALKED_PER_EVICTED;
	npy_intp block;

	for (size_t i = 0; i < run->how.nr_evicted; i++)
		lines += run->how.evicted[i].bytes / EAS_LINE;
	block = (npy_intp)(LINES_PER_BLOCK / (lines * (size_t)run->nr_arms + 1));
	return block < 1 ? 1 : block > BLOCK ? BLOCK : block;
}

static long preemptions(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

static void time_block(struct run *run, npy_intp first, npy_intp stop)
{
	long before = preemptions(), after;

	for (int attempt = 0; attempt < TRIES; attempt++) {
		for (npy_intp i = first; i < stop; i++) {
			char *p[CASE_OPERANDS];

			for (int k = 0; k < CASE_OPERANDS; k++)
				p[k] = PyArray_GETPTR1(run->in[k], i);
			read_case(&run->c, p);
			eas_time_case(&run->c, run->arms, run->order + i * run->nr_arms, (size_t)run->nr_arms,
				      &run->how, run->ticks + i * run->nr_arms, run->targets + i * run->nr_arms);
		}
		after = preemptions();
		if (after == before)
			return;
		before = after;
		if (attempt < TRIES - 1)
			run->retimed++;
	}
	run->disturbed++;
}

/* false with an exception set */
static bool time_all(struct run *run, npy_intp count)
{
	const u64 work = (u64)run->nr_arms * (u64)run->block *
			 (run->how.batch + run->how.working_set_bytes / EAS_LINE / LINES_PER_WORK +
			  (run->how.nr_evicted || run->how.evict_case ? WORK_OF_EVICTION : 0));
	PyThreadState *state = PyEval_SaveThread();
	u64 done = 0;

	for (npy_intp first = 0; first < count; first += run->block) {
		time_block(run, first, count - first < run->block ? count : first + run->block);
		done += work;
		if (done < WORK_BETWEEN_SIGNALS)
			continue;
		done = 0;
		PyEval_RestoreThread(state);
		if (PyErr_CheckSignals())
			return false;
		state = PyEval_SaveThread();
	}
	PyEval_RestoreThread(state);
	return true;
}

/* C-contiguous, of that type and shape (n, nr_arms); false with an exception set. */
static bool is_table(PyArrayObject *array, int type, npy_intp n, npy_intp nr_arms)
{
	if (has_type(array, type) && PyArray_ISCARRAY_RO(array) && PyArray_NDIM(array) == 2 &&
	    PyArray_DIM(array, 0) == n && PyArray_DIM(array, 1) == nr_arms)
		return true;
	PyErr_SetString(PyExc_ValueError, "order, ticks, targets: one row per case, one column per arm");
	return false;
}

/*
 * time_placements(model, nr_cpus, task, cpus, domain_mask, uclamp_used, overutilized, arms, order,
 * parts, working_set, batch, ticks, targets) -> (blocks timed again, blocks never left alone)
 */
static PyObject *py_time_placements(PyObject *module, PyObject *args)
{
	PyArrayObject *order, *working_set, *ticks, *targets;
	PyObject *model, *names, *result = NULL;
	struct em_perf_domain *domains;
	struct layout layout = { 0 };
	struct run run = { 0 };
	unsigned long long batch;
	Py_ssize_t nr_cpus;
	unsigned int parts;
	npy_intp count;

	(void)module;
	if (!PyArg_ParseTuple(args, "O!nO!O!O!O!O!O!O!IO!KO!O!", &PyTuple_Type, &model, &nr_cpus, &PyArray_Type,
			      &run.in[TASK], &PyArray_Type, &run.in[CPUS], &PyArray_Type, &run.in[DOMAIN_MASK],
			      &PyArray_Type, &run.in[UCLAMP_USED], &PyArray_Type, &run.in[OVERUTILIZED],
			      &PyTuple_Type, &names, &PyArray_Type, &order, &parts, &PyArray_Type, &working_set,
			      &batch, &PyArray_Type, &ticks, &PyArray_Type, &targets))
		return NULL;
	run.nr_arms = open_arms(names, run.arms);
	if (run.nr_arms < 0)
		return NULL;
	count = PyArray_DIM(run.in[TASK], 0);
	if (!is_table(order, NPY_INT64, count, run.nr_arms) || !is_table(ticks, NPY_UINT64, count, run.nr_arms) ||
	    !is_table(targets, NPY_INT64, count, run.nr_arms))
		return NULL;
	domains = open_model(model);
	if (!domains)
		return NULL;
	run.c.domains = domains;
	run.c.nr_domains = (size_t)PyTuple_GET_SIZE(model);
	run.c.nr_cpus = (size_t)nr_cpus;
	if (!tables_hold(domains, run.c.nr_domains) ||
	    !open_layout(&layout, domains, run.c.nr_domains, parts))
		goto out;
	run.c.timed = layout.tables;
	run.order = PyArray_DATA(order);
	run.ticks = PyArray_DATA(ticks);
	run.targets = PyArray_DATA(targets);
	run.how = (struct eas_timing){
		.evicted = layout.spans,
		.nr_evicted = layout.nr_spans,
		.evict_case = parts >> RUN_QUEUES & 1,
		.working_set = PyArray_DATA(working_set),
		.working_set_bytes = (size_t)PyArray_SIZE(working_set),
		.touch = parts == 0 && PyArray_SIZE(working_set) == 0,
		.batch = batch,
	};
	run.block = block_of(&run);
	if (time_all(&run, count))
		result = Py_BuildValue("nn", (Py_ssize_t)run.retimed, (Py_ssize_t)run.disturbed);
out:
	PyMem_Free(layout.memory);
	PyMem_Free(domains);
	return result;
}

static PyMethodDef methods[] = {
	{ "time_placements", py_time_placements, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

int add_placement_timing(PyObject *module)
{
	if (PyModule_AddIntConstant(module, "EAS_CAN_EVICT", eas_can_evict()) ||
	    PyModule_AddIntConstant(module, "EAS_LINE", EAS_LINE) ||
	    PyModule_AddIntConstant(module, "EM_TIMED_STATE_BYTES", sizeof(struct em_timed_state)) ||
	    PyModule_AddIntConstant(module, "EM_TIMED_ENTRY_BYTES", sizeof(struct em_timed_state *)) ||
	    PyModule_AddIntConstant(module, "EM_TIMED_BIN_BYTES", sizeof(struct em_timed_bin)))
		return -1;
	return PyModule_AddFunctions(module, methods);
}
