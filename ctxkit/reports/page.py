"""A report as one HTML page that needs nothing else: a chart of costs, a timeline, and the tables.

How it looks and moves stands in `page.html`, `page.css` and `page.js` beside this file.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from ctxkit.ledger import usd
from ctxkit.reports.content import Content, Table, content_of
from ctxkit.reports.cost_tree import Node, cost_tree, visible
from ctxkit.reports.report import Report
from ctxkit.reports.timeline import timeline
from ctxkit.wire.native import dumps

# Costs are whole numbers of 1e-12 dollars on the page: a script's numbers hold them exactly up to $9,000.
DECIMAL_PLACES = 12
SHOWN_ROWS = 500


def page(report: Report) -> str:
    """A report as an HTML page.

    Args:
        report: One whose rows hold their attempts; without them it has only the tables.

    Returns:
        HTML that loads nothing. Names from the user's runs are escaped.
    """
    content = content_of(report, top=SHOWN_ROWS)
    data = {"tree": _columns(cost_tree(report)), "timeline": timeline(report)}
    return Template(_part("page.html")).substitute(
        style=_part("page.css"),
        script=_part("page.js"),
        # Inside a script element nothing may look like the end of it.
        data=dumps(data).decode().replace("<", "\\u003c"),
        headline=escape(content.headline),
        caveat=escape(content.caveat),
        tables="".join(map(_table, content.tables)),
        facts="".join(_facts(content)),
    )


def _part(name: str) -> str:
    return files("ctxkit.reports").joinpath(name).read_text(encoding="utf-8")


def _columns(root: Node) -> dict[str, Any]:
    """The tree as columns, parents before their children: `parent`, `name`, `usd` in 1e-12, `tokens`."""
    names: dict[str, int] = {}
    rows: list[tuple[int, int, int, int]] = []

    def place(parent: int, name: str, node: Node) -> None:
        index = len(rows)
        amount = int(node.usd.scaleb(DECIMAL_PLACES))
        rows.append((parent, names.setdefault(name, len(names)), amount, node.tokens))
        for child_name, child in visible(node):
            place(index, child_name, child)

    place(-1, "everything", root)
    parent, name, amount, tokens = map(list, zip(*rows, strict=True))
    return {
        "names": list(names),
        "parent": parent,
        "name": name,
        "usd": amount,
        "tokens": tokens,
        "total": usd(root.usd),
    }


def _table(table: Table) -> str:
    heads = "".join(
        f'<th scope="col"><button type="button">{escape(column)}</button></th>' for column in table.columns
    )
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
    return (
        f'<div class="scroll"><table><caption>{escape(table.title)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _facts(content: Content) -> Iterator[str]:
    for word, sentence in content.facts:
        yield f"<dt>{escape(word)}</dt><dd>{escape(sentence)}</dd>"
