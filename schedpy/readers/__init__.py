# SPDX-License-Identifier: GPL-2.0-only
"""Platform files to plain columns; no reader knows a face."""
