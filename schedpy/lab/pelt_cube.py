# SPDX-License-Identifier: GPL-2.0-only
"""The worst errors of PELT's averages over five axes: tick rate, run, period, kernel and threshold.

The mail of 2017 measured one task at one tick rate. ``cube`` is the same error for every combination, as a
labelled dataset that dask computes; ``worst`` is one of its points, for ``sweep.run``. What an error is,
:mod:`schedpy.lab.pelt_updates` says. Needs the extra ``cluster``.
"""

from functools import partial

import numpy as np
import pandas as pd

from schedpy import kernel as _kernel
from schedpy.lab.pelt_error import published
from schedpy.lab.pelt_updates import (
    FEW_STARTS_NS,
    HZ,
    PERIOD_NS,
    RUN_NS,
    TICK_OFFSETS_NS,
    VARIANTS,
    WITH,
    WITHOUT,
    has_util,
    of_1024,
    of_value,
    samples,
    several,
    signal_of,
    track_runs,
)

__all__ = ["AXES", "KERNELS", "THRESHOLDS", "cube", "verdicts", "worst"]

#: A kernel of each form of util_avg that differs in its arithmetic, and the thresholds of the patch.
KERNELS = ("4.4", "4.7", "4.12", "4.15", "5.8")
THRESHOLDS = (0, 128, 512)
AXES = ("hz", "run_ns", "period_ns", "kernel", "threshold")
_RUNS_NS = (1_000_000, 2_000_000, 5_000_000, 10_000_000, RUN_NS)
_PERIODS_NS = (8_000_000, 16_000_000, 32_000_000, 64_000_000, PERIOD_NS)
_MEASURES = ("of_1024_pct", "of_value_pct")
_NAMES = {
    "of_1024_pct": "largest error, of full scale",
    "of_value_pct": "largest error, of what the value would be",
    "hz": "tick rate",
    "run_ns": "run of the task",
    "period_ns": "period of the task",
    "kernel": "kernel",
    "threshold": "update_threshold",
}
_UNITS = {"hz": "1/s", "run_ns": "ns", "period_ns": "ns", "threshold": "1024 ns"} | dict.fromkeys(
    _MEASURES, "%"
)


def _has_threshold(kernel):
    return _kernel.parse(kernel) >= _kernel.parse("4.12")


def _largest(sample, kernel, threshold):
    """The largest error over all counted updates of a sample, in percent of 1024 and of the value."""
    variant = (kernel, threshold)
    fields = signal_of(variant)
    track = track_runs(sample.now, sample.running, sample.on_rq, variant, fields)
    reported, would_be = (track.history[field][sample.counted].astype(np.int64) for field in fields)
    error = np.abs(reported - would_be)
    return of_1024(error).max(initial=0), of_value(error, would_be).max(initial=0)


def _sample(hz, run_ns, period_ns, starts_ns):
    return next(
        samples(
            hz=hz, run_ns=run_ns, period_ns=period_ns, starts_ns=starts_ns, tick_offsets_ns=TICK_OFFSETS_NS
        )
    )


def worst(hz, run_ns, period_ns, kernel, threshold, *, starts_ns=FEW_STARTS_NS):
    """One point of the cube.

    Parameters
    ----------
    hz : int
        Ticks per second.
    run_ns, period_ns : int
        The task; it runs no longer than its period.
    kernel : str
        With a utilisation: "4.3" or later.
    threshold : int
        The patch's, in units of 1024 ns; 0 before 4.12.
    starts_ns : sequence of int
        First enqueues, ns after a window's border.

    Returns
    -------
    dict
        ``of_1024_pct`` and ``of_value_pct``: the largest error of an update over all starts and places
        of the tick.

    Examples
    --------
    >>> point = worst(250, 20_000_000, 100_000_000, "4.15", 0)
    >>> round(float(point["of_1024_pct"]), 2)
    1.86
    """
    if not has_util((kernel, 0)):
        raise ValueError(f"kernel = {kernel!r}: has no utilisation, must be 4.3 or later")
    largest = _largest(_sample(hz, run_ns, period_ns, starts_ns), kernel, threshold)
    return dict(zip(_MEASURES, largest, strict=True))


def _block(hz, run_ns, period_ns, *, kernels, thresholds, starts_ns):
    """All kernels and thresholds for one task at one tick rate: two arrays; missing is what cannot be."""
    found = np.full((2, len(kernels), len(thresholds)), np.nan)
    if run_ns <= period_ns:
        sample = _sample(int(hz), int(run_ns), int(period_ns), starts_ns)
        for i, kernel in enumerate(kernels):
            for j, threshold in enumerate(thresholds):
                if not threshold or _has_threshold(kernel):
                    found[:, i, j] = _largest(sample, kernel, threshold)
    return tuple(found)


def cube(
    *,
    hz=HZ,
    run_ns=_RUNS_NS,
    period_ns=_PERIODS_NS,
    kernel=KERNELS,
    threshold=THRESHOLDS,
    starts_ns=FEW_STARTS_NS,
):
    """The worst errors over all five axes, lazily.

    Parameters
    ----------
    hz, run_ns, period_ns, threshold : sequence of int
        As for :func:`worst`.
    kernel : sequence of str
        As for :func:`worst`.
    starts_ns : sequence of int
        First enqueues, ns after a window's border.

    Returns
    -------
    xarray.Dataset
        ``of_1024_pct`` and ``of_value_pct`` over (hz, run_ns, period_ns, kernel, threshold), one dask chunk
        per tick rate and run: ``.compute()`` fills them on whatever dask runs on. Missing where a task
        would run longer than its period, and where a kernel has no threshold.

    Examples
    --------
    >>> lazy = cube(hz=250, run_ns=20_000_000, period_ns=100_000_000, kernel="4.15", threshold=[0, 512])
    >>> lazy.compute()["of_1024_pct"].values.ravel().round(2).tolist()
    [1.86, 0.98]
    """
    try:
        import dask.array  # noqa: F401
        import xarray
    except ImportError as error:
        raise ImportError(f"the cube needs {error.name}: pip install 'schedpy[cluster]'") from error
    kernels = [kernel] if isinstance(kernel, str) else list(kernel)
    for name in kernels:
        if not has_util((name, 0)):
            raise ValueError(f"kernel = {name!r}: has no utilisation, must be 4.3 or later")
    numbers = {"hz": hz, "run_ns": run_ns, "period_ns": period_ns, "threshold": threshold}
    labels = {name: several(values, name) for name, values in numbers.items()} | {"kernel": kernels}
    # One chunk per value: what runs in a block then is one task at one tick rate, over all periods.
    axes = [
        xarray.DataArray(labels[name], dims=name, coords={name: labels[name]}).chunk({name: size})
        for name, size in (("hz", 1), ("run_ns", 1), ("period_ns", -1))
    ]
    block = partial(
        _block, kernels=kernels, thresholds=labels["threshold"], starts_ns=several(starts_ns, "starts_ns")
    )
    outputs = [list(AXES[3:])] * 2
    arrays = xarray.apply_ufunc(
        block,
        *axes,
        output_core_dims=outputs,
        vectorize=True,
        dask="parallelized",
        output_dtypes=[np.float64] * 2,
        dask_gufunc_kwargs={"output_sizes": {name: len(labels[name]) for name in AXES[3:]}},
    )
    dataset = xarray.Dataset(dict(zip(_MEASURES, arrays, strict=True)))
    dataset = dataset.assign_coords({name: labels[name] for name in AXES[3:]})
    for name in (*_MEASURES, *AXES):
        dataset[name].attrs["long_name"] = _NAMES[name]
        if name in _UNITS:
            dataset[name].attrs["units"] = _UNITS[name]
    return dataset


def verdicts(cube):
    """The mail's largest error against the cube's, at the mail's task.

    Parameters
    ----------
    cube : xarray.Dataset
        What :func:`cube` gave, computed, with the mail's task, 4.15 and the thresholds 0 and 512 in it.

    Returns
    -------
    DataFrame
        One line, with the columns of the other labs' verdicts.
    """
    claim = published().loc["largest_error"]
    kernel, threshold = VARIANTS[WITHOUT]
    try:
        at = cube["of_1024_pct"].sel(run_ns=RUN_NS, period_ns=PERIOD_NS, kernel=kernel)
        without, patched = at.sel(threshold=threshold), at.sel(threshold=VARIANTS[WITH][1])
    except KeyError as error:
        raise ValueError(f"cube: has no {error}, which the mail's task needs") from None
    low, high = float(without.min()), float(without.max())
    figure = claim["values"][0]
    elsewhere = cube["of_1024_pct"].sel(threshold=threshold)
    return pd.DataFrame(
        [
            {
                "mail": claim["mail"],
                "what": claim["what"],
                "published": claim["published"],
                "ours": f"{low:.2f}-{high:.2f} %",
                "verdict": "agrees" if round(low) == round(high) == figure else "differs",
                "why": f"of full scale, over {cube.sizes['hz']} tick rates; with the patch at most "
                f"{float(patched.max()):.2f} %; of all tasks and kernels without it at most "
                f"{float(elsewhere.max()):.2f} %",
            }
        ]
    )
