# SPDX-License-Identifier: GPL-2.0-only
"""Idle tables of flattened device trees (.dtb), as the kernel's drivers make them of idle-states nodes.

A CPU's states are those that the CPU's node lists, after the WFI that drivers put first: by
``domain-idle-states`` of its power domain, else by ``cpu-idle-states``. What clusters share
(domain-idle-states of domains of domains) is no part of a cpuidle driver's table.
"""

from schedpy.readers.fdt import is_tree as is_table
from schedpy.readers.fdt import opened

__all__ = ["is_table", "read"]

_COMPATIBLE = {"arm,idle-state", "riscv,idle-state"}
_WFI = {"name": "WFI", "exit_latency_us": 1, "target_residency_us": 1, "polling": False}


def read(data, where, cpu):
    """The table of one CPU as plain values, in the form of `schedpy.readers.idle_toml.read`.

    Parameters
    ----------
    data : bytes
        The file.
    where : str
        What to call the file in messages.
    cpu : int
        Which of the tree's CPUs, counted from 0 in the tree's order.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        No device tree, no such CPU, or a state that lacks a property; the message names the node.
    ImportError
        There is no libfdt: it comes with the extra ``readers``.
    """
    with opened(data, where) as tree:
        node = _cpu_node(tree, cpu)
        found = [_state(tree, state) for state in _state_nodes(tree, node) if tree.is_available(state)]
        source = f"{where}, {tree.path(node)}"
    return {"where": source, "source": source, "first": 0, "state": [_WFI, *found]}


def _cpu_node(tree, cpu):
    nodes = tree.cpus()
    if not 0 <= cpu < len(nodes):
        raise ValueError(f"cpu = {cpu}: {tree.where} has CPUs 0 .. {len(nodes) - 1}")
    return nodes[cpu]


def _state_nodes(tree, cpu):
    """The nodes of a CPU's states: those of its own power domain come first."""
    domain = tree.cells(cpu, "power-domains")[:1]
    by, name = (tree.node_of(domain[0], cpu), "domain-idle-states") if domain else (cpu, "cpu-idle-states")
    if not tree.cells(by, name):
        by, name = cpu, "cpu-idle-states"
    return [tree.node_of(phandle, by) for phandle in tree.cells(by, name)]


def _state(tree, node):
    if not _COMPATIBLE & set(tree.strings(node, "compatible")):
        raise ValueError(f"{tree.where}: {tree.path(node)}: must be compatible with arm,idle-state")
    wakeup = tree.cells(node, "wakeup-latency-us")
    latency = tree.one(node, "wakeup-latency-us") if wakeup else None
    if latency is None:
        latency = tree.one(node, "entry-latency-us") + tree.one(node, "exit-latency-us")
    name = tree.strings(node, "idle-state-name") or [tree.name(node)]
    return {
        "name": name[0],
        "exit_latency_us": latency,
        "target_residency_us": tree.one(node, "min-residency-us"),
        "polling": False,
    }
