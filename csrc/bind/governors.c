/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cpuidle governors over arrays: idle_run walks many streams of n idles, in
 * chunks, as streams.c does. The last axis is time; leading axes are streams,
 * each with a governor of its own. Strides end here.
 */
#include "walk.h"

#include "core/haltpoll.h"
#include "core/idle.h"
#include "core/ladder.h"
#include "core/menu.h"
#include "core/teo.h"

#define CHUNK 512

/* Every form of every governor: its struct, its name, the version. */
#define IDLE_FORMS(X)               \
	X(menu, menu, v4_7)         \
	X(menu, menu, v6_1)         \
	X(menu, menu, v6_19)        \
	X(teo_v6_1, teo, v6_1)      \
	X(teo_v6_19, teo, v6_19)    \
	X(ladder, ladder, v4_7)     \
	X(ladder, ladder, v6_1)     \
	X(haltpoll, haltpoll, v6_1)

#define LIST_FORM(type, governor, version)                                  \
	{ #governor "_" #version, sizeof(struct type) / sizeof(u64),        \
	  governor##_run_##version, governor##_wrong_##version },
static const struct form {
	const char *name;
	npy_intp words;
	idle_run_fn *run;
	idle_wrong_fn *wrong;
} forms[] = { IDLE_FORMS(LIST_FORM) };

/* The columns of an idle: six of 64 bit and three of bool, in the order of struct idle_events. */
enum { SLEEP, WAKE, LATENCY, DELTA_TICK, NR_IOWAITERS, CPU_LOAD, TICK_STOPPED, GOT_TICK, POLL_TIME_LIMIT,
       EVENTS, WIDE_EVENTS = TICK_STOPPED };
/* What is written, in the order of struct idle_history: words, a row of words for each idle, bools. */
enum { SELECTED, PREDICTED, BUCKET, CORRECTION_FACTOR, TYPICAL_INTERVAL, TOTAL, POLL_LIMIT, MEASURED,
       LAST_RESIDENCY, HITS, INTERCEPTS, STOP_TICK, COLUMNS };

struct job {
	const struct form *form;
	struct idle_table table;
	struct idle_params params;
	int ndim;
	const npy_intp *shape;
	struct walker governor, disabled;
	struct walker events[EVENTS], columns[COLUMNS];
	npy_intp idle_step[COLUMNS];
};

struct scratch {
	u64 wide[WIDE_EVENTS][CHUNK];
	u8 narrow[EVENTS - WIDE_EVENTS][CHUNK];
	const char *filled_from[EVENTS];	/* broadcast columns: the entry that is there */
};

static void move_job(struct job *job, npy_intp axis, npy_intp count)
{
	advance(&job->governor, axis, count);
	advance(&job->disabled, axis, count);
	for (int c = 0; c < EVENTS; c++)
		advance(&job->events[c], axis, count);
	for (int c = 0; c < COLUMNS; c++)
		advance(&job->columns[c], axis, count);
}

/* On to the next stream, the last leading axis first; false after the last one. */
static bool next_governor(struct job *job, npy_intp *index)
{
	for (int axis = job->ndim - 2; axis >= 0; axis--) {
		if (++index[axis] < job->shape[axis]) {
			move_job(job, axis, 1);
			return true;
		}
		move_job(job, axis, 1 - job->shape[axis]);
		index[axis] = 0;
	}
	return false;
}

static const void *event_column(const struct job *job, struct scratch *scratch, int c, npy_intp first,
				npy_intp count)
{
	const bool wide = c < WIDE_EVENTS;
	char *to = wide ? (char *)scratch->wide[c] : (char *)scratch->narrow[c - WIDE_EVENTS];

	return column_of(&job->events[c], wide ? sizeof(u64) : sizeof(u8), first, count, to,
			 &scratch->filled_from[c]);
}

static struct idle_events events_from(const struct job *job, struct scratch *scratch, npy_intp first,
				      npy_intp count)
{
	const void *c[EVENTS];

	for (int i = 0; i < EVENTS; i++)
		c[i] = event_column(job, scratch, i, first, count);
	return (struct idle_events){
		.sleep = c[SLEEP], .wake = c[WAKE], .latency_us = c[LATENCY],
		.delta_tick = c[DELTA_TICK], .nr_iowaiters = c[NR_IOWAITERS],
		.cpu_load = c[CPU_LOAD], .tick_stopped = c[TICK_STOPPED],
		.got_tick = c[GOT_TICK], .poll_time_limit = c[POLL_TIME_LIMIT],
	};
}

static struct idle_history columns_from(const struct job *job, npy_intp first)
{
	void *c[COLUMNS];

	for (int i = 0; i < COLUMNS; i++) {
		char *data = job->columns[i].data;

		c[i] = data ? data + first * job->idle_step[i] : NULL;
	}
	return (struct idle_history){
		.selected = c[SELECTED], .predicted = c[PREDICTED], .bucket = c[BUCKET],
		.correction_factor = c[CORRECTION_FACTOR],
		.typical_interval = c[TYPICAL_INTERVAL], .total = c[TOTAL],
		.poll_limit = c[POLL_LIMIT], .measured = c[MEASURED],
		.last_residency = c[LAST_RESIDENCY], .hits = c[HITS],
		.intercepts = c[INTERCEPTS], .stop_tick = c[STOP_TICK],
	};
}

static void take_disabled(struct job *job)
{
	for (u32 i = 0; i < job->table.nr_states; i++)
		job->table.disabled[i] = job->disabled.data[(npy_intp)i * job->disabled.last_step];
}

/* All of them before the first is touched: a run that is refused has changed nothing. */
static int check_governors(struct job *job)
{
	npy_intp index[NPY_MAXDIMS] = { 0 };
	npy_intp stream = 0;

	do {
		const char *wrong = job->form->wrong(job->governor.data, job->table.nr_states);

		if (wrong) {
			PyErr_Format(PyExc_ValueError,
				     "state['%s'] of stream %zd is none that the governor can be in with %d states",
				     wrong, stream, (int)job->table.nr_states);
			return -1;
		}
		stream++;
	} while (next_governor(job, index));
	return 0;
}

static int run_job(struct job *job)
{
	npy_intp index[NPY_MAXDIMS] = { 0 };
	const npy_intp n = job->shape[job->ndim - 1];
	struct scratch scratch;
	npy_intp done = 0;
	PyThreadState *thread = PyEval_SaveThread();

	memset(scratch.filled_from, 0, sizeof(scratch.filled_from));
	do {
		take_disabled(job);
		for (npy_intp first = 0; first < n; first += CHUNK) {
			const npy_intp left = n - first, count = left < CHUNK ? left : CHUNK;
			const struct idle_events ev = events_from(job, &scratch, first, count);
			const struct idle_history out = columns_from(job, first);

			job->form->run(job->governor.data, &job->table, &job->params, (size_t)count, &ev, &out);
			done += count;
			if (done >= EVENTS_BETWEEN_SIGNALS) {
				if (let_signals_in(&thread) < 0)
					return -1;
				done = 0;
			}
		}
	} while (next_governor(job, index));
	PyEval_RestoreThread(thread);
	return 0;
}

static const struct form *form_called(const char *name)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (strcmp(forms[i].name, name) == 0)
			return &forms[i];
	}
	PyErr_Format(PyExc_ValueError, "%s: no form of a governor", name);
	return NULL;
}

/* An array of the type whose shape is that of the idles' leading axes, then `last`, then `row` if not 0. */
static PyArrayObject *checked(const struct job *job, PyObject *object, const char *name, int type,
			      npy_intp last, npy_intp row)
{
	PyArrayObject *array = (PyArrayObject *)object;
	const int leading = job->ndim - 1, ndim = job->ndim + (row != 0);

	if (!PyArray_Check(object) || !has_type(array, type) || PyArray_NDIM(array) != ndim ||
	    !PyArray_CompareLists(PyArray_DIMS(array), job->shape, leading) ||
	    PyArray_DIM(array, leading) != last || (row && PyArray_DIM(array, leading + 1) != row)) {
		PyErr_Format(PyExc_ValueError, "%s: not an array of the type and shape that the core takes", name);
		return NULL;
	}
	return array;
}

static struct walker walker_over(const struct job *job, PyArrayObject *array)
{
	return (struct walker){ PyArray_BYTES(array), PyArray_STRIDES(array),
				PyArray_STRIDE(array, job->ndim - 1) };
}

/* Written to as it is: what follows the leading axes lies in a row. */
static bool is_writeable_row(const struct job *job, PyArrayObject *array)
{
	npy_intp expected = PyArray_ITEMSIZE(array);

	if (!PyArray_ISBEHAVED(array))
		return false;
	for (int axis = PyArray_NDIM(array) - 1; axis >= job->ndim - 1; axis--) {
		if (PyArray_DIM(array, axis) != 1 && PyArray_STRIDE(array, axis) != expected)
			return PyArray_SIZE(array) == 0;
		expected *= PyArray_DIM(array, axis);
	}
	return true;
}

static int take_table(struct job *job, PyArrayObject *table, unsigned int first)
{
	const s64 longest = (s64)IDLE_UINT_MAX * 1000;
	const npy_intp nr = PyArray_NDIM(table) == 2 ? PyArray_DIM(table, 0) : 0;

	if (!has_type(table, NPY_INT64) || !PyArray_ISCARRAY_RO(table) || nr < 1 || nr > IDLE_STATES_MAX ||
	    PyArray_DIM(table, 1) != 3 || first >= nr) {
		PyErr_SetString(PyExc_ValueError, "table must be rows of three int64, and first one of them");
		return -1;
	}
	job->table.nr_states = (u32)nr;
	job->table.first = first;
	for (npy_intp i = 0; i < nr; i++) {
		const s64 *row = PyArray_GETPTR2(table, i, 0);

		if (row[0] < 0 || row[0] > longest || row[1] < 0 || row[1] > longest) {
			PyErr_SetString(PyExc_ValueError, "table: a latency or residency is out of range");
			return -1;
		}
		job->table.exit_latency[i] = row[0];
		job->table.target_residency[i] = row[1];
		job->table.polling[i] = row[2] != 0;
	}
	return 0;
}

static int take_params(struct job *job, unsigned int residency, int adds_latency, int tick_has_just_been,
		       long long tick)
{
	if (residency >= IDLE_RESIDENCIES || tick < 1 || tick > 1000000000) {
		PyErr_SetString(PyExc_ValueError, "residency or tick out of range");
		return -1;
	}
	job->params = (struct idle_params){
		.residency = (enum idle_residency)residency,
		.adds_latency = adds_latency != 0,
		.tick_has_just_been = tick_has_just_been != 0,
		.tick = tick,
	};
	return 0;
}

static int take_events(struct job *job, PyObject *events)
{
	PyArrayObject *sleep;

	if (PyTuple_GET_SIZE(events) != EVENTS) {
		PyErr_Format(PyExc_TypeError, "events must be a tuple of %d", EVENTS);
		return -1;
	}
	sleep = (PyArrayObject *)PyTuple_GET_ITEM(events, SLEEP);
	if (!PyArray_Check((PyObject *)sleep) || PyArray_NDIM(sleep) < 1) {
		PyErr_SetString(PyExc_TypeError, "sleep must be an array with an axis of time");
		return -1;
	}
	job->ndim = PyArray_NDIM(sleep);
	job->shape = PyArray_DIMS(sleep);
	for (int c = 0; c < EVENTS; c++) {
		const int type = c < NR_IOWAITERS ? NPY_INT64 : c < WIDE_EVENTS ? NPY_UINT64 : NPY_BOOL;
		PyArrayObject *array = checked(job, PyTuple_GET_ITEM(events, c), "events", type,
					       job->shape[job->ndim - 1], 0);

		if (!array)
			return -1;
		job->events[c] = walker_over(job, array);
	}
	return 0;
}

static int take_columns(struct job *job, PyObject *columns)
{
	if (PyTuple_GET_SIZE(columns) != COLUMNS) {
		PyErr_Format(PyExc_TypeError, "history must be a tuple of %d", COLUMNS);
		return -1;
	}
	for (int c = 0; c < COLUMNS; c++) {
		PyObject *object = PyTuple_GET_ITEM(columns, c);
		const bool row = c == HITS || c == INTERCEPTS;
		PyArrayObject *array;

		if (object == Py_None)
			continue;
		array = checked(job, object, "history", c == STOP_TICK ? NPY_BOOL : NPY_INT64,
				job->shape[job->ndim - 1], row ? (npy_intp)job->table.nr_states : 0);
		if (!array)
			return -1;
		if (!is_writeable_row(job, array)) {
			PyErr_SetString(PyExc_ValueError, "a column of history must be writeable and contiguous");
			return -1;
		}
		job->columns[c] = walker_over(job, array);
		job->idle_step[c] = PyArray_ITEMSIZE(array) * (row ? (npy_intp)job->table.nr_states : 1);
	}
	return 0;
}

static int take_governor(struct job *job, PyObject *state, PyObject *disabled)
{
	PyArrayObject *rows = checked(job, state, "state", NPY_UINT64, job->form->words, 0);
	PyArrayObject *flags;

	if (!rows)
		return -1;
	if (!is_writeable_row(job, rows)) {
		PyErr_SetString(PyExc_ValueError, "state must be writeable rows, one for each stream");
		return -1;
	}
	flags = checked(job, disabled, "disabled", NPY_BOOL, (npy_intp)job->table.nr_states, 0);
	if (!flags)
		return -1;
	job->governor = walker_over(job, rows);
	job->disabled = walker_over(job, flags);
	return 0;
}

/*
 * (form, table, first, residency, adds_latency, tick_has_just_been, tick, disabled, state, events,
 * history): state is changed in place.
 */
static PyObject *idle_run(PyObject *module, PyObject *args)
{
	struct job job = { 0 };
	PyArrayObject *table;
	PyObject *disabled, *state, *events, *columns;
	unsigned int first, residency;
	const char *name;
	long long tick;
	int adds_latency, tick_has_just_been;

	(void)module;
	if (!PyArg_ParseTuple(args, "sO!IIppLOOO!O!", &name, &PyArray_Type, &table, &first, &residency,
			      &adds_latency, &tick_has_just_been, &tick, &disabled, &state, &PyTuple_Type,
			      &events, &PyTuple_Type, &columns))
		return NULL;
	job.form = form_called(name);
	if (!job.form || take_table(&job, table, first) < 0 ||
	    take_params(&job, residency, adds_latency, tick_has_just_been, tick) < 0 || take_events(&job, events) < 0 ||
	    take_columns(&job, columns) < 0 || take_governor(&job, state, disabled) < 0)
		return NULL;
	if (PyArray_SIZE((PyArrayObject *)state) == 0)
		Py_RETURN_NONE;
	if (check_governors(&job) < 0 || run_job(&job) < 0)
		return NULL;
	Py_RETURN_NONE;
}

/* get_typical_interval(): eight intervals and, for 6.1 alone, what is predicted without them. */
typedef u32 typical_fn(const u64 *intervals, u32 predicted_us);

static u32 typical_v4_7(const u64 *intervals, u32 predicted_us)
{
	(void)predicted_us;
	return typical_interval_v4_7(intervals);
}

static u32 typical_v6_19(const u64 *intervals, u32 predicted_us)
{
	(void)predicted_us;
	return typical_interval_v6_19(intervals);
}

static const struct typical {
	const char *name;
	typical_fn *function;
} typicals[] = {
	{ "typical_interval_v4_7", typical_v4_7 },
	{ "typical_interval_v6_1", typical_interval_v6_1 },
	{ "typical_interval_v6_19", typical_v6_19 },
};
#define TYPICALS (sizeof(typicals) / sizeof(typicals[0]))

/* (8),()->() */
static void typical_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
	typical_fn *function = ((const struct typical *)data)->function;
	const npy_intp n = dimensions[0], step = steps[3];

	for (npy_intp i = 0; i < n; i++) {
		const char *from = args[0] + i * steps[0];
		u64 intervals[MENU_INTERVALS];

		for (int k = 0; k < MENU_INTERVALS; k++)
			intervals[k] = *(const u32 *)(from + k * step);
		*(u32 *)(args[2] + i * steps[2]) = function(intervals, *(const u32 *)(args[1] + i * steps[1]));
	}
}

static PyUFuncGenericFunction typical_loops[] = { typical_loop };
static const char typical_types[] = { NPY_UINT32, NPY_UINT32, NPY_UINT32 };
static void *typical_data[TYPICALS][1];

static PyMethodDef methods[] = {
	{ "idle_run", idle_run, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

int add_governors(PyObject *module)
{
	for (size_t i = 0; i < TYPICALS; i++) {
		PyObject *ufunc;
		int failed;

		typical_data[i][0] = (void *)(uintptr_t)&typicals[i];
		ufunc = PyUFunc_FromFuncAndDataAndSignature(typical_loops, typical_data[i], typical_types, 1, 2, 1,
							    PyUFunc_None, typicals[i].name, NULL, 0,
							    "(8),()->()");
		failed = PyModule_AddObjectRef(module, typicals[i].name, ufunc);
		Py_XDECREF(ufunc);
		if (failed)
			return -1;
	}
	if (PyModule_AddIntConstant(module, "IDLE_STATES_MAX", IDLE_STATES_MAX))
		return -1;
	return PyModule_AddFunctions(module, methods);
}
