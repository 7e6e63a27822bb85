"""Budgets under the real SDKs: ten loops that share one, and loops that end when theirs runs out."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import anthropic
import httpx2
import openai
import pytest

import ctxkit
from ctxkit import SpendLimitReached as Stop
from ctxkit.demo.loops import anthropic_loop, openai_loop
from ctxkit.integrations.httpx2 import AsyncTransport, Transport
from ctxkit.middleware.limit_spend import INSTRUCTION
from ctxkit.money import price
from ctxkit.testing import Answer, ModelServer, checked, failure, reply, slow
from ctxkit.usage import Usage
from support.bodies import GEMINI, answer_body
from support.calling import CERTIFICATES, CLAUDE, HI, HOWS, Sdk, Waiter
from support.scripted_http import ScriptedHttp, collected, waited

LOOPS = 10
SHORT, LONG = Usage(900, 40), Usage(900, 100)
SEARCH = {"type": "object", "properties": {}}
ANTHROPIC_TOOLS = [{"name": "search", "description": "Search.", "input_schema": SEARCH}]
OPENAI_TOOLS = [
    {"type": "function", "function": {"name": "search", "description": "Search.", "parameters": SEARCH}}
]
CALL = reply(tool_calls=[("search", {})])
# A question of 900 tokens, and a few for its message.
ASKED = [{"role": "user", "content": "word " * 900}]


def usd(usage: Usage, model: str) -> Decimal:
    charge = price(usage, model=model)
    assert charge is not None
    return charge.total_usd


def spent(usages: Mapping[str, int], model: str) -> Decimal:
    """What so many short and long answers cost."""
    return usages["short"] * usd(SHORT, model) + usages["long"] * usd(LONG, model)


class Counted:
    """A model whose answers are of two lengths, and that knows how many it gave."""

    def __init__(self) -> None:
        self.given = {"short": 0, "long": 0}
        self._lock = threading.Lock()

    def __call__(self, body: Any, call: int) -> Answer:
        kind = "long" if call % 3 == 0 else "short"
        with self._lock:
            self.given[kind] += 1
        return slow(reply("Yes.", usage=LONG if kind == "long" else SHORT), seconds=0.01)


def check_total(limit: ctxkit.LimitSpend, total: Decimal, model: str) -> None:
    """Nothing more would have fit, what was passed is less than one answer, and the sum is exact."""
    assert limit.max_cost_usd is not None
    answer = usd(Usage(0, 100), model)
    # Where the model's own tokenizer is not at hand, a request counts by the upper edge of an estimate.
    foreseen = max(950, ctxkit.count({"model": model, "messages": ASKED}).high)
    assert limit.max_cost_usd - usd(Usage(foreseen, 0), model) < total < limit.max_cost_usd + answer
    limit.max_cost_usd = Decimal(0)
    transport = Transport(limit, ScriptedHttp().transport)
    with httpx2.Client(transport=transport, verify=CERTIFICATES) as client, pytest.raises(Stop) as raised:
        client.post("https://api.anthropic.com/v1/messages", json={"model": CLAUDE, "messages": HI})
    assert raised.value.spent == total
    assert not hasattr(raised.value, "__notes__")


@pytest.mark.parametrize("client", [anthropic.Anthropic, openai.OpenAI])
def test_ten_threads_pass_a_shared_budget_by_less_than_one_answer(client: Any, wait: Waiter) -> None:
    sdk, model = Sdk(client, wait=wait), Counted()
    most = {"max_tokens": 100} if sdk.is_anthropic else {"max_completion_tokens": 100}
    limit = ctxkit.LimitSpend(max_cost_usd="0.06", scope="shared")
    together = threading.Barrier(LOOPS)

    def loop(number: int) -> Stop:
        together.wait(5)
        with ctxkit.task(f"loop {number}"):
            while True:
                try:
                    sdk.create(wrapped, ASKED, **most)
                except Stop as stop:
                    return stop

    with ModelServer(model) as server, sdk.wrapped(server, limit) as wrapped:
        with ThreadPoolExecutor(LOOPS) as pool:
            stops = list(pool.map(loop, range(LOOPS)))
        assert len(server.requests) == sum(model.given.values())
    check_total(limit, spent(model.given, sdk.model), sdk.model)
    assert {stop.task for stop in stops} == {f"loop {number}" for number in range(LOOPS)}


@pytest.mark.parametrize("client", [anthropic.AsyncAnthropic, openai.AsyncOpenAI])
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_ten_loops_of_asyncio_pass_a_shared_budget_by_less_than_one_answer(
    client: Any, streamed: bool, wait: Waiter
) -> None:
    sdk, model = Sdk(client, wait=wait), Counted()
    options: dict[str, Any] = {"max_tokens": 100} if sdk.is_anthropic else {"max_completion_tokens": 100}
    if streamed:
        options["stream"] = True
        options |= {} if sdk.is_anthropic else {"stream_options": {"include_usage": True}}
    limit = ctxkit.LimitSpend(max_cost_usd="0.04", scope="shared")

    async def loop(wrapped: Any) -> None:
        with ctxkit.task("loop"), pytest.raises(Stop):
            while True:
                answer = await sdk.call(wrapped, ASKED, **options)
                if streamed:
                    [event async for event in answer]

    async def ten(wrapped: Any) -> None:
        await asyncio.gather(*(loop(wrapped) for _ in range(LOOPS)))

    with ModelServer(model) as server, sdk.wrapped(server, limit) as wrapped:
        wait(ten(wrapped))
    check_total(limit, spent(model.given, sdk.model), sdk.model)


def test_a_failed_request_gives_back_what_was_reserved_for_it(sdk: Sdk, task: ctxkit.Task) -> None:
    limit = ctxkit.LimitSpend(max_tokens=1_500, max_requests=1)
    script = [failure(429, headers={"retry-after-ms": "1"})] * 2 + [reply("Yes.", usage=SHORT)]
    with ModelServer(script) as server, sdk.wrapped(server, limit) as client:
        assert sdk.text(sdk.create(client)) == "Yes."
        with pytest.raises(Stop) as raised:
            sdk.create(client)
        assert len(server.requests) == 3
    assert raised.value.spent == 1
    assert not hasattr(raised.value, "__notes__")


def test_a_stream_that_is_left_keeps_what_was_reserved_for_it(sdk: Sdk, task: ctxkit.Task) -> None:
    limit = ctxkit.LimitSpend(max_tokens=100)
    with ModelServer([reply("word " * 50)]) as server, sdk.wrapped(server, limit) as client:
        stream = sdk.create(client, stream=True, max_tokens=90)
        sdk.wait.items(stream, 1)
        sdk.wait(stream.close())
        with pytest.raises(Stop) as raised:
            sdk.create(client, max_tokens=90)
        assert len(server.requests) == 1
    assert raised.value.spent == 0
    kept, unit, *_ = raised.value.__notes__[0].split()
    assert int(kept) > 90
    assert unit == "tokens"


@pytest.mark.parametrize("how", HOWS)
def test_the_last_request_of_a_task_is_answered_in_every_way_of_asking(
    sdk: Sdk, how: str, task: ctxkit.Task
) -> None:
    stack = (ctxkit.LimitSpend(max_requests=1, on_limit="finish"), ctxkit.TokenMeter())
    with ModelServer([reply("A tabby.")]) as server, sdk.wrapped(server, *stack) as client:
        assert sdk.ask(client, how) == "A tabby."
        with pytest.raises(Stop):
            sdk.ask(client, how)
        (request,) = server.requests
    assert INSTRUCTION in str(request.json)
    assert [attempt.outcome for attempt in task.attempts] == ["billed"]
    assert not task.faults


def obedient(body: Mapping[str, Any], call: int) -> Answer:
    """Calls a tool for as long as it may."""
    may_not = body.get("tool_choice") in ({"type": "none"}, "none")
    return reply("As far as I know, yes.") if may_not else CALL


@pytest.mark.parametrize("client", [anthropic.Anthropic, openai.OpenAI])
def test_the_demos_loop_ends_by_itself_when_its_budget_runs_out(
    client: Any, wait: Waiter, task: ctxkit.Task
) -> None:
    sdk = Sdk(client, wait=wait)
    loop: Any = anthropic_loop if sdk.is_anthropic else openai_loop
    tools = ANTHROPIC_TOOLS if sdk.is_anthropic else OPENAI_TOOLS
    limit = ctxkit.LimitSpend(max_cost_usd="0.04", on_limit="finish", finish_tokens=200)
    stack = checked(ctxkit.Stack(limit, ctxkit.TokenMeter()))
    with ModelServer(obedient) as server, sdk.wrapped(server, stack) as wrapped:
        answers = loop(
            wrapped,
            model=sdk.model,
            system="Be brief.",
            tools=tools,
            user_turns=["Any cats?"],
            run_tool=lambda name, given: "cat " * 200,
        )
        first, *_, before, last = [request.json for request in server.requests]
    assert answers == ["As far as I know, yes."]
    assert 0 < task.totals.cost_usd <= Decimal("0.04")
    assert last["tools"] == first["tools"]
    assert last["messages"][: len(before["messages"])] == before["messages"]
    assert not task.faults


def test_a_loop_on_gemini_ends_by_itself(runner: asyncio.Runner | None, task: ctxkit.Task) -> None:
    genai = pytest.importorskip("google.genai")
    types = genai.types
    calls = answer_body(GEMINI)
    calls["candidates"][0]["content"]["parts"] = [
        {"functionCall": {"name": "search", "args": {}}, "thoughtSignature": "c2ln"}
    ]
    server = ScriptedHttp(calls, answer_body(GEMINI, "A tabby."))
    models = gemini_models(runner, server, ctxkit.LimitSpend(max_requests=2, on_limit="finish"))
    tool = types.Tool(function_declarations=[types.FunctionDeclaration(name="search")])
    config = types.GenerateContentConfig(
        tools=[tool], automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True)
    )
    contents = [types.Content(role="user", parts=[types.Part(text="Any cats?")])]
    asked: dict[str, Any] = {"model": "gemini-3-pro", "config": config}
    answer = waited(runner, models.generate_content(contents=contents, **asked))
    found = types.Part.from_function_response(name="search", response={"output": "cats"})
    contents += [answer.candidates[0].content, types.Content(role="user", parts=[found])]
    answer = waited(runner, models.generate_content(contents=contents, **asked))
    assert answer.text == "A tabby."
    sent = server.sent()
    assert sent["toolConfig"] == {"functionCallingConfig": {"mode": "NONE"}}
    assert sent["contents"][-1]["parts"][-1] == {"text": INSTRUCTION}
    assert sent["contents"][:-1] == json.loads(server.requests[0].content)["contents"] + sent["contents"][1:2]
    with pytest.raises(Stop):
        waited(runner, models.generate_content(contents=contents, **asked))
    assert not task.faults


def test_a_last_answer_of_gemini_is_streamed(runner: asyncio.Runner | None, task: ctxkit.Task) -> None:
    pytest.importorskip("google.genai")
    body = answer_body(GEMINI, "A tabby.")
    server = ScriptedHttp((b"data: " + json.dumps(body).encode() + b"\r\n\r\n", "text/event-stream"))
    models = gemini_models(runner, server, ctxkit.LimitSpend(max_requests=1, on_limit="finish"))
    stream = waited(runner, models.generate_content_stream(model="gemini-3-pro", contents="Any cats?"))
    assert [chunk.text for chunk in collected(runner, stream)] == ["A tabby."]
    assert server.sent()["contents"][-1]["parts"] == [{"text": "Any cats?"}, {"text": INSTRUCTION}]


def gemini_models(runner: asyncio.Runner | None, server: ScriptedHttp, limit: ctxkit.Middleware) -> Any:
    """The SDK's `models` over a transport with a limit."""
    genai = pytest.importorskip("google.genai")
    stack = checked(ctxkit.Stack(limit))
    if runner is None:
        client: Any = httpx2.Client(transport=Transport(stack, server.transport), verify=CERTIFICATES)
        options = genai.types.HttpOptions(httpx_client=client)
        return genai.Client(api_key="secret", http_options=options).models
    awaiting: Any = httpx2.AsyncClient(transport=AsyncTransport(stack, server.transport), verify=CERTIFICATES)
    options = genai.types.HttpOptions(httpx_async_client=awaiting)
    return genai.Client(api_key="secret", http_options=options).aio.models
