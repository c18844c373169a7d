# SPDX-License-Identifier: GPL-2.0-only
"""The cpuidle governors on Python integers, one idle at a time.

A governor is made for a `Table` and asked by ``select(idle)`` for a state; ``reflect(idle, selected,
measured, residency)`` tells it what came of it. Times are in us for 4.7 and in ns for 6.x.
"""

from dataclasses import dataclass, field

U32, U64, S64_MAX, INT_MAX = 2**32, 2**64, 2**63 - 1, 2**31 - 1
UMAX = U32 - 1


@dataclass
class Table:
    """Exit latencies, target residencies and polling flags, in the kernel's unit."""

    L: list
    R: list
    P: list
    first: int = 0
    disabled: list = field(default_factory=list)

    def __post_init__(self):
        self.n = len(self.L)
        self.disabled = self.disabled or [False] * self.n

    @classmethod
    def of(cls, rows, first, unit, disabled=()):
        """From (exit latency in us, target residency in us, polling) per state; ``unit`` per us."""
        latency, residency, polling = zip(*rows, strict=True)
        return cls(
            [x * unit for x in latency], [x * unit for x in residency], list(polling), first, list(disabled)
        )

    def enabled(self):
        return [i for i in range(self.n) if not self.disabled[i]]

    def shallower(self, idx, limit):
        """The next enabled state below idx whose residency fits; the shallowest enabled one if none does."""
        for i in reversed([i for i in self.enabled() if i < idx]):
            idx = i
            if self.R[i] <= limit:
                break
        return idx


@dataclass
class Idle:
    """What a CPU knows at one select and the reflect after it."""

    sleep: int
    latency: int = 2_000_000_000
    nr_io: int = 0
    load: int = 0
    delta_tick: int = 0
    tick_stopped: bool = False
    got_tick: bool = False
    poll_time_limit: bool = False


def signed(x):
    x %= U64
    return x - U64 if x >= U64 // 2 else x


def divide(a, b):
    """C's quotient: towards zero."""
    return abs(a) // b if a >= 0 else -(abs(a) // b)


def residency_us(measured, how):
    """What 4.7 hands to its governor."""
    return min(divide(measured, 1000) if how == "div1000" else measured % U64 >> 10, INT_MAX)


def residency_ns(measured, how):
    """What 6.x would, had it kept one of the conversions."""
    if how == "ns":
        return measured
    return signed((divide(measured, 1000) if how == "div1000" else measured >> 10) * 1000)


def typical_of(first_limit, least, intervals):
    """menu's repeated pattern up to 6.1: drop the largest until what is left agrees."""
    limit = first_limit
    while True:
        kept = [v for v in intervals if v <= limit]
        if min(kept, default=UMAX) >= least:
            return UMAX
        n = len(kept)
        avg = sum(kept) // n % U32
        var = sum((v - avg) ** 2 for v in kept) % U64 // n
        if agrees(avg, var, n):
            return avg
        if 4 * n <= 24:
            return UMAX
        limit = max(kept) - 1


def agrees(avg, var, n):
    return var <= (U64 - 1) // 36 and ((avg * avg > 36 * var and 4 * n >= 24) or var <= 400)


def typical_v4_7(intervals):
    return typical_of(UMAX, U64, intervals)


def typical_v6_1(intervals, predicted_us=UMAX):
    return typical_of(INT_MAX, predicted_us, intervals)


def typical_v6_19(intervals):
    low, high = -1, UMAX
    while True:
        kept = [v for v in intervals if low < v < high]
        if max(kept, default=0) == 0:
            return UMAX
        n = len(kept)
        avg = sum(kept) // n
        var = (sum(v * v for v in kept) % U64 // n - avg * avg) % U64
        if agrees(avg, var, n):
            return avg
        if 4 * n <= 24:
            return UMAX
        if avg - min(kept) > max(kept) - avg:
            low = min(kept)
        else:
            high = max(kept)


def bucket_of(length, unit, offset=0):
    for b, limit in enumerate((10, 100, 1000, 10_000, 100_000)):
        if length < limit * unit:
            return offset + b
    return offset + 5


class Menu:
    """What all its versions share: twelve or six correction factors and the last eight intervals."""

    def __init__(self, table, buckets, residency):
        self.t = table
        self.cf = [8192] * buckets
        self.iv = [0] * 8
        self.p = self.bucket = self.next = self.last = 0
        self.predicted = 0
        self.residency = residency
        self.need_update = False

    def push(self, interval):
        self.iv[self.p] = interval % U32
        self.p = (self.p + 1) % 8

    def learn(self, m, fifty_ms):
        f = self.cf[self.bucket]
        f -= f // 8
        f += 1024 * m // self.next if self.next > 0 and m < fifty_ms else 1024
        self.cf[self.bucket] = f % U32


class MenuV47(Menu):
    def __init__(self, table):
        super().__init__(table, 12, 0)

    def update(self):
        m, latency = self.residency % U32, self.t.L[self.last]
        m = (m - latency) % U32 if m > 2 * latency % U32 else m // 2
        m = min(m, self.next)
        self.learn(m, 50_000)
        self.push(m)

    def select(self, idle):
        t = self.t
        if self.need_update:
            self.update()
            self.need_update = False
        if idle.latency == 0:
            return 0
        self.next = divide(idle.sleep, 1000) % U32
        self.bucket = bucket_of(self.next, 1, 6 if idle.nr_io else 0)
        predicted = (self.next * self.cf[self.bucket] + 4096) // 8192 % U32
        expected = min(typical_v4_7(self.iv), self.next)
        last = 0
        if t.first == 1:
            threshold = max(20, t.R[1])
            last = int(self.next > threshold and idle.latency > t.L[1] and not t.disabled[1])
        self.predicted = min(predicted, expected)
        load = (idle.load >> 11) * 10 + ((idle.load & 2047) * 100 >> 11) // 10
        limit = min(idle.latency, self.predicted // (1 + 2 * load + 10 * idle.nr_io))
        for i in range(last + 1, t.n):
            if not t.disabled[i] and t.R[i] <= self.predicted and t.L[i] <= limit:
                last = i
        return last

    def reflect(self, idle, selected, measured, residency):
        self.last, self.residency, self.need_update = selected, residency, True

    def typical(self):
        return typical_v4_7(self.iv)


class MenuV6(Menu):
    """What 6.1 and 6.19 share."""

    def __init__(self, table, buckets, tick, residency):
        super().__init__(table, buckets, residency)
        self.tick = tick
        self.tick_wakeup = self.poll_time_limit = self.stop_tick = False

    def update(self):
        m, latency = self.residency % U64, self.t.L[self.last]
        if self.tick_wakeup and self.next > self.tick:
            m = 45_000_000
        elif self.t.P[self.last] and self.poll_time_limit:
            m = self.next
        else:
            m = m - latency if m > 2 * latency else m // 2
        m = min(m, self.next)
        self.learn(m, 50_000_000)
        self.push(m // 1000)

    def catch_up(self):
        if self.need_update:
            self.update()
            self.need_update = False
        elif self.residency == 0:
            self.push(UMAX)

    def scaled_us(self):
        return (self.next * self.cf[self.bucket] + 4_096_000) % U64 // 8_192_000 % U32

    def state_0_it_is(self, latency):
        t = self.t
        if t.n <= 1 or latency == 0:
            return True
        return (self.next < t.R[1] or latency < t.L[1]) and not t.disabled[0]

    def past_the_prediction(self, i, idx, pn, delta_tick, tick_stopped):
        """State i does not pay within pn: (idx, pn, whether that is final)."""
        t = self.t
        if pn < self.tick:
            return idx, pn, False
        if not tick_stopped:
            return idx, t.R[idx], False
        if t.R[idx] < self.tick and t.R[i] <= delta_tick:
            idx = i
        return idx, pn, True

    def finish(self, idx, pn, delta_tick, tick_stopped):
        t = self.t
        idx = max(idx, 0)
        if (t.P[idx] or pn < self.tick) and not tick_stopped:
            self.stop_tick = False
            if idx > 0 and t.R[idx] > delta_tick:
                idx = t.shallower(idx, delta_tick)
        return idx

    def reflect(self, idle, selected, measured, residency):
        self.last, self.residency, self.need_update = selected, residency, True
        self.tick_wakeup, self.poll_time_limit = idle.got_tick, idle.poll_time_limit


class MenuV61(MenuV6):
    def __init__(self, table, tick, residency=1):
        super().__init__(table, 12, tick, residency)

    def select(self, idle):
        t = self.t
        self.stop_tick = True
        self.catch_up()
        sleep, delta_tick = (idle.sleep, idle.delta_tick) if idle.sleep >= 0 else (0, 0)
        self.next = sleep
        self.bucket = bucket_of(sleep, 1000, 6 if idle.nr_io else 0)
        latency = idle.latency * 1000
        if self.state_0_it_is(latency):
            self.stop_tick = not t.P[0]
            self.predicted = -1
            return 0
        pu = self.scaled_us()
        pn = min(pu, typical_v6_1(self.iv, pu)) * 1000
        if idle.tick_stopped:
            if pn < self.tick:
                pn = self.next
        else:
            latency = min(latency, pn // (1 + 10 * idle.nr_io))
        self.predicted = pn
        idx = -1
        for i in t.enabled():
            if idx < 0:
                idx = i
            if t.R[i] > pn:
                if t.P[idx] and t.L[i] <= latency and t.R[i] <= self.next:
                    pn, idx = t.R[i], i
                    break
                idx, pn, final = self.past_the_prediction(i, idx, pn, delta_tick, idle.tick_stopped)
                if final:
                    return idx
                break
            if t.L[i] > latency:
                break
            idx = i
        return self.finish(idx, pn, delta_tick, idle.tick_stopped)

    def typical(self):
        return typical_v6_1(self.iv)


class MenuV619(MenuV6):
    def __init__(self, table, tick, residency=1):
        super().__init__(table, 6, tick, residency)

    def select(self, idle):
        t = self.t
        self.stop_tick = True
        self.catch_up()
        latency = idle.latency * 1000
        pn = typical_v6_19(self.iv) * 1000
        if pn > 15_000:
            sleep, delta_tick = (idle.sleep, idle.delta_tick) if idle.sleep >= 0 else (0, 0)
            self.next = sleep
            self.bucket = bucket_of(sleep, 1000)
            pn = min(self.scaled_us() * 1000, pn)
        else:
            self.next, delta_tick, self.bucket = S64_MAX, self.tick // 2, 5
        self.predicted = pn
        if self.state_0_it_is(latency):
            self.stop_tick = not t.P[0]
            return 0
        if idle.tick_stopped and pn < self.tick:
            pn = self.next
        self.predicted = pn
        idx = -1
        for i in t.enabled():
            if idx < 0:
                idx = i
            if t.L[i] > latency:
                break
            if t.R[i] <= pn:
                idx = i
                continue
            if t.P[idx] and t.R[i] < 15_000 and t.R[i] <= self.next and t.L[i] <= pn:
                pn, idx = t.R[i], i
                break
            idx, pn, final = self.past_the_prediction(i, idx, pn, delta_tick, idle.tick_stopped)
            if final:
                return idx
            break
        return self.finish(idx, pn, delta_tick, idle.tick_stopped)

    def typical(self):
        return typical_v6_19(self.iv)


class Teo:
    """What both versions share: what a wake-up says about each state's bin."""

    def __init__(self, table, tick, residency):
        self.t, self.tick, self.residency = table, tick, residency
        self.hits, self.icpt = [0] * table.n, [0] * table.n
        self.total = self.sleep = 0
        self.last = -1
        self.predicted = 0
        self.stop_tick = False

    def bins_of(self, m):
        """The bins of the timer and of what was measured: the second is never deeper."""
        timer = measured = 0
        for i, residency in enumerate(self.t.R):
            if residency <= self.sleep:
                timer = i
                if residency <= m:
                    measured = i
        return timer, measured

    def finish(self, idx, first, idle):
        t = self.t
        if (t.P[idx] or self.predicted < self.tick) and not idle.tick_stopped:
            self.stop_tick = False
            if idx > first and t.R[idx] > idle.delta_tick:
                idx = t.shallower(idx, idle.delta_tick)
        return idx


class TeoV61(Teo):
    def __init__(self, table, tick, residency=1):
        super().__init__(table, tick, residency)
        self.recent, self.ring, self.slot, self.span = [0] * table.n, [-1] * 9, 0, 0

    def update(self):
        latency = self.t.L[self.last]
        if self.span % U64 >= self.sleep % U64:
            m = U64 - 1
        else:
            m = self.residency % U64
            m = m - latency // 2 if m >= latency else m // 2
        self.hits = [h - (h >> 3) for h in self.hits]
        self.icpt = [x - (x >> 3) for x in self.icpt]
        self.total = sum(self.hits) + sum(self.icpt)
        timer, measured = self.bins_of(m)
        if self.ring[self.slot] >= 0:
            self.recent[self.ring[self.slot]] -= 1
        if timer == measured:
            self.hits[timer] += 1024
            self.ring[self.slot] = -1
        else:
            self.icpt[measured] += 1024
            self.recent[measured] += 1
            self.ring[self.slot] = measured
        self.slot = (self.slot + 1) % 9
        self.total += 1024

    def select(self, idle):
        self.stop_tick = True
        if self.last >= 0:
            self.update()
        self.predicted = self.sleep = idle.sleep
        idx, first = self.choose(idle)
        return self.finish(idx, first, idle)

    def choose(self, idle):
        """The state and the shallowest enabled one."""
        t, enabled = self.t, self.t.enabled()
        if t.n < 2 or not enabled:
            return 0, 0
        first = enabled[0]
        if first == 0 and t.R[1] > idle.sleep:
            return 0, 0
        fitting = [first]
        for i in enabled:
            if i and t.R[i] > idle.sleep:
                break
            if i != first:
                fitting.append(i)
        deepest = fitting[-1]
        if deepest == first:
            return first, first
        constraint = max((i for i in fitting if i and t.L[i] <= idle.latency * 1000), default=0)
        return min(self.shallower_by_history(deepest, idle), constraint), first

    def shallower_by_history(self, idx, idle):
        t = self.t
        isum, hsum, rsum = sum(self.icpt[:idx]), sum(self.hits[:idx]), sum(self.recent[:idx])
        by_intercepts, by_recent = 2 * isum > (self.total - hsum) % U32, rsum > 4
        if not (by_intercepts or by_recent):
            return idx
        found, span_found = idx, self.predicted
        icpt = recent = 0
        for i in range(idx - 1, -1, -1):
            icpt += self.icpt[i]
            recent += self.recent[i]
            span = (t.R[i] + t.R[i + 1]) // 2
            long_enough = not idle.tick_stopped or span >= self.tick
            if (not by_recent or 2 * recent > rsum) and (not by_intercepts or 2 * icpt > isum):
                if long_enough and not t.disabled[i]:
                    found, span_found = i, span
                break
            if t.disabled[i]:
                continue
            if not long_enough:
                if found != idx:
                    continue
                break
            found, span_found = i, span
        self.predicted = span_found
        return found

    def reflect(self, idle, selected, measured, residency):
        self.last, self.residency = selected, residency
        woken_by_tick = idle.got_tick and self.sleep > self.tick
        self.span = self.sleep if idle.poll_time_limit or woken_by_tick else measured


class TeoV619(Teo):
    def __init__(self, table, tick, residency=1):
        super().__init__(table, tick, residency)
        self.short = self.tick_icpt = self.total_tick = 0
        self.got_tick = self.poll_time_limit = False

    def update(self):
        latency, r = self.t.L[self.last], self.residency
        self.short = decayed(self.short)
        if self.poll_time_limit:
            m = S64_MAX
        elif r >= latency:
            m = r - latency // 2
            self.short += 1024 if m < 15_000 else 0
        else:
            m = divide(r, 2)
            self.short += 1024
        self.hits = list(map(decayed, self.hits))
        self.icpt = list(map(decayed, self.icpt))
        self.total = sum(self.hits) + sum(self.icpt) + 1024
        self.tick_icpt, self.total_tick = decayed(self.tick_icpt), decayed(self.total_tick)
        if self.got_tick:
            self.total_tick += 1024
            if 3 * self.total_tick > 2 * self.total:
                self.hits[-1] += 1024
                return
        timer, measured = self.bins_of(m)
        if timer == measured:
            self.hits[timer] += 1024
        else:
            self.icpt[measured] += 1024
            if m <= self.tick:
                self.tick_icpt += 1024

    def select(self, idle):
        t, latency = self.t, idle.latency * 1000
        self.stop_tick = True
        if self.last >= 0:
            self.update()
        self.predicted = self.sleep = S64_MAX
        enabled = t.enabled()
        idx = enabled[-1] if enabled and t.n > 1 else 0
        first = enabled[0] if enabled and t.n > 1 else 0
        idx = self.shallower_by_history(idx, first, idle.tick_stopped)
        idx = min(idx, max((i for i in enabled if t.L[i] <= latency), default=0))
        if (idx == 0 or t.R[idx] < 15_000) and (2 * self.short >= self.total or latency < 7500):
            self.stop_tick = False
            return idx
        self.predicted = self.sleep = idle.sleep
        if idx == 0:
            self.stop_tick = False
            return 0
        if t.R[idx] > self.predicted:
            idx = t.shallower(idx, self.predicted)
        if t.R[idx] < self.tick and self.tick_icpt > self.total // 2 + self.total // 8:
            self.predicted = self.tick // 2
        return self.finish(idx, first, idle)

    def shallower_by_history(self, idx, first, tick_stopped):
        isum, hsum = sum(self.icpt[:idx]), sum(self.hits[:idx])
        if not 2 * isum > (self.total - hsum) % U32:
            return idx
        lowest = first
        if tick_stopped:
            while lowest < idx and self.t.R[lowest] < self.tick:
                lowest += 1
        total = 0
        for i in range(idx - 1, lowest - 1, -1):
            total += self.icpt[i]
            if self.t.disabled[i]:
                continue
            idx = i
            if 2 * total > isum:
                break
        return idx

    def reflect(self, idle, selected, measured, residency):
        self.last, self.residency = selected, residency
        self.got_tick, self.poll_time_limit = idle.got_tick, idle.poll_time_limit


def decayed(x):
    d = x >> 3
    return x - d if d else 0


class Ladder:
    """One step at a time: four long stays go deeper, one short stay goes back."""

    def __init__(self, table, bits, residency):
        self.t, self.wrap, self.residency = table, 2**bits, residency
        self.last = table.first
        self.count = [0] * table.n

    def enter(self, i):
        self.last = i
        self.count[i] = 0
        return i

    def select(self, idle):
        t, i = self.t, self.last
        latency = idle.latency * (1000 if self.wrap == U64 else 1)
        if latency == 0:
            return self.enter(0)
        r = (self.residency - t.L[i]) % self.wrap
        deeper = i + 1
        if deeper < t.n and not t.disabled[deeper] and r > t.L[i] and t.L[deeper] <= latency:
            self.count[i] += 1
            if self.count[i] >= 4:
                return self.enter(deeper)
        if i > t.first and (t.disabled[i] or t.L[i] > latency):
            i -= 1
            while i > t.first and t.L[i] > latency:
                i -= 1
            return self.enter(i)
        if i > t.first and r < t.L[i]:
            return self.enter(i - 1)
        return i

    def reflect(self, idle, selected, measured, residency):
        self.residency = residency


class LadderV47(Ladder):
    def __init__(self, table):
        super().__init__(table, 32, 0)


class LadderV61(Ladder):
    def __init__(self, table, residency=1):
        super().__init__(table, 64, residency)


class Haltpoll:
    """Poll first, as long as polling paid lately; state 0 polls, state 1 halts."""

    def __init__(self, table):
        self.limit = self.last = 0
        self.timed_out = False

    def select(self, idle):
        if idle.latency == 0:
            return 0
        if self.limit == 0:
            return 1
        return int(self.last == 0 and self.timed_out)

    def reflect(self, idle, selected, measured, residency):
        self.last, self.timed_out = selected, idle.poll_time_limit
        if selected == 0:
            return
        b = residency % U64
        if self.limit < b <= 200_000:
            self.limit = min(max(self.limit * 2, 50_000), 200_000)
        elif b > 200_000:
            self.limit //= 2
