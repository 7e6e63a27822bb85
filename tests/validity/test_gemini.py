"""What Google's Gemini API refuses: for every rule, a body that breaks it and one that does not.

Each test quotes the provider.
"""

from __future__ import annotations

from typing import Any

import pytest

from support.validity import broken, said

GEMINI = "gemini"


def content(role: str, *parts: Any) -> dict[str, Any]:
    return {"role": role, "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def call(name: str = "find", **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}}, **more}


def response(name: str = "find") -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": "Found."}}}


def contents(*native: Any, **more: Any) -> dict[str, Any]:
    return {"contents": list(native), **more}


ASK = content("user", "Find the bug.")


def test_a_tool_loop_with_parallel_calls_is_accepted() -> None:
    body = contents(
        ASK,
        content("model", "I look.", call("find"), call("read")),
        content("user", response("find"), response("read")),
        content("model", call()),
        content("function", response()),
        content("model", "Done."),
        content("user", "Thanks."),
    )
    assert broken(body, GEMINI) == []


def test_contents_of_one_side_in_a_row_are_one_turn() -> None:
    body = contents(
        ASK,
        content("user", "Please."),
        content("model", call("find")),
        content("model", call("read")),
        content("user", response("find")),
        content("function", response("read")),
        content("user", "Hurry."),
    )
    assert broken(body, GEMINI) == []


def test_a_content_has_a_part() -> None:
    """`* GenerateContentRequest.contents[1].parts: contents.parts must not be empty.`"""
    body = contents(ASK, content("model"), ASK)
    assert broken(body, GEMINI) == [("content_is_not_empty", ("contents", 1, "parts"))]
    assert said(body, GEMINI) == (
        "* GenerateContentRequest.contents[1].parts: contents.parts must not be empty."
    )


def test_a_history_does_not_begin_with_a_function_call() -> None:
    """`Please ensure that function call turn comes immediately after a user turn or after a function response
    turn.`"""
    body = contents(content("model", call()), content("user", response()))
    assert broken(body, GEMINI) == [("call_follows_a_users_turn", ("contents", 0))]
    assert said(body, GEMINI) == (
        "Please ensure that function call turn comes immediately after a user turn or after a function "
        "response turn."
    )
    assert broken(contents(content("model", "Hi."), ASK), GEMINI) == []


@pytest.mark.parametrize(
    "answered",
    [content("user", response("find")), content("user", *[response()] * 3), content("user", "Stop.")],
)
def test_there_are_as_many_responses_as_calls(answered: Any) -> None:
    """`Please ensure that the number of function response parts is equal to the number of function call parts
    of the function call turn.`"""
    body = contents(ASK, content("model", call("find"), call("read")), answered)
    assert broken(body, GEMINI) == [("calls_and_responses_are_as_many", ("contents", 1))]
    assert "number of function response parts is equal to the number" in said(body, GEMINI)


@pytest.mark.parametrize("before", [[], [content("model", "Hi.")]])
def test_a_response_stands_right_behind_its_call(before: list[Any]) -> None:
    """`Please ensure that function response turn comes immediately after a function call turn.`"""
    body = contents(*before, content("user", response()))
    assert broken(body, GEMINI) == [("response_follows_its_call", ("contents", len(before), "parts", 0))]
    assert said(body, GEMINI) == (
        "Please ensure that function response turn comes immediately after a function call turn."
    )


def test_a_request_has_a_content() -> None:
    """`* GenerateContentRequest.contents: contents is not specified`."""
    assert said(contents(), GEMINI) == "* GenerateContentRequest.contents: contents is not specified"


def test_a_request_ends_with_the_users_turn() -> None:
    """`Please ensure that multiturn requests ends with a user role or a function response.`"""
    multi, single = contents(ASK, content("model", "Hi.")), contents(content("model", "Hi."))
    assert broken(multi, GEMINI) == [("last_content_is_a_users", ("contents", 1))]
    assert said(multi, GEMINI) == (
        "Please ensure that multiturn requests ends with a user role or a function response."
    )
    assert said(single, GEMINI) == (
        "Please ensure that single turn requests end with a user role or the role field is empty."
    )
    assert broken(contents({"parts": [{"text": "Hi."}]}), GEMINI) == []


class TestThoughtSignatures:
    """Function call is missing a thought_signature in functionCall parts."""

    SIGNED = {"thoughtSignature": "s"}

    def body(self, *calls: Any, model: str = "gemini-3-pro", after: tuple[Any, ...] = ()) -> dict[str, Any]:
        return contents(
            ASK,
            content("model", "I look.", *calls),
            content("user", *[response()] * len(calls), *after),
            model=model,
        )

    def test_the_first_call_of_a_step_is_signed(self) -> None:
        """`Function call is missing a thought_signature in functionCall parts. ... Additional data, function
        call `default_api:find` , position 2.`"""
        assert broken(self.body(call(**self.SIGNED), call()), GEMINI) == []
        assert broken(self.body(call(thought_signature="s")), GEMINI) == []
        unsigned = self.body(call(), call(**self.SIGNED))
        assert broken(unsigned, GEMINI) == [("first_call_of_a_step_is_signed", ("contents", 1, "parts", 1))]
        assert said(unsigned, GEMINI).startswith("Function call is missing a thought_signature")
        assert said(unsigned, GEMINI).endswith("function call `default_api:find` , position 2.")

    def test_each_step_of_the_running_turn_is_judged(self) -> None:
        body = self.body(call(**self.SIGNED))
        body["contents"] += [content("model", call()), content("user", response())]
        assert broken(body, GEMINI) == [("first_call_of_a_step_is_signed", ("contents", 3, "parts", 0))]

    def test_a_step_may_be_parted_into_several_contents(self) -> None:
        body = contents(
            ASK,
            content("model", call(**self.SIGNED)),
            content("model", call()),
            content("user", *[response()] * 2),
            model="gemini-3-pro",
        )
        assert broken(body, GEMINI) == []

    @pytest.mark.parametrize("model", ["gemini-2.5-flash", "gemini-pro-latest"])
    def test_older_and_unknown_models_are_not_judged(self, model: str) -> None:
        assert broken(self.body(call(), model=model), GEMINI) == []

    def test_a_turn_that_is_over_is_not_judged(self) -> None:
        """ "Validation is only performed on the current turn." """
        assert broken(self.body(call(), after=("Thanks.",)), GEMINI) == []
