# SPDX-License-Identifier: GPL-2.0-only
"""The report of the published measurements: what notebooks save, and how it becomes a folder of pages."""

import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from schedpy._files import written_whole

__all__ = ["MEASUREMENTS", "VERDICT_COLUMNS", "NotebookError", "Report", "build", "save", "table"]

MEASUREMENTS = ("01_pixel4_phases", "02_pelt_error", "03_idle_clock", "04_platforms")
VERDICT_COLUMNS = ("mail", "what", "published", "ours", "verdict", "why")


class NotebookError(ValueError):
    """A cell failed, or a notebook did not save what the report needs."""


def _figure(obj):
    """The figure that is, holds, or is shared by what a plot function returns; None for anything else."""
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    if isinstance(obj, Figure):
        return obj
    axes = (
        [obj] if isinstance(obj, Axes) else list(np.ravel(obj)) if isinstance(obj, (list, np.ndarray)) else []
    )
    figures = {id(each.figure): each.figure for each in axes if isinstance(each, Axes)}
    if axes and len(figures) == 1 and all(isinstance(each, Axes) for each in axes):
        return figures.popitem()[1].get_figure(root=True)
    return None


def save(name, obj):
    """Put a result of a notebook into the report that is being built.

    Outside a report (the environment variable ``SCHEDPY_REPORT`` is not set) nothing is written.

    Parameters
    ----------
    name : str
        File name without its ending: letters, digits, ``_`` and ``-``.
    obj : DataFrame, Series, Figure, Axes or an array or list of Axes of one figure
        A table becomes ``NAME.csv`` (its index too, unless it only counts rows), a picture ``NAME.png``.

    Returns
    -------
    DataFrame, Series or Figure
        What shows well as the last line of a cell: the table itself, or the figure, closed in pyplot so that
        it appears once.

    Raises
    ------
    ValueError, TypeError
        `name` is no such name, or `obj` is none of these.

    Examples
    --------
    >>> import pandas
    >>> save("example", pandas.Series([1, 2], name="ns")).tolist()
    [1, 2]
    """
    if not isinstance(name, str):
        raise TypeError(f"name = {name!r}: must be a string, not {type(name).__name__}")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise ValueError(f"name = {name!r}: must be letters, digits, '_' and '-' only, without an ending")
    folder = os.environ.get("SCHEDPY_REPORT")
    if isinstance(obj, (pd.DataFrame, pd.Series)):
        if folder:
            counts_rows = isinstance(obj.index, pd.RangeIndex) and obj.index.name is None
            with written_whole(Path(folder, f"{name}.csv")) as path:
                obj.to_csv(path, index=not counts_rows)
        return obj
    figure = _figure(obj)
    if figure is None:
        raise TypeError(
            "obj: must be a DataFrame, a Series, a Figure, Axes or an array of Axes of one figure, "
            f"not {type(obj).__name__}"
        )
    from matplotlib import pyplot

    if folder:
        with written_whole(Path(folder, f"{name}.png")) as path:
            figure.savefig(path, dpi=150, bbox_inches="tight", metadata={"Software": None})
    pyplot.close(figure)
    return figure


@dataclass(frozen=True)
class Report:
    """Where the report lies, and its verdicts: one row per published figure."""

    folder: Path
    verdicts: pd.DataFrame


def _sources(notebooks):
    """The notebooks to run: those given, or the four in the source tree."""
    if notebooks is None:
        folder = Path(__file__).parents[2] / "notebooks"
        notebooks = [folder / f"{name}.py" for name in MEASUREMENTS]
    sources = [Path(path) for path in notebooks]
    for path in sources:
        if path.suffix != ".py":
            raise ValueError(f"{path}: must be the .py source of a notebook")
        if not path.is_file():
            raise FileNotFoundError(f"{path}: no such notebook (they come with the source tree of schedpy)")
    return sources


def _verdicts(folder, source):
    """The rows of the ``0N_verdicts.csv`` that the notebook saved, as text."""
    path = folder / f"{source.stem.partition('_')[0]}_verdicts.csv"
    if not path.is_file():
        raise NotebookError(f"{source}: saved no {path.stem}")
    verdicts = pd.read_csv(path, dtype=str, keep_default_na=False)
    missing = [name for name in VERDICT_COLUMNS if name not in verdicts]
    if missing:
        raise NotebookError(f"{source}: {path.stem} lacks the columns {', '.join(missing)}")
    return verdicts[list(VERDICT_COLUMNS)]


def _check_replaceable(out):
    """Refuse to replace a folder that holds anything else than an earlier report."""
    from schedpy.lab import _pages

    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not _pages.is_report(out))):
        raise FileExistsError(f"{out}: exists and is no report; name another folder")


def _replace_folder(new, out):
    """Put the folder `new` in the place of `out`, which is missing, empty, or an earlier report."""
    if out.exists():
        old = Path(tempfile.mkdtemp(dir=out.parent, prefix=".old-"))
        os.replace(out, old / "report")
        os.replace(new, out)
        shutil.rmtree(old)
    else:
        os.replace(new, out)


def build(out="build/report", *, notebooks: Iterable | None = None, write_notebooks=False, progress=False):
    """Run the notebooks of the published measurements and write the report.

    The folder is written whole or not at all: when a cell fails, an earlier report stays as it was.

    Parameters
    ----------
    out : path
        The report's folder; it must be missing, empty, or an earlier report.
    notebooks : paths, optional
        Percent-format ``.py`` sources; by default the four of the source tree.
    write_notebooks : bool
        Also write each executed notebook as ``.ipynb`` beside its source.
    progress : bool
        Show a progress bar, where standard error is a terminal.

    Returns
    -------
    Report

    Raises
    ------
    NotebookError
        A ValueError: a cell failed, or a notebook did not save its verdicts. The message names notebook, line
        and cell.
    OSError
        No such notebook; `out` is in use by something else.
    """
    from schedpy.lab import _notebooks, _pages

    out = Path(out).absolute()
    sources = _sources(notebooks)
    _check_replaceable(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=out.parent, prefix=".report-"))
    try:
        chapters: list[_pages.Chapter] = []
        for source, notebook in _notebooks.run(sources, report_folder=work, progress=progress):
            named_before = {path.name for chapter in chapters for path in chapter.files}
            files = sorted(path for path in work.iterdir() if path.name not in named_before)
            chapters.append(_pages.Chapter(source.stem, notebook, _verdicts(work, source), files))
        _pages.write(work, chapters)
        if write_notebooks:
            for source, chapter in zip(sources, chapters, strict=True):
                with written_whole(source.with_suffix(".ipynb")) as path:
                    _notebooks.write(chapter.notebook, path)
        os.chmod(work, 0o755)
        _replace_folder(work, out)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return Report(out, pd.concat([chapter.verdicts for chapter in chapters], ignore_index=True))


_LEAST_REASON = 15


def _fit(natural, room):
    """Widths that together need no more than `room`: every column grows in turn, "what" twice as fast."""
    widths = {name: min(width, 6) for name, width in natural.items()} | {"verdict": natural["verdict"]}
    room -= sum(widths.values())
    while room > 0 and widths != natural:
        for name in ("what", "what", "published", "ours", "why"):
            if room > 0 and widths.get(name, 0) < natural.get(name, 0):
                widths[name] += 1
                room -= 1
    return widths


def _clip(text, width):
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def table(verdicts, width=None):
    """The verdicts as text, a line per published figure, clipped to `width` columns (None: not clipped).

    Where the reason would be clipped to nearly nothing it is left out.

    Examples
    --------
    >>> row = ["mail of 2021", "phase 5", "984", "984.0", "agrees", "recomputed from the table"]
    >>> print(table(pd.DataFrame([row], columns=VERDICT_COLUMNS), width=60))
    mail of 2021
      what     published  ours   verdict  why
      phase 5  984        984.0  agrees   recomputed from the t…
    """
    names = ["what", "published", "ours", "verdict", "why"]
    cells = verdicts.map(lambda value: " ".join(str(value).split()))
    widths = {name: max([len(name), *cells[name].map(len)]) for name in names}
    if width is not None:
        natural, widths = widths, _fit(widths, width - 2 * len(names))
        if widths["why"] < min(natural["why"], _LEAST_REASON):  # a reason that short says nothing
            names.remove("why")
            del natural["why"]
            widths = _fit(natural, width - 2 * len(names))

    def line(row):
        text = "".join(f"  {_clip(row[name], widths[name]):<{widths[name]}}" for name in names).rstrip()
        return text if width is None else _clip(text, width)

    lines = []
    for mail, rows in cells.groupby("mail", sort=False):
        lines += [mail if width is None else _clip(mail, width), line({name: name for name in names})]
        lines += [line(row) for _, row in rows.iterrows()]
    return "\n".join(lines)
