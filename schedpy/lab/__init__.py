# SPDX-License-Identifier: GPL-2.0-only
"""The published measurements, one module each. Needs the extra ``lab``."""
