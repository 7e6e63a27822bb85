"""A report as text: what a person is told, and that nothing of it misleads."""

from __future__ import annotations

from decimal import Decimal
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from ctxkit.ledger import Attempt, Totals
from ctxkit.reports import Report, TaskRow
from ctxkit.reports.content import dollars, percent
from ctxkit.reports.terminal import report_renderable, report_text
from ctxkit.usage import Usage
from support.booked import MODEL, billed, paid, refused, row, searched, share, unmeasured, unpriced

amounts = st.decimals(min_value="0.000000000001", max_value=1_000_000, places=12)


def rows_of(text: str, title: str) -> list[list[str]]:
    """The table under a title, as cells; names hold no more than one space in a row."""
    lines = [line for line in text[text.index(title) :].split("\n\n")[0].splitlines() if set(line) != {"-"}]
    return [line.replace("  ", "\t").replace("\t ", "\t").split("\t") for line in lines[1:]]


def cells(text: str, title: str) -> dict[str, list[str]]:
    """The rows under a title by their names, with the cells that are not empty."""
    return {name: [cell for cell in rest if cell] for name, *rest in rows_of(text, title)}


def test_the_first_line_tells_requests_tokens_the_cached_share_and_dollars() -> None:
    first = " ".join(str(searched()).splitlines()[:2])
    assert first.startswith(
        "2 requests, 14,845 input tokens (10.1% read from the prompt cache), 100 output tokens, $0.04334"
    )


def test_a_cache_that_was_never_read_is_not_mentioned() -> None:
    assert "cache" not in str(Report([row(paid("1"))]))


def test_one_request_is_not_called_requests() -> None:
    assert str(Report([row(paid("1"))])).startswith("1 request, ")


def test_sums_that_leave_requests_out_are_called_at_least_with_the_reason() -> None:
    text = str(Report([row(paid("1"), unmeasured(), unmeasured(), unpriced())]))
    assert text.startswith("4 requests, at least 400 input tokens, 110 output tokens, at least $1.000\n")
    assert "missing from these sums: 2 requests without full usage, 1 request without a price" in text


def test_tokens_are_whole_where_only_a_price_is_missing() -> None:
    text = str(Report([row(paid("1"), unpriced())]))
    assert text.startswith("2 requests, 400 input tokens, 110 output tokens, at least $1.000\n")


def test_a_whole_sum_has_no_reserve() -> None:
    text = str(searched())
    assert "at least" not in text
    assert "missing" not in text


def test_without_any_price_the_cost_is_unknown_and_shares_are_of_tokens() -> None:
    text = str(Report([row(unpriced())]))
    assert text.startswith("1 request, 300 input tokens, 100 output tokens, cost unknown\n")
    assert cells(text, "By kind")["system"] == ["300", "0", "unknown", "75.0%"]
    assert cells(text, "By tool: tokens")["grep"] == ["1", "0", "0", "0", "100", "unknown", "25.0%"]
    assert "of tokens" in text
    assert "$" not in text


def test_without_any_usage_nothing_is_called_zero() -> None:
    text = str(Report([row(unmeasured())]))
    assert text.startswith("1 request of unknown size and cost\n")
    assert "0 " not in text.splitlines()[0]
    assert "By " not in text


def test_a_cost_of_zero_is_zero_and_has_no_shares() -> None:
    text = str(Report([row(billed(share("system", None, 10, 1, "0")))]))
    assert ", $0\n" in text
    assert cells(text, "By kind")["system"] == ["10", "1", "$0"]


def test_an_empty_report_says_what_to_look_at() -> None:
    for empty in (Report([]), Report([row()])):
        text = " ".join(str(empty).split())
        assert "nothing was booked: is a TokenMeter in the stack" in text
        assert "`with ctxkit.task(...)`?" in text
        assert "By " not in text


def test_recorded_runs_without_requests_are_not_blamed_on_the_stack() -> None:
    text = str(Report([row(format="codex")]))
    assert text.startswith("these runs hold no request to a model\n")
    assert "TokenMeter" not in text


def test_a_tool_shows_what_its_definition_its_calls_and_its_results_cost() -> None:
    tools = cells(str(searched()), "By tool: dollars")
    assert tools["tool"] == ["called", "definition", "new results", "carried", "calls", "cost", "of cost"]
    assert tools["grep"] == ["1", "$0.00330", "$0.03704", "$0", "$0.00030", "$0.04064", "93.8%"]
    assert tools["(no tool)"] == ["$0.00270", "6.2%"]


def test_results_that_are_carried_along_are_told_from_new_ones_and_calls_are_both() -> None:
    attempt = billed(
        share("tool_result", "ls", 10, 0, "1"),
        share("tool_result", "ls", 900, 0, "2", carried=True),
        share("tool_call", "ls", 0, 5, "3"),
        share("tool_call", "ls", 40, 0, "4", carried=True),
    )
    tools = cells(str(Report([row(attempt)])), "By tool")
    assert tools["ls"] == ["0", "$0", "$1.00", "$2.00", "$7.00", "$10.00", "100.0%"]


def test_what_texts_of_earlier_turns_cost_is_said() -> None:
    attempt = billed(share("user_text", None, 10, 0, "1"), share("user_text", None, 10, 0, "2", carried=True))
    assert "history  $2.000 for texts of earlier turns, sent once more" in str(Report([row(attempt)]))


def test_every_kind_shows_its_tokens_its_cost_and_its_share() -> None:
    kinds = cells(str(searched()), "By kind")
    assert kinds["tool result"] == ["12,345", "0", "$0.03704", "85.5%"]
    assert kinds["assistant text"] == ["0", "80", "$0.00120", "2.8%"]
    assert list(kinds)[1] == "tool result"


def test_without_tools_there_is_no_table_of_tools() -> None:
    assert "By tool" not in str(Report([row(paid("1"))]))


def test_where_all_belongs_to_tools_there_is_no_row_for_the_rest() -> None:
    text = str(Report([row(billed(share("tool_result", "ls", 10, 0, "1")))]))
    assert list(cells(text, "By tool"))[1:] == ["ls"]


def test_a_definition_that_the_log_does_not_show_is_unknown_and_not_free() -> None:
    hidden = billed(share("unrecorded", None, 900, 0, "0.9"), share("tool_call", "ls", 0, 5, "0.1"))
    text = str(Report([row(hidden, format="codex")]))
    assert cells(text, "By tool")["ls"] == ["0", "unknown", "$0", "$0", "$0.100", "$0.100", "10.0%"]
    assert "unrecorded  billed, but not shown by the log" in text


def test_a_part_without_a_price_is_unknown_beside_parts_that_have_one() -> None:
    mixed = [paid("1"), billed(share("tool_result", "ls", 10, 0, None))]
    text = str(Report([row(*mixed)]))
    assert cells(text, "By kind")["tool result"] == ["10", "0", "unknown", "0.0%"]


def test_one_task_is_not_listed_by_task() -> None:
    assert "By task" not in str(searched())


def test_tasks_are_listed_dearest_first() -> None:
    report = Report(
        [row(paid("1"), id="cheap"), row(paid("3"), paid("0.5"), id="dear"), row(unmeasured(), id="lost")]
    )
    text = str(report)
    assert cells(text, "By task") == {
        "task": ["requests", "input", "cached", "output", "cost", "of cost"],
        "dear": ["2", "200", "0.0%", "20", "$3.500", "77.8%"],
        "cheap": ["1", "100", "0.0%", "10", "$1.000", "22.2%"],
        "lost": ["1", "0", "0", "$0", "0.0%"],
    }


@pytest.mark.parametrize("top", [1, 2, 4])
def test_the_rest_is_added_up_in_one_row(top: int) -> None:
    runs = [
        row(billed(share("tool_call", f"tool-{n}", 0, 10 * n, f"{n}")), id=f"run-{n}") for n in range(1, 5)
    ]
    text = report_text(Report(runs), top=top)
    by_task, by_tool = cells(text, "By task"), cells(text, "By tool")
    shown = [f"{n}" for n in range(4, 4 - top, -1)]
    assert [name[4:] for name in by_task if name.startswith("run-")] == shown
    assert [name[5:] for name in by_tool if name.startswith("tool-")] == shown
    rest = sum(range(1, 5 - top))
    name = f"({4 - top} more)"
    if rest:
        assert by_task[name] == [f"{4 - top}", "0", f"{10 * rest}", f"${rest}.00", percent(rest, 10)]
        assert by_tool[name][4] == by_tool[name][5] == f"${rest}.00"
    else:
        assert "more)" not in text


def test_fifteen_tasks_are_shown_where_nothing_else_is_asked_for() -> None:
    text = str(Report([row(paid("1"), id=f"run-{n}") for n in range(17)]))
    assert "(2 more)" in cells(text, "By task")


def test_numbers_are_right_aligned_with_separators() -> None:
    text = str(
        Report([row(billed(share("system", None, 1_234_567, 5, "9"), share("image", None, 5, 1_000, "1")))])
    )
    system, image = (line for line in text.splitlines() if line.startswith(("system", "image")))
    assert system.index("1,234,567") + 9 == image.index(" 5 ") + 2
    assert len(system) == len(image)


def test_what_else_happened_is_told() -> None:
    side = billed(share("user_text", None, 10, 1, "1"), purpose="summarize", cut=1_500)
    report = Report(
        [row(side, refused(), refused(), faults={"TrimHistory KeyError": 3}, notes=["half of it"])],
        [
            {"path": "a.jsonl", "line": 7, "reason": "not JSON"},
            {"path": "b", "line": None, "reason": "empty"},
        ],
    )
    facts = str(report).split("\n\n")[-1]
    assert facts.splitlines()[:-1] == [
        f"model       {MODEL} (1 task)",
        "purpose     summarize (1 request, $1.000)",
        "not billed  2 attempts, such as a refusal with 429",
        "cut         1,500 tokens, as counted here, before requests were sent",
        "fault       TrimHistory KeyError (3 times)",
        "note        half of it (1 task)",
        "skipped     a.jsonl:7: not JSON",
        "skipped     b: empty",
    ]
    assert facts.splitlines()[-1].startswith("prices      genai-prices ")


def test_a_side_call_without_a_price_is_of_unknown_cost_and_the_rest_of_many_is_counted() -> None:
    side = [billed(share("system", None, 5, 1, None), purpose=f"side {n}") for n in range(7)]
    text = str(Report([row(*side)]))
    assert "side 0 (1 request, cost unknown)" in text
    assert "2 more, all of them in the JSON" in text


def test_attempts_alone_are_a_report_too() -> None:
    assert str(Report([row(refused())])).startswith("0 requests, ")


def test_what_many_tasks_say_is_told_once() -> None:
    report = Report([row(paid("1"), notes=["the same"], model=None) for _ in range(3)])
    assert "the same (3 tasks)" in str(report)
    assert "unknown (3 tasks)" in str(report)


def test_of_long_lists_the_rest_is_counted() -> None:
    report = Report(
        [row(paid("1"), notes=[f"note {n}" for n in range(7)])],
        [{"path": f"{n}", "line": None, "reason": "empty"} for n in range(9)],
    )
    facts = [line.split(maxsplit=1) for line in str(report).split("\n\n")[-1].splitlines()]
    assert [said for word, said in facts if word == "note"][4:] == [
        "note 4 (1 task)",
        "2 more, all of them in the JSON",
    ]
    assert [said for word, said in facts if word == "skipped"][4:] == [
        "4: empty",
        "4 more, all of them in the JSON",
    ]


@given(amount=amounts, whole=amounts)
def test_nothing_above_zero_is_shown_as_zero(amount: Decimal, whole: Decimal) -> None:
    shown = dollars(min(amount, whole), whole=whole)
    assert any(digit in shown for digit in "123456789")
    assert dollars(Decimal(0), whole=whole) == "$0"
    assert percent(min(amount, whole), whole).strip("<%") != "0.0"


@given(whole=amounts)
def test_an_amount_of_money_has_four_digits_that_count_and_cents_at_least(whole: Decimal) -> None:
    shown = dollars(whole, whole=whole)
    assert len(shown.rpartition(".")[2]) >= 2
    assert abs(Decimal(shown.strip("$").replace(",", "")) - whole) <= max(
        whole * Decimal("0.0005"), Decimal(0)
    )


@given(parts=st.lists(amounts, min_size=1, max_size=5))
def test_the_parts_of_a_sum_have_as_many_decimals(parts: list[Decimal]) -> None:
    whole = sum(parts, Decimal(0))
    assert len({len(dollars(part, whole=whole).rpartition(".")[2]) for part in parts}) == 1


HOSTILE = "\x1b[31mred\nsecond [bold]line[/bold] :smile: \ud800"


def hostile() -> Report:
    """A report whose every name tries to break out of its cell."""
    attempt = billed(share("tool_call", HOSTILE, 0, 5, "1"), calls=[HOSTILE], purpose=HOSTILE)
    tasks = [row(attempt, id=HOSTILE, model=HOSTILE, notes=[HOSTILE], faults={HOSTILE: 1}), row(paid("1"))]
    return Report(tasks, [{"path": HOSTILE, "line": 1, "reason": HOSTILE}])


def test_names_are_shown_as_they_are_and_send_no_commands() -> None:
    text = str(hostile())
    assert "\x1b" not in text
    text.encode()
    assert text.replace("\n          ", "").count("?[31mred?second [bold]line[/bold] :smile: ?") >= 6


def test_a_report_of_plain_names_is_plain_ascii_without_styles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    text = str(searched())
    assert text.isascii()
    assert "\x1b" not in text


@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_shows_every_figure_whole(columns: int) -> None:
    big = billed(
        share("tool_result", "mcp__documentation__search_all_of_the_pages", 123_456_789, 0, "1234.5"),
        share("tool_call", "ls", 0, 1_234_567, "0.001"),
        cached=99_999_999,
    )
    report = Report([row(big, id="7d1f03c2-9c1e-4c8e-a5ab-0d5cd2f9a001"), row(paid("1"))])
    screen = StringIO()
    Console(file=screen, width=columns).print(report_renderable(report))
    shown = screen.getvalue()
    assert max(map(len, shown.splitlines())) <= columns
    for figure in ("123,456,789", "1,234,567", "$1,234.50", "<$0.01", "81.0%", "99.9%"):
        assert figure in shown


def test_a_terminal_shows_the_headline_in_bold() -> None:
    screen = StringIO()
    Console(file=screen, force_terminal=True).print(report_renderable(searched()))
    assert screen.getvalue().startswith("\x1b[1m2 requests, ")


def test_plain_text_is_at_most_a_hundred_columns_wide() -> None:
    tasks: list[TaskRow] = [row(paid("1"), id="x" * 300, notes=["y" * 300]), row(paid("1"))]
    assert max(map(len, str(Report(tasks)).splitlines())) <= 100


def test_an_answer_of_unknown_length_leaves_the_input_in_the_sums() -> None:
    usage = Usage(700, None)
    attempt = Attempt("", "main", MODEL, "anthropic_messages", "billed", usage=usage)
    assert str(Report([row(attempt)])).startswith(
        "1 request, at least 700 input tokens, 0 output tokens, cost unknown\n"
    )


def test_what_the_logs_themselves_say_it_cost_is_said() -> None:
    told = TaskRow("a", "pi", "m", Totals(), recorded_cost_usd=Decimal("0.25"))
    assert "1 task cost $0.2500 by their own logs" in report_text(
        Report([told, TaskRow("b", "pi", "m", Totals())])
    )
