/* SPDX-License-Identifier: GPL-2.0-only */
/* The module: the list of functions.h made into ufuncs, and the parts that are no ufunc added. */
#define SCHEDPY_CORE_MODULE
#include "bind.h"
#include "loops.h"

#include "core/attach.h"
#include "core/clock.h"
#include "core/eas_v6.h"
#include "core/em.h"
#include "core/jiffies.h"
#include "core/math64.h"
#include "core/pelt.h"
#include "core/reciprocal.h"
#include "core/weight.h"

#define UFUNC(nin, nout, name, fn, ...) LOOP_##nin##_##nout(fn, __VA_ARGS__)
#define UFUNC_ROWS(nin, nout, name, fn, ...) ROWS_##nin##_##nout(fn, __VA_ARGS__)
#include "functions.h"
#undef UFUNC
#undef UFUNC_ROWS

/* From here on they are like the others. */
#define UFUNC_ROWS(...) UFUNC(__VA_ARGS__)

/* Neighbouring loops of one ufunc are neighbours in these two arrays too, as NumPy wants them. */
#define UFUNC(nin, nout, name, fn, ...) fn##_loop,
static PyUFuncGenericFunction loops[] = {
#include "functions.h"
};
#undef UFUNC

#define UFUNC(nin, nout, name, fn, ...) TYPES_##nin##_##nout(__VA_ARGS__)
static const char types[] = {
#include "functions.h"
};
#undef UFUNC

#define UFUNC(nin, nout, name, fn, ...) { #name, nin, nout },
static const struct line {
	const char *name;
	int nin, nout;
} lines[] = {
#include "functions.h"
};
#undef UFUNC

static int add_ufuncs(PyObject *module)
{
	const size_t count = sizeof(lines) / sizeof(lines[0]);
	const char *type = types;

	for (size_t first = 0, next; first < count; first = next) {
		const struct line *line = &lines[first];
		PyObject *ufunc;
		int failed;

		for (next = first + 1; next < count && strcmp(lines[next].name, line->name) == 0; next++)
			;
		ufunc = PyUFunc_FromFuncAndData(&loops[first], NULL, type, (int)(next - first), line->nin,
						line->nout, PyUFunc_None, line->name, NULL, 0);
		failed = PyModule_AddObjectRef(module, line->name, ufunc);
		Py_XDECREF(ufunc);
		if (failed)
			return -1;
		type += (next - first) * (size_t)(line->nin + line->nout);
	}
	return 0;
}

static int import_numpy(PyObject *module)
{
	(void)module;
	import_array1(-1);
	import_umath1(-1);
	return 0;
}

static PyModuleDef_Slot slots[] = {
	{ Py_mod_exec, import_numpy },
	{ Py_mod_exec, add_ufuncs },
	{ Py_mod_exec, add_stopwatch },
	{ Py_mod_exec, add_path },
	{ Py_mod_exec, add_streams },
	{ Py_mod_exec, add_entity },
	{ Py_mod_exec, add_em },
	{ Py_mod_exec, add_em_lut },
	{ Py_mod_exec, add_placement },
	{ Py_mod_exec, add_placement_timing },
	{ Py_mod_exec, add_governors },
#if PY_VERSION_HEX >= 0x030c0000
	{ Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED },
#endif
#if PY_VERSION_HEX >= 0x030d0000
	{ Py_mod_gil, Py_MOD_GIL_NOT_USED },
#endif
	{ 0, NULL },
};

static struct PyModuleDef definition = {
	.m_base = PyModuleDef_HEAD_INIT,
	.m_name = "_core",
	.m_doc = "The compiled core of schedpy; its faces are the modules of the package.",
	.m_slots = slots,
};

PyMODINIT_FUNC PyInit__core(void)
{
	return PyModuleDef_Init(&definition);
}
