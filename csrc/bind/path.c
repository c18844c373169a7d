/* SPDX-License-Identifier: GPL-2.0-only */
/* The path (core/path.h) that calls take: the best of this machine, or the one that somebody chose. */
#include "path.h"

#include <stdatomic.h>
#include <stdlib.h>

/* All give the same bits: what a running call sees of a change does not matter. */
static _Atomic int taken;

enum path path_taken(void)
{
	return (enum path)atomic_load_explicit(&taken, memory_order_relaxed);
}

static int best_path(void)
{
	int path = PATHS - 1;

	while (!path_works((enum path)path))
		path--;
	return path;
}

int path_named(const char *name)
{
	for (int path = 0; path < PATHS; path++) {
		if (strcmp(name, path_name((enum path)path)) == 0 && path_works((enum path)path))
			return path;
	}
	PyErr_Format(PyExc_ValueError, "this machine has no path %s", name);
	return -1;
}

/* The paths of this machine by name, the best last. */
static PyObject *paths(PyObject *module, PyObject *none)
{
	PyObject *names = PyList_New(0);

	(void)module;
	(void)none;
	for (int path = 0; names && path < PATHS; path++) {
		PyObject *name;

		if (!path_works((enum path)path))
			continue;
		name = PyUnicode_FromString(path_name((enum path)path));
		if (!name || PyList_Append(names, name) < 0)
			Py_CLEAR(names);
		Py_XDECREF(name);
	}
	return names;
}

/* Take another path from now on; the one before is returned. */
static PyObject *use_path(PyObject *module, PyObject *name)
{
	const char *text = PyUnicode_AsUTF8(name);
	const int path = text ? path_named(text) : -1;

	(void)module;
	if (path < 0)
		return NULL;
	return PyUnicode_FromString(path_name((enum path)atomic_exchange(&taken, path)));
}

static PyMethodDef methods[] = {
	{ "paths", paths, METH_NOARGS, NULL },
	{ "use_path", use_path, METH_O, NULL },
	{ NULL, NULL, 0, NULL },
};

int add_path(PyObject *module)
{
	const char *name = getenv("SCHEDPY_PATH");
	const int path = name && *name ? path_named(name) : best_path();

	if (path < 0)
		return -1;
	atomic_store(&taken, path);
	return PyModule_AddFunctions(module, methods);
}
