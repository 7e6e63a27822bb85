"""Every error of ctxkit has one root, is also the builtin a caller would expect, and carries its data."""

from __future__ import annotations

from decimal import Decimal

import pytest

from ctxkit import errors

TREE = {
    errors.AttachError: TypeError,
    errors.BodyError: ValueError,
    errors.ConfigError: ValueError,
    errors.FlowError: TypeError,
    errors.ModelCallFailed: RuntimeError,
    errors.SpendLimitReached: RuntimeError,
    errors.StreamError: RuntimeError,
    errors.TranscriptError: ValueError,
    errors.UnknownToolError: LookupError,
}


@pytest.mark.parametrize(("error", "builtin"), TREE.items())
def test_an_error_is_one_of_ctxkits_and_the_builtin_one(
    error: type[Exception], builtin: type[Exception]
) -> None:
    assert issubclass(error, errors.CtxkitError)
    assert issubclass(error, builtin)


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    found = {
        value
        for value in vars(errors).values()
        if isinstance(value, type)
        and issubclass(value, errors.CtxkitError)
        and value is not errors.CtxkitError
    }
    assert found == set(TREE)
    for error, builtin in TREE.items():
        (line,) = [line for line in (errors.__doc__ or "").splitlines() if f"── {error.__name__} " in line]
        assert f"({builtin.__name__})" in line


def test_an_aborted_stream_is_a_signal_that_except_exception_cannot_eat() -> None:
    assert not issubclass(errors.StreamAborted, Exception)
    assert errors.StreamAborted().partial is None
    assert errors.StreamAborted("half").partial == "half"


def test_data_is_in_attributes_and_the_fix_in_the_message() -> None:
    spent = errors.SpendLimitReached(spent=Decimal("1.5"), limit=Decimal(1), unit="usd", task="fix-bug")
    assert (spent.spent, spent.limit, spent.unit, spent.task) == (
        Decimal("1.5"),
        Decimal(1),
        "usd",
        "fix-bug",
    )
    assert "task 'fix-bug' has used 1.5 of 1 usd" in str(spent)
    failed = errors.ModelCallFailed(529, {"error": {}}, native="response")
    assert (failed.status, failed.body, failed.native) == (529, {"error": {}}, "response")
    assert errors.BodyError("wrong", where=("messages", 3)).where == ("messages", 3)
    assert errors.ConfigError("wrong", option="max_tokens").option == "max_tokens"


def test_an_unreadable_recording_is_named_with_its_line() -> None:
    error = errors.TranscriptError(path="run.jsonl", line=7, reason="not JSON")
    assert (error.path, error.line, error.reason) == ("run.jsonl", 7, "not JSON")
    assert str(error) == "run.jsonl:7: not JSON"
    assert str(errors.TranscriptError(path="run.jsonl", line=None, reason="empty")) == "run.jsonl: empty"


def test_an_unknown_tool_is_told_which_ones_there_are() -> None:
    error = errors.UnknownToolError("rm", known=["ls", "grep"])
    assert error.tool == "rm"
    assert str(error) == "unknown tool 'rm'; known tools: grep, ls"
    assert str(errors.UnknownToolError("rm", known=[])) == "unknown tool 'rm'; known tools: none"
