# SPDX-License-Identifier: GPL-2.0-only
"""Pictures: one module per lab, functions that take results and return Axes. Needs the extra ``plot``."""
