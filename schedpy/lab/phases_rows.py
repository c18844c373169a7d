# SPDX-License-Identifier: GPL-2.0-only
"""A task on the CPUs of a platform, many times side by side: signals, placement and frequencies step by step.

Rows are independent (repetitions, and devices that differ), so that every step is one call for all
rows that take it. What the kernel computes comes from the functions that are held against it:
PELT's clock, the averages of the task and of the run queue that it is on, util_est,
find_energy_efficient_cpu(), and the frequency that schedutil asks for. The rest is `Device`.

The time line of an activation, x for ticks; a task whose work is not over when its timer fires does not
sleep, and goes on with the next activation's work without a wake-up:

    grid                                                    grid + period
      |--enqueue--pick=====x==============x========dequeue.....|
       placed       \\__ work / (capacity * frequency) __/
"""

import numpy as np

from schedpy import eas, pelt
from schedpy.kernel import form
from schedpy.lab.phases_device import BASE_NS, capacities, frequencies

__all__ = ["EVENT", "LABELS", "Rows"]

_NEVER = 2**62
_NICE_0 = 1024
#: PELT's divider at the start of a window: LOAD_AVG_MAX - 1024.
_DIVIDER = np.uint64(46718)

ENQUEUE, PICK, TICK, DEQUEUE, MOVE, DECAY = range(6)
LABELS = np.array(["enqueue", "pick", "tick", "dequeue", "move", "decay"])

#: An update of a task's signal: ``now`` is the run queue's PELT clock, ``time_ns`` the wall's.
EVENT = np.dtype(
    [
        ("row", np.int64),
        ("activation", np.int64),
        ("label", np.int64),
        ("cpu", np.int64),
        ("time_ns", np.int64),
        ("now", np.uint64),
        ("running", np.bool_),
        ("on_rq", np.bool_),
        ("attached", np.bool_),
        ("max_util", np.int64),
        ("freq_khz", np.int64),
        ("changed_ns", np.int64),
        ("state", pelt.STATE),
    ]
)


class Rows:
    """The state of every row, and the steps that change it; ``who`` are numbers of rows.

    Attributes
    ----------
    cpu : int64 array (rows,)
        Where the task runs or last ran.
    end : int64 array (rows,)
        When it finished its last work.
    task, cfs, clock : structured arrays (rows,), (rows, CPUs), (rows, CPUs)
        The task's averages, those of the run queues that it leaves and joins, and the clocks that they read.
    freq : int64 array (rows, domains)
        kHz.
    """

    def __init__(self, model, devices, repetitions, *, kernel, pelt_kernel, method, skip_inefficient):
        self.model, self.kernel, self.pelt_kernel = model, kernel, pelt_kernel
        self.method, self.skip_inefficient = method, skip_inefficient
        self.has_runnable = form("eas.cpu_util", kernel) == "v6.12"
        self._platform()
        self._start(devices, repetitions)
        self.events = None

    def _platform(self):
        self.capacity = capacities(self.model)
        self.cpu_scale = self.capacity.astype(np.uint64)
        self.domain_of = np.zeros(self.model.nr_cpus, dtype=np.int64)
        self.members = np.zeros((len(self.model.domains), self.model.nr_cpus), dtype=bool)
        self.freq_of = np.zeros((len(self.model.domains), 1025), dtype=np.int64)
        how = {"kernel": self.kernel, "method": self.method, "skip_inefficient": self.skip_inefficient}
        for number, domain in enumerate(self.model.domains):
            self.domain_of[list(domain.cpus)] = number
            self.members[number, list(domain.cpus)] = True
            freq = frequencies(domain, **how)[1].astype(np.int64)
            self.freq_of[number] = freq[np.minimum(np.arange(1025), domain.capacity)]
        self.fmax = np.array([int(domain.freq_khz[-1]) for domain in self.model.domains])
        self.fmin = np.array([int(domain.freq_khz[0]) for domain in self.model.domains])

    def _start(self, devices, repetitions):
        def column(name, none=0):
            values = [getattr(device, name) for device in devices]
            return np.repeat([none if value is None else value for value in values], repetitions)

        rows, cpus = len(devices) * repetitions, self.model.nr_cpus
        self.rate_limit, self.transition = column("rate_limit_ns"), column("transition_ns")
        self.wakeup, self.refresh = column("wakeup_ns"), column("refresh_ns", _NEVER)
        self.timer_cpu = column("timer_cpu", -1)
        self.cpu = column("start_cpu", min(self.model.domains[0].cpus)).astype(np.int64)
        self.misfit = column("misfit")
        self.larger = self._next_larger()
        util, est = self._first_util(column("start_util", -1))
        held = np.minimum(util, self.capacity[self.cpu].astype(np.uint64))
        averages = {"util_avg": held, "runnable_avg": held, "util_sum": held * _DIVIDER}
        self.task = pelt.initial_state(
            rows, last_update_time=BASE_NS, **averages, runnable_sum=held * _DIVIDER
        )
        self.cfs = pelt.initial_state((rows, cpus), last_update_time=BASE_NS)
        for name in ("util_avg", "runnable_avg", "util_sum", "runnable_sum"):
            self.cfs[name][np.arange(rows), self.cpu] = self.task[name]
        ewma = 0 if form("pelt.util_est", self.pelt_kernel) in ("U68", "U619") else est
        self.est = pelt.initial_util_est(rows, task_enqueued_raw=est, task_ewma=ewma)
        self.clock = pelt.initial_clock_pelt((rows, cpus), clock_task=BASE_NS, clock_pelt=BASE_NS)
        self.freq = np.tile(self.fmin, (rows, 1))
        self.changed = np.full(self.freq.shape, -_NEVER)
        self.coming = self.freq.copy()
        self.coming_at = np.full(self.freq.shape, _NEVER)
        self.other = np.zeros((rows, cpus), dtype=np.uint64)
        self.lent = np.zeros(rows, dtype=np.uint64)
        self.util_enqueue = np.zeros(rows, dtype=np.uint64)
        self.refreshed = np.zeros(rows, dtype=bool)
        self.end = np.zeros(rows, dtype=np.int64)
        self.last_tick = np.zeros(rows, dtype=np.int64)

    def _first_util(self, given):
        """util_avg and estimate of the task before it first wakes up; -1: a new task's."""
        new = pelt.post_init_entity_util_avg(
            kernel=self.pelt_kernel,
            cfs_util_avg=0,
            cfs_load_avg=0,
            capacity=self.capacity[self.cpu],
            se_load_weight_raw=_NICE_0 << 10,
        )
        return np.where(given < 0, new, given).astype(np.uint64), np.maximum(given, 0).astype(np.uint64)

    def _next_larger(self):
        """Per CPU the first CPU of the next larger capacity; itself, if there is none."""
        larger = np.arange(len(self.capacity))
        for cpu in larger:
            above = np.flatnonzero(self.capacity > self.capacity[cpu])
            if above.size:
                larger[cpu] = above[np.argmin(self.capacity[above])]
        return larger

    # Clocks and signals

    def _go_on(self, who, cpu, time, *, idle):
        """The clocks of run queues go on to ``time``; PELT's now there."""
        clock = self.clock[who, cpu]
        clock = pelt.clock_pelt(
            clock,
            time.astype(np.uint64) - clock["clock_task"],
            kernel=self.pelt_kernel,
            curr_is_idle=idle,
            entering_idle=False,
            util_sum=0,
            cpu_scale=self.cpu_scale[cpu],
            freq_scale=self._freq_scale(who, cpu).astype(np.uint64),
        )
        self.clock[who, cpu] = clock
        return pelt.rq_clock_pelt(clock)

    def _freq_scale(self, who, cpu):
        """The current frequency in 1024ths of the highest, as the kernel rounds it."""
        domain = self.domain_of[cpu]
        return (self.freq[who, domain] << 10) // self.fmax[domain]

    def _update_task(self, who, now, *, running, on_rq):
        self.task[who], updated = pelt.update(
            self.task[who], now, kernel=self.pelt_kernel, running=running, on_rq=on_rq
        )
        self.refreshed[who] |= updated

    def _update_queue(self, who, cpu, now, *, running, queued):
        self.cfs[who, cpu], updated = pelt.update(
            self.cfs[who, cpu],
            now,
            kernel=self.pelt_kernel,
            entity="cfs_rq",
            running=running,
            weight=_NICE_0 if queued else 0,
            nr_running=int(queued),
        )
        return updated

    def _update(self, who, time, label, *, running, queued, idle):
        """Task and run queue at ``time``, then the frequency; the flags are of the time before."""
        cpu = self.cpu[who]
        now = self._go_on(who, cpu, time, idle=idle)
        self._update_task(who, now, running=running, on_rq=queued)
        updated = self._update_queue(who, cpu, now, running=running, queued=queued)
        self._ask(who[updated], time[updated])
        self._note(who, label, time, now, running, queued, np.zeros(len(who), dtype=bool))

    # Frequencies

    def _busiest(self, who, domain):
        """The largest utilisation of a CPU of the domain, as schedutil takes it."""
        util = self.cfs["util_avg"][who] + self.other[who]
        at = np.arange(len(who)), self.cpu[who]
        util[at] = np.maximum(util[at], self.lent[who])
        if self.has_runnable:
            util = np.maximum(util, self.cfs["runnable_avg"][who] + self.other[who])
        return np.minimum(np.where(self.members[domain], util, 0).max(axis=1).astype(np.int64), 1024)

    def _ask(self, who, time):
        """schedutil sets the frequency, unless it changed too short a time ago."""
        if not who.size:
            return
        domain = self.domain_of[self.cpu[who]]
        wanted = self.freq_of[domain, self._busiest(who, domain)]
        target = np.where(
            self.coming_at[who, domain] < _NEVER, self.coming[who, domain], self.freq[who, domain]
        )
        may = (time - self.changed[who, domain] >= self.rate_limit[who]) & (wanted != target)
        who, domain, time, wanted = who[may], domain[may], time[may], wanted[may]
        self.changed[who, domain] = time
        self.coming[who, domain] = wanted
        self.coming_at[who, domain] = time + self.transition[who]
        self._arrive(who, domain, time)

    def _arrive(self, who, domain, time):
        """Frequencies that have come by ``time``."""
        come = self.coming_at[who, domain] <= time
        who, domain = who[come], domain[come]
        self.freq[who, domain] = self.coming[who, domain]
        self.coming_at[who, domain] = _NEVER

    # Wake-up

    def decay_sleepers(self, who, time):
        """The task as the placement sees it: decayed up to the last update of its run queue."""
        cpu = self.cpu[who]
        stale = self.refresh[who] < _NEVER
        if stale.any():
            late, where = who[stale], cpu[stale]
            period = self.refresh[late]
            at = (time[stale] - BASE_NS) // period * period + BASE_NS
            at = np.maximum(at, self.clock["clock_task"][late, where].astype(np.int64))
            now = self._go_on(late, where, at, idle=True)
            self._update_queue(late, where, now, running=False, queued=False)
        now = self.cfs["last_update_time"][who, cpu]
        if (now != self.task["last_update_time"][who]).any():
            self._update_task(who, now, running=False, on_rq=False)
            self._note(who, DECAY, time, now, False, False, np.zeros(len(who), dtype=bool))
        self.lent[who] = self._estimate(who).cfs_enqueued_between

    def _estimate(self, who, util=0, *, capacity=0, enqueue=0, runnable=0, changed=False, sleep=False):
        return pelt.util_est(
            self.est[who],
            kernel=self.pelt_kernel,
            util_enqueue=enqueue,
            util_dequeue=util,
            runnable_avg=runnable,
            util_changed=changed,
            task_sleep=sleep,
            capacity=capacity,
        )

    def cases(self, who):
        """What the placement reads, as columns."""
        return {
            "prev_cpu": self.cpu[who],
            "util_avg": self.task["util_avg"][who],
            "util_est": self.lent[who],
            "runnable_avg": self.task["runnable_avg"][who],
            "cpu_util_avg": self.cfs["util_avg"][who] + self.other[who],
            "cpu_runnable_avg": self.cfs["runnable_avg"][who] + self.other[who],
        }

    def wake(self, who, time, target):
        """The task is enqueued on ``target`` and picked there."""
        moved = (target != self.cpu[who]) & (target >= 0)
        self._migrate(who[moved], time[moved], target[moved])
        stays = who[~moved]
        self.refreshed[who] = False
        self.last_tick[who] = -_NEVER
        if stays.size:
            self._update(stays, time[~moved], ENQUEUE, running=False, queued=False, idle=True)
        self.util_enqueue[who] = self.task["util_avg"][who]
        self._update(who, time + self.wakeup[who], PICK, running=False, queued=True, idle=True)

    def _migrate(self, who, time, target, label=ENQUEUE):
        """The task leaves its run queue and joins another."""
        if not who.size:
            return
        left = self.cpu[who]
        _, self.cfs[who, left] = pelt.detach(
            self.task[who], self.cfs[who, left], kernel=self.pelt_kernel, weight=_NICE_0
        )
        self.cpu[who] = target
        self._arrive(who, self.domain_of[target], time)
        now = self._go_on(who, target, time, idle=True)
        self._update_queue(who, target, now, running=False, queued=False)
        self.task[who], self.cfs[who, target] = pelt.attach(
            self.task[who], self.cfs[who, target], kernel=self.pelt_kernel, weight=_NICE_0
        )
        self._ask(who, time)
        self._note(who, label, time, now, False, False, np.ones(len(who), dtype=bool))

    # Work

    def work(self, who, begin, work, until, tick_offset, tick_ns):
        """The task works, and sleeps if its work is over before ``until``.

        ``begin`` (len(who),): when its work begins. Ticks fall strictly after the pick; the work ends at the
        first nanosecond at which all of it is done.
        """
        left = work.copy()
        at = begin.copy()
        following = tick_offset + ((at - tick_offset) // tick_ns + 1) * tick_ns
        tick = np.where(self.last_tick[who] + tick_ns == at, at, following)
        while who.size:
            domain = self.domain_of[self.cpu[who]]
            self._arrive(who, domain, at)
            rate = self.capacity[self.cpu[who]] * np.maximum(self._freq_scale(who, self.cpu[who]), 1)
            done = at + -(-left // rate)
            arrives = self.coming_at[who, domain]
            stop = np.minimum(np.minimum(done, tick), arrives)
            left = np.maximum(left - (stop - at) * rate, 0)
            at = stop
            over = left == 0
            sleeps = over & (at < until)
            ticks = (at == tick) & ~over
            self.lent[who[sleeps]] = 0  # taken back first: schedutil does not see it any more
            for chosen, label in ((ticks, TICK), (sleeps, DEQUEUE)):
                if chosen.any():
                    self._update(who[chosen], at[chosen], label, running=True, queued=True, idle=False)
            self.last_tick[who[ticks]] = at[ticks]
            self._move_misfits(who[ticks], at[ticks])
            tick = np.where(ticks, tick + tick_ns, tick)
            self.end[who[over]] = at[over]
            self._sleep(who[sleeps])
            on = ~over
            who, left, at, tick, until = who[on], left[on], at[on], tick[on], until[on]

    def _move_misfits(self, who, time):
        """Running tasks that are too large for their CPU go on on a larger one."""
        cpu = self.cpu[who]
        util = np.maximum(self.task["util_avg"][who], self.lent[who])
        later = form("eas.util_fits_cpu", self.kernel) != "v5.12"
        fits = eas.util_fits_cpu(
            util,
            self.capacity[cpu],
            kernel=self.kernel,
            capacity_orig=self.capacity[cpu] if later else None,
        )
        moves = self.misfit[who] & (fits == 0) & (self.larger[cpu] != cpu)
        who, cpu, time = who[moves], cpu[moves], time[moves]
        self._migrate(who, time, self.larger[cpu], MOVE)
        self._become_idle(who, cpu)

    def _sleep(self, who):
        """The estimate learns, the CPU becomes idle."""
        if not who.size:
            return
        cpu = self.cpu[who]
        self.est[who] = self._estimate(
            who,
            self.task["util_avg"][who],
            enqueue=self.util_enqueue[who],
            runnable=self.task["runnable_avg"][who],
            changed=self.refreshed[who],
            capacity=self.cpu_scale[cpu],
            sleep=True,
        ).state
        self._become_idle(who, cpu)

    def _become_idle(self, who, cpu):
        self.clock[who, cpu] = pelt.clock_pelt(
            self.clock[who, cpu],
            0,
            kernel=self.pelt_kernel,
            curr_is_idle=False,
            entering_idle=True,
            util_sum=self.cfs["util_sum"][who, cpu],
            cpu_scale=self.cpu_scale[cpu],
            freq_scale=self._freq_scale(who, cpu).astype(np.uint64),
        )

    # Events

    def _note(self, who, label, time, now, running, on_rq, attached):
        if self.events is None or not who.size:
            return
        event = np.zeros(len(who), dtype=EVENT)
        domain = self.domain_of[self.cpu[who]]
        event["row"], event["label"], event["cpu"] = who, label, self.cpu[who]
        event["time_ns"], event["now"], event["attached"] = time, now, attached
        event["running"], event["on_rq"] = running, on_rq
        event["max_util"] = self._busiest(who, domain)
        event["freq_khz"] = self.freq[who, domain]
        event["changed_ns"] = self.changed[who, domain]
        event["state"] = self.task[who]
        self.events.append(event)


def place(rows, cases):
    """The target of each case."""
    task, cpus = systems(rows.model, cases)
    return eas.find_energy_efficient_cpu(
        rows.model,
        task,
        cpus,
        kernel=rows.kernel,
        method=rows.method,
        skip_inefficient=rows.skip_inefficient,
    ).target


def systems(model, cases):
    """Columns of :meth:`Rows.cases` as arrays of `eas.TASK` (n,) and `eas.CPU` (n, CPUs)."""
    names = ("prev_cpu", "util_avg", "util_est", "runnable_avg")
    task = eas.task(**{name: cases[name] for name in names})
    cpus = eas.idle_cpus(model, task.shape)
    cpus["util_avg"] = cases["cpu_util_avg"]
    cpus["runnable_avg"] = cases["cpu_runnable_avg"]
    return task, cpus
