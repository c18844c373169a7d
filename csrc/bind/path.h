/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SCHEDPY_BIND_PATH_H
#define SCHEDPY_BIND_PATH_H

#include "bind.h"

#include "core/path.h"

enum path path_taken(void);
/* -1 with an exception: this machine has none of that name. */
int path_named(const char *name);

#endif
