"""No false alarm: what was really sent and answered is valid; what is wrong with a log is known by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from ctxkit.check import check_run
from ctxkit.messages import ModelRequest
from ctxkit.transcripts import load
from ctxkit.validity import problems_of
from ctxkit.validity.check import RULES
from ctxkit.wire import wire_named
from support.recorded import DATA, lines

# What was sent, by the API's name in the records; their other APIs have no rules here.
WIRES = {
    "messages": "anthropic_messages",
    "invoke_anthropic": "anthropic_messages",
    "chat": "openai_chat",
    "responses": "openai_responses",
    "generateContent": "gemini",
}
TRUTH = {
    "anthropic_messages": 610,
    "anthropic_vertex": 5,
    "azure_openai": 54,
    "bedrock": 20,
    "google_gemini": 310,
    "openai_chat": 818,
    "openai_responses": 677,
    "other_openai_compatible": 439,
    "reconstructed_agent_requests": 60,
}
# What is wrong with the logs themselves: these requests were not sent as the log tells them.
EMPTY = {"text_is_not_empty", "message_is_not_empty"}
UNANSWERED = {"tool_use_has_its_result"}
KNOWN: Mapping[str, tuple[str, set[str]]] = {
    "entire-9b0c6b33ba": ("the log keeps white space that Claude Code does not send", EMPTY),
    "entire-875586d72c": ("the log keeps white space that Claude Code does not send", EMPTY),
    "entire-b7faeabf6d": ("the log keeps white space that Claude Code does not send", EMPTY),
    "entire-2d7d44c684": (
        "the log keeps white space, and tells what the user said while tools ran in the order of its arrival",
        EMPTY | {"tool_results_come_first"},
    ),
    "entire-6bc088e8ff": (
        "the log tells the results of a batch in the order of their arrival, and parts the batch for it",
        UNANSWERED | {"tool_result_has_its_tool_use"},
    ),
    "cclog-edge_cases": ("a fixture, partly written by hand", UNANSWERED),
    "codex-agentsessions-small": (
        "a fixture whose ids were replaced by one and the same text",
        {"call_has_its_output", "output_has_its_call", "item_ids_are_unique"},
    ),
    "loop-353865698c": (
        "requests of several agents in one cassette: they share no beginning",
        {"tool_call_has_its_message"},
    ),
    "moatless-sympy__sympy-14024": (
        "a tree of attempts: requests leave the line that the log tells",
        UNANSWERED,
    ),
    "moatless-sphinx-doc__sphinx-10451": ("a tree of attempts, as above", UNANSWERED),
    "moatless-sphinx-doc__sphinx-11445": ("a tree of attempts, as above", UNANSWERED),
    "pi-before-compaction": (
        "the log keeps answers that were broken off, which pi mends before it sends them",
        EMPTY | UNANSWERED | {"thinking_is_signed"},
    ),
    "pi-compact": ("answers broken off, as above", EMPTY | UNANSWERED),
    "pi-session": ("answers broken off, as above", EMPTY),
}


@pytest.mark.parametrize("name", TRUTH)
def test_every_request_that_was_answered_is_valid(name: str) -> None:
    checked = 0
    for record in lines(f"usage_truth/{name}"):
        if record["api"] in WIRES:
            wire = wire_named(WIRES[record["api"]])
            request = ModelRequest(wire, record["request"], url_model=record["model"])
            assert problems_of(request) == (), record["source"]
            checked += 1
    assert checked == TRUTH[name]


def test_every_recorded_run_is_valid_but_for_what_is_known_of_its_log() -> None:
    if not DATA.is_dir():
        pytest.skip("the shared data is not here")
    found: dict[str, set[str]] = {}
    checked: Counter[str] = Counter()
    for run in load(DATA / "transcripts", on_skip=lambda _: None):
        if run.wire in RULES:
            checked[run.wire] += len(run.requests)
            broken = {problem.problem.rule for problem in check_run(run)}
            if broken:
                found[run.id] = broken
    assert {run: broken - KNOWN[run][1] for run, broken in found.items()} == {run: set() for run in KNOWN}
    assert set(checked) == set(RULES)
    assert checked.total() > 10_000
