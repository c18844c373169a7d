# ---
# jupyter:
#   license: "SPDX-License-Identifier: GPL-2.0-only"
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Does a shift by 10 instead of a division by 1000 matter, and what does reading a clock cost?
#
# In April 2016 [a mail](https://lore.kernel.org/r/CAJZ5v0je2kdDF6J4XVmWkySKUvby3bYpCTr51m3+MKGpWYcw=Q@mail.gmail.com)
# replaced the clock of cpuidle by one that is cheaper to read, and the division that makes nanoseconds
# microseconds by a shift. The clock stayed. The shift was taken back before 4.7.4. This page looks at every
# figure that the mail gives for the two, and then asks the governors themselves whether the loss of precision
# is, as the mail has it, lost in their approximations: which idle states change, where, and what that costs.

# %%
from schedpy import stopwatch
from schedpy.lab import idle_clock
from schedpy.lab.report import save
from schedpy.plot import idle_clock as plot
from schedpy.plot import idle_flips as plot_flips

# %% [markdown]
# ## What the mail says

# %%
save("03_published", idle_clock.published()[["what", "published", "quote"]])

# %% [markdown]
# ## The table of conversions
#
# The mail's columns beside what the code computes. Where a remark stands, the printed cell is not what the
# shift gives: it is the quotient without truncation, in another unit than the rest of the column.

# %%
save("03_conversion_table", idle_clock.conversion_table())

# %% [markdown]
# ## The deviation, from a nanosecond to ten seconds
#
# The mail calls the deviation linear. It is so for long times alone: both conversions truncate, and for a
# short time the two truncations are a large share of the result. Below a microsecond both give 0.

# %%
deviation = idle_clock.deviation()
save("03_deviation_by_decade", idle_clock.by_decade(deviation))

# %%
save("03_deviation", plot.deviation(deviation))

# %% [markdown]
# ## Where the shift moves a threshold
#
# A governor selects a state when it predicts its target residency *R*. What it has measured includes the
# exit latency *L*, which it subtracts after the conversion: so it is not the prediction that the shift
# makes shorter, but the prediction and *L*, and the threshold moves from *R* to *R* + 0.024 (*R* + *L*).
# Between the two lies a band of idles which the division sends to the deeper state and the shift to the
# shallower.

# %%
save("03_bands", idle_clock.bands())

# %% [markdown]
# The same timers, once with each conversion, through the governor of 4.7: outside the bands nothing changes,
# inside nearly everything does. One of the bands is where HZ=250 puts the tick.

# %%
platforms = [
    "sm8150_little",
    "sm8150_big",
    "gs101_big",
    "juno",
    "hikey960_little",
    "intel_skl",
    "intel_hsw",
    "intel_adl",
    "powernv_p8",
]
by_period = idle_clock.by_period(platforms)
save("03_flips_by_period", plot_flips.by_period(by_period, idle_clock.bands(platforms)))

# %% [markdown]
# ## Which idles change state
#
# Timers with jitter, periodic interrupts, and idles of random length, with tables of idle states from
# phones to servers. Each stream goes through the governor once for each conversion and walks on with what
# it learnt. Idles of random length seldom lie on a threshold, and few change. Timers and interrupts lie
# where they were put: hardly any of them changes, or most do.

# %%
found = idle_clock.flips()
save("03_flips", plot_flips.by_mix(found))

# %% [markdown]
# Over all tables, with the deviation over random seeds. Nearly every change is to a shallower state; the few
# others come from another history.

# %%
save("03_flips_over_tables", idle_clock.over_tables(found))

# %% [markdown]
# ## Other governors and later kernels
#
# From 5.5 on governors are told nanoseconds. Had they kept a conversion, menu would show it as before. teo
# sorts idles into bins and does not learn their lengths: a known timer is a known timer, but interrupts that
# no timer announces fall into another bin. ladder goes by exit latencies; there the shift meets another flaw:
# an idle that looks shorter than the exit latency counts as endless.

# %%
later = idle_clock.flips(
    kernel=["4.7", "6.1", "6.19"],
    governor=["menu", "teo", "ladder"],
    idles=idle_clock.FEW_MIXES,
    residency="shr10",
)
save("03_flips_of_later_kernels", idle_clock.over_tables(later))

# %% [markdown]
# ## What it costs
#
# A state that is too shallow wastes time that a deeper one would have saved; one that is too deep wakes up
# late for nothing. Of each kind of idles the table on which the shift costs most, in idles, in microseconds
# of exit latency, and in milliseconds per second in a state too shallow. What ends in `more` is the
# difference to the division.

# %%
costs = idle_clock.costs(idles=idle_clock.FEW_MIXES)
save("03_costs", idle_clock.dearest(costs))

# %% [markdown]
# Where the time of one board goes, in milliseconds per second; what ends in `deviation` says by how much the
# difference scatters over random seeds.

# %%
save("03_times_in_states", idle_clock.times_in_states("juno", idles=idle_clock.FEW_MIXES))

# %% [markdown]
# ## A feedback: the CPU that polls and never sleeps
#
# On powernv the shallowest state polls, and gives up when the next one would have paid. The governor is told
# how long that took. Shifted, it looks too short for the next state, so the governor predicts another idle
# that polling is right for, and so on, for as long as the CPU is idle. How far polling overshoots its
# time-out decides.

# %%
overshoots = idle_clock.snooze()
save("03_snooze", overshoots)

# %%
save("03_snooze_picture", plot_flips.snooze(overshoots))

# %% [markdown]
# ## What the kernel did next
#
# What a governor is told of one and the same idle, release by release. The titles and dates are those of
# the commits; that the polling above was the reason for the second one its title does not say.

# %%
save("03_history", idle_clock.history())

# %% [markdown]
# ## What the standard deviations cannot be
#
# One sample at distance *d* from the mean forces a standard deviation of *d* / sqrt(*n*) over *n* samples.
# The mail gives the average and the maximum of all its calls, and with them a bound that its standard
# deviations do not reach. They are of something averaged, most likely of the averages of the rounds.

# %%
save("03_stddev_bound", idle_clock.stddev_bound())

# %% [markdown]
# ## The same measurement on this machine
#
# As many rounds and calls as in the mail, of every clock that this machine has. The standard deviation of
# the rounds and that of the calls stand side by side: one interrupt is enough to part them by orders of
# magnitude.

# %%
cost = stopwatch.read_cost(progress=False)
print(cost)

# %%
beside = idle_clock.beside_mail(cost)
save("03_read_cost", beside)

# %%
save("03_read_cost_picture", plot.beside_mail(beside))

# %%
save("03_single_calls", plot.single_calls(cost))

# %% [markdown]
# ## Line by line
#
# What can be recomputed either agrees or differs. Times on the mail's CPU stay its own: another CPU neither
# confirms nor refutes them. Whether the deviation is lost in the approximations has two answers: for idles of
# random length it is, for those that a clock puts on a threshold it is not, and what matters are those.

# %%
save("03_verdicts", idle_clock.verdicts(cost, deviation, found))
