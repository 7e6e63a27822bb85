"""`SlimToolDefinitions`: shorter definitions that say the same, in the same bytes every time."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.condense.schema import slim_schema
from ctxkit.drive import run
from ctxkit.errors import ConfigError
from ctxkit.flow import ask_model
from ctxkit.messages import Histories, ModelRequest
from ctxkit.middleware.slim_tool_definitions import SlimToolDefinitions
from ctxkit.stack import Stack
from ctxkit.testing import ScriptedModel, both, reply
from ctxkit.tool_costs import ToolDefinition, read_tools
from ctxkit.tool_costs.unused import UnusedTool, unused_tools
from ctxkit.transcripts import RecordedRequest, Transcript
from support.bodies import ALL_WIRES, ANTHROPIC, GEMINI, OPENAI, RESPONSES, calls, request_of, results, user
from support.flows import first_request
from support.recorded import DATA

MORE = {"type": "string", "description": "What else is looked for, in the words of the user; " * 4}
SCHEMA = {
    "title": "search",
    "type": "object",
    "properties": {
        "text": {"type": "string", "title": "Text", "default": None},
        "other": MORE,
        "more": MORE,
        "most": MORE,
    },
    "required": ["text"],
    "additionalProperties": True,
}
BOUND = "claude-opus-5-5"
FREE = "claude-sonnet-4"


def tool(wire: str, name: str = "search", schema: Any = SCHEMA) -> dict[str, Any]:
    return ToolDefinition(name, "Searches.", schema, None, {}).written_for(wire)


def asked(wire: str, *tools: Any, model: str = FREE, **options: Any) -> ModelRequest:
    message = {"role": "user", "parts": [{"text": "hi"}]} if wire == GEMINI else user("hi")
    return request_of(wire, [message], tools=list(tools), model=model, **options)


def sent(middleware: SlimToolDefinitions, request: ModelRequest) -> ModelRequest:
    return first_request(Stack(middleware).wrap_model_call(request, ask_model))


@pytest.mark.parametrize("wire", ALL_WIRES)
def test_definitions_are_made_shorter_on_every_wire(wire: str) -> None:
    request = asked(wire, tool(wire))
    before = deepcopy(request.body)
    slim = slim_schema(SCHEMA, name="search", references=wire != GEMINI, open_objects=wire != RESPONSES)
    assert sent(SlimToolDefinitions(), request).body == {**before, "tools": [tool(wire, schema=slim)]}
    assert request.body == before


def test_gemini_gets_no_references() -> None:
    (made,) = sent(SlimToolDefinitions(), asked(GEMINI, tool(GEMINI))).body["tools"]
    assert "$defs" not in made["functionDeclarations"][0]["parameters"]
    (made,) = sent(SlimToolDefinitions(), asked(OPENAI, tool(OPENAI))).body["tools"]
    assert "$defs" in made["function"]["parameters"]


@pytest.mark.parametrize("strict", [True, False])
def test_what_strict_mode_needs_stays(strict: bool) -> None:
    native = tool(OPENAI)
    native["function"]["strict"] = strict
    (made,) = sent(SlimToolDefinitions(), asked(OPENAI, native)).body["tools"]
    assert ("additionalProperties" in made["function"]["parameters"]) == strict
    closed = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    request = asked(
        OPENAI, {"type": "function", "function": {"name": "a", "strict": strict, "parameters": closed}}
    )
    assert sent(SlimToolDefinitions(), request) is request


@pytest.mark.parametrize(
    ("wire", "native"),
    [
        (ANTHROPIC, {"type": "web_search_20250305", "name": "web_search", "input_schema": SCHEMA}),
        (ANTHROPIC, {"type": "computer_20250124", "name": "computer", "display_width_px": 1}),
        (
            RESPONSES,
            {"type": "mcp", "server_label": "a", "server_url": "https://example.com", "parameters": SCHEMA},
        ),
        (GEMINI, {"googleSearch": {}}),
        (GEMINI, {"functionDeclarations": [7]}),
        (OPENAI, 7),
        (OPENAI, {"type": "custom", "custom": {"name": "a"}}),
    ],
)
def test_what_the_caller_did_not_define_passes_as_it_is(wire: str, native: Any) -> None:
    assert SlimToolDefinitions().slimmed([native], wire=wire) == [native]


@pytest.mark.parametrize(
    "more", [{}, {"tools": []}, {"tools": 7}, {"tools": [{"name": "a", "input_schema": {}}]}]
)
def test_where_nothing_gets_shorter_the_request_is_the_callers_own(more: Any) -> None:
    request = request_of(ANTHROPIC, [user("hi")], **more, model=FREE)
    assert sent(SlimToolDefinitions(), request) is request


def test_later_requests_send_the_same_bytes_and_work_them_out_once() -> None:
    histories, middleware = Histories(), SlimToolDefinitions(sort=True)
    made = []
    for known in (histories, histories, Histories()):
        tools = json.loads(json.dumps([tool(ANTHROPIC, "b"), tool(ANTHROPIC, "a")]))
        made.append(sent(middleware, asked(ANTHROPIC, *tools, histories=known)).body["tools"])
    assert made[0] is made[1]
    assert json.dumps(made[0]) == json.dumps(made[2])


def test_tools_are_sorted_only_where_that_is_asked_for() -> None:
    one, other, provider, odd = tool(OPENAI, "a", {}), tool(OPENAI, "c", {}), {"type": "b"}, {"function": 7}
    tools = [other, provider, 7, odd, one]
    assert SlimToolDefinitions().slimmed(tools, wire=OPENAI) == tools
    assert SlimToolDefinitions(sort=True).slimmed(tools, wire=OPENAI) == [7, odd, one, provider, other]


def test_a_tool_that_the_caller_marked_for_the_cache_stays_where_it_is() -> None:
    tools = [tool(ANTHROPIC, "b"), {**tool(ANTHROPIC, "a"), "cache_control": {"type": "ephemeral"}}]
    made = SlimToolDefinitions(sort=True).slimmed(tools, wire=ANTHROPIC)
    assert [one["name"] for one in made] == ["b", "a"]
    assert made[1]["cache_control"] == {"type": "ephemeral"}


def thinking_history(histories: Histories, *, rounds: int) -> ModelRequest:
    messages = [user("hi")]
    for number in range(rounds):
        messages += [calls(ANTHROPIC, f"c{number}", thinking="hm"), *results(ANTHROPIC, {f"c{number}": "ok"})]
    return request_of(ANTHROPIC, messages, histories=histories, tools=[tool(ANTHROPIC)], model=BOUND)


@pytest.mark.parametrize(
    ("option", "slim"),
    [("leave", [False, False, False]), ("start", [True, True, True]), ("resume", [True, True, True])],
)
def test_a_model_that_binds_its_thinking_is_sent_slim_tools_only_where_asked_for(
    option: Any, slim: list[bool]
) -> None:
    histories, middleware = Histories(), SlimToolDefinitions(bound_thinking=option)
    requests = [thinking_history(histories, rounds=rounds) for rounds in range(3)]
    assert [sent(middleware, request) is not request for request in requests] == slim


@pytest.mark.parametrize(("option", "slim"), [("start", False), ("resume", True)])
def test_a_history_that_holds_bound_thinking_of_before_is_left_alone(option: Any, slim: bool) -> None:
    middleware, histories = SlimToolDefinitions(bound_thinking=option), Histories()
    for rounds in (1, 2):
        request = thinking_history(histories, rounds=rounds)
        assert (sent(middleware, request) is not request) == slim


def test_a_request_without_messages_is_no_reason_to_fail() -> None:
    request = request_of(ANTHROPIC, [], tools=[tool(ANTHROPIC)], model=BOUND)
    assert sent(SlimToolDefinitions(bound_thinking="start"), request) is not request


def test_another_word_for_bound_thinking_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match="leave, start or resume") as raised:
        SlimToolDefinitions(bound_thinking="always")  # type: ignore[arg-type]
    assert raised.value.option == "bound_thinking"


def test_it_works_blocking_and_awaited() -> None:
    request = asked(ANTHROPIC, tool(ANTHROPIC))
    model = ScriptedModel([reply("hello")])
    assert both(lambda: Stack(SlimToolDefinitions()).model_flow(request), model).text == "hello"
    assert run(Stack(SlimToolDefinitions()).model_flow(request), ScriptedModel([reply("hi")])).text == "hi"


def recorded(tools: list[Any], *names: str) -> Transcript:
    messages = [calls(ANTHROPIC, f"c{number}", tool=name) for number, name in enumerate(names)]
    requests = (RecordedRequest(1), RecordedRequest(2))
    return Transcript("a", "body", ANTHROPIC, None, FREE, None, tools, messages, requests)


def test_tools_that_no_run_called_are_named_the_most_often_sent_first() -> None:
    runs = [
        recorded([tool(ANTHROPIC, "a"), tool(ANTHROPIC, "b")], "a"),
        recorded([tool(ANTHROPIC, "b"), tool(ANTHROPIC, "c"), tool(ANTHROPIC, "d")]),
        recorded([], "d"),
    ]
    assert unused_tools(runs) == [UnusedTool("b", 2, 4), UnusedTool("c", 1, 2)]


def real_schemas() -> list[Any]:
    files = sorted((DATA / "tooldefs").glob("*.json"))
    tools = [one for file in files for one in read_tools(json.loads(file.read_bytes()))]
    return [one.schema for one in tools if one.schema]


REAL = real_schemas()
needs_real = pytest.mark.skipif(not REAL, reason="the definitions of the shared data are not here")


@needs_real
def test_real_definitions_get_shorter_and_slimming_them_again_changes_nothing() -> None:
    for schema in REAL:
        slim = slim_schema(schema)
        assert len(json.dumps(slim)) <= len(json.dumps(schema))
        assert slim_schema(slim) == slim


@needs_real
@given(st.data())
def test_real_definitions_refuse_the_same_arguments_for_the_same_reasons(data: st.DataObject) -> None:
    schema = data.draw(st.sampled_from(REAL))
    values = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.lists(st.text(max_size=3))
    arguments = data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys(schema["properties"], values)))
    before, after = (
        [error.message for error in jsonschema.Draft202012Validator(each).iter_errors(arguments)]
        for each in (schema, slim_schema(schema))
    )
    assert before == after
