"""The bill as a tree and as folded stacks: whatever is merged or rounded, the sums stay."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from ctxkit.ledger import Attempt
from ctxkit.ledger.sent import Placed, Sent
from ctxkit.reports import Report
from ctxkit.reports.cost_tree import MERGED, Node, cost_tree, folded, visible
from support.booked import billed, row, share


def report(*attempts: Attempt, id: str = "fix;it") -> Report:
    booked = [replace(attempt, task=id, turn=1, id=f"{number}") for number, attempt in enumerate(attempts)]
    return Report([replace(row(*booked, id=id), attempts=booked)])


SEARCHED = report(
    billed(share("system", None, 100, 0, "0.1"), share("tool_call", "grep", 0, 50, "0.0000007")),
    billed(share("tool_result", "grep", 900, 0, "0.2", carried=True), share("user_text", None, 9, 0, "0.3")),
)


def test_a_tree_adds_up_to_the_bill_at_every_level() -> None:
    root = cost_tree(SEARCHED)
    assert root.usd == SEARCHED.totals.cost_usd
    assert root.tokens == 100 + 50 + 900 + 9

    def check(node: Node) -> None:
        if node.children:
            assert sum(child.usd for child in node.children.values()) == node.usd
            assert sum(child.tokens for child in node.children.values()) == node.tokens
        for child in node.children.values():
            check(child)

    check(root)


def test_the_levels_are_task_turn_kind_and_tool() -> None:
    (task,) = cost_tree(SEARCHED).children.values()
    turns = set(task.children)
    assert turns <= {"turn 1", "(no turn)"}
    kinds = {kind for turn in task.children.values() for kind in turn.children}
    assert kinds == {"system", "tool call", "tool result", "user text"}


def test_what_nobody_could_see_is_merged_and_nothing_is_lost() -> None:
    root = Node()
    for number in range(10_000):
        root.add([f"call {number}"], Decimal("0.001"), 1)
    root.add(["large"], Decimal(5), 100)
    shown = dict(visible(root))
    assert set(shown) == {"large", MERGED}
    assert sum(node.usd for node in shown.values()) == root.usd
    assert sum(node.tokens for node in shown.values()) == root.tokens


def test_the_turns_of_a_long_task_stand_in_groups() -> None:
    """So that each part of a session of thousands of turns can be seen."""
    parts = [replace(billed(share("system", None, 1, 0, "0.01")), turn=turn) for turn in (1, 3, 4, 250)]
    placed = [Placed("system", None, None, f"{number}", 1) for number in range(4)]
    booked = [
        replace(
            part,
            task="long",
            id=f"{number}",
            sent=Sent(f"{number - 1}" if number else None, 0, 0, (placed[number],), 1),
        )
        for number, part in enumerate(parts)
    ]
    root = cost_tree(Report([replace(row(*booked, id="long"), attempts=booked)]))
    (long,) = root.children.values()
    assert list(long.children) == ["turns 1 to 3", "turns 4 to 6", "turns 250 to 252"]
    assert set(long.children["turns 1 to 3"].children) == {"turn 1", "turn 3"}


def test_what_has_no_price_is_shown_by_its_tokens() -> None:
    root = Node()
    root.add(["a"], Decimal(0), 10)
    assert [name for name, _ in visible(root)] == ["a"]


def test_folded_stacks_add_up_to_whole_millionths() -> None:
    lines = [line.rsplit(" ", 1) for line in folded(SEARCHED).splitlines()]
    assert sum(int(micro) for _, micro in lines) == int(SEARCHED.totals.cost_usd * 1_000_000)
    assert all(int(micro) > 0 for _, micro in lines)


def test_a_name_cannot_end_its_stack() -> None:
    """A stack is joined by `;`, so a name must not hold one."""
    stacks = [line.rsplit(" ", 1)[0].split(";") for line in folded(SEARCHED).splitlines()]
    assert {stack[0] for stack in stacks} == {"fix,it"}


def test_what_rounding_leaves_has_a_line_of_its_own() -> None:
    small = [billed(share(kind, None, 1, 0, "0.0000006")) for kind in ("system", "user_text")]
    assert folded(report(*small)) == "rounding 1\n"


def test_nothing_booked_gives_no_stacks() -> None:
    assert folded(Report([])) == ""
