/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What surrounds the PELT update and takes whole states, as gufuncs: attach,
 * detach, util_est, the PELT clock. One step for each of many entities.
 *
 * All operands are u64, a state is a row of them. Strides end here: a call gets
 * the entries of all its inputs one after the other, and gives its outputs so.
 */
#include "bind.h"

#include "core/attach.h"
#include "core/clock_pelt.h"
#include "core/util_est.h"

#define OPERANDS_MAX 12
#define ENTRIES_MAX 24

struct step {
	const char *name;
	const char *signature;
	int nin, nout;
	int entries[OPERANDS_MAX];	/* of each operand, inputs first */
	void (*call)(const u64 *in, u64 *out);
};

/* The structs of the core are rows of u64. */
#define ENTRIES(type) ((int)(sizeof(type) / sizeof(u64)))

#define DEFINE_ATTACH(op, version)                                                  \
	static void call_##op##_##version(const u64 *in, u64 *out)                  \
	{                                                                           \
		struct pelt_avg avg[2];                                             \
		memcpy(avg, in, sizeof(avg));                                       \
		op##_##version(&avg[0], &avg[1], in[2 * ENTRIES(struct pelt_avg)]); \
		memcpy(out, avg, sizeof(avg));                                      \
	}
ATTACH_FORMS(DEFINE_ATTACH)

#define DEFINE_UTIL_EST(version)                                                 \
	static void call_util_est_##version(const u64 *in, u64 *out)             \
	{                                                                        \
		struct util_est_state state;                                     \
		struct util_est_stay stay;                                       \
		struct util_est_seen seen;                                       \
		memcpy(&state, in, sizeof(state));                               \
		memcpy(&stay, in + ENTRIES(struct util_est_state), sizeof(stay)); \
		util_est_##version(&state, &stay, &seen);                        \
		memcpy(out, &state, sizeof(state));                              \
		memcpy(out + ENTRIES(struct util_est_state), &seen, sizeof(seen)); \
	}
UTIL_EST_FORMS(DEFINE_UTIL_EST)

#define CLOCK_PELT_FORMS(FORM) FORM(v5_1) FORM(v6_0)

#define DEFINE_CLOCK_PELT(version)                                              \
	static void call_clock_pelt_##version(const u64 *in, u64 *out)          \
	{                                                                       \
		struct clock_pelt clock;                                        \
		struct clock_pelt_step step;                                    \
		memcpy(&clock, in, sizeof(clock));                              \
		memcpy(&step, in + ENTRIES(struct clock_pelt), sizeof(step));   \
		clock_pelt_##version(&clock, &step);                            \
		memcpy(out, &clock, sizeof(clock));                             \
	}
CLOCK_PELT_FORMS(DEFINE_CLOCK_PELT)

#define LIST_ATTACH(op, version)                                   \
	{ "pelt_" #op "_" #version, "(8),(8),()->(8),(8)", 3, 2,   \
	  { 8, 8, 1, 8, 8 }, call_##op##_##version },
#define LIST_UTIL_EST(version)                                              \
	{ "util_est_" #version, "(3),(),(),(),(),(),()->(3),(),(),(),()", 7, 5, \
	  { 3, 1, 1, 1, 1, 1, 1, 3, 1, 1, 1, 1 }, call_util_est_##version },
#define LIST_CLOCK_PELT(version)                                            \
	{ "clock_pelt_" #version, "(5),(),(),(),(),(),(),()->(5)", 8, 1,    \
	  { 5, 1, 1, 1, 1, 1, 1, 1, 5 }, call_clock_pelt_##version },

static struct step step_list[] = {
	ATTACH_FORMS(LIST_ATTACH)
	UTIL_EST_FORMS(LIST_UTIL_EST)
	CLOCK_PELT_FORMS(LIST_CLOCK_PELT)
};

_Static_assert(ENTRIES(struct pelt_avg) == 8, "signature of attach");
_Static_assert(ENTRIES(struct util_est_state) == 3 && ENTRIES(struct util_est_stay) == 6 &&
	       ENTRIES(struct util_est_seen) == 4, "signature of util_est");
_Static_assert(ENTRIES(struct clock_pelt) == 5 && ENTRIES(struct clock_pelt_step) == 7,
	       "signature of clock_pelt");

enum { STEPS = sizeof(step_list) / sizeof(step_list[0]) };

/* NumPy gives the steps of the loop first, then that along the row of each operand that has one. */
static void step_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)
{
	const struct step *step = data;
	const npy_intp n = dimensions[0];
	const int operands = step->nin + step->nout;
	npy_intp along[OPERANDS_MAX];
	char *at[OPERANDS_MAX];

	for (int o = 0, rows = 0; o < operands; o++) {
		at[o] = args[o];
		along[o] = step->entries[o] > 1 ? steps[operands + rows++] : 0;
	}
	for (npy_intp i = 0; i < n; i++) {
		u64 in[ENTRIES_MAX], out[ENTRIES_MAX];
		const u64 *result = out;
		u64 *argument = in;

		for (int o = 0; o < step->nin; o++)
			for (int e = 0; e < step->entries[o]; e++)
				*argument++ = *(const u64 *)(at[o] + e * along[o]);
		step->call(in, out);
		for (int o = step->nin; o < operands; o++)
			for (int e = 0; e < step->entries[o]; e++)
				*(u64 *)(at[o] + e * along[o]) = *result++;
		for (int o = 0; o < operands; o++)
			at[o] += steps[o];
	}
}

static PyUFuncGenericFunction step_loops[] = { step_loop };
static const char step_types[OPERANDS_MAX] = {
	NPY_UINT64, NPY_UINT64, NPY_UINT64, NPY_UINT64, NPY_UINT64, NPY_UINT64,
	NPY_UINT64, NPY_UINT64, NPY_UINT64, NPY_UINT64, NPY_UINT64, NPY_UINT64,
};
static void *step_data[STEPS][1];

int add_entity(PyObject *module)
{
	for (int i = 0; i < STEPS; i++) {
		struct step *step = &step_list[i];
		PyObject *ufunc;
		int failed;

		step_data[i][0] = step;
		ufunc = PyUFunc_FromFuncAndDataAndSignature(step_loops, step_data[i], step_types, 1,
							    step->nin, step->nout, PyUFunc_None,
							    step->name, NULL, 0, step->signature);
		failed = PyModule_AddObjectRef(module, step->name, ufunc);
		Py_XDECREF(ufunc);
		if (failed)
			return -1;
	}
	return 0;
}
