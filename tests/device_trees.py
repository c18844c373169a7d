# SPDX-License-Identifier: GPL-2.0-only
"""Flattened device trees made of dictionaries."""

import struct

import libfdt


class Tree:
    """Writes a device tree: nodes are dicts, properties are numbers, lists of them, strings or bytes."""

    def __init__(self, root):
        self.writer = libfdt.FdtSw()
        self.writer.finish_reservemap()
        self.node("", root)

    def node(self, name, content):
        with self.writer.add_node(name):
            for key, value in content.items():
                if not isinstance(value, dict):
                    self.writer.property(key, self.as_bytes(value))
            for key, value in content.items():
                if isinstance(value, dict):
                    self.node(key, value)

    @staticmethod
    def as_bytes(value):
        if isinstance(value, str):
            return value.encode() + b"\0"
        if isinstance(value, bytes):
            return value
        cells = value if isinstance(value, list) else [value]
        return struct.pack(f">{len(cells)}I", *cells)

    def save(self, path):
        tree = self.writer.as_fdt()
        tree.pack()
        path.write_bytes(tree.as_bytearray())
        return path


def cpu(**properties):
    return {"device_type": "cpu", **{key.replace("_", "-"): value for key, value in properties.items()}}
