# SPDX-License-Identifier: GPL-2.0-only
"""The governors as each kernel has them: what they take, what they show, and the state they keep."""

from dataclasses import dataclass

import numpy as np

from schedpy import kernel as kernels
from schedpy._coerce import as_array, as_choice, as_int, as_shape
from schedpy.cpuidle.table import IdleTable

__all__ = ["GOVERNORS", "Form", "form_of", "initial_state", "rows_of"]

GOVERNORS = ("menu", "teo", "ladder", "haltpoll")

_TICK = ("delta_tick_ns", "tick_stopped", "got_tick", "poll_time_limit", "hz")
_STATES = 10
# Words of a state that may be negative; the others count, or are flags.
_SIGNED = ("last_state_idx", "last_residency", "predicted", "sleep_length", "time_span", "recent_idx")


def _state(*names, **arrays):
    """The dtype of a governor's struct; ``arrays``: name -> length of those that are several words."""
    return np.dtype(
        [
            (name, np.int64 if name.startswith(_SIGNED) else np.uint64, arrays.get(name, ()))
            for name in (*names, *arrays)
        ]
    )


def _menu(unit):
    return _state(
        "needs_update",
        "last_state_idx",
        f"last_residency_{unit}",
        f"next_timer_{unit}",
        "bucket",
        f"predicted_{unit}",
        "interval_ptr",
        "tick_wakeup",
        "poll_time_limit",
        correction_factor=12,
        intervals=8,
    )


_TEO_6_1 = _state(
    "last_state_idx",
    "last_residency_ns",
    "sleep_length_ns",
    "time_span_ns",
    "predicted_ns",
    "total",
    "next_recent_idx",
    hits=_STATES,
    intercepts=_STATES,
    recent=_STATES,
    recent_idx=9,
)
_TEO_6_19 = _state(
    "last_state_idx",
    "last_residency_ns",
    "sleep_length_ns",
    "predicted_ns",
    "total",
    "tick_wakeup",
    "poll_time_limit",
    "short_idles",
    "tick_intercepts",
    "total_tick",
    hits=_STATES,
    intercepts=_STATES,
)
_HALTPOLL = _state("last_state_idx", "poll_limit_ns", "poll_time_limit")


def _ladder(unit):
    return _state("last_state_idx", f"last_residency_{unit}", promotion_count=_STATES)


@dataclass(frozen=True)
class Form:
    """One governor of one kernel.

    ``takes``: the arguments of `run` beside those that every governor has. ``fields``: what it shows, the
    first name ours, the second the core's column. ``starts``: fields of a new state that are not zero.
    """

    governor: str
    version: str
    unit: str
    state: np.dtype
    takes: tuple[str, ...]
    fields: dict[str, str]
    starts: dict[str, int]
    per_state: dict[str, str] | None = None

    @property
    def all_fields(self):
        """Those that have to be asked for too."""
        return self.fields | (self.per_state or {})

    @property
    def reads_timer(self):
        return self.governor in ("menu", "teo")

    @property
    def in_core(self):
        return f"{self.governor}_{self.version}"

    @property
    def units_per_us(self):
        return 1 if self.unit == "us" else 1000


def _fields(unit, *more):
    """``more``: names of columns, or pairs where ours says more than the core's."""
    pairs = [pair if isinstance(pair, tuple) else (pair, pair) for pair in more]
    return {
        "selected": "selected",
        **dict(pairs),
        "measured_ns": "measured",
        f"last_residency_{unit}": "last_residency",
    }


_MENU_FIELDS = (
    "predicted",
    "bucket",
    ("correction_factor_of_bucket", "correction_factor"),
    ("typical_interval_us", "typical_interval"),
)
_TEO_FIELDS = ("stop_tick", "predicted", "total")
_TEO_BINS = {"hits": "hits", "intercepts": "intercepts"}
_NEW_MENU = {"correction_factor": 8192}
# A residency of 0 that nothing was reflected for says that the driver refused a state.
_NOT_REFUSED = {"last_residency_ns": 1}
_NEW_TEO = {"last_state_idx": -1, **_NOT_REFUSED}

_FORMS = {
    form.in_core: form
    for form in (
        Form(
            "menu",
            "v4_7",
            "us",
            _menu("us"),
            ("nr_iowaiters", "cpu_load", "disabled"),
            _fields("us", *_MENU_FIELDS),
            _NEW_MENU,
        ),
        Form(
            "menu",
            "v6_1",
            "ns",
            _menu("ns"),
            (*_TICK, "nr_iowaiters", "disabled"),
            _fields("ns", "stop_tick", *_MENU_FIELDS),
            _NEW_MENU | _NOT_REFUSED,
        ),
        Form(
            "menu",
            "v6_19",
            "ns",
            _menu("ns"),
            (*_TICK, "disabled"),
            _fields("ns", "stop_tick", *_MENU_FIELDS),
            _NEW_MENU | _NOT_REFUSED,
        ),
        Form(
            "teo",
            "v6_1",
            "ns",
            _TEO_6_1,
            (*_TICK, "disabled"),
            _fields("ns", *_TEO_FIELDS),
            {"recent_idx": -1, **_NEW_TEO},
            _TEO_BINS,
        ),
        Form(
            "teo",
            "v6_19",
            "ns",
            _TEO_6_19,
            (*_TICK, "disabled"),
            _fields("ns", *_TEO_FIELDS),
            _NEW_TEO,
            _TEO_BINS,
        ),
        Form("ladder", "v4_7", "us", _ladder("us"), ("disabled",), _fields("us"), {}),
        Form("ladder", "v6_1", "ns", _ladder("ns"), ("disabled",), _fields("ns", "stop_tick"), _NOT_REFUSED),
        Form(
            "haltpoll",
            "v6_1",
            "ns",
            _HALTPOLL,
            ("poll_time_limit",),
            _fields("ns", "stop_tick", ("poll_limit_ns", "poll_limit")),
            {},
        ),
    )
}


def form_of(governor, kernel):
    """The form that a kernel has of a governor."""
    as_choice(governor, "governor", GOVERNORS)
    version = kernels.form(f"cpuidle.{governor}", kernel)
    return _FORMS[f"{governor}_{version.replace('.', '_')}"]


def initial_state(table, shape=(), *, kernel, governor="menu", **fields):
    """Governors that have seen nothing yet.

    Parameters
    ----------
    table : IdleTable
    shape : int or tuple of int
        One governor for each stream.
    kernel, governor
        As for `run`.
    **fields : array_like of int
        Fields of the state to start otherwise with; they broadcast.

    Returns
    -------
    structured array
        Its fields are those of the kernel's struct of that governor: 64-bit integers, times in us for 4.7 and
        in ns for 6.x (``last_residency_us``, ``last_residency_ns``), 0 and 1 for flags.
        ``last_residency_ns`` starts at 1: 0 tells menu that the driver refused a state.

    Raises
    ------
    ValueError, TypeError
        No such governor, kernel or field; fields that do not broadcast. Whether the values are such as the
        governor can have is for `run` to see.

    Examples
    --------
    >>> from schedpy import cpuidle
    >>> table = cpuidle.IdleTable.load("intel_skl")
    >>> state = cpuidle.initial_state(table, 3, kernel="4.7", governor="menu")
    >>> state.shape, state["correction_factor"][0, :3].tolist()
    ((3,), [8192, 8192, 8192])
    """
    if not isinstance(table, IdleTable):
        raise TypeError(f"table is {type(table).__name__}: must be an IdleTable")
    form = form_of(governor, kernel)
    return new_state(form, table, as_shape(shape, "shape"), fields)


def new_state(form, table, shape=(), fields=None):
    values = {}
    for name, value in (fields or {}).items():
        if name not in form.state.names:
            raise TypeError(
                f"{name} is no field of {form.governor}'s state: must be one of {', '.join(form.state.names)}"
            )
        values[name] = as_int(value, name, form.state[name].base)
    inner = {name: form.state[name].shape for name in form.state.names}
    shapes = [
        value.shape[: value.ndim - len(inner[name])] if inner[name] and value.ndim else value.shape
        for name, value in values.items()
    ]
    try:
        state = np.zeros(np.broadcast_shapes(shape, *shapes), form.state)
        for name, value in {**form.starts, **_of_the_table(form, table), **values}.items():
            state[name] = value
    except ValueError:
        given = ", ".join(f"{name} {value.shape}" for name, value in values.items() if value.ndim)
        raise ValueError(f"shapes do not broadcast: shape {shape}, {given}") from None
    return state


def _of_the_table(form, table):
    return {"last_state_idx": table.first} if form.governor == "ladder" else {}


def rows_of(state, form):
    """States, checked to be of this form, as rows of 64-bit words; not to be written to."""
    array = np.asarray(as_array(state, "state"), order="C")
    if array.dtype != form.state:
        if array.dtype.names is None or set(array.dtype.names) != set(form.state.names):
            raise TypeError(
                f"state must be one of {form.governor} of {form.version.replace('_', '.')}, "
                f"as `initial_state` gives it, not {array.dtype}"
            )
        same = np.empty(array.shape, form.state)
        for name in form.state.names:
            same[name] = as_int(array[name], f"state[{name!r}]", form.state[name].base)
        array = same
    return array[..., np.newaxis].view(np.uint64)
