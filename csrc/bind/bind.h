/* SPDX-License-Identifier: GPL-2.0-only */
/* What every file of the binding includes first: Python, NumPy, and the parts that make up the module. */
#ifndef SCHEDPY_BIND_H
#define SCHEDPY_BIND_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL schedpy_array_api
#define PY_UFUNC_UNIQUE_SYMBOL schedpy_ufunc_api
#ifndef SCHEDPY_CORE_MODULE
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include <stdbool.h>

/* An entry of an array. */
#define U64_AT(p) (*(const npy_uint64 *)(p))
#define BOOL_AT(p) (*(const npy_bool *)(p))
#define SET_U64(p, value) (*(npy_uint64 *)(p) = (value))
#define SET_S64(p, value) (*(npy_int64 *)(p) = (value))

static inline bool has_type(PyArrayObject *array, int type)
{
	return PyArray_EquivTypenums(PyArray_TYPE(array), type) && PyArray_ISNOTSWAPPED(array);
}

/* What is no elementwise function: each adds its part to the module, 0 or -1 with an exception. */
int add_entity(PyObject *module);
int add_em(PyObject *module);
int add_em_lut(PyObject *module);
int add_governors(PyObject *module);
int add_path(PyObject *module);
int add_placement(PyObject *module);
int add_placement_timing(PyObject *module);
int add_stopwatch(PyObject *module);
int add_streams(PyObject *module);

#endif
