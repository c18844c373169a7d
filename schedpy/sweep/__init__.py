# SPDX-License-Identifier: GPL-2.0-only
"""One function over many points, on one machine or many, with nothing lost. Needs the extra ``sweep``."""

try:
    import pandas  # noqa: F401
    import pyarrow  # noqa: F401
    import tqdm  # noqa: F401
except ImportError as error:
    raise ImportError(f"schedpy.sweep needs {error.name}: pip install 'schedpy[sweep]'") from error

from schedpy.sweep.described import read, run_described
from schedpy.sweep.result import Result, load
from schedpy.sweep.runner import run

__all__ = ["Result", "load", "read", "run", "run_described"]
