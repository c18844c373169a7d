# SPDX-License-Identifier: GPL-2.0-only
"""The report: what notebooks save, pages that need no network, one line per published figure."""

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from schedpy.lab import _pages, report

SOURCE = """\
# %% [markdown]
# # A stand-in
#
# What is asked, in a *sentence*.

# %%
import pandas as pd
from matplotlib import pyplot as plt
from schedpy.lab import _pages, report

# %%
figure, axes = plt.subplots(1, 2)
axes[0].plot([1, 2, 3])
report.save("01_lines", axes)

# %%
verdicts = pd.DataFrame(
    [
        ["a mail", "phase 3", "504", "515", "agrees", "a < b & c"],
        ["a mail", "phase 4", "1", "2", "cannot be told", "-"],
    ],
    columns=["mail", "what", "published", "ours", "verdict", "why"],
)
report.save("01_verdicts", verdicts)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SCHEDPY_REPORT", str(tmp_path))
    return tmp_path


@pytest.fixture
def figure():
    figure, _ = plt.subplots(2, 2)
    yield figure
    plt.close(figure)


def reproduce(*arguments, **environment):
    command = [sys.executable, "-m", "schedpy", "reproduce", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, check=False)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A report built by the command from a small notebook, its source, and what the command said."""
    folder = tmp_path_factory.mktemp("built")
    source = folder / "01_stand_in.py"
    source.write_text(SOURCE)
    said = reproduce("--out", folder / "report", "--write-notebooks", source, MPLBACKEND="Agg")
    assert said.returncode == 0, said.stderr
    return folder / "report", source, said


def test_a_table_is_saved_with_its_index_unless_that_only_counts(folder):
    plain = pd.DataFrame({"a": [1, 2], "b": [0.1, 2.5]})
    assert report.save("plain", plain) is plain
    report.save("named", plain.set_index("a"))
    report.save("series", pd.Series([3], index=["x"], name="ns"))
    assert (folder / "plain.csv").read_text() == "a,b\n1,0.1\n2,2.5\n"
    assert (folder / "named.csv").read_text() == "a,b\n1,0.1\n2,2.5\n"
    assert (folder / "series.csv").read_text() == ",ns\nx,3\n"


def test_a_picture_is_saved_from_a_figure_its_axes_or_one_of_them(folder, figure):
    for name, obj in [
        ("figure", figure),
        ("one", figure.axes[0]),
        ("list", figure.axes),
        ("array", np.array(figure.axes)),
    ]:
        assert report.save(name, obj) is figure
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert not plt.fignum_exists(figure.number)


def test_nothing_is_written_outside_a_report(tmp_path, monkeypatch, figure):
    monkeypatch.delenv("SCHEDPY_REPORT", raising=False)
    monkeypatch.chdir(tmp_path)
    report.save("table", pd.Series([1]))
    report.save("picture", figure)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_earlier_file_and_no_other(folder):
    class Broken(pd.DataFrame):
        def to_csv(self, path, **keywords):
            with open(path, "w") as file:
                file.write("half")
            raise OSError("disk full")

    report.save("table", pd.DataFrame({"a": [1]}))
    with pytest.raises(OSError, match="disk full"):
        report.save("table", Broken({"a": [2]}))
    assert [path.name for path in folder.iterdir()] == ["table.csv"]
    assert (folder / "table.csv").read_text() == "a\n1\n"


@pytest.mark.parametrize("name", ["", "../up", "a/b", "with space", "a.csv", "-a", 3])
def test_a_name_that_is_no_file_name_is_refused(name):
    with pytest.raises((ValueError, TypeError), match=r"^name = "):
        report.save(name, pd.Series([1]))


@pytest.mark.parametrize("obj", [None, 3, "text", [], [1, 2], np.zeros(3), {"a": 1}])
def test_an_object_that_is_no_table_and_no_picture_is_refused(obj):
    with pytest.raises(TypeError, match=r"^obj: must be a DataFrame"):
        report.save("name", obj)


def test_axes_of_two_figures_are_refused(figure):
    other, ax = plt.subplots()
    with pytest.raises(TypeError, match="of one figure"):
        report.save("name", [figure.axes[0], ax])
    plt.close(other)


def test_the_command_writes_pages_pictures_and_tables(built):
    out, _, _ = built
    assert sorted(path.name for path in out.iterdir()) == [
        "01_lines.png",
        "01_stand_in.html",
        "01_verdicts.csv",
        "index.html",
    ]
    index = (out / "index.html").read_text()
    assert "<em>sentence</em>" in index
    assert "a &lt; b &amp; c" in index
    assert [path.name for path in out.parent.iterdir() if path.name.startswith(".")] == []


def test_the_command_prints_a_line_per_figure_and_no_bar_into_a_pipe(built):
    out, _, said = built
    lines = said.stdout.splitlines()
    assert [line.split() for line in lines[:4]] == [
        ["a", "mail"],
        ["what", "published", "ours", "verdict", "why"],
        ["phase", "3", "504", "515", "agrees", "a", "<", "b", "&", "c"],
        ["phase", "4", "1", "2", "cannot", "be", "told", "-"],
    ]
    assert lines[-1] == str(out / "index.html")
    assert said.stderr == ""


def test_pages_load_nothing_but_what_lies_beside_them(built):
    out, _, _ = built
    for page in out.glob("*.html"):
        text = page.read_text()
        assert "<script" not in text
        assert not re.search(r"@import|url\(", text)
        assert all((out / url).is_file() for url in _pages.loaded(text))
        assert all((out / url).is_file() for url in re.findall(r'href="([^":#]+)"', text))


def test_what_a_page_loads_is_seen():
    page = '<script src="https://a/x.js"></script><link rel=stylesheet href=//b/c.css><img src="data:,A">'
    assert _pages.loaded(page) == ["https://a/x.js", "//b/c.css"]


def test_the_executed_notebook_bears_no_trace_of_this_run(built):
    import nbformat

    _, source, _ = built
    notebook = nbformat.read(source.with_suffix(".ipynb"), as_version=4)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert set(notebook.metadata.language_info) == {"name"}
    assert [cell.id for cell in notebook.cells] == [f"cell-{n}" for n in range(len(notebook.cells))]
    assert all(not cell.metadata for cell in notebook.cells)
    pictures = [output for output in notebook.cells[2].outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == 1


def test_a_second_run_replaces_the_report(built, tmp_path):
    _, source, _ = built
    out = tmp_path / "report"
    assert reproduce("--out", out, source).returncode == 0
    (out / "left_over.png").touch()
    assert reproduce("--out", out, source).returncode == 0
    assert not (out / "left_over.png").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_a_failing_cell_is_named_and_the_earlier_report_stays(tmp_path):
    source = tmp_path / "01_wrong.py"
    source.write_text(SOURCE + "# %%\nprint(1 // 0)\n")
    out = tmp_path / "report"
    out.mkdir()
    (out / "index.html").write_text('<meta name="generator" content="schedpy">')
    said = reproduce("--out", out, "--write-notebooks", source)
    assert said.returncode == 1
    assert f"01_wrong.py, line {SOURCE.count(chr(10)) + 2}, code cell 4: ZeroDivisionError" in said.stderr
    assert "print(1 // 0)" in said.stderr
    assert "\x1b" not in said.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["01_wrong.py", "report"]
    assert [path.name for path in out.iterdir()] == ["index.html"]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("", "saved no 01_verdicts"),
        (
            "report.save('01_verdicts', pd.DataFrame({'mail': ['m'], 'why': ['w']}))",
            "lacks the columns what, published",
        ),
        ("import os; os._exit(3)", "line 5, code cell 2: the kernel died"),
    ],
)
def test_a_notebook_that_breaks_its_contract_is_named(tmp_path, cell, message):
    source = tmp_path / "01_wrong.py"
    source.write_text(f"# %%\nimport pandas as pd\nfrom schedpy.lab import report\n# %%\n{cell}\n")
    with pytest.raises(report.NotebookError, match=message):
        report.build(tmp_path / "report", notebooks=[source])
    assert list(tmp_path.iterdir()) == [source]


def test_a_folder_that_holds_something_else_is_not_replaced(built, tmp_path):
    _, source, _ = built
    (tmp_path / "precious").touch()
    said = reproduce("--out", tmp_path, source)
    assert said.returncode == 1
    assert "exists and is no report" in said.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_a_missing_notebook_is_named(tmp_path):
    said = reproduce("--out", tmp_path / "out", tmp_path / "09_none.py")
    assert (said.returncode, "09_none.py: no such notebook" in said.stderr) == (1, True)
    with pytest.raises(ValueError, match=r"must be the \.py source"):
        report.build(tmp_path / "out", notebooks=["01_x.ipynb"])


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_the_table_fits_its_width_and_keeps_a_line_per_figure(width):
    verdicts = pd.DataFrame(
        [
            ["a mail", f"what is asked {n}", "2.05 - 2.15 %", "2.09 %", "consistent", "a long reason " * 9]
            for n in range(5)
        ],
        columns=report.VERDICT_COLUMNS,
    )
    lines = report.table(verdicts, width).splitlines()
    assert len(lines) == 7
    assert max(map(len, lines)) <= width
    if width >= 80:
        assert all(
            "2.05 - 2.15 %" in line and "2.09 %" in line and "consistent" in line for line in lines[2:]
        )


def test_help_has_an_example():
    said = reproduce("--help")
    assert said.returncode == 0
    assert "example:\n  python -m schedpy reproduce" in said.stdout


def test_an_interrupted_run_leaves_nothing_and_says_so(tmp_path):
    source = tmp_path / "01_slow.py"
    source.write_text(
        "# %%\nfrom pathlib import Path\nPath('started').touch()\n# %%\nimport time\ntime.sleep(60)\n"
    )
    command = [sys.executable, "-m", "schedpy", "reproduce", "--out", str(tmp_path / "out"), str(source)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "started").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30)[1] == "schedpy reproduce: interrupted\n"
    assert process.returncode == 130
    assert sorted(path.name for path in tmp_path.iterdir()) == ["01_slow.py", "started"]


def test_words_stand_on_the_left_and_numbers_on_the_right():
    body = "<td>12.5</td><td>-1e-07</td><td>&lt;NA&gt;</td><td>71 should be 72</td><td></td>"
    marked = _pages._align_words(body)
    assert marked == body.replace("<td>71", '<td class="words">71').replace(
        "<td></td>", '<td class="words"></td>'
    )
