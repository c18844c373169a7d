/* SPDX-License-Identifier: GPL-2.0-only */
/* Counting keys, for one path: PATH, its TARGET, and the WIDTH of its vectors in words of 32 bits; FEW if it has a way of its own for few keys. */
#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define OF_PATH(name) JOIN(name, PATH)
#define INLINE static inline __attribute__((always_inline)) TARGET

#define requests OF_PATH(requests)
typedef s32 requests __attribute__((vector_size(4 * WIDTH)));

INLINE void OF_PATH(as_keys)(const u64 *request, s32 *key)
{
	for (size_t i = 0; i < EM_SEARCH_BLOCK; i++) {
		const u32 low = request[i] < EM_NEVER ? (u32)request[i] : EM_NEVER;

		key[i] = (s32)(low ^ 0x80000000u);
	}
}

/* How many keys lie below each of EM_SEARCH_BLOCK requests. */
INLINE void OF_PATH(count_below)(const struct em_search *search, const u64 *request, s32 *below)
{
	s32 key[EM_SEARCH_BLOCK];

	OF_PATH(as_keys)(request, key);
	for (size_t i = 0; i < EM_SEARCH_BLOCK; i += 4 * WIDTH) {
		requests r0, r1, r2, r3, c0 = { 0 }, c1 = { 0 }, c2 = { 0 }, c3 = { 0 };

		memcpy(&r0, key + i, sizeof(r0));
		memcpy(&r1, key + i + WIDTH, sizeof(r1));
		memcpy(&r2, key + i + 2 * WIDTH, sizeof(r2));
		memcpy(&r3, key + i + 3 * WIDTH, sizeof(r3));
		for (size_t k = 0; k < search->n; k++) {
			/* True is -1. */
			c0 -= r0 > search->key[k];
			c1 -= r1 > search->key[k];
			c2 -= r2 > search->key[k];
			c3 -= r3 > search->key[k];
		}
		memcpy(below + i, &c0, sizeof(c0));
		memcpy(below + i + WIDTH, &c1, sizeof(c1));
		memcpy(below + i + 2 * WIDTH, &c2, sizeof(c2));
		memcpy(below + i + 3 * WIDTH, &c3, sizeof(c3));
	}
}

INLINE bool OF_PATH(any_above)(const u64 *request, size_t count, u64 highest)
{
	u64 above = 0;

	if (highest == UINT64_MAX)
		return false;
	for (size_t i = 0; i < count; i++)
		above |= request[i] > highest;
	return above;
}

static TARGET bool OF_PATH(find_states)(const struct em_search *search, const u64 *request, size_t count,
					s64 *state)
{
	u64 filled[EM_SEARCH_BLOCK];
	s32 below[EM_SEARCH_BLOCK];

	if (OF_PATH(any_above)(request, count, search->highest))
		return false;
	request = whole_block(request, count, filled);
#ifdef FEW
	if (search->n < EM_SEARCH_FEW) {
		FEW(states)(search, request, state);
		return true;
	}
#endif
	OF_PATH(count_below)(search, request, below);
	for (size_t i = 0; i < EM_SEARCH_BLOCK; i++)
		state[i] = search->state[below[i]];
	return true;
}

INLINE void OF_PATH(find_costs)(const struct em_search *search, const u64 *max_util, u64 *cost)
{
	s32 below[EM_SEARCH_BLOCK];

#ifdef FEW
	if (search->n < EM_SEARCH_FEW) {
		FEW(costs)(search, max_util, cost);
		return;
	}
#endif
	OF_PATH(count_below)(search, max_util, below);
	for (size_t i = 0; i < EM_SEARCH_BLOCK; i++)
		cost[i] = search->cost[below[i]];
}

static TARGET bool OF_PATH(find_energies)(const struct em_search *search, const u64 *max_util,
					  const u64 *sum_util, size_t count, u64 *energy)
{
	u64 filled[EM_SEARCH_BLOCK];

	if (OF_PATH(any_above)(max_util, count, search->highest))
		return false;
	OF_PATH(find_costs)(search, whole_block(max_util, count, filled), energy);
	for (size_t i = 0; i < count; i++)
		energy[i] *= sum_util[i];
	divide(energy, count, search->divisor);
	return true;
}

#ifdef FEW
#undef FEW
#endif
#undef requests
#undef INLINE
#undef OF_PATH
#undef JOIN
#undef JOIN_
#undef PATH
#undef TARGET
#undef WIDTH
