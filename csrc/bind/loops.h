/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One loop macro per shape of function: LOOP_2_1 makes the ufunc loop of a
 * function with two arguments and a result, LOOP_3_2 that of one with three
 * arguments and two results behind pointers. A loop does addressing and one
 * call, no arithmetic.
 *
 * Types are u64, s64, u32 and b8, a bool as NumPy stores it.
 *
 * Length and steps are copied to locals first: read through the pointer they
 * may alias the stores, and nothing vectorises. The contiguous case, and that
 * of an array with constant further arguments, have loops of their own for
 * the same reason.
 */
#ifndef SCHEDPY_LOOPS_H
#define SCHEDPY_LOOPS_H

#include "bind.h"
#include "path.h"

#include "core/conversion_lanes.h"

#define C_u64 npy_uint64
#define C_s64 npy_int64
#define C_u32 npy_uint32
#define C_b8 npy_bool
#define TYPE_u64 NPY_UINT64
#define TYPE_s64 NPY_INT64
#define TYPE_u32 NPY_UINT32
#define TYPE_b8 NPY_BOOL

/*
 * Loops that vectorise are built three times, and the machine's best is taken
 * when the module is loaded, which is glibc's doing. Not under a sanitizer, which is not ready then.
 */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
	__GNUC__ >= 12 && !defined(__SANITIZE_ADDRESS__)
#define CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define CLONES
#endif

#define LOOP_HEAD(fn) \
	static void fn##_loop(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data)

#define LOOP_1_1(fn, A, R) EACH_1_1(fn, fn, A, R)
#define EACH_1_1(name, fn, A, R)                                                        \
	CLONES LOOP_HEAD(name)                                                          \
	{                                                                               \
		const npy_intp n = dimensions[0], sa = steps[0], sr = steps[1];         \
		char *a = args[0], *r = args[1];                                        \
		(void)data;                                                             \
		if (sa == sizeof(C_##A) && sr == sizeof(C_##R)) {                       \
			for (npy_intp i = 0; i < n; i++)                                \
				((C_##R *)r)[i] = fn(((const C_##A *)a)[i]);            \
			return;                                                         \
		}                                                                       \
		for (npy_intp i = 0; i < n; i++, a += sa, r += sr)                      \
			*(C_##R *)r = fn(*(const C_##A *)a);                            \
	}

#define LOOP_2_1(fn, A, B, R)                                                           \
	CLONES LOOP_HEAD(fn)                                                                   \
	{                                                                               \
		const npy_intp n = dimensions[0], sa = steps[0], sb = steps[1], sr = steps[2]; \
		char *a = args[0], *b = args[1], *r = args[2];                          \
		(void)data;                                                             \
		if (sa == sizeof(C_##A) && sb == sizeof(C_##B) && sr == sizeof(C_##R)) { \
			for (npy_intp i = 0; i < n; i++)                                \
				((C_##R *)r)[i] = fn(((const C_##A *)a)[i], ((const C_##B *)b)[i]); \
			return;                                                         \
		}                                                                       \
		if (sa == sizeof(C_##A) && sb == 0 && sr == sizeof(C_##R) && n > 0) {   \
			const C_##B vb = *(const C_##B *)b;                             \
			for (npy_intp i = 0; i < n; i++)                                \
				((C_##R *)r)[i] = fn(((const C_##A *)a)[i], vb);        \
			return;                                                         \
		}                                                                       \
		for (npy_intp i = 0; i < n; i++, a += sa, b += sb, r += sr)             \
			*(C_##R *)r = fn(*(const C_##A *)a, *(const C_##B *)b);         \
	}

#define LOOP_3_1(fn, A, B, C, R) EACH_3_1(fn, fn, A, B, C, R)
#define EACH_3_1(name, fn, A, B, C, R)                                                  \
	CLONES LOOP_HEAD(name)                                                          \
	{                                                                               \
		const npy_intp n = dimensions[0];                                       \
		const npy_intp sa = steps[0], sb = steps[1], sc = steps[2], sr = steps[3]; \
		char *a = args[0], *b = args[1], *c = args[2], *r = args[3];            \
		(void)data;                                                             \
		if (sa == sizeof(C_##A) && sb == 0 && sc == 0 && sr == sizeof(C_##R) && n > 0) { \
			const C_##B vb = *(const C_##B *)b;                             \
			const C_##C vc = *(const C_##C *)c;                             \
			for (npy_intp i = 0; i < n; i++)                                \
				((C_##R *)r)[i] = fn(((const C_##A *)a)[i], vb, vc);    \
			return;                                                         \
		}                                                                       \
		for (npy_intp i = 0; i < n; i++, a += sa, b += sb, c += sc, r += sr)    \
			*(C_##R *)r = fn(*(const C_##A *)a, *(const C_##B *)b, *(const C_##C *)c); \
	}

#define LOOP_4_1(fn, A, B, C, D, R)                                                     \
	LOOP_HEAD(fn)                                                                   \
	{                                                                               \
		const npy_intp n = dimensions[0], sa = steps[0], sb = steps[1], sc = steps[2]; \
		const npy_intp sd = steps[3], sr = steps[4];                            \
		char *a = args[0], *b = args[1], *c = args[2], *d = args[3], *r = args[4]; \
		(void)data;                                                             \
		for (npy_intp i = 0; i < n; i++, a += sa, b += sb, c += sc, d += sd, r += sr) \
			*(C_##R *)r = fn(*(const C_##A *)a, *(const C_##B *)b, *(const C_##C *)c, \
					 *(const C_##D *)d);                            \
	}

#define LOOP_2_3(fn, A, B, R, S, T)                                                     \
	LOOP_HEAD(fn)                                                                   \
	{                                                                               \
		const npy_intp n = dimensions[0], sa = steps[0], sb = steps[1];         \
		const npy_intp sr = steps[2], ss = steps[3], st = steps[4];             \
		char *a = args[0], *b = args[1], *r = args[2], *s = args[3], *t = args[4]; \
		(void)data;                                                             \
		for (npy_intp i = 0; i < n; i++, a += sa, b += sb, r += sr, s += ss, t += st) \
			fn(*(const C_##A *)a, *(const C_##B *)b, (C_##R *)r, (C_##S *)s, (bool *)t); \
	}

#define LOOP_3_2(fn, A, B, C, R, S)                                                     \
	LOOP_HEAD(fn)                                                                   \
	{                                                                               \
		const npy_intp n = dimensions[0], sa = steps[0], sb = steps[1], sc = steps[2]; \
		const npy_intp sr = steps[3], ss = steps[4];                            \
		char *a = args[0], *b = args[1], *c = args[2], *r = args[3], *s = args[4]; \
		(void)data;                                                             \
		for (npy_intp i = 0; i < n; i++, a += sa, b += sb, c += sc, r += sr, s += ss) \
			fn(*(const C_##A *)a, *(const C_##B *)b, *(const C_##C *)c, (C_##R *)r, (C_##S *)s); \
	}

/* Functions of many arguments: ARG(k, type) is argument k of element i. */
#define LOCALS(count)                                                                   \
	const npy_intp n = dimensions[0];                                               \
	npy_intp step[count];                                                           \
	char *arg[count];                                                               \
	(void)data;                                                                     \
	memcpy(step, steps, sizeof(step));                                              \
	memcpy(arg, args, sizeof(arg))
#define ARG(k, T) (*(C_##T *)(arg[k] + i * step[k]))

#define LOOP_13_2(fn, A, B, C, D, E, F, G, H, I, J, K, L, M, R, S)                      \
	LOOP_HEAD(fn)                                                                   \
	{                                                                               \
		LOCALS(15);                                                             \
		for (npy_intp i = 0; i < n; i++)                                        \
			fn(ARG(0, A), ARG(1, B), ARG(2, C), ARG(3, D), ARG(4, E), ARG(5, F), ARG(6, G), \
			   ARG(7, H), ARG(8, I), ARG(9, J), ARG(10, K), ARG(11, L), ARG(12, M), \
			   &ARG(13, R), &ARG(14, S));                                   \
	}

/* A rule of one argument and its constants: those that do not change are read once. */
#define LOOP_5_1(fn, A, B, C, D, E, R)							\
	CLONES LOOP_HEAD(fn)								\
	{										\
		LOCALS(6);								\
		if (n > 0 && step[0] == sizeof(C_##A) && step[5] == sizeof(C_##R) &&	\
		    !(step[1] | step[2] | step[3] | step[4])) {				\
			const npy_intp i = 0;						\
			const C_##A *a = (const C_##A *)arg[0];				\
			const C_##B b = ARG(1, B);					\
			const C_##C c = ARG(2, C);					\
			const C_##D d = ARG(3, D);					\
			const C_##E e = ARG(4, E);					\
			C_##R *r = (C_##R *)arg[5];					\
			for (npy_intp at = 0; at < n; at++)				\
				r[at] = fn(a[at], b, c, d, e);				\
			return;								\
		}									\
		for (npy_intp i = 0; i < n; i++)					\
			ARG(5, R) = fn(ARG(0, A), ARG(1, B), ARG(2, C), ARG(3, D),	\
				       ARG(4, E));					\
	}

#define LOOP_6_1(fn, A, B, C, D, E, F, R) EACH_6_1(fn, fn, A, B, C, D, E, F, R)
#define EACH_6_1(name, fn, A, B, C, D, E, F, R)						\
	CLONES LOOP_HEAD(name)								\
	{										\
		LOCALS(7);								\
		if (n > 0 && step[0] == sizeof(C_##A) && step[6] == sizeof(C_##R) &&	\
		    !(step[1] | step[2] | step[3] | step[4] | step[5])) {		\
			const npy_intp i = 0;						\
			const C_##A *a = (const C_##A *)arg[0];				\
			const C_##B b = ARG(1, B);					\
			const C_##C c = ARG(2, C);					\
			const C_##D d = ARG(3, D);					\
			const C_##E e = ARG(4, E);					\
			const C_##F f = ARG(5, F);					\
			C_##R *r = (C_##R *)arg[6];					\
			for (npy_intp at = 0; at < n; at++)				\
				r[at] = fn(a[at], b, c, d, e, f);			\
			return;								\
		}									\
		for (npy_intp i = 0; i < n; i++)					\
			ARG(6, R) = fn(ARG(0, A), ARG(1, B), ARG(2, C), ARG(3, D),	\
				       ARG(4, E), ARG(5, F));				\
	}

#define LOOP_7_1(fn, A, B, C, D, E, F, G, R)						\
	CLONES LOOP_HEAD(fn)								\
	{										\
		LOCALS(8);								\
		if (n > 0 && step[0] == sizeof(C_##A) && step[7] == sizeof(C_##R) &&	\
		    !(step[1] | step[2] | step[3] | step[4] | step[5] | step[6])) {	\
			const npy_intp i = 0;						\
			const C_##A *a = (const C_##A *)arg[0];				\
			const C_##B b = ARG(1, B);					\
			const C_##C c = ARG(2, C);					\
			const C_##D d = ARG(3, D);					\
			const C_##E e = ARG(4, E);					\
			const C_##F f = ARG(5, F);					\
			const C_##G g = ARG(6, G);					\
			C_##R *r = (C_##R *)arg[7];					\
			for (npy_intp at = 0; at < n; at++)				\
				r[at] = fn(a[at], b, c, d, e, f, g);			\
			return;								\
		}									\
		for (npy_intp i = 0; i < n; i++)					\
			ARG(7, R) = fn(ARG(0, A), ARG(1, B), ARG(2, C), ARG(3, D),	\
				       ARG(4, E), ARG(5, F), ARG(6, G));		\
	}

#define LOOP_8_1(fn, A, B, C, D, E, F, G, H, R)						\
	CLONES LOOP_HEAD(fn)								\
	{										\
		LOCALS(9);								\
		if (n > 0 && step[0] == sizeof(C_##A) && step[8] == sizeof(C_##R) &&	\
		    !(step[1] | step[2] | step[3] | step[4] | step[5] | step[6] | step[7])) {	\
			const npy_intp i = 0;						\
			const C_##A *a = (const C_##A *)arg[0];				\
			const C_##B b = ARG(1, B);					\
			const C_##C c = ARG(2, C);					\
			const C_##D d = ARG(3, D);					\
			const C_##E e = ARG(4, E);					\
			const C_##F f = ARG(5, F);					\
			const C_##G g = ARG(6, G);					\
			const C_##H h = ARG(7, H);					\
			C_##R *r = (C_##R *)arg[8];					\
			for (npy_intp at = 0; at < n; at++)				\
				r[at] = fn(a[at], b, c, d, e, f, g, h);			\
			return;								\
		}									\
		for (npy_intp i = 0; i < n; i++)					\
			ARG(8, R) = fn(ARG(0, A), ARG(1, B), ARG(2, C), ARG(3, D),	\
				       ARG(4, E), ARG(5, F), ARG(6, G), ARG(7, H));	\
	}

#define LOOP_1_3(fn, A, R, S, T)							\
	LOOP_HEAD(fn)									\
	{										\
		LOCALS(4);								\
		for (npy_intp i = 0; i < n; i++)					\
			fn(ARG(0, A), &ARG(1, R), &ARG(2, S), &ARG(3, T));		\
	}

#define LOOP_2_2(fn, A, B, R, S)							\
	LOOP_HEAD(fn)									\
	{										\
		LOCALS(4);								\
		for (npy_intp i = 0; i < n; i++)					\
			fn(ARG(0, A), ARG(1, B), &ARG(2, R), &ARG(3, S));		\
	}

#define LOOP_2_4(fn, A, B, R, S, T, U)							\
	LOOP_HEAD(fn)									\
	{										\
		LOCALS(6);								\
		for (npy_intp i = 0; i < n; i++)					\
			fn(ARG(0, A), ARG(1, B), &ARG(2, R), &ARG(3, S), &ARG(4, T),	\
			   (bool *)&ARG(5, U));						\
	}

#define LOOP_2_5(fn, A, B, R, S, T, U, V)						\
	LOOP_HEAD(fn)									\
	{										\
		LOCALS(7);								\
		for (npy_intp i = 0; i < n; i++)					\
			fn(ARG(0, A), ARG(1, B), &ARG(2, R), &ARG(3, S), &ARG(4, T),	\
			   &ARG(5, U), &ARG(6, V));					\
	}

#define LOOP_3_4(fn, A, B, C, R, S, T, U)						\
	LOOP_HEAD(fn)									\
	{										\
		LOCALS(7);								\
		for (npy_intp i = 0; i < n; i++)					\
			fn(ARG(0, A), ARG(1, B), ARG(2, C), &ARG(3, R), &ARG(4, S),	\
			   &ARG(5, T), &ARG(6, U));					\
	}

#define LOOP_3_5(fn, A, B, C, R, S, T, U, V)						\
	LOOP_HEAD(fn)									\
	{										\
		LOCALS(8);								\
		for (npy_intp i = 0; i < n; i++)					\
			fn(ARG(0, A), ARG(1, B), ARG(2, C), &ARG(3, R), &ARG(4, S),	\
			   &ARG(5, T), &ARG(6, U), &ARG(7, V));				\
	}

#define LOOP_4_2(fn, A, B, C, D, R, S)							\
	LOOP_HEAD(fn)									\
	{										\
		LOCALS(6);								\
		for (npy_intp i = 0; i < n; i++)					\
			fn(ARG(0, A), ARG(1, B), ARG(2, C), ARG(3, D), &ARG(4, R),	\
			   &ARG(5, S));							\
	}

#define LOOP_5_3(fn, A, B, C, D, E, R, S, T)						\
	LOOP_HEAD(fn)									\
	{										\
		LOCALS(8);								\
		for (npy_intp i = 0; i < n; i++)					\
			fn(ARG(0, A), ARG(1, B), ARG(2, C), ARG(3, D), ARG(4, E),	\
			   &ARG(5, R), &ARG(6, S), &ARG(7, T));				\
	}

#define LOOP_10_1(fn, A, B, C, D, E, F, G, H, I, J, R)                                  \
	LOOP_HEAD(fn)                                                                   \
	{                                                                               \
		LOCALS(11);                                                             \
		for (npy_intp i = 0; i < n; i++)                                        \
			ARG(10, R) = fn(ARG(0, A), ARG(1, B), ARG(2, C), ARG(3, D), ARG(4, E), \
					ARG(5, F), ARG(6, G), ARG(7, H), ARG(8, I), ARG(9, J)); \
	}

#define LOOP_14_2(fn, A, B, C, D, E, F, G, H, I, J, K, L, M, N, R, S)                   \
	LOOP_HEAD(fn)                                                                   \
	{                                                                               \
		LOCALS(16);                                                             \
		for (npy_intp i = 0; i < n; i++)                                        \
			fn(ARG(0, A), ARG(1, B), ARG(2, C), ARG(3, D), ARG(4, E), ARG(5, F), ARG(6, G), \
			   ARG(7, H), ARG(8, I), ARG(9, J), ARG(10, K), ARG(11, L), ARG(12, M), \
			   ARG(13, N), &ARG(14, R), &ARG(15, S));                       \
	}

#define LOOP_14_4(fn, A, B, C, D, E, F, G, H, I, J, K, L, M, N, R, S, T, U)             \
	LOOP_HEAD(fn)                                                                   \
	{                                                                               \
		LOCALS(18);                                                             \
		for (npy_intp i = 0; i < n; i++)                                        \
			fn(ARG(0, A), ARG(1, B), ARG(2, C), ARG(3, D), ARG(4, E), ARG(5, F), ARG(6, G), \
			   ARG(7, H), ARG(8, I), ARG(9, J), ARG(10, K), ARG(11, L), ARG(12, M), \
			   ARG(13, N), &ARG(14, R), &ARG(15, S), &ARG(16, T), &ARG(17, U)); \
	}

/*
 * Functions with a row of core/conversion_lanes.h: it takes contiguous arguments with constant further ones where its path is
 * taken, and the loop over each element all others.
 */
#ifdef SCHEDPY_HAS_ROWS
#define ROW_IS_TAKEN(n, others) ((n) > 0 && (others) == 0 && path_taken() == PATH_AVX512)

#define ROWS_1_1(fn, A, R)								\
	EACH_1_1(fn##_each, fn, A, R)							\
	LOOP_HEAD(fn)									\
	{										\
		const bool contiguous = steps[0] == sizeof(C_##A) && steps[1] == sizeof(C_##R); \
		if (contiguous && ROW_IS_TAKEN(dimensions[0], 0))			\
			fn##_row((const C_##A *)args[0], (size_t)dimensions[0], (C_##R *)args[1]); \
		else									\
			fn##_each_loop(args, dimensions, steps, data);			\
	}

#define ROWS_3_1(fn, A, B, C, R)							\
	EACH_3_1(fn##_each, fn, A, B, C, R)						\
	LOOP_HEAD(fn)									\
	{										\
		const bool contiguous = steps[0] == sizeof(C_##A) && steps[3] == sizeof(C_##R); \
		if (contiguous && ROW_IS_TAKEN(dimensions[0], steps[1] | steps[2]))	\
			fn##_row((const C_##A *)args[0], (size_t)dimensions[0], *(C_##B *)args[1], \
				 *(C_##C *)args[2], (C_##R *)args[3]);			\
		else									\
			fn##_each_loop(args, dimensions, steps, data);			\
	}

#define ROWS_6_1(fn, A, B, C, D, E, F, R)						\
	EACH_6_1(fn##_each, fn, A, B, C, D, E, F, R)					\
	LOOP_HEAD(fn)									\
	{										\
		const bool contiguous = steps[0] == sizeof(C_##A) && steps[6] == sizeof(C_##R); \
		const npy_intp others = steps[1] | steps[2] | steps[3] | steps[4] | steps[5]; \
		if (contiguous && ROW_IS_TAKEN(dimensions[0], others))			\
			fn##_row((const C_##A *)args[0], (size_t)dimensions[0], *(C_##B *)args[1], \
				 *(C_##C *)args[2], *(C_##D *)args[3], *(C_##E *)args[4], \
				 *(C_##F *)args[5], (C_##R *)args[6]);			\
		else									\
			fn##_each_loop(args, dimensions, steps, data);			\
	}
#else
#define ROWS_1_1(...) LOOP_1_1(__VA_ARGS__)
#define ROWS_3_1(...) LOOP_3_1(__VA_ARGS__)
#define ROWS_6_1(...) LOOP_6_1(__VA_ARGS__)
#endif

/* The types of a line of functions.h as NumPy's type numbers. */
#define TYPES_1_1(A, R) TYPE_##A, TYPE_##R,
#define TYPES_2_1(A, B, R) TYPE_##A, TYPE_##B, TYPE_##R,
#define TYPES_3_1(A, B, C, R) TYPE_##A, TYPE_##B, TYPE_##C, TYPE_##R,
#define TYPES_4_1(A, B, C, D, R) TYPE_##A, TYPE_##B, TYPE_##C, TYPE_##D, TYPE_##R,
#define TYPES_6_1(A, B, C, D, E, F, R) \
	TYPE_##A, TYPE_##B, TYPE_##C, TYPE_##D, TYPE_##E, TYPE_##F, TYPE_##R,
#define TYPES_1_3(A, R, S, T) TYPE_##A, TYPE_##R, TYPE_##S, TYPE_##T,
#define TYPES_2_2(A, B, R, S) TYPES_1_3(A, B, R, S)
#define TYPES_2_4(A, B, R, S, T, U) TYPES_1_1(A, B) TYPES_1_3(R, S, T, U)
#define TYPES_4_2(A, B, C, D, R, S) TYPES_2_4(A, B, C, D, R, S)
#define TYPES_5_1(A, B, C, D, E, R) TYPES_2_4(A, B, C, D, E, R)
#define TYPES_2_5(A, B, R, S, T, U, V) TYPES_2_1(A, B, R) TYPES_1_3(S, T, U, V)
#define TYPES_3_4(A, B, C, R, S, T, U) TYPES_2_5(A, B, C, R, S, T, U)
#define TYPES_3_5(A, B, C, R, S, T, U, V) TYPES_1_3(A, B, C, R) TYPES_1_3(S, T, U, V)
#define TYPES_5_3(A, B, C, D, E, R, S, T) TYPES_3_5(A, B, C, D, E, R, S, T)
#define TYPES_2_3(A, B, R, S, T) TYPE_##A, TYPE_##B, TYPE_##R, TYPE_##S, TYPE_##T,
#define TYPES_3_2(A, B, C, R, S) TYPE_##A, TYPE_##B, TYPE_##C, TYPE_##R, TYPE_##S,
#define TYPES_8_1(A, B, C, D, E, F, G, H, R) \
	TYPES_3_2(A, B, C, D, E) TYPES_3_1(F, G, H, R)
#define TYPES_7_1(A, B, C, D, E, F, G, R) TYPES_3_2(A, B, C, D, E) TYPES_2_1(F, G, R)
#define TYPES_10_1(A, B, C, D, E, F, G, H, I, J, R) \
	TYPES_8_1(A, B, C, D, E, F, G, H, I) TYPES_1_1(J, R)
#define TYPES_14_2(A, B, C, D, E, F, G, H, I, J, K, L, M, N, R, S) \
	TYPES_8_1(A, B, C, D, E, F, G, H, I) TYPES_3_2(J, K, L, M, N) TYPES_1_1(R, S)
#define TYPES_14_4(A, B, C, D, E, F, G, H, I, J, K, L, M, N, R, S, T, U) \
	TYPES_14_2(A, B, C, D, E, F, G, H, I, J, K, L, M, N, R, S) TYPES_1_1(T, U)
#define TYPES_13_2(A, B, C, D, E, F, G, H, I, J, K, L, M, R, S) \
	TYPES_8_1(A, B, C, D, E, F, G, H, I) TYPES_3_2(J, K, L, M, R) TYPE_##S,

#endif
