/* SPDX-License-Identifier: GPL-2.0-only */
/* Which instructions serve where there is a choice: a matter of the machine, found at run time. */
#ifndef SCHEDPY_PATH_H
#define SCHEDPY_PATH_H

#include "types.h"

/* The best last. */
enum path { PATH_PORTABLE, PATH_AVX2, PATH_AVX512, PATHS };

/* Functions compiled for a path. */
#define TARGET_AVX2 __attribute__((target("avx2,bmi2")))
#define TARGET_AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,bmi2,prefer-vector-width=512")))

const char *path_name(enum path path);
bool path_works(enum path path);

#endif
