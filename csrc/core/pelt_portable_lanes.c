/* SPDX-License-Identifier: GPL-2.0-only */
/* A single lane in plain C: no vectors, but the body's arithmetic without branches. */
#include "pelt_lanes_parts.h"

#define WIDTH 1
#define TARGET
#define OPERATION ALWAYS_INLINE

typedef u64 vec;
/* All ones or zero. */
typedef u64 flags;
typedef u8 flags_row;

OPERATION vec vec_set(u64 x)
{
	return x;
}

OPERATION vec vec_load(const u64 *from)
{
	return *from;
}

OPERATION void vec_store(u64 *to, vec a)
{
	*to = a;
}

OPERATION vec vec_add(vec a, vec b)
{
	return a + b;
}

OPERATION vec vec_sub(vec a, vec b)
{
	return a - b;
}

OPERATION vec vec_and(vec a, vec b)
{
	return a & b;
}

OPERATION vec vec_or(vec a, vec b)
{
	return a | b;
}

OPERATION vec vec_shr(vec a, unsigned int n)
{
	return a >> n;
}

OPERATION vec vec_shl(vec a, unsigned int n)
{
	return a << n;
}

/* As vectors have it: nothing is left beyond 63. */
OPERATION vec vec_shrv(vec a, vec n)
{
	return n < 64 ? a >> n : 0;
}

/* Of the low 32 bits of each. */
OPERATION vec vec_mul(vec a, vec b)
{
	return (u64)(u32)a * (u32)b;
}

OPERATION bool vec_is_zero(vec a)
{
	return a == 0;
}

/* Of so many windows: the factor, one for no window; and what load_avg_max loses by it. */
struct table {
	u64 factor[32];
	u64 lost[32];
	u64 whole;		/* the factor of a whole number of half-lives */
};

struct factor {
	u64 factor;
	u64 lost;
	bool decays;
};

OPERATION struct table table_of(const u32 *factors, u32 highest)
{
	struct table t;

	for (int i = 0; i < 32; i++) {
		t.factor[i] = i ? factors[i] : 1ull << 32;
		t.lost[i] = i ? highest - (u32)(((u64)highest * factors[i]) >> 32) : 0;
	}
	t.whole = factors[0];
	return t;
}

OPERATION struct factor factor_of(vec passed, const struct table *table, bool near)
{
	struct factor f = { table->factor[passed & 31], table->lost[passed & 31], passed != 0 };

	if (!near && (passed & 31) == 0 && passed)
		f.factor = table->whole;
	return f;
}

/* A sum has 32 bits and a factor up to 33, one exactly: the product fits. */
OPERATION vec vec_decay(vec sum, vec halvings, struct factor f, bool near)
{
	return ((near ? sum : vec_shrv(sum, halvings)) * f.factor) >> 32;
}

OPERATION vec vec_lost(vec highest, vec halvings, struct factor f, bool near)
{
	return near ? f.lost : highest - vec_decay(highest, halvings, f, false);
}

OPERATION vec vec_add_if(vec sum, flags set, vec added)
{
	return sum + (added & set);
}

OPERATION vec vec_refreshed(vec average, struct factor f, vec now)
{
	return f.decays ? now : average;
}

OPERATION vec vec_quotient(vec a, vec b)
{
	return (u32)a / (u32)b;
}

OPERATION vec vec_long_quotient(vec a, vec b)
{
	return a >> 32 ? a / b : (u32)a / (u32)b;
}

OPERATION flags flags_both(flags a, flags b)
{
	return a & b;
}

OPERATION flags flags_nonzero(vec a)
{
	return 0 - (u64)(a != 0);
}

OPERATION flags flags_of(flags_row row, int i)
{
	(void)i;
	return 0 - (u64)(row != 0);
}

OPERATION flags_row flags_turn_in(const u8 *const *from)
{
	return *from[0];
}

OPERATION void vec_turn_in(vec *to, const u64 *const *from)
{
	to[0] = *from[0];
}

OPERATION void vec_turn_out(u64 *const *to, vec *rows)
{
	*to[0] = rows[0];
}

#include "pelt_lanes_body.h"

DEFINE_PATH(portable)
