# SPDX-License-Identifier: GPL-2.0-only
"""Every face works under dask and xarray, and a lazy array given to a face directly is refused.

`FACES` are the elementwise calls; `RECIPES` says for every other exported function that takes arrays how it
is applied, one way for ``map_blocks`` and one for generalised functions over the last axis.
"""

import dataclasses
import pickle
from dataclasses import dataclass
from functools import partial

import dask
import dask.array as da
import distributed
import numpy as np
import pytest
import xarray
from array_faces import FACES
from test_arrays import operands
from test_refusals import CALLS

from schedpy import clock, cpuidle, eas, em, jiffies, pelt, workload

MODULES = (clock, cpuidle, eas, em, jiffies, pelt, workload)
MODEL = em.EnergyModel.load("pixel4")
TABLE = cpuidle.IdleTable.load("intel_icx")
RNG = np.random.default_rng(20210405)

every_face = pytest.mark.parametrize("face", FACES, ids=lambda face: face.name)


@pytest.fixture(autouse=True)
def in_threads():
    with dask.config.set(scheduler="threads"):
        yield


@dataclass(frozen=True)
class Field:
    """One array out of a result that holds several: what one block gives has one dtype."""

    call: object
    name: str | None

    def __call__(self, *args):
        result = self.call(*args)
        return result if self.name is None else getattr(result, self.name)


def fields(result):
    """The names of the arrays in a result; None where it is one."""
    if not dataclasses.is_dataclass(result):
        return [None]
    return [field.name for field in dataclasses.fields(result) if getattr(result, field.name) is not None]


def lazily(face, chunks=(5, 4)):
    """(lazy result under dask, under xarray, what it must be) of every array that a face gives."""
    args = operands(face, (12, 10))
    pieces = [da.from_array(a, chunks=chunks) for a in args]
    labelled = [xarray.DataArray(a, dims=("x", "y")) for a in pieces]
    for name in fields(face.call(*args)):
        call = Field(face.call, name)
        wanted = call(*args)
        blocks = da.map_blocks(call, *pieces, dtype=wanted.dtype)
        array = xarray.apply_ufunc(call, *labelled, dask="parallelized", output_dtypes=[wanted.dtype])
        yield blocks, array, wanted


@every_face
def test_a_face_under_map_blocks_and_apply_ufunc(face):
    for blocks, array, wanted in lazily(face):
        assert isinstance(array.data, da.Array), "xarray computed it at once"
        for mine in (*dask.compute(blocks, array.data), array.sel(x=slice(3, 7)).compute().values):
            theirs = wanted if mine.shape == wanted.shape else wanted[3:7]
            np.testing.assert_array_equal(mine, theirs)
            assert mine.dtype == wanted.dtype


# What is not elementwise


def util_of(now, running):
    return pelt.track(now, kernel="6.1", running=running).util_avg


def state_of(now, running):
    return pelt.track(now, kernel="6.1", running=running).state


def updated(state, now):
    return pelt.update(state, now, kernel="5.12", running=True)[0]


def attached(se, cfs):
    return pelt.attach(se, cfs, kernel="6.1", weight=1024)[1]


def detached(se, cfs):
    return pelt.detach(se, cfs, kernel="6.1", weight=1024)[1]


def estimated(state, util):
    given = {"util_enqueue": util, "util_dequeue": util, "runnable_avg": util, "util_changed": True}
    return pelt.util_est(state, kernel="6.1", **given, task_sleep=True, capacity=1024).task_util_est_after


def clock_of(state, delta):
    now = {"curr_is_idle": False, "entering_idle": False, "util_sum": 1 << 20, "cpu_scale": 512}
    return pelt.clock_pelt(state, delta, kernel="6.1", **now, freq_scale=512)


def placed(task):
    cpus = eas.idle_cpus(MODEL, task.shape)
    return eas.find_energy_efficient_cpu(MODEL, task, cpus, kernel="5.12").target


def tasks(util):
    return eas.task(util_avg=util, util_est=util)


def energy_of(util):
    return MODEL.domains[0].energy(util, util, kernel="5.12")


def resolved(target):
    table = MODEL["little"].table(kernel="5.12")
    limits = {"policy_min": 300_000, "policy_max": 1_700_000, "relation": "LE"}
    return em.cpufreq_resolve(table["freq_khz"], table["inefficient"], target, **limits)


def chosen(sleep_ns):
    return cpuidle.run(TABLE, kernel="6.1", governor="menu", sleep_ns=sleep_ns, hz=250).selected


def typical(intervals):
    return cpuidle.get_typical_interval(intervals, kernel="6.1")


def low(run_ns, period_ns):
    return pelt.swing(run_ns, period_ns).low


def settles(run_ns, period_ns):
    return pelt.settling_time(run_ns, period_ns, 1)


def hz_mult(hz):
    return clock.clocksource_register_hz(hz, 2**32 - 1).mult


def khz_mult(khz):
    return clock.clocksource_register_khz(khz, 2**32 - 1).mult


def error_of(freq):
    return clock.freq_error_ppb(1 << 20, 20, freq)


def legacy_ns(tsc):
    return clock.cycles_2_ns_legacy(tsc, 1024)


SHAPE = (6, 8)
NOW = np.cumsum(RNG.integers(1, 20_000_000, SHAPE), axis=1).astype(np.uint64)
RUNNING = RNG.integers(0, 2, SHAPE).astype(bool)
UTIL = RNG.integers(0, 1025, SHAPE).astype(np.uint64)
RUN_NS = RNG.integers(1, 8_000_000, SHAPE)
STATE = pelt.track(NOW, kernel="6.1", running=RUNNING).state
SCALED = pelt.initial_clock_pelt(6, clock_task=5)

#: exported function -> (call, arrays, core dimensions in, core dimensions out); none: elementwise.
RECIPES = {
    pelt.track: [(util_of, (NOW, RUNNING), "(n),(n)->(n)"), (state_of, (NOW, RUNNING), "(n),(n)->()")],
    pelt.update: [(updated, (STATE, NOW[:, -1] + np.uint64(5_000_000)), None)],
    pelt.attach: [(attached, (STATE, STATE), None)],
    pelt.detach: [(detached, (STATE, STATE), None)],
    pelt.util_est: [(estimated, (pelt.initial_util_est(6), UTIL[:, 0]), None)],
    pelt.clock_pelt: [(clock_of, (SCALED, UTIL[:, 0]), None)],
    pelt.rq_clock_pelt: [(pelt.rq_clock_pelt, (SCALED,), None)],
    pelt.continuous: [(pelt.continuous, (NOW, RUNNING), "(n),(n)->(n)")],
    pelt.swing: [(low, (RUN_NS, 2 * RUN_NS), None)],
    pelt.settling_time: [(settles, (RUN_NS, 2 * RUN_NS), None)],
    pelt.time_to_reach: [(pelt.time_to_reach, (UTIL // np.uint64(2),), None)],
    clock.to_ns: [(clock.to_ns, (RUN_NS / 1e9,), None)],
    clock.clocksource_mask: [(clock.clocksource_mask, (UTIL % np.uint64(64) + np.uint64(1),), None)],
    clock.clocksource_register_hz: [(hz_mult, (RUN_NS,), None)],
    clock.clocksource_register_khz: [(khz_mult, (RUN_NS,), None)],
    clock.freq_error_ppb: [(error_of, (RUN_NS,), None)],
    clock.cyc2ns_scale_legacy: [(clock.cyc2ns_scale_legacy, (RUN_NS,), None)],
    clock.cycles_2_ns_legacy: [(legacy_ns, (RUN_NS,), None)],
    **{
        function: [(partial(function, hz=300), (RUN_NS,), None)]
        for function in (
            jiffies.clock_t_to_jiffies,
            jiffies.jiffies64_to_nsecs,
            jiffies.jiffies_64_to_clock_t,
            jiffies.jiffies_to_usecs,
            jiffies.nsecs_to_jiffies64,
        )
    },
    jiffies.nsec_to_clock_t: [(jiffies.nsec_to_clock_t, (RUN_NS,), None)],
    eas.task: [(tasks, (UTIL,), None)],
    eas.find_energy_efficient_cpu: [(placed, (tasks(UTIL),), None)],
    em.PerfDomain: [(energy_of, (UTIL // np.uint64(8),), None)],
    em.cpufreq_resolve: [(resolved, (RUN_NS,), None)],
    cpuidle.run: [(chosen, (RUN_NS,), "(n)->(n)")],
    cpuidle.get_typical_interval: [(typical, (RUN_NS.astype(np.uint32),), "(n)->()")],
}
#: Exported, but no function of arrays: they take scalars, names, or time themselves.
NO_ARRAYS = {
    clock.approximation,
    clock.approximation_bounds,
    clock.approximation_error,
    cpuidle.IdleTable,
    cpuidle.initial_state,
    eas.idle_cpus,
    eas.time_placements,
    em.EnergyModel,
    jiffies.max_jiffy_offset,
    jiffies.timeconst,
    pelt.constants,
    pelt.initial_clock_pelt,
    pelt.initial_state,
    pelt.initial_util_est,
    workload.periodic,
    workload.staircase,
    workload.tick_nsec,
}

each_recipe = pytest.mark.parametrize(
    "recipe",
    [recipe for recipes in RECIPES.values() for recipe in recipes],
    ids=lambda recipe: getattr(recipe[0], "func", recipe[0]).__name__,
)


def exported():
    for module in MODULES:
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value) and not (isinstance(value, type) and dataclasses.is_dataclass(value)):
                yield value


def reached(face):
    """The exported functions that a face calls, by the names in its code."""
    function = face.call.func if isinstance(face.call, partial) else face.call
    names = {function.__name__, *function.__code__.co_names}
    return {value for value in exported() if value.__name__ in names}


def test_every_exported_function_is_applied_here():
    elementwise = {function for face in FACES for function in reached(face)}
    assert set(exported()) <= elementwise | RECIPES.keys() | NO_ARRAYS
    assert not RECIPES.keys() & NO_ARRAYS


def recipe_lazily(recipe):
    """(lazy result under dask, under xarray, what it must be) of a recipe."""
    call, arrays, signature = recipe
    wanted = call(*arrays)
    chunks = [da.from_array(a, chunks=(4, *a.shape[1:]) if signature else 4) for a in arrays]
    labelled = [xarray.DataArray(a, dims=("x", "y")[: a.ndim]) for a in chunks]
    if signature is None:
        blocks = da.map_blocks(call, *chunks, dtype=wanted.dtype)
        core = {}
    else:
        blocks = da.apply_gufunc(call, signature, *chunks, output_dtypes=wanted.dtype)
        core = {
            "input_core_dims": [["y"]] * len(arrays),
            "output_core_dims": [["y"] if wanted.ndim == 2 else []],
        }
    # What is told by output_dtypes alone dask makes out of the input, which a structure cannot be.
    meta = {"meta": np.empty((0,) * wanted.ndim, wanted.dtype)}
    array = xarray.apply_ufunc(call, *labelled, dask="parallelized", dask_gufunc_kwargs=meta, **core)
    return blocks, array, wanted


@each_recipe
def test_what_is_not_elementwise_under_dask_and_xarray(recipe):
    blocks, array, wanted = recipe_lazily(recipe)
    assert isinstance(array.data, da.Array), "xarray computed it at once"
    for mine in dask.compute(blocks, array.data):
        np.testing.assert_array_equal(mine, wanted)
        assert mine.dtype == wanted.dtype


def test_two_processes_of_a_cluster_give_the_same():
    """Every face and every recipe is sent by name to workers that have imported nothing yet."""
    applied = [next(iter(lazily(face, chunks=(6, 10)))) for face in FACES]
    applied += [recipe_lazily(recipe) for recipes in RECIPES.values() for recipe in recipes]
    lazy = [blocks for blocks, _, _ in applied]
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        computed = client.gather(client.compute(lazy))
    for mine, (_, _, theirs) in zip(computed, applied, strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype


@pytest.mark.parametrize("function", list(exported()), ids=lambda function: function.__qualname__)
def test_every_exported_function_pickles_by_name(function):
    pickled = pickle.dumps(function)
    assert pickle.loads(pickled) is function
    assert len(pickled) < 100


def accepted(function, arguments):
    try:
        function(**arguments)
    except (TypeError, ValueError, OSError):
        return False
    return True


def lazy_cases():
    for function, good in CALLS.items():
        if function.__module__.split(".")[1] in {module.__name__.split(".")[1] for module in MODULES}:
            for argument in good:
                yield pytest.param(function, good, argument, id=f"{function.__qualname__}-{argument}")


@pytest.mark.parametrize(("function", "good", "argument"), list(lazy_cases()))
def test_a_lazy_array_is_refused_with_the_form_that_works(function, good, argument):
    """Where an array is taken, the same array that is lazy is not: it would be computed silently."""
    try:
        array = np.asarray(good[argument])
    except ValueError:
        return
    taken = array.dtype.kind in "iubfV" and accepted(function, {**good, argument: array})
    chunks = da.from_array(array, chunks=array.shape)
    for lazy in (chunks, xarray.DataArray(chunks)):
        with pytest.raises(
            (TypeError, ValueError), match="map_blocks.*parallelized" if taken else None
        ) as caught:
            function(**{**good, argument: lazy})
        if taken:
            assert caught.type is TypeError
            assert str(caught.value).startswith(argument)
