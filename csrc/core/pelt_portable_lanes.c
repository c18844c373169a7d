/* SPDX-License-Identifier: GPL-2.0-only */
/* A single lane in plain C: no vectors, but the body's arithmetic without branches, block by block. */
#include "pelt_lanes_parts.h"

#define WIDTH 1
#define BLOCK 32
#define UNROLLED
#define TARGET
#define OPERATION ALWAYS_INLINE

typedef u64 vec;
/* All ones or zero. */
typedef u64 flags;
typedef struct {
	u8 set[BLOCK];
} flags_row;

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

/* Of n below 64. */
OPERATION vec vec_shrv(vec a, vec n)
{
	return a >> n;
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
};

struct factor {
	u64 halvings;		/* 32: nothing of a sum is left */
	u64 factor;
	u64 lost;
};

OPERATION struct table table_of(const u32 *factors, u32 highest)
{
	struct table t;

	for (int i = 0; i < 32; i++) {
		t.factor[i] = i ? factors[i] : 1ull << 32;
		t.lost[i] = i ? highest - (u32)(((u64)highest * factors[i]) >> 32) : 0;
	}
	return t;
}

OPERATION struct factor factor_of(vec passed, vec half_lives, const struct table *table, bool near)
{
	const u64 halvings = passed >> half_lives;
	struct factor f = { 0, table->factor[passed & 31], table->lost[passed & 31] };

	if (!near) {
		f.halvings = halvings < 32 ? halvings : 32;
		/* A whole number of half-lives has the entry of no window. */
		f.factor -= (f.factor >> 32) & (u64)(passed != 0);
	}
	return f;
}

/* A sum has 32 bits and a factor up to 33, one exactly: the product fits. */
OPERATION vec vec_decay(vec sum, struct factor f, bool near)
{
	return ((near ? sum : sum >> f.halvings) * f.factor) >> 32;
}

OPERATION vec vec_lost(vec highest, struct factor f, bool near)
{
	return near ? f.lost : highest - vec_decay(highest, f, false);
}

OPERATION vec vec_add_if(vec sum, flags set, vec added)
{
	return sum + (added & set);
}

/* Only the factor of no window has bit 32. */
OPERATION vec vec_refreshed(vec average, struct factor f, vec now)
{
	return average ^ ((average ^ now) & ((f.factor >> 32) - 1));
}

typedef u32 divider;

OPERATION divider divider_of(vec div, const struct table *table)
{
	(void)table;
	return (u32)div;
}

OPERATION vec vec_quotient(vec a, divider by)
{
	return (u32)a / by;
}

OPERATION vec vec_long_quotient(vec a, divider by)
{
	return a >> 32 ? a / by : (u32)a / by;
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
	return 0 - (u64)(row.set[i] != 0);
}

OPERATION flags_row flags_turn_in(const u8 *const *from)
{
	flags_row row;

	memcpy(row.set, from[0], sizeof(row.set));
	return row;
}

OPERATION void vec_turn_in(vec *to, const u64 *const *from)
{
	memcpy(to, from[0], BLOCK * sizeof(*to));
}

OPERATION void vec_turn_out(u64 *const *to, vec *rows)
{
	memcpy(to[0], rows, BLOCK * sizeof(*rows));
}

#include "pelt_lanes_body.h"

DEFINE_PATH(portable)
