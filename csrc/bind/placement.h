/* SPDX-License-Identifier: GPL-2.0-only */
/* Placement cases as Python hands them over. */
#ifndef SCHEDPY_PLACEMENT_H
#define SCHEDPY_PLACEMENT_H

#include "bind.h"

#include "core/eas.h"

/* The operands of a case, in their order; cpus is the first of the elements that a case has in a row. */
enum { TASK, CPUS, DOMAIN_MASK, UCLAMP_USED, OVERUTILIZED, CASE_OPERANDS };

/* PyMem_Free() it; NULL with an exception set. */
struct em_perf_domain *open_model(PyObject *model);

/* From pointers to the operands of one case. */
void read_case(struct eas_case *c, char *const *p);

#endif
