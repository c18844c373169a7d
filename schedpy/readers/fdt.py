# SPDX-License-Identifier: GPL-2.0-only
"""Flattened device trees (.dtb, /sys/firmware/fdt): nodes, and properties as the types they should have."""

import contextlib
import struct

__all__ = ["Tree", "is_tree", "opened"]

_MAGIC = b"\xd0\x0d\xfe\xed"


def is_tree(data):
    """Whether a file's content starts as a device tree does."""
    return data[:4] == _MAGIC


@contextlib.contextmanager
def opened(data, where):
    """The tree of a file; what libfdt finds wrong with it in the block is a ValueError that names the file.

    Raises
    ------
    ValueError
        No device tree, or a damaged one.
    ImportError
        There is no libfdt: it comes with the extra ``readers``.
    """
    tree = Tree(data, where)
    try:
        yield tree
    except tree.error as error:
        raise ValueError(f"{where}: a damaged device tree: {error}") from None


class Tree:
    """A device tree that is whole."""

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

    def cpus(self):
        """The nodes of the CPUs, in the tree's order."""
        cpus = self.node("/cpus")
        if cpus is None:
            raise ValueError(f"{self.where}: there is no node /cpus")
        return [node for node in self.children(cpus) if self.strings(node, "device_type") == ["cpu"]]

    def children(self, node):
        child = self._fdt.first_subnode(node, [self._libfdt.NOTFOUND])
        while child >= 0:
            yield child
            child = self._fdt.next_subnode(child, [self._libfdt.NOTFOUND])

    def is_available(self, node):
        """Whether a node's status, if it has one, says that it is in use."""
        return self.strings(node, "status") in ([], ["okay"], ["ok"])

    def path(self, node):
        return self._fdt.get_path(node)

    def name(self, node):
        return self._fdt.get_name(node)

    def raw(self, node, name):
        """The bytes of a property, or None."""
        value = self._fdt.getprop(node, name, [self._libfdt.NOTFOUND])
        return None if isinstance(value, int) else bytes(value)

    def cells(self, node, name, bits=32):
        """A property as a list of numbers of 32 or 64 bits; empty if there is none."""
        value = self.raw(node, name) or b""
        if len(value) % (bits // 8):
            raise ValueError(f"{self.where}: {self.path(node)}: {name} is no list of {bits}-bit numbers")
        return [number for (number,) in struct.iter_unpack(">I" if bits == 32 else ">Q", value)]

    def one(self, node, name):
        """A property that is one 32-bit number."""
        cells = self.cells(node, name)
        if len(cells) != 1:
            raise ValueError(f"{self.where}: {self.path(node)}: {name} must be one number, not {cells}")
        return cells[0]

    def strings(self, node, name):
        value = self.raw(node, name) or b""
        return value.rstrip(b"\0").decode(errors="replace").split("\0") if value else []
