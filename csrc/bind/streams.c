/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * PELT over arrays. pelt_track_*: many streams of n events each, or one stream
 * of many entities, in chunks. pelt_update_*: one event for each of many
 * entities, as gufuncs.
 *
 * Strides end here: the core gets columns. A contiguous column is passed as it
 * is; any other is copied into scratch chunk by chunk, a broadcast one (stride
 * 0) is written there once and stays.
 */
#include "path.h"
#include "walk.h"

#define CHUNK 512

struct scratch {
	u64 wide[RUNNING][CHUNK];
	u8 narrow[EVENT_COLUMNS - RUNNING][CHUNK];
	const char *filled_from[EVENT_COLUMNS];	/* broadcast columns: the entry that is there */
};

/* Column c of the events from first on: count contiguous, aligned entries. */
static const void *column(const struct walker *w, struct scratch *scratch, int c, npy_intp first,
			  npy_intp count)
{
	const bool wide = c < RUNNING;
	char *to = wide ? (char *)scratch->wide[c] : (char *)scratch->narrow[c - RUNNING];

	return column_of(w, wide ? sizeof(u64) : sizeof(u8), first, count, to, &scratch->filled_from[c]);
}

static struct pelt_events events_from(const struct walk *walk, struct scratch *scratch,
				      npy_intp first, npy_intp count)
{
	const void *c[EVENT_COLUMNS];

	for (int i = 0; i < EVENT_COLUMNS; i++)
		c[i] = column(&walk->events[i], scratch, i, first, count);
	return (struct pelt_events){
		.now = c[NOW], .weight = c[WEIGHT], .runnable = c[RUNNABLE],
		.scale_freq = c[SCALE_FREQ], .scale_cpu = c[SCALE_CPU],
		.running = c[RUNNING], .on_rq = c[ON_RQ],
		.index = walk->index ? walk->index + first : NULL,
		.entities = (u64)walk->entities, .due = walk->due,
	};
}

static int track_streams(pelt_track_fn *track, struct walk *walk, const struct pelt_params *params)
{
	npy_intp index[NPY_MAXDIMS] = { 0 };
	struct scratch scratch;
	npy_intp done = 0;
	PyThreadState *thread = PyEval_SaveThread();

	memset(scratch.filled_from, 0, sizeof(scratch.filled_from));
	do {
		struct pelt_avg *avg = (struct pelt_avg *)walk->state.data;

		for (npy_intp first = 0; first < walk->n; first += CHUNK) {
			const npy_intp left = walk->n - first, count = left < CHUNK ? left : CHUNK;
			const struct pelt_events ev = events_from(walk, &scratch, first, count);
			const struct pelt_history out = history_from(walk, first);

			track(avg, (size_t)count, &ev, &out, params);
			done += count;
			if (done >= EVENTS_BETWEEN_SIGNALS) {
				if (let_signals_in(&thread) < 0)
					return -1;
				done = 0;
			}
		}
	} while (next_stream(walk, index));
	PyEval_RestoreThread(thread);
	return 0;
}

/* Beyond so many entities what is due of them would take more memory than the 8 MiB it is worth. */
#define ENTITIES_DUE ((8 << 20) / (npy_intp)sizeof(struct pelt_due))

/* One stream of many entities, of which `fast` takes what it can. */
static int track_interleaved(const struct pelt_interleaved *fast, struct walk *walk,
			     const struct pelt_params *params)
{
	int failed;

	walk->due = PyMem_RawCalloc((size_t)walk->entities, sizeof(*walk->due));
	if (!walk->due) {
		PyErr_NoMemory();
		return -1;
	}
	failed = track_streams(fast->track, walk, params);
	if (!failed)
		fast->settle((struct pelt_avg *)walk->state.data, walk->due, (size_t)walk->entities);
	PyMem_RawFree(walk->due);
	return failed;
}

static int track_any(pelt_track_fn *track, struct walk *walk, const struct pelt_params *params,
		     enum path path)
{
	pelt_lanes_fn *const lanes = lanes_that_serve(walk, track, params, path);
	const struct pelt_history wanted = history_from(walk, 0);

	if (lanes)
		return track_lanes(lanes, walk, track, params);
	if (walk->index && walk->entities <= ENTITIES_DUE) {
		const struct pelt_interleaved fast = pelt_interleaved_for(track, params, &wanted);

		if (fast.track)
			return track_interleaved(&fast, walk, params);
	}
	return track_streams(track, walk, params);
}

/* An array of the given type, native and of the right shape, or NULL with an exception set. */
static PyArrayObject *checked(PyObject *object, const char *name, int type,
			      const struct walk *walk)
{
	PyArrayObject *array = (PyArrayObject *)object;

	if (!PyArray_Check(object) || !has_type(array, type)) {
		PyErr_Format(PyExc_TypeError, "%s must be a native array of %s", name,
			     type == NPY_BOOL ? "bool" : "uint64");
		return NULL;
	}
	if (PyArray_NDIM(array) != walk->ndim ||
	    !PyArray_CompareLists(PyArray_DIMS(array), walk->shape, walk->ndim)) {
		PyErr_Format(PyExc_ValueError, "%s must have the shape of now", name);
		return NULL;
	}
	return array;
}

static struct walker walker_over(PyArrayObject *array)
{
	return (struct walker){ PyArray_BYTES(array), PyArray_STRIDES(array),
				PyArray_STRIDES(array)[PyArray_NDIM(array) - 1] };
}

static int take_shape(struct walk *walk, PyObject *now)
{
	if (!PyArray_Check(now) || PyArray_NDIM((PyArrayObject *)now) < 1) {
		PyErr_SetString(PyExc_TypeError, "now must be an array with an axis of time");
		return -1;
	}
	walk->ndim = PyArray_NDIM((PyArrayObject *)now);
	walk->shape = PyArray_DIMS((PyArrayObject *)now);
	walk->n = walk->shape[walk->ndim - 1];
	return 0;
}

static int take_events(struct walk *walk, PyObject *events)
{
	if (!PyTuple_Check(events) || PyTuple_GET_SIZE(events) != EVENT_COLUMNS) {
		PyErr_Format(PyExc_TypeError, "events must be a tuple of %d", EVENT_COLUMNS);
		return -1;
	}
	if (take_shape(walk, PyTuple_GET_ITEM(events, NOW)) < 0)
		return -1;
	for (int c = 0; c < EVENT_COLUMNS; c++) {
		PyArrayObject *array = checked(PyTuple_GET_ITEM(events, c), "a column of events",
					       c < RUNNING ? NPY_UINT64 : NPY_BOOL, walk);

		if (!array)
			return -1;
		walk->events[c] = walker_over(array);
	}
	return 0;
}

/* What the core writes to as it is: nothing in it is ever copied to scratch. */
static bool is_writeable_column(PyArrayObject *array)
{
	const int last = PyArray_NDIM(array) - 1;

	return PyArray_ISBEHAVED(array) &&
	       (PyArray_SIZE(array) == 0 || PyArray_DIMS(array)[last] == 1 ||
		PyArray_STRIDES(array)[last] == PyArray_ITEMSIZE(array));
}

static int take_history(struct walk *walk, PyObject *history)
{
	if (!PyTuple_Check(history) || PyTuple_GET_SIZE(history) != HISTORY_COLUMNS) {
		PyErr_Format(PyExc_TypeError, "history must be a tuple of %d", HISTORY_COLUMNS);
		return -1;
	}
	for (int c = 0; c < HISTORY_COLUMNS; c++) {
		PyObject *object = PyTuple_GET_ITEM(history, c);
		PyArrayObject *array;

		if (object == Py_None)
			continue;
		array = checked(object, "a column of history",
				c == UPDATED ? NPY_BOOL : NPY_UINT64, walk);
		if (!array)
			return -1;
		if (!is_writeable_column(array)) {
			PyErr_SetString(PyExc_ValueError, "a column of history must be writeable "
							  "and its last axis contiguous");
			return -1;
		}
		walk->history[c] = walker_over(array);
	}
	return 0;
}

static PyArrayObject *contiguous_index(PyObject *object)
{
	PyArrayObject *index = (PyArrayObject *)object;

	if (!PyArray_Check(object) || !has_type(index, NPY_UINT64) || PyArray_NDIM(index) != 1 ||
	    !PyArray_ISCARRAY_RO(index)) {
		PyErr_SetString(PyExc_TypeError, "index must be a contiguous array of uint64");
		return NULL;
	}
	return index;
}

static int take_index(struct walk *walk, PyObject *object)
{
	PyArrayObject *index;

	if (object == Py_None)
		return 0;
	index = contiguous_index(object);
	if (!index)
		return -1;
	if (walk->ndim != 1 || PyArray_DIM(index, 0) != walk->n) {
		PyErr_SetString(PyExc_ValueError, "index is of one stream: it must have the shape of now");
		return -1;
	}
	walk->index = PyArray_DATA(index);
	return 0;
}

static bool is_table_of_states(PyArrayObject *state)
{
	return has_type(state, NPY_UINT64) && PyArray_NDIM(state) == 2 &&
	       PyArray_DIM(state, 1) == STATE_FIELDS && PyArray_ISCARRAY(state);
}

static int take_state(struct walk *walk, PyArrayObject *state)
{
	const int leading = walk->ndim - 1;

	if (walk->index && walk->entities <= ENTITIES_DUE) {
		if (!is_table_of_states(state)) {
			PyErr_SetString(PyExc_ValueError, "state must be writeable rows of 8 uint64, "
							  "a row for each entity");
			return -1;
		}
		walk->entities = PyArray_DIM(state, 0);
		walk->state = (struct walker){ .data = PyArray_BYTES(state) };
		return 0;
	}
	if (!has_type(state, NPY_UINT64) || PyArray_NDIM(state) != walk->ndim ||
	    !PyArray_CompareLists(PyArray_DIMS(state), walk->shape, leading) ||
	    PyArray_DIMS(state)[leading] != STATE_FIELDS || !is_writeable_column(state)) {
		PyErr_SetString(PyExc_ValueError,
				"state must be writeable rows of 8 uint64, a row for each stream");
		return -1;
	}
	walk->state = walker_over(state);
	return 0;
}

static int take_params(struct pelt_params *params, PyArrayObject *inverse)
{
	const npy_intp half_life = PyArray_SIZE(inverse);

	if (!has_type(inverse, NPY_UINT32) || !PyArray_ISCARRAY_RO(inverse) ||
	    PyArray_NDIM(inverse) != 1) {
		PyErr_SetString(PyExc_TypeError, "inverse must be a contiguous array of uint32");
		return -1;
	}
	params->inverse = PyArray_DATA(inverse);
	params->half_life = half_life > PELT_HALF_LIFE_LIMIT ? 0 : (u32)half_life;
	if (!pelt_params_valid(params)) {
		PyErr_SetString(PyExc_ValueError, "half-life or load_avg_max out of range");
		return -1;
	}
	return 0;
}

/*
 * (state, events, history, inverse, load_avg_max, update_threshold, index=None,
 * path=the one taken): state is changed in place.
 */
static PyObject *track_arrays(pelt_track_fn *track, PyObject *args)
{
	struct pelt_params params;
	struct walk walk = { 0 };
	PyArrayObject *state, *inverse;
	PyObject *events, *history, *index = Py_None;
	unsigned long long threshold;
	unsigned int load_avg_max;
	const char *name = NULL;
	int path;

	if (!PyArg_ParseTuple(args, "O!OOO!IK|Oz", &PyArray_Type, &state, &events, &history,
			      &PyArray_Type, &inverse, &load_avg_max, &threshold, &index, &name))
		return NULL;
	path = name ? path_named(name) : (int)path_taken();
	if (path < 0)
		return NULL;
	params.load_avg_max = load_avg_max;
	params.update_threshold = threshold;
	if (take_params(&params, inverse) < 0 || take_events(&walk, events) < 0 ||
	    take_history(&walk, history) < 0 || take_index(&walk, index) < 0 ||
	    take_state(&walk, state) < 0)
		return NULL;
	if (PyArray_SIZE(state) == 0)
		Py_RETURN_NONE;
	if (track_any(track, &walk, &params, (enum path)path))
		return NULL;
	Py_RETURN_NONE;
}

/*
 * (state, index, now): last_update_time of each entity becomes its first now.
 * Walked from the end, the first of an entity is what stays.
 */
static PyObject *start_of_entities(PyObject *module, PyObject *args)
{
	PyArrayObject *state, *now, *index;
	PyObject *index_object;
	PyThreadState *thread;
	const char *time;
	npy_intp step, entities;
	struct pelt_avg *avg;
	const u64 *of;

	(void)module;
	if (!PyArg_ParseTuple(args, "O!OO!", &PyArray_Type, &state, &index_object, &PyArray_Type, &now))
		return NULL;
	index = contiguous_index(index_object);
	if (!index)
		return NULL;
	if (!is_table_of_states(state) || !has_type(now, NPY_UINT64) || PyArray_NDIM(now) != 1 ||
	    PyArray_DIM(now, 0) != PyArray_DIM(index, 0)) {
		PyErr_SetString(PyExc_ValueError, "rows of states, an index and times are needed");
		return NULL;
	}
	avg = PyArray_DATA(state);
	entities = PyArray_DIM(state, 0);
	of = PyArray_DATA(index);
	time = PyArray_BYTES(now);
	step = PyArray_STRIDE(now, 0);
	thread = PyEval_SaveThread();
	for (npy_intp i = PyArray_DIM(index, 0) - 1; i >= 0; i--) {
		if (of[i] < (u64)entities)
			memcpy(&avg[of[i]].last_update_time, time + i * step, sizeof(u64));
	}
	PyEval_RestoreThread(thread);
	Py_RETURN_NONE;
}

#define DEFINE_METHOD(entity, version)                                               \
	static PyObject *method_##entity##_##version(PyObject *module, PyObject *args) \
	{                                                                            \
		(void)module;                                                        \
		return track_arrays(pelt_track_##entity##_##version, args);          \
	}
PELT_FORMS(DEFINE_METHOD)

#define LIST_METHOD(entity, version) \
	{ "pelt_track_" #entity "_" #version, method_##entity##_##version, METH_VARARGS, NULL },
static PyMethodDef methods[] = {
	PELT_FORMS(LIST_METHOD)
	{ "pelt_start_of_entities", start_of_entities, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

/* The gufuncs: state, the event columns, the parameters; the new state, updated. */
#define UPDATE_SIGNATURE "(8),(),(),(),(),(),(),(),(h),(),()->(8),()"
enum { STATE_IN, FIRST_EVENT, INVERSE = FIRST_EVENT + EVENT_COLUMNS, LOAD_AVG_MAX, THRESHOLD,
       UPDATE_IN, STATE_OUT = UPDATE_IN, UPDATED_OUT, UPDATE_ARGS };
enum { INVERSE_CORE = UPDATE_ARGS + 1, STATE_OUT_CORE };

struct form {
	pelt_track_fn *track;
};

/* The table may have any stride, and another one for each entity; mostly it has neither. */
static void take_table(u32 *inverse, const char *from, npy_intp step, npy_intp count)
{
	for (npy_intp i = 0; i < count && i < PELT_HALF_LIFE_LIMIT; i++)
		memcpy(&inverse[i], from + i * step, sizeof(u32));
}

static void update_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
	pelt_track_fn *track = ((const struct form *)data)->track;
	const npy_intp n = dimensions[0], half_life = dimensions[2];
	const npy_intp in_step = steps[UPDATE_ARGS], inverse_step = steps[INVERSE_CORE];
	const npy_intp out_step = steps[STATE_OUT_CORE];
	u32 inverse[PELT_HALF_LIFE_LIMIT];
	const char *taken_from = NULL;
	char *at[UPDATE_ARGS];

	memcpy(at, args, sizeof(at));
	for (npy_intp i = 0; i < n; i++) {
		char *const *e = &at[FIRST_EVENT];
		const struct pelt_events ev = {
			.now = (const u64 *)e[NOW], .weight = (const u64 *)e[WEIGHT],
			.runnable = (const u64 *)e[RUNNABLE],
			.scale_freq = (const u64 *)e[SCALE_FREQ],
			.scale_cpu = (const u64 *)e[SCALE_CPU],
			.running = (const u8 *)e[RUNNING], .on_rq = (const u8 *)e[ON_RQ],
		};
		const struct pelt_params params = {
			.half_life = (u32)half_life, .load_avg_max = *(const u32 *)at[LOAD_AVG_MAX],
			.inverse = inverse, .update_threshold = *(const u64 *)at[THRESHOLD],
		};
		u64 row[STATE_FIELDS];
		struct pelt_avg avg;
		u8 updated = 0;
		const struct pelt_history out = { .updated = &updated };

		if (at[INVERSE] != taken_from) {
			take_table(inverse, at[INVERSE], inverse_step, half_life);
			taken_from = at[INVERSE];
		}
		for (int f = 0; f < STATE_FIELDS; f++)
			row[f] = *(const u64 *)(at[STATE_IN] + f * in_step);
		memcpy(&avg, row, sizeof(avg));
		track(&avg, 1, &ev, &out, &params);
		memcpy(row, &avg, sizeof(avg));
		for (int f = 0; f < STATE_FIELDS; f++)
			*(u64 *)(at[STATE_OUT] + f * out_step) = row[f];
		*(npy_bool *)at[UPDATED_OUT] = updated;

		for (int a = 0; a < UPDATE_ARGS; a++)
			at[a] += steps[a];
	}
}

#define COUNT_FORM(entity, version) +1
enum { FORMS = 0 PELT_FORMS(COUNT_FORM) };

#define LIST_FORM(entity, version) { pelt_track_##entity##_##version },
static struct form forms[FORMS] = { PELT_FORMS(LIST_FORM) };

#define LIST_NAME(entity, version) "pelt_update_" #entity "_" #version,
static const char *const update_names[FORMS] = { PELT_FORMS(LIST_NAME) };

static PyUFuncGenericFunction update_loops[] = { update_loop };
static const char update_types[UPDATE_ARGS] = {
	NPY_UINT64,
	NPY_UINT64, NPY_UINT64, NPY_UINT64, NPY_UINT64, NPY_UINT64, NPY_BOOL, NPY_BOOL,
	NPY_UINT32, NPY_UINT32, NPY_UINT64,
	NPY_UINT64, NPY_BOOL,
};
static void *update_data[FORMS][1];

int add_streams(PyObject *module)
{
	for (int i = 0; i < FORMS; i++) {
		PyObject *ufunc;
		int failed;

		update_data[i][0] = &forms[i];
		ufunc = PyUFunc_FromFuncAndDataAndSignature(
			update_loops, update_data[i], update_types, 1, UPDATE_IN,
			UPDATE_ARGS - UPDATE_IN, PyUFunc_None, update_names[i], NULL, 0,
			UPDATE_SIGNATURE);
		failed = PyModule_AddObjectRef(module, update_names[i], ufunc);
		Py_XDECREF(ufunc);
		if (failed)
			return -1;
	}
	return PyModule_AddFunctions(module, methods);
}
