"""`condense_traceback`: what went wrong, and where."""

from __future__ import annotations

from ctxkit.condense.base import Budget, Condensed
from ctxkit.condense.traceback import condense_traceback
from ctxkit.tokens import counter_for

COUNTER = counter_for(None)


def condensed(text: str, max_tokens: int, *terms: str) -> Condensed:
    """The condensed output, which keeps the limit."""
    made = condense_traceback(text, Budget(max_tokens, COUNTER, frozenset(terms)))
    assert COUNTER.count(made.text) <= max_tokens
    return made


def frame(path: str, number: int) -> str:
    """A frame of Python, with its source line."""
    return f'  File "{path}", line {number}, in call_{number}\n    return step_{number}(request)'


def test_the_exception_and_frames_of_own_code_come_before_those_of_libraries() -> None:
    libraries = [
        frame("/usr/lib/python3/site-packages/starlette/routing.py", number) for number in range(400)
    ]
    own = [frame("/srv/app/handlers.py", 12), frame("/srv/app/store.py", 77)]
    text = "\n".join(
        ["Traceback (most recent call last):", *libraries[:200], *own, *libraries[200:], "KeyError: 'user_7'"]
    )
    made = condensed(text, 400).text
    assert made.startswith("Traceback (most recent call last):\n")
    assert "KeyError: 'user_7'" in made
    assert own[0] in made and own[1] in made


def test_the_file_of_reports_in_a_row_is_said_once_and_nothing_is_lost() -> None:
    text = """\
> tsgo --noEmit

src/modes/interactive-mode.ts(212,28): error TS2304: Cannot find name 'settings'.
src/modes/interactive-mode.ts(215,8): error TS2339: Property 'files' does not exist.
cmd/a_test.go:702:17: summary.Agents undefined
cmd/a_test.go:703:64: summary.Agents undefined
src/b.ts(1,1): error TS1005: ';' expected."""
    made = condensed(text, COUNTER.count(text) - 1)
    assert made.lossless
    assert (
        made.text
        == """\
> tsgo --noEmit

src/modes/interactive-mode.ts
(212,28): error TS2304: Cannot find name 'settings'.
(215,8): error TS2339: Property 'files' does not exist.
cmd/a_test.go
:702:17: summary.Agents undefined
:703:64: summary.Agents undefined
src/b.ts(1,1): error TS1005: ';' expected."""
    )


def test_each_different_error_is_shown_before_more_of_one() -> None:
    same = [
        f"src/a.ts({number},3): error TS7006: Parameter 'x' has an 'any' type." for number in range(1, 500)
    ]
    text = "\n".join([*same[:300], "src/b.ts(9,1): error TS1005: ';' expected.", *same[300:]])
    assert "src/b.ts(9,1): error TS1005: ';' expected." in condensed(text, 300).text


def test_errors_come_before_warnings_and_totals_stay() -> None:
    lines = ["> eslint", ""]
    for file in range(60):
        lines.append(f"/srv/app/file_{file}.ts")
        lines.extend(
            f"  {row}:5   warning  Unexpected todo comment  no-warning-comments" for row in range(1, 20)
        )
    lines[600] = "  77:5   error  'mid' is never used  no-unused-vars"
    lines += ["", "✖ 1140 problems (1 error, 1139 warnings)", "", "Process exited with code 1", "", "", ""]
    made = condensed("\n".join(lines), 400).text
    assert "'mid' is never used" in made
    assert "✖ 1140 problems (1 error, 1139 warnings)" in made
    assert "exited with code 1" in made
