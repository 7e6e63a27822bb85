"""What OpenAI's Responses API refuses: for every rule, a body that breaks it and one that does not.

Each test quotes the provider.
"""

from __future__ import annotations

from typing import Any

import pytest

from support.validity import broken, said, user

RESPONSES = "openai_responses"
ASK = user("Find the bug.")
ANSWER = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}


def call(call_id: str, kind: str = "function_call", **more: Any) -> dict[str, Any]:
    return {"type": kind, "call_id": call_id, "name": "search", "arguments": "{}", **more}


def output(call_id: str, kind: str = "function_call") -> dict[str, Any]:
    return {"type": f"{kind}_output", "call_id": call_id, "output": "Found."}


def reasoning(name: str | None = "rs_1") -> dict[str, Any]:
    return {"type": "reasoning", "summary": [], **({} if name is None else {"id": name})}


def items(*native: Any, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-5", "input": list(native), **more}


def test_a_tool_loop_with_parallel_calls_is_accepted() -> None:
    body = items(
        ASK,
        reasoning("rs_1"),
        reasoning("rs_2"),
        call("a"),
        call("b"),
        output("b"),
        output("a"),
        {"type": "web_search_call", "id": "ws_1"},
        ANSWER,
        user("Thanks."),
    )
    assert broken(body, RESPONSES) == []
    assert broken({"model": "gpt-5", "input": "Hello."}, RESPONSES) == []


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("function_call", "No tool output found for function call a."),
        ("custom_tool_call", "No tool output found for custom tool call a."),
        ("local_shell_call", "No tool output found for local shell call a."),
    ],
)
def test_every_call_has_its_output(kind: str, words: str) -> None:
    """`No tool output found for function call a.`"""
    body = items(ASK, call("a", kind), user("Stop."))
    assert broken(body, RESPONSES) == [("call_has_its_output", ("input", 1))]
    assert said(body, RESPONSES) == words
    assert broken(items(ASK, call("a", kind), user("Stop."), output("a", kind)), RESPONSES) == []


def test_an_earlier_answer_does_not_stand_for_an_output() -> None:
    body = items(call("a"), previous_response_id="resp_1")
    assert broken(body, RESPONSES) == [("call_has_its_output", ("input", 0))]


@pytest.mark.parametrize("kind", ["function_call", "custom_tool_call"])
def test_every_output_has_its_call(kind: str) -> None:
    """`No tool call found for function call output with call_id a.`"""
    body = items(ASK, output("a", kind))
    words = f"{kind} output".replace("_", " ")
    assert broken(body, RESPONSES) == [("output_has_its_call", ("input", 1))]
    assert said(body, RESPONSES) == f"No tool call found for {words} with call_id a."


@pytest.mark.parametrize(
    "body",
    [
        items(output("a"), previous_response_id="resp_1"),
        items(output("a"), conversation="conv_1"),
        items({"type": "item_reference", "id": "fc_1"}, output("a")),
        items({"type": "compaction", "encrypted_content": "x"}, output("a")),
    ],
)
def test_an_output_may_answer_a_call_that_the_request_does_not_show(body: dict[str, Any]) -> None:
    assert broken(body, RESPONSES) == []


@pytest.mark.parametrize("following", [[], [user("Hi.")], [output("a")]])
def test_reasoning_is_followed_by_what_the_model_wrote_next(following: list[Any]) -> None:
    """`Item 'rs_1' of type 'reasoning' was provided without its required following item.`"""
    body = items(ASK, call("a"), output("a"), reasoning(), *following)
    assert broken(body, RESPONSES) == [("reasoning_has_its_item", ("input", 3))]
    assert said(body, RESPONSES) == (
        "Item 'rs_1' of type 'reasoning' was provided without its required following item."
    )


def test_reasoning_that_nobody_stored_is_not_judged() -> None:
    assert broken(items(ASK, reasoning(None), user("Hi.")), RESPONSES) == []


def test_no_item_stands_in_the_input_twice() -> None:
    """`Duplicate item found with id fc_1. Remove duplicate items from your input and try again.`"""
    body = items(ASK, call("a", id="fc_1"), output("a"), call("b", id="fc_1"), output("b"))
    assert broken(body, RESPONSES) == [("item_ids_are_unique", ("input", 3))]
    assert said(body, RESPONSES).startswith("Duplicate item found with id fc_1.")
    assert broken({**body, "model": "grok-4.3"}, RESPONSES) == []
    assert (
        broken(items(ASK, call("a", id="fc_1"), output("a"), call("b", id="fc_2"), output("b")), RESPONSES)
        == []
    )


def test_a_request_goes_on_from_an_answer_or_in_a_conversation() -> None:
    """`Mutually exclusive parameters: 'previous_response_id' and 'conversation'. ...`"""
    body = items(ASK, previous_response_id="resp_1", conversation="conv_1")
    assert broken(body, RESPONSES) == [("conversation_is_named_once", ("conversation",))]
    assert said(body, RESPONSES).startswith("Mutually exclusive parameters: 'previous_response_id' and")
    assert broken(items(ASK, conversation="conv_1"), RESPONSES) == []
