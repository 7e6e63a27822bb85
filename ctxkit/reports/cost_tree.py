"""What a report costs as a tree: task, turn, kind, tool, result. For the page, and as folded stacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Decimal
from math import ceil

from ctxkit.ledger import BlockCost, block_costs
from ctxkit.reports.content import printable
from ctxkit.reports.report import Report

# A part below this share of what it is a part of is merged with its like: nobody could see it.
VISIBLE_SHARE = 1 / 2_000
# The turns of a longer task stand in so many groups, so that each can be seen.
GROUPS = 100
MERGED = "(small ones)"
ROUNDING = "rounding"
MICRO = Decimal(1_000_000)


@dataclass(slots=True)
class Node:
    """A part of the bill, and the parts that it is made of.

    Attributes:
        usd: What it costs, as far as it is known.
        tokens: As billed, in and out, in all requests together.
        children: By name, in the order in which they came.
    """

    usd: Decimal = Decimal(0)
    tokens: int = 0
    children: dict[str, Node] = field(default_factory=dict)

    def add(self, path: Iterable[str], usd: Decimal, tokens: int) -> None:
        """Add to it, and to the parts of it that a path leads through."""
        node = self
        node.usd += usd
        node.tokens += tokens
        for name in path:
            node = node.children.setdefault(name, Node())
            node.usd += usd
            node.tokens += tokens


def cost_tree(report: Report) -> Node:
    """The bill of a report whose rows hold their attempts."""
    root = Node()
    for row in report.tasks:
        costs = block_costs(row.attempts)
        group = ceil(max((cost.turn or 0 for cost in costs), default=0) / GROUPS)
        for cost in costs:
            tokens = cost.new_tokens + cost.carried_tokens + cost.output_tokens
            root.add(_path(cost, group), cost.cost_usd or Decimal(0), tokens)
    return root


def visible(node: Node) -> Iterator[tuple[str, Node]]:
    """The children of a node that can be seen, the others merged into one; they add up to what there is."""
    rest = Node()
    merged = 0
    least_usd, least_tokens = node.usd * Decimal(VISIBLE_SHARE), node.tokens * VISIBLE_SHARE
    for name, child in node.children.items():
        if child.usd > least_usd or child.tokens > least_tokens:
            yield name, child
        else:
            rest.add((), child.usd, child.tokens)
            merged += 1
    if merged:
        yield MERGED, rest


def folded(report: Report) -> str:
    """The bill as folded stacks, a line a stack: names joined by `;`, then millionths of a dollar.

    The lines add up to the bill in whole millionths; what each loses by that stands in the line `rounding`.
    """
    root = cost_tree(report)
    lines = [(";".join(map(_plain, path)), _micro(usd)) for path, usd in _leaves(root)]
    rest = _micro(root.usd) - sum(micro for _, micro in lines)
    lines.append((ROUNDING, rest))
    return "".join(f"{name} {micro}\n" for name, micro in lines if micro)


def _path(cost: BlockCost, group: int) -> tuple[str, ...]:
    kind = cost.kind.replace("_", " ")
    names = (cost.task, *_turn(cost.turn, group), kind, cost.tool, cost.call_id)
    return tuple(printable(name) for name in names if name)


def _turn(turn: int | None, group: int) -> tuple[str, ...]:
    """The turn, within so many turns where there are many."""
    if turn is None:
        return ("(no turn)",)
    if group == 1:
        return (f"turn {turn}",)
    first = (turn - 1) // group * group + 1
    return (f"turns {first} to {first + group - 1}", f"turn {turn}")


def _leaves(node: Node, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Decimal]]:
    """The stacks and what each costs by itself, without what goes deeper."""
    own = node.usd - sum((child.usd for child in node.children.values()), Decimal(0))
    if path:
        yield path, own
    for name, child in node.children.items():
        yield from _leaves(child, (*path, name))


def _micro(usd: Decimal) -> int:
    return int((usd * MICRO).to_integral_value(rounding=ROUND_FLOOR))


def _plain(name: str) -> str:
    """A name that can stand in a stack."""
    return name.replace(";", ",")
