# SPDX-License-Identifier: GPL-2.0-only
"""The report's pages: plain HTML that loads nothing from the network."""

import html
import importlib.resources
import platform
import re
import time
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd

try:
    from nbconvert import HTMLExporter
    from nbconvert.filters import markdown2html
    from nbformat import NotebookNode
    from pygments.formatters import HtmlFormatter
except ImportError as error:
    raise ImportError(f"the report needs {error.name}: pip install 'schedpy[notebook]'") from error

from schedpy import __version__

_GENERATOR = '<meta name="generator" content="schedpy">'
_NUMBER = re.compile(r"[-+]?[\d.,]+(?:e[-+]?\d+)?|[-+]?inf|nan|NaN|&lt;NA&gt;|True|False|None|\.\.\.")
_LOADING = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}


@dataclass(frozen=True)
class Chapter:
    """One notebook of the report: its name, itself executed, its verdicts, and the files that it saved."""

    name: str
    notebook: NotebookNode
    verdicts: pd.DataFrame
    files: list[Path]

    @property
    def page(self):
        return f"{self.name}.html"

    @property
    def _opening(self):
        """The first markdown cell's heading and the paragraph under it."""
        texts = (cell.source for cell in self.notebook.cells if cell.cell_type == "markdown")
        blocks = next(texts, "").split("\n\n")
        if not blocks[0].startswith("#"):
            return self.name, blocks[0]
        heading, _, rest = blocks[0].partition("\n")
        return heading.lstrip("# "), rest or (blocks[1] if len(blocks) > 1 else "")

    @property
    def title(self):
        return self._opening[0]

    @property
    def lead(self):
        return self._opening[1]

    def named(self, suffix):
        return [path.name for path in self.files if path.suffix == suffix]


class _Loaded(HTMLParser):
    """Collects what a browser would fetch to show a page."""

    def __init__(self):
        super().__init__()
        self.urls = []

    def handle_starttag(self, tag, attrs):
        self.urls += [value for name, value in attrs if value and name == _LOADING.get(tag)]


def loaded(page):
    """The addresses that showing this page loads, those inside the page itself (data:) left out."""
    parser = _Loaded()
    parser.feed(page)
    return [url for url in parser.urls if not url.startswith("data:")]


def is_report(folder):
    """Whether a folder holds an earlier report."""
    index = folder / "index.html"
    return index.is_file() and _GENERATOR in index.read_text(encoding="utf-8", errors="replace")


def _page(title, body, chapters, here):
    links = [("index.html", "Overview"), *((chapter.page, chapter.title) for chapter in chapters)]
    menu = "\n".join(
        f'<a href="{page}"{" aria-current=page" if page == here else ""}>{html.escape(text)}</a>'
        for page, text in links
    )
    style = importlib.resources.files("schedpy").joinpath("data", "report.css").read_text(encoding="utf-8")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{_GENERATOR}
<title>{html.escape(title)}</title>
<style>
{style}
{HtmlFormatter(style="default").get_style_defs(".highlight")}
</style>
</head>
<body>
<nav><strong>schedpy</strong>
{menu}</nav>
<main>
{body}
</main>
</body>
</html>
"""


def _kind(verdict):
    """good, bad or open: how a verdict is coloured."""
    word = verdict.casefold()
    if word.startswith(("agree", "consistent", "reproduced")):
        return "good"
    if word.startswith(("not ", "differ", "disagree", "wrong")):
        return "bad"
    return "open"


def _mark(verdict):
    return f'<span class="mark {_kind(verdict)}">{html.escape(verdict)}</span>'


def _verdict_table(verdicts):
    rows = "\n".join(
        f"<tr><td>{html.escape(row.what)}</td><td>{html.escape(row.published)}</td><td>{html.escape(row.ours)}</td>"
        f"<td>{_mark(row.verdict)}</td><td>{html.escape(row.why)}</td></tr>"
        for row in verdicts.itertuples()
    )
    return f"""<div class="wide"><table class="verdicts">
<thead><tr><th>what</th><th>published</th><th>ours</th><th>verdict</th><th>why</th></tr></thead>
<tbody>
{rows}
</tbody></table></div>"""


def _caption(name):
    _, _, words = name.removesuffix(".png").partition("_")
    return (words or name).replace("_", " ")


def _overview(chapter):
    mails = "; ".join(html.escape(mail) for mail in chapter.verdicts["mail"].unique())
    pictures = "\n".join(
        f'<figure><a href="{name}"><img src="{name}" alt="{_caption(name)}" loading="lazy"></a>'
        f"<figcaption>{_caption(name)}</figcaption></figure>"
        for name in chapter.named(".png")
    )
    tables = " ".join(f'<a href="{name}">{name}</a>' for name in chapter.named(".csv"))
    return f"""<section>
<h2><a href="{chapter.page}">{html.escape(chapter.title)}</a></h2>
{markdown2html(chapter.lead)}
<p class="source">Published: {mails}</p>
{_verdict_table(chapter.verdicts)}
<div class="pictures">
{pictures}
</div>
<p class="files">Whole notebook: <a href="{chapter.page}">{chapter.page}</a> Tables: {tables}</p>
</section>"""


def _index(chapters):
    verdicts = pd.concat([chapter.verdicts for chapter in chapters])
    counts = " ".join(
        f"<li>{count} &times; {_mark(verdict)}</li>"
        for verdict, count in verdicts["verdict"].value_counts().items()
    )
    sections = "\n".join(_overview(chapter) for chapter in chapters)
    made = (
        f"schedpy {__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"{platform.system()} {platform.release()} on {platform.machine()}, {time.strftime('%Y-%m-%d %H:%M')}"
    )
    return f"""<h1>Published measurements, reproduced</h1>
<p>Measurements that scheduler engineers published on the kernel's mailing lists, computed anew with the
kernel's own integer arithmetic. Every published figure stands beside ours, with what agrees, what does not,
and why.</p>
<ul class="counts">{counts}</ul>
{sections}
<footer>{html.escape(made)}</footer>"""


def _align_words(body):
    """Mark the cells of tables that hold words: numbers stand on the right, words on the left."""
    return re.sub(
        r"<td>([^<]*)</td>",
        lambda cell: cell[0] if _NUMBER.fullmatch(cell[1]) else f'<td class="words">{cell[1]}</td>',
        body,
    )


def write(folder, chapters):
    """Write a page for each chapter, and the overview."""
    exporter = HTMLExporter(
        template_name="basic",
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        exclude_anchor_links=True,
    )
    pages = {
        "index.html": _page("Published measurements, reproduced", _index(chapters), chapters, "index.html")
    }
    for chapter in chapters:
        body, _ = exporter.from_notebook_node(chapter.notebook)
        pages[chapter.page] = _page(
            chapter.title, f'<div class="notebook">{_align_words(body)}</div>', chapters, chapter.page
        )
    for name, page in pages.items():
        for url in loaded(page):
            if not (folder / url).is_file():
                raise ValueError(f"{name}: would load {url}, which is not in the report")
        (folder / name).write_text(page, encoding="utf-8")
