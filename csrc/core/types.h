/* SPDX-License-Identifier: GPL-2.0-only */
/* Fixed widths under the kernel's names, and what every core file may rely on. */
#ifndef SCHEDPY_TYPES_H
#define SCHEDPY_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

#endif
