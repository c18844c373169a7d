# SPDX-License-Identifier: GPL-2.0-only
"""Which instructions serve where there is a choice: all give the same bits. For measuring and testing."""

import contextlib

from schedpy import _core

__all__ = ["names", "using"]


def names():
    """The paths of this machine, the best last, which is taken unless SCHEDPY_PATH names another.

    Examples
    --------
    >>> from schedpy import paths
    >>> paths.names()[0]
    'portable'
    """
    return _core.paths()


@contextlib.contextmanager
def using(name):
    """Take a path, in all threads, until the block ends.

    Parameters
    ----------
    name : str
        One of `names`.

    Raises
    ------
    ValueError
        This machine has no such path.

    Examples
    --------
    >>> from schedpy import paths, pelt
    >>> with paths.using("portable"):
    ...     pelt.track([0, 1 << 20], kernel="6.1", running=True).util_avg.tolist()
    [0, 21]
    """
    if not isinstance(name, str):
        raise TypeError(f"name = {name!r}: must be one of {', '.join(map(repr, names()))}")
    if name not in names():
        raise ValueError(f"name = {name!r}: must be one of {', '.join(map(repr, names()))}")
    before = _core.use_path(name)
    try:
        yield
    finally:
        _core.use_path(before)
