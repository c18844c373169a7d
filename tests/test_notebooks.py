# SPDX-License-Identifier: GPL-2.0-only
"""Notebooks: the executed .ipynb says what its .py source says, and neither holds logic."""

import ast
import re
from pathlib import Path

import jupytext
import nbformat
import pytest

from schedpy.lab import report

FOLDER = Path(__file__).parent.parent / "notebooks"
SOURCES = sorted(FOLDER.glob("*.py"))
LIBRARIES = {"IPython", "matplotlib", "numpy", "pandas", "tempfile"}
LOGIC = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Lambda,
    ast.While,
    ast.If,
    ast.Try,
    ast.With,
)

each_source = pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)


def logic(text):
    """Lines of a source that decide or define something."""
    return [node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node, LOGIC)]


def foreign(text):
    """Imported names that are neither the public API nor a library that shows results."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            words = name.split(".")
            if words[0] not in {"schedpy", *LIBRARIES} or any(word.startswith("_") for word in words):
                found.append(name)
    return found


def traces(notebook):
    """What an executed notebook must not carry: errors, warnings, times, addresses, another order."""
    found = []
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if [cell.execution_count for cell in code] != list(range(1, len(code) + 1)):
        found.append("not executed from top to bottom")
    for cell in code:
        if "execution" in cell.metadata:
            found.append(f"{cell.id}: times of execution")
        for output in cell.outputs:
            if output.output_type == "error" or output.get("name") == "stderr":
                found.append(f"{cell.id}: an error or a warning")
            text = output.get("text", "") + "".join(output.get("data", {}).get("text/plain", ""))
            if re.search(r" at 0x[0-9a-f]+", text):
                found.append(f"{cell.id}: a memory address")
    return found


def test_the_measurements_are_there():
    assert {path.stem for path in SOURCES} >= set(report.MEASUREMENTS)


@each_source
def test_source_and_executed_notebook_have_the_same_cells(source):
    wanted = [(cell.cell_type, cell.source) for cell in jupytext.read(source, fmt="py:percent").cells]
    executed = nbformat.read(source.with_suffix(".ipynb"), as_version=4)
    assert [(cell.cell_type, cell.source) for cell in executed.cells] == wanted, (
        f"refresh it: python -m schedpy reproduce --write-notebooks {source}"
    )


@each_source
def test_a_notebook_opens_with_its_question(source):
    first = jupytext.read(source, fmt="py:percent").cells[0]
    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")


@each_source
def test_the_executed_notebook_is_clean(source):
    notebook = nbformat.read(source.with_suffix(".ipynb"), as_version=4)
    nbformat.validate(notebook)
    assert traces(notebook) == []


@each_source
def test_notebooks_hold_no_logic_and_use_the_public_api(source):
    text = source.read_text(encoding="utf-8")
    assert logic(text) == []
    assert foreign(text) == []


@pytest.mark.parametrize(
    "text", ["def f(): pass", "class A: pass", "f = lambda x: x", "if a: b()", "while a: b()"]
)
def test_logic_is_seen(text):
    assert logic(text) == [1]


@pytest.mark.parametrize(
    "text",
    [
        "import scipy",
        "from schedpy import _core",
        "import schedpy._core",
        "from schedpy.lab.phases import _x",
        "from . import a",
    ],
)
def test_a_foreign_import_is_seen(text):
    assert len(foreign(text)) == 1


def test_traces_are_seen():
    output = nbformat.v4.new_output
    cells = [
        nbformat.v4.new_code_cell(
            "a", execution_count=2, metadata={"execution": {"iopub.status.busy": "now"}}
        ),
        nbformat.v4.new_code_cell(
            "b", execution_count=1, outputs=[output("stream", name="stderr", text="w")]
        ),
        nbformat.v4.new_code_cell(
            "c", execution_count=3, outputs=[output("execute_result", {"text/plain": "<object at 0x7f00>"})]
        ),
    ]
    assert len(traces(nbformat.v4.new_notebook(cells=cells))) == 4
