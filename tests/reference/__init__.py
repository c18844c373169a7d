# SPDX-License-Identifier: GPL-2.0-only
"""Slow, plain twins of the core, written from the kernels' rules and not from the C."""
