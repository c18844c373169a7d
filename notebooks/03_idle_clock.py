# ---
# jupyter:
#   license: "SPDX-License-Identifier: GPL-2.0-only"
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Is a shift by 10 as good as a division by 1000, and what does reading a clock cost?
#
# In April 2016 [a mail](https://lore.kernel.org/r/CAJZ5v0je2kdDF6J4XVmWkySKUvby3bYpCTr51m3+MKGpWYcw=Q@mail.gmail.com)
# replaced the clock of cpuidle by one that is cheaper to read, and the division that makes nanoseconds
# microseconds by a shift. The clock stayed. The shift was taken back before 4.7.4. This page looks at every
# figure that the mail gives for the two.

# %%
from schedpy import stopwatch
from schedpy.lab import idle_clock
from schedpy.lab.report import save
from schedpy.plot import idle_clock as plot

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
# confirms nor refutes them.

# %%
save("03_verdicts", idle_clock.verdicts(cost, deviation))
