"""How histories break in the field, as public bug reports tell it, each as a small history of our own making.

For each: what is wrong with it, and what a repair does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from ctxkit.validity import repair
from ctxkit.validity.editing import NO_RESULT
from support.bodies import ANTHROPIC, OPENAI, calls, results
from support.validity import (
    assistant,
    broken,
    mended,
    messages,
    refused,
    text,
    thinking,
    tool_result,
    tool_use,
    user,
)

RESPONSES, GEMINI = "openai_responses", "gemini"
SUMMARY = user("Summary: the bug is in `fox.py`.")
ASK = user("Find the bug.")
GO_ON = user("Go on.")
OFFLOADED = {"role": "assistant", "content": "Done."}


def batch(*ids: str) -> dict[str, Any]:
    return calls(OPENAI, *ids)


def answers(*ids: str) -> list[dict[str, Any]]:
    return results(OPENAI, {one: f"{one} found" for one in ids})


class Case(NamedTuple):
    """A broken history: its wire, its messages, the rules it breaks, and the messages after a repair."""

    wire: str
    history: list[Any]
    rules: set[str]
    repaired: list[Any]


STUB = {"role": "tool", "content": NO_RESULT}
CASES = {
    # Only some results of a parallel batch survived a cut: every id must be covered, one is not enough.
    "langchain-ai/langchain#38352 half a batch": Case(
        OPENAI,
        [SUMMARY, batch("a", "b", "c"), *answers("b")],
        {"tool_call_has_its_message"},
        [
            SUMMARY,
            batch("a", "b", "c"),
            {**STUB, "tool_call_id": "a"},
            *answers("b"),
            {**STUB, "tool_call_id": "c"},
        ],
    ),
    "langchain-ai/langchain#38352 half a batch, Anthropic": Case(
        ANTHROPIC,
        [SUMMARY, calls(ANTHROPIC, "a", "b"), user(tool_result("b"), text("Go on."))],
        {"tool_use_has_its_result"},
        [
            SUMMARY,
            calls(ANTHROPIC, "a", "b"),
            user(tool_result("a", NO_RESULT), tool_result("b"), text("Go on.")),
        ],
    ),
    # The calls were summarised away, their results were kept.
    "langchain-ai/langchain#34282, langchain-ai/deepagents#270": Case(
        OPENAI,
        [SUMMARY, *answers("a", "b"), OFFLOADED, GO_ON],
        {"tool_message_has_its_call"},
        [SUMMARY, OFFLOADED, GO_ON],
    ),
    # "Keep the last n" made a history begin with a result, or cut a batch in two.
    "langchain-ai/langchain#33245, letta-ai/letta#935, pydantic/pydantic-ai#2050": Case(
        OPENAI, [*answers("a"), OFFLOADED, GO_ON], {"tool_message_has_its_call"}, [OFFLOADED, GO_ON]
    ),
    "langchain-ai/langchainjs#9740": Case(
        OPENAI,
        [*answers(*"56789"), batch("b"), *answers("b")],
        {"tool_message_has_its_call"},
        [batch("b"), *answers("b")],
    ),
    "anthropics/claude-code#8484, openclaw/openclaw#8525": Case(
        ANTHROPIC,
        [user(tool_result("a"), text("Go on.")), assistant(text("Done.")), GO_ON],
        {"tool_result_has_its_tool_use"},
        [user(text("Go on.")), assistant(text("Done.")), GO_ON],
    ),
    # A condenser forgot one observation of a batch, or put its summary inside a pair.
    "OpenHands/software-agent-sdk#1450 forgotten": Case(
        ANTHROPIC,
        [ASK, calls(ANTHROPIC, "a", "b"), user(tool_result("a")), assistant(text("Done.")), GO_ON],
        {"tool_use_has_its_result"},
        [
            ASK,
            calls(ANTHROPIC, "a", "b"),
            user(tool_result("a"), tool_result("b", NO_RESULT)),
            assistant(text("Done.")),
            GO_ON,
        ],
    ),
    "OpenHands/software-agent-sdk#1450 between": Case(
        ANTHROPIC,
        [ASK, calls(ANTHROPIC, "a"), SUMMARY, user(tool_result("a"))],
        {"tool_results_come_first"},
        [
            ASK,
            calls(ANTHROPIC, "a"),
            user(tool_result("a"), text(SUMMARY["content"])),
        ],
    ),
    "openai/openai-agents-python#2317": Case(
        RESPONSES,
        [
            ASK,
            {"type": "function_call", "call_id": "a", "name": "find", "arguments": "{}"},
            SUMMARY,
        ],
        {"call_has_its_output"},
        [
            ASK,
            {"type": "function_call", "call_id": "a", "name": "find", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": NO_RESULT},
            SUMMARY,
        ],
    ),
    # What the user said while a tool ran came in between: the real result is moved, not made up.
    "a message between a call and its result": Case(
        OPENAI,
        [ASK, batch("a", "b"), *answers("a"), GO_ON, *answers("b")],
        {"tool_call_has_its_message", "tool_message_has_its_call"},
        [ASK, batch("a", "b"), *answers("a", "b"), GO_ON],
    ),
    # A chat memory's window forgot the call.
    "n8n-io/n8n#33431": Case(
        RESPONSES,
        [{"type": "function_call_output", "call_id": "a", "output": "Found."}, ASK],
        {"output_has_its_call"},
        [ASK],
    ),
    "openai/openai-agents-python#2727": Case(
        RESPONSES,
        [ASK, {"type": "reasoning", "id": "rs_1", "summary": []}, GO_ON],
        {"reasoning_has_its_item"},
        [ASK, GO_ON],
    ),
    # A text was emptied where a cache breakpoint stood.
    "dario#1066, anthropics/claude-code#50082": Case(
        ANTHROPIC,
        [user(text("Find the bug."), text("", cache_control={"type": "ephemeral"}))],
        {"text_is_not_empty", "marked_text_is_not_empty"},
        [user(text("Find the bug."))],
    ),
    # The result of a provider's own tool lost its call.
    "anthropics/claude-code#64026": Case(
        ANTHROPIC,
        [
            ASK,
            assistant({"type": "advisor_tool_result", "tool_use_id": "s", "content": []}, text("Done.")),
            GO_ON,
        ],
        {"server_result_has_its_tool_use"},
        [ASK, assistant(text("Done.")), GO_ON],
    ),
    # An aborted turn left its calls without results.
    "pydantic/pydantic-ai#4728, google/adk-python#7236": Case(
        ANTHROPIC,
        [ASK, calls(ANTHROPIC, "a"), user("Stop, look here.")],
        {"tool_use_has_its_result"},
        [ASK, calls(ANTHROPIC, "a"), user(tool_result("a", NO_RESULT), text("Stop, look here."))],
    ),
    "google-gemini/gemini-cli#3124, microsoft/vscode#299295": Case(
        GEMINI,
        [
            {"role": "user", "parts": [{"text": "Find the bug."}]},
            {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {}}}]},
            {"role": "user", "parts": [{"text": "Stop."}]},
        ],
        {"calls_and_responses_are_as_many"},
        [
            {"role": "user", "parts": [{"text": "Find the bug."}]},
            {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {}}}]},
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "find", "response": {"output": NO_RESULT}}}],
            },
            {"role": "user", "parts": [{"text": "Stop."}]},
        ],
    ),
}
KEYS = {RESPONSES: "input", GEMINI: "contents"}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_history_that_broke_in_the_field_is_told_and_mended(case: Case) -> None:
    key = KEYS.get(case.wire, "messages")
    body = {"model": "m", key: case.history}
    assert {rule for rule, _ in broken(body, case.wire)} == case.rules
    assert mended(body, case.wire).body == {"model": "m", key: case.repaired}


def test_a_valid_history_loses_nothing() -> None:
    """BerriAI/litellm#10696: the fix for orphans dropped results that had their calls."""
    body = messages({"role": "system", "content": "Be brief."}, ASK, batch("a", "b"), *answers("b", "a"))
    assert repair(body, wire=OPENAI).body is body


def test_a_repair_keeps_the_call_that_thinking_led_to() -> None:
    """griffinmartin/opencode-claude-auth#263: dropping the call and keeping its thinking is refused again."""
    loop = assistant(thinking(), tool_use("a"), tool_use("b"))
    repaired = mended(messages(ASK, loop, user(tool_result("a"))), ANTHROPIC)
    assert repaired.body["messages"][1] is loop


def test_a_stub_says_that_no_result_is_available_and_no_more() -> None:
    """vertesia/llumiverse#563: a stub that says "user interrupted" changes what the model does."""
    assert NO_RESULT == "No result is available for this call."


@pytest.mark.parametrize(
    ("wire", "body", "rule", "reason"),
    [
        pytest.param(
            ANTHROPIC,
            messages(
                ASK,
                calls(ANTHROPIC, "a"),
                user(tool_result("a")),
                thinking={"type": "enabled", "budget_tokens": 1024},
            ),
            "running_loop_starts_with_thinking",
            "thinking can't be made up",
            id="clusterfudge/silica: thinking stripped, thinking enabled",
        ),
        pytest.param(
            GEMINI,
            {
                "contents": [
                    {"role": "user", "parts": [{"text": "Hi."}]},
                    {"role": "model", "parts": [{"text": "Hi."}]},
                ]
            },
            "last_content_is_a_users",
            "what the user would say can't be made up",
            id="crewAIInc/crewAI#6973: a trailing turn of the model's",
        ),
        pytest.param(
            GEMINI,
            {
                "model": "gemini-3-flash",
                "contents": [
                    {"role": "user", "parts": [{"text": "Hi."}]},
                    {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {}}}]},
                    {"role": "user", "parts": [{"functionResponse": {"name": "find", "response": {}}}]},
                ],
            },
            "first_call_of_a_step_is_signed",
            "a signature can only come from the provider",
            id="a thought signature lost",
        ),
        pytest.param(
            GEMINI,
            {
                "contents": [
                    {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {}}}]},
                    {"role": "user", "parts": [{"functionResponse": {"name": "find", "response": {}}}]},
                ]
            },
            "call_follows_a_users_turn",
            "no edit is sure to keep what it means",
            id="langchain-ai/langchainjs#9272: a history that begins with a call",
        ),
        pytest.param(
            ANTHROPIC,
            messages(ASK, calls(ANTHROPIC, "a", "a"), user(tool_result("a"), tool_result("a"))),
            "tool_ids_are_unique",
            "it can't be told which of the calls a result answers",
            id="anthropics/claude-code#28515: ids repeated",
        ),
        pytest.param(
            ANTHROPIC,
            messages(ASK, assistant(text("Done.")), user(tool_result("a"))),
            "tool_result_has_its_tool_use",
            "without it, nothing would be left for the model to answer",
            id="a result without its call is all there is to answer",
        ),
    ],
)
def test_what_can_only_be_made_up_is_refused_with_a_reason(
    wire: str, body: dict[str, Any], rule: str, reason: str
) -> None:
    ((found, why),) = refused(body, wire)
    assert (found, why.split(":")[0]) == (rule, reason)
