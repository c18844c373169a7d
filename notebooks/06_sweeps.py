# ---
# jupyter:
#   license: "SPDX-License-Identifier: GPL-2.0-only"
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # How wrong does util_avg get, over every task, tick rate, kernel and threshold?
#
# The mail of 2017 looks at one task. Here is a recipe for looking at all of them: a cube of the worst errors
# over tick rate, run, period, kernel and threshold, as a labelled dataset that dask computes, on this machine
# or on a cluster; and the same points by `sweep.run`, which keeps what it has computed when something goes
# wrong. It needs the extras `cluster`, `sweep` and `notebook`.

# %%
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from schedpy import sweep
from schedpy.lab import pelt_cube
from schedpy.lab.report import save
from schedpy.plot import pelt_cube as plot

# %% [markdown]
# ## Asked for, and not yet computed
#
# Each chunk is one run length at one tick rate. Nothing has been computed so far.

# %%
lazy = pelt_cube.cube()
print(lazy)

# %% [markdown]
# ## Computed
#
# By dask's threads here; with a `distributed.Client` open, the same line runs on its cluster.

# %%
cube = lazy.compute()
save("06_worst", cube["of_1024_pct"].max(["hz", "run_ns", "period_ns"]).to_pandas())

# %% [markdown]
# The rows are kernels, the columns thresholds in units of 1024 ns; 0 is the kernel as released. Kernels
# before 4.12 have no place for a threshold.
#
# ## Small multiples
#
# A cell is a task. Where it would run longer than its period there is none.

# %%
save("06_small_multiples", plot.small_multiples(cube, kernel="4.15"))

# %% [markdown]
# The threshold of 512 about halves the error of tasks that run for more than a window. A run of 1 ms is
# shorter than one: where a tick falls into its middle there are less than 512 units on either side, and
# nothing is refreshed that was not before. The first version's 128 does not have this hole, at the price of
# more refreshes.
#
# The same in percent of what the value would be: a signal that has decayed to little is off by most of
# itself.

# %%
save("06_small_multiples_of_value", plot.small_multiples(cube, kernel="4.15", measure="of_value_pct"))

# %% [markdown]
# ## The tasks that the threshold does not help
#
# The share of the error that a threshold of 512 takes away, by run and period, over all tick rates.

# %%
at_4_15 = cube["of_1024_pct"].sel(kernel="4.15").max("hz")
taken = 100 * (1 - at_4_15.sel(threshold=512) / at_4_15.sel(threshold=0))
save("06_taken_away_pct", taken.round(1).to_pandas())

# %% [markdown]
# ## The same points as a sweep
#
# `sweep.run` calls `pelt_cube.worst` once per point, in parts that are on the disk when they are done: killed
# or interrupted, the same call goes on where it was. What is no point of the cube (a run longer than
# its period) fails, and becomes a row with its error.

# %%
folder = TemporaryDirectory()
points = {"hz": [100, 1000], "run_ns": [2_000_000, 20_000_000], "period_ns": [16_000_000, 100_000_000]}
result = sweep.run(
    pelt_cube.worst,
    points | {"kernel": ["4.12", "5.8"], "threshold": [0, 512]},
    out=f"{folder.name}/cube",
    progress=False,
)
swept = result.to_xarray()
print(f"{len(result)} points, {result.failures} failed; sha256 {result.hash}")
failed = result.failed.groupby("error").size().rename("points").reset_index()
save("06_failed", failed)

# %% [markdown]
# Both ways give the same numbers:

# %%
same = cube[["of_1024_pct", "of_value_pct"]].sel({name: swept[name] for name in pelt_cube.AXES})
differences = {name: float(np.abs(swept[name] - same[name]).max()) for name in same}
folder.cleanup()
save("06_differences", pd.Series(differences, name="largest difference"))

# %% [markdown]
# ## The mail's point in the cube

# %%
save("06_verdicts", pelt_cube.verdicts(cube))
