# SPDX-License-Identifier: GPL-2.0-only
"""Energy models of flattened device trees, as the kernel makes them of operating points.

A CPU's number is its place in the tree; on a machine whose boot CPU is not the first in the tree, that
CPU is number 0 and the others move up. CPUs are one domain if they share their operating points, by
``opp-shared`` of a version 2 table or by an equal version 1 table.
"""

from dataclasses import dataclass

from schedpy.readers import fdt

__all__ = ["read"]


@dataclass(frozen=True)
class _State:
    """An operating point; None: the property is not there."""

    node: int
    hertz: int
    microvolt: int | None
    microwatt: int | None


def read(data, where):
    """A model as plain values, in the form of `schedpy.readers.energy_model.read`.

    Parameters
    ----------
    data : bytes
        The file.
    where : str
        What to call the file in messages.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        No device tree, or a property is missing or wrong; the message names the node.
    ImportError
        There is no libfdt: it comes with the extra ``readers``.

    Notes
    -----
    Power of a CPU is ``dynamic-power-coefficient * mV^2 * MHz / 10^6`` in uW, mV and MHz truncated
    (drivers/opp/of.c), capacity ``capacity-dmips-mhz * kHz`` of the highest state relative to the largest
    such product (drivers/base/arch_topology.c from 6.8; earlier kernels take MHz, which can differ by 1).
    Where the lowest state has an ``opp-microwatt``, power is that of every state (the sum, if there are
    several supplies), as kernels from 5.18 take it; earlier ones know the coefficient alone.
    States marked turbo-mode are states like others.
    """
    with fdt.opened(data, where) as tree:
        nodes = tree.cpus()
        if not nodes:
            raise ValueError(f"{where}: /cpus has no node with device_type cpu")
        groups = _groups(tree, nodes)
        states = [_states(tree, nodes[cpus[0]]) for cpus in groups]
        capacities = _capacities(tree, nodes, groups, states)
        domain = [
            _domain(tree, [nodes[cpu] for cpu in cpus], cpus, *columns)
            for cpus, *columns in zip(groups, states, capacities, strict=True)
        ]
    return {"where": where, "source": where, "unit": "uW", "domain": domain}


def _groups(tree, nodes):
    """The CPUs of each domain, as numbers."""
    keys = [_table_key(tree, node, cpu) for cpu, node in enumerate(nodes)]
    known = set(keys) - {None}
    # Before version 2 the table of one CPU could stand for all of them.
    only = known.pop() if len(known) == 1 else None
    if None in keys and (only is None or only[0] != 1):
        node = nodes[keys.index(None)]
        raise ValueError(f"{tree.where}: {tree.path(node)}: has no operating points")
    groups: dict[tuple | None, list[int]] = {}
    for cpu, key in enumerate(keys):
        groups.setdefault(key or only, []).append(cpu)
    return list(groups.values())


def _table_key(tree, node, cpu):
    """What CPUs of one domain have in common: the table and how it is shared. None: no table."""
    if phandles := tree.cells(node, "operating-points-v2"):
        table = tree.node_of(phandles[0], node)
        return 2, table, None if tree.raw(table, "opp-shared") is not None else cpu
    if cells := tree.cells(node, "operating-points"):
        return 1, *cells
    return None


def _states(tree, node):
    """The states of a CPU's table, ascending."""
    if phandles := tree.cells(node, "operating-points-v2"):
        table = tree.node_of(phandles[0], node)
        states = [_state(tree, child) for child in tree.children(table) if tree.is_available(child)]
        at = table
    else:
        cells = tree.cells(node, "operating-points")
        if len(cells) % 2:
            raise ValueError(
                f"{tree.where}: {tree.path(node)}: operating-points must be pairs of kHz and uV, "
                f"not {len(cells)} numbers"
            )
        states = [
            _State(node, khz * 1000, microvolt, None)
            for khz, microvolt in zip(cells[::2], cells[1::2], strict=True)
        ]
        at = node
    if not states:
        raise ValueError(f"{tree.where}: {tree.path(at)}: has no operating points")
    return sorted(states, key=lambda state: state.hertz)


def _state(tree, node):
    hertz = tree.cells(node, "opp-hz", 64)
    if not hertz:
        raise ValueError(f"{tree.where}: {tree.path(node)}: opp-hz is missing")
    if tree.raw(node, "opp-supported-hw") is not None:
        raise ValueError(
            f"{tree.where}: {tree.path(node)}: has opp-supported-hw, and which chips are meant is not "
            "in the tree: leave the state out, or that property"
        )
    microvolt, microwatt = (tree.cells(node, name) for name in ("opp-microvolt", "opp-microwatt"))
    return _State(node, hertz[0], microvolt[0] if microvolt else None, sum(microwatt) if microwatt else None)


def _capacities(tree, nodes, groups, states):
    """Capacity of each group's CPUs: that of its first, with which `_domain` compares the others."""
    dmips = [tree.cells(node, "capacity-dmips-mhz") for node in nodes]
    if not any(dmips):
        return [1024] * len(groups)
    for node in nodes:
        tree.one(node, "capacity-dmips-mhz")
    highest = [columns[-1].hertz // 1000 for columns in states]
    raw = [dmips[cpus[0]][0] * khz for cpus, khz in zip(groups, highest, strict=True)]
    if not max(raw):
        raise ValueError(f"{tree.where}: {tree.path(nodes[0])}: capacity-dmips-mhz is 0, as everywhere")
    return [(each << 10) // max(raw) for each in raw]


def _domain(tree, nodes, cpus, states, capacity):
    power = _powers(tree, nodes[0], states)
    for name in ("dynamic-power-coefficient", "capacity-dmips-mhz"):
        for node in nodes[1:]:
            if tree.cells(node, name) != tree.cells(nodes[0], name):
                raise ValueError(
                    f"{tree.where}: {tree.path(node)}: {name} must be that of {tree.path(nodes[0])}, "
                    "with which it shares its operating points"
                )
    return {
        "name": f"cpu{cpus[0]}",
        "at": tree.path(nodes[0]),
        "cpus": cpus,
        "capacity": capacity,
        "freq_khz": [state.hertz // 1000 for state in states],
        "power": power,
    }


def _powers(tree, node, states):
    """uW of each state. The lowest decides whether the tree states them."""
    if states[0].microwatt:
        _all_have(tree, states, "microwatt", f"{tree.path(states[0].node)} has it")
        return [state.microwatt for state in states]
    coefficient = tree.one(node, "dynamic-power-coefficient")
    _all_have(tree, states, "microvolt", "without it there is no power")
    return [_microwatt(coefficient, state) for state in states]


def _all_have(tree, states, unit, why):
    for state in states:
        if getattr(state, unit) is None:
            raise ValueError(f"{tree.where}: {tree.path(state.node)}: opp-{unit} is missing: {why}")


def _microwatt(coefficient, state):
    millivolt = state.microvolt // 1000
    return coefficient * millivolt * millivolt * (state.hertz // 1_000_000) % 2**64 // 1_000_000
