"""A report as text: plain for `str()`, and as something that rich prints in a terminal."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from ctxkit.reports.content import SHOWN_ROWS, Content, Table, content_of
from ctxkit.reports.report import Report

if TYPE_CHECKING:
    import rich.table
    from rich.console import RenderableType

TEXT_WIDTH = 100


def report_text(report: Report, *, top: int = SHOWN_ROWS) -> str:
    """A report as plain text, 100 columns wide.

    Args:
        report: Any report.
        top: How many tools and tasks get a row of their own, the dearest first.
    """
    return plain_text(report_renderable(report, top=top))


def plain_text(renderable: RenderableType) -> str:
    """What rich would print, as text without styles, 100 columns wide."""
    from rich.console import Console

    text = StringIO()
    console = Console(
        file=text,
        width=TEXT_WIDTH,
        color_system=None,
        force_terminal=False,
        force_jupyter=False,
        legacy_windows=False,
    )
    console.print(renderable)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def report_renderable(report: Report, *, top: int = SHOWN_ROWS) -> RenderableType:
    """A report as something that rich prints, in any width.

    Args:
        report: Any report.
        top: How many tools and tasks get a row of their own, the dearest first.
    """
    return content_renderable(content_of(report, top=top))


def content_renderable(content: Content) -> RenderableType:
    """What is to be said, as something that rich prints, in any width."""
    from rich.console import Group
    from rich.table import Table as Grid
    from rich.text import Text

    parts: list[RenderableType] = [Text(content.headline, style="bold")]
    if content.caveat:
        parts.append(Text(content.caveat, style="yellow"))
    for table in content.tables:
        parts += [Text(""), Text(table.title, style="bold"), _table(table)]
    facts = Grid.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    for word, sentence in content.facts:
        facts.add_row(Text(word), Text(sentence))
    return Group(*parts, Text(""), facts)


def _table(table: Table) -> rich.table.Table:
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    # The rule is of ASCII, so that a report can be printed in any encoding.
    rule = box.Box(str(box.SIMPLE_HEAD).replace("─", "-"), ascii=True)
    grid = Grid(box=rule, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    for number, column in enumerate(table.columns):
        if number == 0:
            grid.add_column(column, overflow="fold", min_width=12)
        else:
            grid.add_column(column, justify="right", no_wrap=True)
    for row in table.rows:
        grid.add_row(*map(Text, row))
    return grid
