/* SPDX-License-Identifier: GPL-2.0-only */
#include "path.h"

const char *path_name(enum path path)
{
	switch (path) {
	case PATH_PORTABLE:
		return "portable";
	case PATH_AVX2:
		return "avx2";
	case PATH_AVX512:
		return "avx512";
	default:
		return "";
	}
}

bool path_works(enum path path)
{
	switch (path) {
	case PATH_PORTABLE:
		return true;
#if defined(__x86_64__)
	case PATH_AVX2:
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
	case PATH_AVX512:
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
		       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
		       __builtin_cpu_supports("bmi2");
#endif
	default:
		return false;
	}
}
