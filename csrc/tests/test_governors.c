/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The idle governors without Python: facts that are known, and idles, tables
 * and words of state of every kind, which must neither trap nor leave the
 * table, in one run or in two.
 */
#include "check.h"

#include <string.h>

#include "core/haltpoll.h"
#include "core/ladder.h"
#include "core/menu.h"
#include "core/teo.h"

#define IDLES 64
#define ROUNDS 2000
#define WORDS_MAX 64

static u64 random_state = 88172645463325252ull;

static u64 random_word(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Of any magnitude, sometimes negative. */
static s64 random_time(void)
{
	return (s64)(random_word() >> (random_word() % 64));
}

struct columns {
	s64 sleep[IDLES], wake[IDLES], latency[IDLES], delta_tick[IDLES];
	u64 nr_iowaiters[IDLES], cpu_load[IDLES];
	u8 tick_stopped[IDLES], got_tick[IDLES], poll_time_limit[IDLES];
};

static void fill(struct columns *c)
{
	for (int k = 0; k < IDLES; k++) {
		c->sleep[k] = random_time();
		c->wake[k] = random_time();
		c->latency[k] = random_word() % 2 ? 2000000000 : random_time();
		c->delta_tick[k] = random_time();
		c->nr_iowaiters[k] = random_word() >> (random_word() % 64);
		c->cpu_load[k] = random_word() >> (random_word() % 64);
		c->tick_stopped[k] = random_word() % 2;
		c->got_tick[k] = random_word() % 2;
		c->poll_time_limit[k] = random_word() % 2;
	}
}

static struct idle_events events_from(const struct columns *c, size_t first)
{
	return (struct idle_events){
		.sleep = c->sleep + first, .wake = c->wake + first, .latency_us = c->latency + first,
		.delta_tick = c->delta_tick + first, .nr_iowaiters = c->nr_iowaiters + first,
		.cpu_load = c->cpu_load + first, .tick_stopped = c->tick_stopped + first,
		.got_tick = c->got_tick + first, .poll_time_limit = c->poll_time_limit + first,
	};
}

static struct idle_table random_table(void)
{
	struct idle_table t = { .nr_states = 1 + (u32)(random_word() % IDLE_STATES_MAX) };

	t.first = t.nr_states > 1 ? (u32)(random_word() % 2) : 0;
	for (u32 i = 0; i < t.nr_states; i++) {
		t.exit_latency[i] = (s64)(random_word() % 4294967296u) * 1000 >> (random_word() % 42);
		t.target_residency[i] = (s64)(random_word() % 4294967296u) * 1000 >> (random_word() % 42);
		t.polling[i] = random_word() % 4 == 0;
		t.disabled[i] = random_word() % 4 == 0;
	}
	return t;
}

static const struct form {
	const char *name;
	size_t words;
	idle_run_fn *run;
	idle_wrong_fn *wrong;
} forms[] = {
	{ "menu 4.7", sizeof(struct menu) / sizeof(u64), menu_run_v4_7, menu_wrong_v4_7 },
	{ "menu 6.1", sizeof(struct menu) / sizeof(u64), menu_run_v6_1, menu_wrong_v6_1 },
	{ "menu 6.19", sizeof(struct menu) / sizeof(u64), menu_run_v6_19, menu_wrong_v6_19 },
	{ "teo 6.1", sizeof(struct teo_v6_1) / sizeof(u64), teo_run_v6_1, teo_wrong_v6_1 },
	{ "teo 6.19", sizeof(struct teo_v6_19) / sizeof(u64), teo_run_v6_19, teo_wrong_v6_19 },
	{ "ladder 4.7", sizeof(struct ladder) / sizeof(u64), ladder_run_v4_7, ladder_wrong_v4_7 },
	{ "ladder 6.1", sizeof(struct ladder) / sizeof(u64), ladder_run_v6_1, ladder_wrong_v6_1 },
	{ "haltpoll", sizeof(struct haltpoll) / sizeof(u64), haltpoll_run_v6_1, haltpoll_wrong_v6_1 },
};
#define TEO_V6_1 3
#define HALTPOLL 7

/* Words of any kind where the governor can have them, small ones mostly; else it has seen nothing yet. */
static void random_governor(const struct form *form, u64 *words, u32 nr_states)
{
	struct teo_v6_1 teo = { 0 };

	for (size_t i = 0; i < form->words; i++)
		words[i] = random_word() % 8 ? random_word() % 3 : random_word() >> (random_word() % 64);
	if (random_word() % 2 && !form->wrong(words, nr_states))
		return;
	memset(words, 0, form->words * sizeof(*words));
	if (form == &forms[TEO_V6_1]) {
		memset(teo.recent_idx, -1, sizeof(teo.recent_idx));
		memcpy(words, &teo, sizeof(teo));
	}
}

static void run_anything(const struct form *form)
{
	struct idle_params params = {
		.residency = (enum idle_residency)(random_word() % IDLE_RESIDENCIES),
		.adds_latency = random_word() % 2, .tick_has_just_been = random_word() % 2, .tick = 4000000,
	};
	struct idle_table t = random_table();
	u64 whole[WORDS_MAX], pieces[WORDS_MAX];
	s64 selected[IDLES], again[IDLES];
	struct idle_history out = { .selected = selected };
	struct columns c;
	const size_t cut = random_word() % IDLES;
	struct idle_events ev;

	if (form == &forms[HALTPOLL] && t.nr_states < 2)
		return;
	random_governor(form, whole, t.nr_states);
	memcpy(pieces, whole, sizeof(whole));
	fill(&c);

	ev = events_from(&c, 0);
	form->run(whole, &t, &params, IDLES, &ev, &out);
	out.selected = again;
	form->run(pieces, &t, &params, cut, &ev, &out);
	out.selected = again + cut;
	ev = events_from(&c, cut);
	form->run(pieces, &t, &params, IDLES - cut, &ev, &out);

	for (int k = 0; k < IDLES; k++) {
		if (selected[k] < 0 || selected[k] >= (s64)t.nr_states)
			check(form->name, (u64)selected[k], t.nr_states);
	}
	check(form->name, memcmp(selected, again, sizeof(selected)) == 0, true);
	check(form->name, memcmp(whole, pieces, form->words * sizeof(u64)) == 0, true);
	check(form->name, form->wrong(whole, t.nr_states) == NULL, true);
}

static void check_typical(void)
{
	const u64 alone[MENU_INTERVALS] = { 1000, 1000, 1000, 5, 1000, 1000, 1000, 1000 };
	const u64 largest[MENU_INTERVALS] = { IDLE_UINT_MAX, IDLE_UINT_MAX, IDLE_UINT_MAX, IDLE_UINT_MAX,
					      IDLE_UINT_MAX, IDLE_UINT_MAX, IDLE_UINT_MAX, IDLE_UINT_MAX };
	const u64 none[MENU_INTERVALS] = { 0 };

	check("4.7 of seven 1000 and a 5", typical_interval_v4_7(alone), 5);
	check("6.1 of seven 1000 and a 5", typical_interval_v6_1(alone, IDLE_UINT_MAX), 5);
	check("6.19 of seven 1000 and a 5", typical_interval_v6_19(alone), 1000);
	check("4.7 of the largest", typical_interval_v4_7(largest), IDLE_UINT_MAX);
	check("6.1 of the largest", typical_interval_v6_1(largest, IDLE_UINT_MAX), IDLE_UINT_MAX);
	check("6.19 of the largest", typical_interval_v6_19(largest), IDLE_UINT_MAX);
	check("4.7 of nothing", typical_interval_v4_7(none), 0);
	check("6.1 of nothing", typical_interval_v6_1(none, 0), IDLE_UINT_MAX);
	check("6.19 of nothing", typical_interval_v6_19(none), IDLE_UINT_MAX);
}

int main(void)
{
	check_typical();
	for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
		for (int round = 0; round < ROUNDS; round++)
			run_anything(&forms[f]);
	}
	return verdict("governors");
}
