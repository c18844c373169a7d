# SPDX-License-Identifier: GPL-2.0-only
"""How small tables print, and show in a notebook."""

import html

__all__ = ["html_table", "text_table"]


def text_table(rows, left=()):
    """The lines of a table: columns of cells (strings) padded, those numbered in ``left`` on the right.

    Examples
    --------
    >>> print("\\n".join(text_table([("state", "us"), ("WFI", "1"), ("off", "1500")], left=(0,))))
    state    us
    WFI       1
    off    1500
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def html_table(head, rows, caption=""):
    """A table in HTML; cells are made strings, and nothing in them is markup.

    Examples
    --------
    >>> html_table(["state"], [["<WFI>"]], "one")
    '<table><caption>one</caption><thead><tr><th>state</th></tr></thead><tbody><tr><td>&lt;WFI&gt;</td></tr></tbody></table>'
    """
    above = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    body = "".join(_line("td", row) for row in rows)
    return f"<table>{above}<thead>{_line('th', head)}</thead><tbody>{body}</tbody></table>"


def _line(tag, cells):
    return f"<tr>{''.join(f'<{tag}>{html.escape(str(cell))}</{tag}>' for cell in cells)}</tr>"
