/* SPDX-License-Identifier: GPL-2.0-only */
/* The shapes of the jiffies functions without Python: a few known answers, and inputs that must not trap. */
#include "check.h"
#include "core/jiffies.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const u64 extremes[] = {
	0, 1, 63, 64, 65, 999, UINT32_MAX, 1ULL << 32, INT64_MAX, 1ULL << 63, UINT64_MAX,
};

static u64 of_five(u64 x, u64 mul, u64 add, u64 by, u64 word)
{
	return jiffies_scaled_div_uint(x, mul, add, x, by, word) + jiffies_scaled_div_ulong(x, mul, add, x, by, word) +
	       (u64)jiffies_scaled_div_long(x, mul, add, x, by, word) + jiffies_scaled_shr_uint(x, mul, add, by, word) +
	       jiffies_scaled_div_wraps(x, mul, add, by, word, add) +
	       jiffies_scaled_shr_wraps(x, mul, add, by, word, add) +
	       jiffies_timeout_div(x, add, by, mul, add, x, by, word) +
	       jiffies_timeout_div_wraps(x, add, by, mul, add, by, word) +
	       jiffies_timeout_shr(x, add, by, mul, add, by, word) +
	       jiffies_timeout_shr_wraps(x, add, by, mul, add, by, word) +
	       timespec64_to_jiffies((s64)x, mul, add, by, word, mul, (u32)add, (u32)by);
}

/* What only the sanitizers can fail. */
static void test_extremes(void)
{
	const size_t n = COUNT(extremes);
	volatile u64 sum = 0;
	s64 sec, nsec;

	for (size_t k = 0; k < n * n * n * n * n; k++)
		sum += of_five(extremes[k % n], extremes[k / n % n], extremes[k / n / n % n],
			       extremes[k / n / n / n % n], extremes[k / n / n / n / n]);
	for (size_t k = 0; k < n * n; k++) {
		jiffies_to_timespec64(extremes[k % n], extremes[k / n], &sec, &nsec);
		sum += (u64)sec + (u64)nsec + jiffies_to_timespec64_wraps(extremes[k % n], extremes[k / n]);
	}
}

int main(void)
{
	s64 sec, nsec;

	test_extremes();
	/* 3 and 10 as their reciprocals: (2^64 + m) / 2^(64+l) is a little above 1 / d. */
	check("jiffies_to_msecs(1), HZ=300", jiffies_scaled_div_uint(1, 10, 2, UINT64_MAX / 3 + 1, 2, UINT64_MAX), 4);
	check("jiffies64_to_msecs(1), HZ=300", jiffies_scaled_div(1, 10, 0, UINT64_MAX / 3 + 1, 2, UINT64_MAX), 3);
	check("largest / 3", div_by_reciprocal(UINT64_MAX, UINT64_MAX / 3 + 1, 2), UINT64_MAX / 3);
	check("largest / 1", div_by_reciprocal(UINT64_MAX, 1, 0), UINT64_MAX);
	check("finite", jiffies_timeout_div(11, INT32_MAX, 7, 1, 0, 1, 0, UINT64_MAX), 11);
	check("infinite", jiffies_timeout_div(1ULL << 31, INT32_MAX, 7, 1, 0, 1, 0, UINT64_MAX), 7);
	check("clock_t of 32 bits", (u64)jiffies_scaled_div_long(UINT32_MAX, 1, 0, 1, 0, UINT32_MAX), UINT64_MAX);
	jiffies_to_timespec64(251, 4000000, &sec, &nsec);
	check("sec", (u64)sec, 1);
	check("nsec", (u64)nsec, 4000000);
	return verdict("jiffies");
}
