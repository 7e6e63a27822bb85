"""The loop that ctxkit was asked for runs unchanged but for two lines, and afterwards its cost is known."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import pytest

import ctxkit
from brief_loop import SOURCE
from ctxkit.testing import ModelServer, reply

BRIEF = Path(__file__).parents[3] / "shared" / "reference" / "brief" / "004_2886639b202e9317.txt"
AT = "client = anthropic.Anthropic()  # reads ANTHROPIC_API_KEY from environment\n"
TWO_LINES = ["import ctxkit\n", "client = ctxkit.wrap(client, ctxkit.balanced())\n"]
WRAPPED = SOURCE.replace(AT, AT + "".join(TWO_LINES))
FIVE = ["get_weather", "search_knowledge_base", "create_summary", "read_log", "list_files"]
CALLS: dict[str, dict[str, Any]] = {
    "get_weather": {"city": "Paris"},
    "search_knowledge_base": {"query": "cats"},
    "read_log": {},
    "list_files": {},
    "create_summary": {"content": "cats", "format": "paragraph"},
}
# What the model says in the two examples at the end of the loop, and then in a task with five tools.
EXAMPLES = [
    reply(
        tool_calls=[
            ("get_weather", {"city": "Paris"}),
            ("search_knowledge_base", {"query": "LangGraph", "max_results": 1}),
        ]
    ),
    reply("22 degrees, and a framework."),
    reply("First I search.", tool_calls=[("search_knowledge_base", {"query": "CrewAI"})]),
    reply(tool_calls=[("create_summary", {"content": "CrewAI", "format": "bullet_points"})]),
    reply("Three bullet points."),
]
TASK = [reply(tool_calls=[call]) for call in CALLS.items()] + [reply("All five tools were used.")]


def test_the_loop_is_the_users_own() -> None:
    if not BRIEF.exists():
        pytest.skip("the brief is not on this machine")
    brief = BRIEF.read_text()
    given = brief[brief.index("import anthropic") : brief.index("Recursos")]
    assert [line.split() for line in SOURCE.splitlines() if line.strip()] == [
        line.split() for line in given.splitlines()
    ]


def test_exactly_two_lines_are_added() -> None:
    diff = difflib.ndiff(SOURCE.splitlines(keepends=True), WRAPPED.splitlines(keepends=True))
    assert [line for line in diff if not line.startswith("  ")] == [f"+ {line}" for line in TWO_LINES]


def run_source(source: str, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Run the source text against a server; gives its names."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    names: dict[str, Any] = {"__name__": "brief_loop_source"}
    exec(compile(source, "brief_loop_source.py", "exec"), names)
    return names


def run_five_tools(names: dict[str, Any]) -> str:
    """A task of five tool calls, one after another, in the user's own loop: two tools of theirs are more."""
    schema = {"type": "object", "properties": {}}
    for name in ("read_log", "list_files"):
        names["tools"].append({"name": name, "description": f"The tool {name}.", "input_schema": schema})
    own = names["execute_tool"]
    more = {"read_log": "10:00 INFO all is well\n" * 3_000, "list_files": ["a.txt", "b.txt"]}
    names["execute_tool"] = lambda name, given: more[name] if name in more else own(name, given)
    answer: str = names["run_agent"]("Use every tool.")
    return answer


@pytest.mark.filterwarnings("ignore:The model 'claude-opus-4-5' is deprecated:DeprecationWarning")
def test_the_loop_says_the_same_for_less_and_the_report_names_every_tool(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], task: ctxkit.Task
) -> None:
    said: list[tuple[str, str]] = []
    sent: list[int] = []
    for source in (SOURCE, WRAPPED):
        with ModelServer(EXAMPLES + TASK) as server:
            names = run_source(source, server, monkeypatch)
            with ctxkit.task("five tools") as five:
                said.append((run_five_tools(names), capsys.readouterr().out))
            names["client"].close()
            assert server.errors == []
            assert len(server.requests) == 11
            sent.append(sum(len(request.body) for request in server.requests))
    assert said[0] == said[1]
    answer, printed = said[1]
    assert answer == "All five tools were used."
    assert printed.count("Calling tool: ") == 9
    assert sent[1] < sent[0] / 2
    totals = five.report().to_dict()["totals"]
    assert totals["requests"] == 6
    assert {name: totals["by_tool"][name]["calls"] for name in FIVE} == dict.fromkeys(FIVE, 1)
    assert totals["cut_tokens"] > 0
    assert task.report().totals.requests == 11
