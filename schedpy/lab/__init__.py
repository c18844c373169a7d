# SPDX-License-Identifier: GPL-2.0-only
"""The published measurements, one module each. Needs the extra ``lab``."""

try:
    import pandas  # noqa: F401
    import scipy.special  # noqa: F401
    import tqdm  # noqa: F401
except ImportError as error:
    raise ImportError(f"schedpy.lab needs {error.name}: pip install 'schedpy[lab]'") from error
