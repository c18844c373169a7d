/* SPDX-License-Identifier: GPL-2.0-only */
/* What a test program says of a value that is not the expected one, and how it ends. */
#ifndef SCHEDPY_CHECK_H
#define SCHEDPY_CHECK_H

#include <inttypes.h>
#include <stdio.h>

#include "core/types.h"

static int failures;

static void check(const char *what, u64 ours, u64 expected)
{
	if (ours == expected)
		return;
	printf("%s: %" PRIu64 ", expected %" PRIu64 "\n", what, ours, expected);
	failures++;
}

/* The program's one line and its exit status. */
static int verdict(const char *name)
{
	printf("%s: %s\n", name, failures ? "FAILED" : "ok");
	return failures != 0;
}

#endif
