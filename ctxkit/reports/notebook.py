"""A report as HTML for notebooks: small, self-contained, in the notebook's own colours."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ctxkit.reports.content import Table, content_of
from ctxkit.reports.report import Report

PADDING = "padding: 0.15em 0.8em"
NAME_STYLE = f"text-align: left; overflow-wrap: anywhere; {PADDING}"
NUMBER_STYLE = f"text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; {PADDING}"
FAINT_STYLE = f"opacity: 0.75; vertical-align: top; {PADDING}"
TABLE_STYLE = "border-collapse: collapse; margin: 0.8em 0"
CAPTION_STYLE = "text-align: left; font-weight: bold; white-space: nowrap; padding: 0.3em 0.8em"


def report_html(report: Report) -> str:
    """A report as HTML that needs no style sheet, script or picture.

    It sets no colours, so that it can be read on a light and on a dark ground.
    """
    content = content_of(report)
    parts = [f"<p><strong>{escape(content.headline)}</strong></p>"]
    if content.caveat:
        parts.append(f"<p>{escape(content.caveat)}</p>")
    parts += map(_table, content.tables)
    facts = (_row(fact, cell="td", styles=(FAINT_STYLE, NAME_STYLE)) for fact in content.facts)
    parts.append(f'<table style="{TABLE_STYLE}">{"".join(facts)}</table>')
    return f"<div>{''.join(parts)}</div>"


def _table(table: Table) -> str:
    styles = (NAME_STYLE, *(NUMBER_STYLE for _ in table.columns[1:]))
    head = _row(table.columns, cell="th", styles=styles)
    rows = "".join(_row(row, cell="td", styles=styles) for row in table.rows)
    caption = f'<caption style="{CAPTION_STYLE}">{escape(table.title)}</caption>'
    return f'<table style="{TABLE_STYLE}">{caption}<thead>{head}</thead><tbody>{rows}</tbody></table>'


def _row(texts: Iterable[str], *, cell: str, styles: Iterable[str]) -> str:
    cells = (
        f'<{cell} style="{style}">{escape(text)}</{cell}>' for text, style in zip(texts, styles, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"
