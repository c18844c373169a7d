# SPDX-License-Identifier: GPL-2.0-only
"""From the percent-format source of a notebook to the executed notebook."""

import asyncio
import os
import signal
import tempfile
from pathlib import Path

try:
    import jupytext
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, DeadKernelError
    from nbconvert.filters import strip_ansi
    from tqdm import tqdm
    from traitlets.config import Config
except ImportError as error:
    raise ImportError(f"the report needs {error.name}: pip install 'schedpy[notebook]'") from error

from schedpy.lab.report import NotebookError

os.environ.setdefault(
    "JUPYTER_PREFER_ENV_PATH", "1"
)  # this environment's Python, not a kernel in the home folder


def read(source):
    """The notebook, its cells numbered instead of named at random, without any trace of this machine."""
    notebook = jupytext.read(source, fmt="py:percent")
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    return notebook


def write(notebook, path):
    """Write an executed notebook."""
    nbformat.validate(notebook)
    nbformat.write(notebook, path)


def _code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]


def _where(source, cell, number):
    before, found, _ = source.read_text(encoding="utf-8").partition(cell.source)
    line = f", line {before.count(chr(10)) + 1}" if found else ""
    return f"{source}{line}, code cell {number}"


class _Client(NotebookClient):
    """Ctrl-C and SIGTERM end the run; NotebookClient alone would kill the kernel and wait for its answer."""

    interrupted = False

    def _interrupt(self, loop, task):
        self.interrupted = True
        self.shutdown_kernel = "immediate"
        loop.set_exception_handler(lambda loop, context: None)  # what was under way ends in errors
        task.cancel()

    async def async_start_new_kernel(self, **keywords):
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._interrupt, loop, task)
        await super().async_start_new_kernel(**keywords)


def _execute(source, notebook, *, report_folder, settings_folder, on_cell):
    """Run every cell in a new kernel; the first that fails ends it."""
    started = []

    def start(cell, cell_index):
        started.append(cell)

    connection = {"transport": "ipc", "connection_file": str(Path(settings_folder, f"{source.stem}.json"))}
    client = _Client(
        notebook,
        config=Config(KernelManager=connection),  # sockets in our own folder, no ports
        kernel_name="python3",
        timeout=None,
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(source.parent)}},
        on_cell_execute=start,
        on_cell_complete=lambda cell, cell_index: on_cell(),
    )
    # Neither a profile in the home folder nor another backend may change what a notebook shows.
    env = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    env |= {"SCHEDPY_REPORT": str(report_folder), "IPYTHONDIR": settings_folder}
    metadata = notebook.metadata.copy()
    try:
        asyncio.run(client.async_execute(env=env))
    except CellExecutionError as error:
        where = _where(source, started[-1], len(started))
        raise NotebookError(
            f"{where}: {error.ename}: {error.evalue}\n\n{strip_ansi(error.traceback)}"
        ) from None
    except (asyncio.CancelledError, DeadKernelError):
        if client.interrupted:
            raise KeyboardInterrupt from None
        raise NotebookError(f"{_where(source, started[-1], len(started))}: the kernel died") from None
    notebook.metadata = metadata
    return notebook


def run(sources, *, report_folder, progress):
    """Yield each source with its executed notebook, one after the other: none disturbs another."""
    notebooks = [read(source) for source in sources]
    total = sum(len(_code_cells(notebook)) for notebook in notebooks)
    with (
        tempfile.TemporaryDirectory() as settings_folder,
        tqdm(total=total, unit="cell", leave=False, disable=None if progress else True) as bar,
    ):
        for source, notebook in zip(sources, notebooks, strict=True):
            bar.set_description(source.stem)
            yield (
                source,
                _execute(
                    source,
                    notebook,
                    report_folder=report_folder,
                    settings_folder=settings_folder,
                    on_cell=bar.update,
                ),
            )
