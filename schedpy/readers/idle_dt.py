# SPDX-License-Identifier: GPL-2.0-only
"""Idle tables of flattened device trees (.dtb), as the kernel's drivers make them of idle-states nodes.

A CPU's states are those that the CPU's node lists, after the WFI that drivers put first: by
``domain-idle-states`` of its power domain, else by ``cpu-idle-states``. What clusters share
(domain-idle-states of domains of domains) is no part of a cpuidle driver's table.
"""

import struct

__all__ = ["is_table", "read"]

_MAGIC = b"\xd0\x0d\xfe\xed"
_COMPATIBLE = {"arm,idle-state", "riscv,idle-state"}
_WFI = {"name": "WFI", "exit_latency_us": 1, "target_residency_us": 1, "polling": False}


def is_table(data):
    """Whether a file's content starts as a device tree does."""
    return data[:4] == _MAGIC


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
    tree = _Tree(data, where)
    try:
        node = _cpu_node(tree, cpu)
        found = [_state(tree, state) for state in _state_nodes(tree, node) if _is_available(tree, state)]
        source = f"{where}, {tree.path(node)}"
    except tree.error as error:
        raise ValueError(f"{where}: a damaged device tree: {error}") from None
    return {"where": source, "source": source, "first": 0, "state": [_WFI, *found]}


class _Tree:
    """A device tree that is whole, and its properties as the types they should have."""

    def __init__(self, data, where):
        try:
            import libfdt
        except ImportError:
            raise ImportError(
                f"{where}: device trees are read by pylibfdt: pip install 'schedpy[readers]'"
            ) from None
        self._libfdt = libfdt
        self.error = libfdt.FdtException
        self.where = where
        # What the header says of sizes is not to be believed before.
        if libfdt.fdt_check_full(bytearray(data), len(data)):
            raise ValueError(f"{where}: no device tree, or a damaged one")
        self._fdt = libfdt.FdtRo(data)

    def node(self, path):
        """The node of a path, or None."""
        offset = self._fdt.path_offset(path, [self._libfdt.NOTFOUND])
        return None if offset < 0 else offset

    def node_of(self, phandle, by):
        """The node that a property of the node ``by`` points to."""
        offset = self._fdt.node_offset_by_phandle(phandle, [self._libfdt.NOTFOUND, self._libfdt.BADPHANDLE])
        if offset < 0:
            raise ValueError(
                f"{self.where}: {self.path(by)} points to phandle {phandle:#x}, which is not there"
            )
        return offset

    def children(self, node):
        child = self._fdt.first_subnode(node, [self._libfdt.NOTFOUND])
        while child >= 0:
            yield child
            child = self._fdt.next_subnode(child, [self._libfdt.NOTFOUND])

    def path(self, node):
        return self._fdt.get_path(node)

    def name(self, node):
        return self._fdt.get_name(node)

    def raw(self, node, name):
        """The bytes of a property, or None."""
        value = self._fdt.getprop(node, name, [self._libfdt.NOTFOUND])
        return None if isinstance(value, int) else bytes(value)

    def cells(self, node, name):
        """A property as a list of 32-bit numbers; empty if there is none."""
        value = self.raw(node, name) or b""
        if len(value) % 4:
            raise ValueError(f"{self.where}: {self.path(node)}: {name} is no list of 32-bit numbers")
        return list(struct.unpack(f">{len(value) // 4}I", value))

    def strings(self, node, name):
        value = self.raw(node, name) or b""
        return value.rstrip(b"\0").decode(errors="replace").split("\0") if value else []


def _cpu_node(tree, cpu):
    cpus = tree.node("/cpus")
    if cpus is None:
        raise ValueError(f"{tree.where}: there is no node /cpus")
    nodes = [node for node in tree.children(cpus) if tree.strings(node, "device_type") == ["cpu"]]
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


def _is_available(tree, state):
    return tree.strings(state, "status") in ([], ["okay"], ["ok"])


def _state(tree, node):
    if not _COMPATIBLE & set(tree.strings(node, "compatible")):
        raise ValueError(f"{tree.where}: {tree.path(node)}: must be compatible with arm,idle-state")
    wakeup = tree.cells(node, "wakeup-latency-us")
    latency = _one(tree, node, "wakeup-latency-us") if wakeup else None
    if latency is None:
        latency = _one(tree, node, "entry-latency-us") + _one(tree, node, "exit-latency-us")
    name = tree.strings(node, "idle-state-name") or [tree.name(node)]
    return {
        "name": name[0],
        "exit_latency_us": latency,
        "target_residency_us": _one(tree, node, "min-residency-us"),
        "polling": False,
    }


def _one(tree, node, name):
    cells = tree.cells(node, name)
    if len(cells) != 1:
        raise ValueError(f"{tree.where}: {tree.path(node)}: {name} must be one number, not {cells}")
    return cells[0]
