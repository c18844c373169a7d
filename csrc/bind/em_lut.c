/* SPDX-License-Identifier: GPL-2.0-only */
/* Look-ups of states (em_lut.h) over arrays of requests: rows of contiguous words, checked here. */
#include "path.h"

#include "core/em_lut.h"

/* Signals are looked at, and other threads get a turn, after this many requests. */
enum { CHUNK = 1 << 20 };

static bool is_row(PyArrayObject *array, int type)
{
	return has_type(array, type) && PyArray_NDIM(array) == 1 && PyArray_IS_C_CONTIGUOUS(array) &&
	       PyArray_ISALIGNED(array);
}

/* What a look-up reads and writes; which of the table's arrays are there depends on its kind. */
struct look_up {
	PyArrayObject *keys, *states, *entries, *requests, *found;
	u32 shift, steps;
};

typedef void look_up_part(const struct look_up *l, const u64 *request, s64 *found, size_t count);

static bool fits_together(const struct look_up *l)
{
	if (!(is_row(l->requests, NPY_UINT64) && is_row(l->found, NPY_INT64) && PyArray_ISWRITEABLE(l->found) &&
	      PyArray_SIZE(l->requests) == PyArray_SIZE(l->found)))
		return false;
	if (l->entries && !(is_row(l->entries, NPY_UINT16) && PyArray_SIZE(l->entries) > 0))
		return false;
	return !l->keys || (is_row(l->keys, NPY_UINT64) && is_row(l->states, NPY_UINT16) &&
			    PyArray_SIZE(l->keys) == PyArray_SIZE(l->states) && PyArray_SIZE(l->keys) > 0);
}

static PyObject *look_up_all(const struct look_up *l, look_up_part *part)
{
	npy_intp done = 0, count;

	if (!fits_together(l)) {
		PyErr_SetString(PyExc_ValueError, "a look-up takes rows of contiguous words");
		return NULL;
	}
	count = PyArray_SIZE(l->found);
	while (done < count) {
		const npy_intp left = count - done, n = left < CHUNK ? left : CHUNK;

		Py_BEGIN_ALLOW_THREADS;
		part(l, (const u64 *)PyArray_DATA(l->requests) + done, (s64 *)PyArray_DATA(l->found) + done,
		     (size_t)n);
		Py_END_ALLOW_THREADS;
		if (PyErr_CheckSignals())
			return NULL;
		done += n;
	}
	Py_RETURN_NONE;
}

static void halve_part(const struct look_up *l, const u64 *request, s64 *found, size_t count)
{
	em_halve_all(PyArray_DATA(l->keys), PyArray_DATA(l->states), (size_t)PyArray_SIZE(l->keys), request, found,
		     count, path_taken());
}

static void bins_part(const struct look_up *l, const u64 *request, s64 *found, size_t count)
{
	const struct em_bins bins = {
		.entries = PyArray_DATA(l->entries),
		.nr_entries = (size_t)PyArray_SIZE(l->entries),
		.shift = l->shift,
		.steps = l->steps,
	};

	em_bins_search_all(PyArray_DATA(l->keys), PyArray_DATA(l->states), (size_t)PyArray_SIZE(l->keys), &bins,
			   request, found, count);
}

static void direct_part(const struct look_up *l, const u64 *request, s64 *found, size_t count)
{
	em_direct_all(PyArray_DATA(l->entries), (size_t)PyArray_SIZE(l->entries), request, found, count);
}

/* em_halve(keys, states, requests, found) */
static PyObject *py_halve(PyObject *module, PyObject *args)
{
	struct look_up l = { 0 };

	(void)module;
	if (!PyArg_ParseTuple(args, "O!O!O!O!", &PyArray_Type, &l.keys, &PyArray_Type, &l.states, &PyArray_Type,
			      &l.requests, &PyArray_Type, &l.found))
		return NULL;
	return look_up_all(&l, halve_part);
}

/* em_bins(keys, states, entries, shift, steps, requests, found) */
static PyObject *py_bins(PyObject *module, PyObject *args)
{
	struct look_up l = { 0 };

	(void)module;
	if (!PyArg_ParseTuple(args, "O!O!O!IIO!O!", &PyArray_Type, &l.keys, &PyArray_Type, &l.states,
			      &PyArray_Type, &l.entries, &l.shift, &l.steps, &PyArray_Type, &l.requests,
			      &PyArray_Type, &l.found))
		return NULL;
	return look_up_all(&l, bins_part);
}

/* em_direct(entries, utils, found): an entry is the index of a state. */
static PyObject *py_direct(PyObject *module, PyObject *args)
{
	struct look_up l = { 0 };

	(void)module;
	if (!PyArg_ParseTuple(args, "O!O!O!", &PyArray_Type, &l.entries, &PyArray_Type, &l.requests,
			      &PyArray_Type, &l.found))
		return NULL;
	return look_up_all(&l, direct_part);
}

/* em_make_bins(keys) -> (shift, steps, entries) */
static PyObject *py_make_bins(PyObject *module, PyObject *args)
{
	PyArrayObject *keys, *entries;
	npy_intp length;
	size_t n;
	u32 shift, steps;

	(void)module;
	if (!PyArg_ParseTuple(args, "O!", &PyArray_Type, &keys))
		return NULL;
	if (!is_row(keys, NPY_UINT64) || PyArray_SIZE(keys) > UINT16_MAX) {
		PyErr_SetString(PyExc_ValueError, "keys must be a row of at most 65535 contiguous words");
		return NULL;
	}
	n = (size_t)PyArray_SIZE(keys);
	shift = em_bins_shift(PyArray_DATA(keys), n);
	length = (npy_intp)em_bins_nr_entries(PyArray_DATA(keys), n, shift);
	entries = (PyArrayObject *)PyArray_SimpleNew(1, &length, NPY_UINT16);
	if (!entries)
		return NULL;
	steps = em_bins_fill(PyArray_DATA(keys), n, shift, PyArray_DATA(entries), (size_t)length);
	return Py_BuildValue("IIN", shift, steps, entries);
}

static PyMethodDef methods[] = {
	{ "em_halve", py_halve, METH_VARARGS, NULL },
	{ "em_bins", py_bins, METH_VARARGS, NULL },
	{ "em_direct", py_direct, METH_VARARGS, NULL },
	{ "em_make_bins", py_make_bins, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

int add_em_lut(PyObject *module)
{
	return PyModule_AddFunctions(module, methods);
}
