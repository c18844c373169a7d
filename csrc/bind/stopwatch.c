/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stopwatch for Python. A clock is the number of a row of stopwatch_clock(),
 * or a callable of Python; the first is timed without the GIL, the second with it.
 */
#include "bind.h"

#include "core/stopwatch.h"

static const char *const kinds[] = {
	[STOPWATCH_EMPTY_CALL] = "empty call",	 [STOPWATCH_INSTRUCTION] = "instruction",
	[STOPWATCH_LIBC] = "unknown",		 [STOPWATCH_SYSTEM_CALL] = "system call",
	[STOPWATCH_CALLBACK] = "Python",
};

static const char *const reaches[] = {
	[STOPWATCH_UNKNOWN] = "unknown",
	[STOPWATCH_IN_USER_SPACE] = "vDSO",
	[STOPWATCH_IN_KERNEL] = "system call",
};

/* A callable that raised is not called again; its exception is still set. */
struct callback {
	PyObject *function;
	bool raised;
};

static u64 read_callback(const struct stopwatch_clock *clock)
{
	struct callback *callback = clock->context;
	PyObject *value;

	if (callback->raised)
		return 0;
	value = PyObject_CallNoArgs(callback->function);
	callback->raised = value == NULL;
	Py_XDECREF(value);
	return 0;
}

/* Fills in the clock that a caller means; false with an exception set if there is none. */
static bool clock_of(PyObject *object, struct stopwatch_clock *clock, struct callback *callback)
{
	size_t row, rows;

	if (PyCallable_Check(object)) {
		*callback = (struct callback){ object, false };
		*clock = (struct stopwatch_clock){ "", STOPWATCH_CALLBACK, -1, read_callback, callback };
		return true;
	}
	row = PyLong_AsSize_t(object);
	if (row == (size_t)-1 && PyErr_Occurred())
		return false;
	rows = stopwatch_clock(row, clock);
	if (row >= rows)
		PyErr_Format(PyExc_ValueError, "clock %zu: there are %zu", row, rows);
	return row < rows;
}

static PyThreadState *leave_python(const struct stopwatch_clock *clock)
{
	return clock->kind == STOPWATCH_CALLBACK ? NULL : PyEval_SaveThread();
}

static void enter_python(PyThreadState *state)
{
	if (state)
		PyEval_RestoreThread(state);
}

/*
 * The gate that a caller means: NULL for None, else three uint64 (racers, met,
 * called off) in an array that all racers share. A callable holds the GIL while
 * it waits, so that the others could never come: it reads alone.
 */
static bool gate_of(PyObject *object, const struct stopwatch_clock *clock, struct stopwatch_gate **gate)
{
	PyArrayObject *array = (PyArrayObject *)object;

	*gate = NULL;
	if (object == Py_None)
		return true;
	if (!PyArray_Check(object) || PyArray_TYPE(array) != NPY_UINT64 || PyArray_NDIM(array) != 1 ||
	    PyArray_DIM(array, 0) != 3 || !PyArray_ISCARRAY(array)) {
		PyErr_SetString(PyExc_TypeError, "gate: must be three uint64 in a writable array");
		return false;
	}
	if (clock->kind == STOPWATCH_CALLBACK) {
		PyErr_SetString(PyExc_ValueError, "gate: a callable reads alone");
		return false;
	}
	*gate = PyArray_DATA(array);
	return true;
}

/* A fresh uint64 array, or NULL with an exception set. */
static PyArrayObject *new_ticks(Py_ssize_t count)
{
	npy_intp length = count;

	if (count < 0) {
		PyErr_Format(PyExc_ValueError, "%zd calls: must not be negative", count);
		return NULL;
	}
	return (PyArrayObject *)PyArray_SimpleNew(1, &length, NPY_UINT64);
}

/* (row, name, kind, id, resolution) of a clock that answers, None of another; NULL with an exception set. */
static PyObject *row_of(size_t row, enum stopwatch_reach reach)
{
	struct stopwatch_clock clock;
	const char *kind;

	(void)stopwatch_clock(row, &clock);
	if (!stopwatch_answers(&clock))
		Py_RETURN_NONE;
	kind = clock.kind == STOPWATCH_LIBC ? reaches[reach] : kinds[clock.kind];
	return Py_BuildValue("nssiK", (Py_ssize_t)row, clock.name, kind, clock.id,
			     (unsigned long long)stopwatch_resolution_ns(&clock));
}

static PyObject *clocks(PyObject *module, PyObject *none)
{
	const size_t count = stopwatch_clock(SIZE_MAX, NULL);
	enum stopwatch_reach *reach = PyMem_New(enum stopwatch_reach, count);
	int *ids = PyMem_New(int, count);
	PyObject *list = NULL;
	bool known = false;

	(void)module;
	(void)none;
	if (!reach || !ids) {
		PyErr_NoMemory();
		goto out;
	}
	for (size_t row = 0; row < count; row++) {
		struct stopwatch_clock clock;

		(void)stopwatch_clock(row, &clock);
		ids[row] = clock.id;
	}
	Py_BEGIN_ALLOW_THREADS
	known = stopwatch_reach(ids, reach, count);
	Py_END_ALLOW_THREADS
	if (!known) {
		PyErr_SetFromErrno(PyExc_OSError);
		goto out;
	}
	list = PyList_New(0);
	for (size_t row = 0; list && row < count; row++) {
		PyObject *entry = row_of(row, reach[row]);

		if (!entry || (entry != Py_None && PyList_Append(list, entry) < 0))
			Py_CLEAR(list);
		Py_XDECREF(entry);
	}
out:
	PyMem_Free(reach);
	PyMem_Free(ids);
	return list;
}

static PyObject *read_clock(PyObject *module, PyObject *object)
{
	struct stopwatch_clock clock;
	struct callback callback;
	u64 value;

	(void)module;
	if (!clock_of(object, &clock, &callback))
		return NULL;
	value = clock.read(&clock);
	return PyErr_Occurred() ? NULL : PyLong_FromUnsignedLongLong(value);
}

static PyObject *batch(PyObject *module, PyObject *args)
{
	struct stopwatch_clock clock;
	struct callback callback;
	PyThreadState *state;
	PyObject *object, *meeting = Py_None;
	struct stopwatch_gate *gate;
	Py_ssize_t warmup, calls;
	u64 ticks;

	(void)module;
	if (!PyArg_ParseTuple(args, "Onn|O", &object, &warmup, &calls, &meeting))
		return NULL;
	if (!clock_of(object, &clock, &callback) || !gate_of(meeting, &clock, &gate))
		return NULL;
	if (warmup < 0 || calls < 0) {
		PyErr_Format(PyExc_ValueError, "%zd, %zd calls: must not be negative", warmup, calls);
		return NULL;
	}
	state = leave_python(&clock);
	ticks = stopwatch_batch(&clock, (size_t)warmup, (size_t)calls, gate);
	enter_python(state);
	return PyErr_Occurred() ? NULL : PyLong_FromUnsignedLongLong(ticks);
}

static PyObject *single(PyObject *module, PyObject *args)
{
	struct stopwatch_clock clock;
	struct callback callback;
	PyThreadState *state;
	PyArrayObject *ticks;
	PyObject *object, *meeting = Py_None;
	struct stopwatch_gate *gate;
	Py_ssize_t warmup, calls;

	(void)module;
	if (!PyArg_ParseTuple(args, "Onn|O", &object, &warmup, &calls, &meeting))
		return NULL;
	if (!clock_of(object, &clock, &callback) || !gate_of(meeting, &clock, &gate))
		return NULL;
	if (warmup < 0) {
		PyErr_Format(PyExc_ValueError, "%zd calls: must not be negative", warmup);
		return NULL;
	}
	ticks = new_ticks(calls);
	if (!ticks)
		return NULL;
	state = leave_python(&clock);
	stopwatch_single(&clock, (size_t)warmup, PyArray_DATA(ticks), (size_t)calls, gate);
	enter_python(state);
	if (PyErr_Occurred())
		Py_CLEAR(ticks);
	return (PyObject *)ticks;
}

typedef void (*fill_ticks)(u64 *ticks, size_t count);

static PyObject *filled(PyObject *count, fill_ticks fill)
{
	Py_ssize_t calls = PyLong_AsSsize_t(count);
	PyArrayObject *ticks;

	if (calls == -1 && PyErr_Occurred())
		return NULL;
	ticks = new_ticks(calls);
	if (!ticks)
		return NULL;
	Py_BEGIN_ALLOW_THREADS
	fill(PyArray_DATA(ticks), (size_t)calls);
	Py_END_ALLOW_THREADS
	return (PyObject *)ticks;
}

static PyObject *empty(PyObject *module, PyObject *count)
{
	(void)module;
	return filled(count, stopwatch_empty);
}

static PyObject *deltas(PyObject *module, PyObject *count)
{
	(void)module;
	return filled(count, stopwatch_deltas);
}

static PyObject *pair(PyObject *module, PyObject *none)
{
	u64 ticks, raw_ns, width = stopwatch_pair(&ticks, &raw_ns);

	(void)module;
	(void)none;
	return Py_BuildValue("KKK", (unsigned long long)width, (unsigned long long)ticks,
			     (unsigned long long)raw_ns);
}

static PyMethodDef methods[] = {
	{ "stopwatch_clocks", clocks, METH_NOARGS, "() -> [(index, name, kind, id, resolution_ns)]" },
	{ "stopwatch_read", read_clock, METH_O, "(clock) -> its value" },
	{ "stopwatch_batch", batch, METH_VARARGS, "(clock, warmup, calls, gate=None) -> ticks for all calls" },
	{ "stopwatch_single", single, METH_VARARGS, "(clock, warmup, calls, gate=None) -> ticks of each call" },
	{ "stopwatch_empty", empty, METH_O, "(count) -> ticks of empty brackets" },
	{ "stopwatch_deltas", deltas, METH_O, "(count) -> back-to-back differences" },
	{ "stopwatch_pair", pair, METH_NOARGS, "() -> (width, ticks, CLOCK_MONOTONIC_RAW in ns)" },
	{ NULL, NULL, 0, NULL },
};

int add_stopwatch(PyObject *module)
{
	if (PyModule_AddFunctions(module, methods) < 0)
		return -1;
	return PyModule_AddStringConstant(module, "STOPWATCH_COUNTER", STOPWATCH_COUNTER);
}
