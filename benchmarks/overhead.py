"""What a wrapped client adds to a call: time at three sizes of body, and turn 1,000 against turn 10.

Both columns are measured in one run, in turns, against the same server on loopback, and given as medians;
the machine may be shared, so trust the ratios and the differences.

    python benchmarks/overhead.py [--rounds N] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import anthropic
import openai

import ctxkit
from ctxkit.testing import ModelServer, reply

SIZES = {"1 KB": (3, 300), "100 KB": (41, 2_400), "1 MB": (457, 2_250)}
STEP_CHARS = 100
MODEL = "claude-sonnet-5"
OPENAI_MODEL = "gpt-4.1"
Call = Callable[[list[dict[str, Any]]], object]


def stack() -> ctxkit.Stack:
    return ctxkit.Stack(
        ctxkit.TruncateToolResults(max_tokens=4_000),
        ctxkit.TrimHistory(start_tokens=5_000_000, target_tokens=1_000_000),
        ctxkit.TokenMeter(),
    )


def history(messages: int, chars: int, *, wire: str) -> list[dict[str, Any]]:
    """A tool-use loop's history of so many messages, with results of so many characters."""
    made: list[dict[str, Any]] = [{"role": "user", "content": "Find the fault in this module and mend it."}]
    while len(made) < messages:
        made.extend(step(len(made), chars, wire=wire))
    return made


def step(number: int, chars: int, *, wire: str) -> list[dict[str, Any]]:
    """One call of a tool and its result; text like a listing of code, different in every step."""
    line = "{:5}  def handler_{}(request, *, retries=3): return registry[{!r}](request, retries)\n"
    size = chars * 2 if number % 2 else chars
    text = "".join(line.format(n, number * n, f"key-{n ^ number}") for n in range(size // 85 + 1))
    call_id, path = f"call_{number:06}", {"path": f"src/module_{number}.py"}
    if wire == "openai_chat":
        function = {"name": "read_file", "arguments": json.dumps(path)}
        call = {"id": call_id, "type": "function", "function": function}
        return [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call_id, "content": text},
        ]
    use = {"type": "tool_use", "id": call_id, "name": "read_file", "input": path}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]


def anthropic_call(client: anthropic.Anthropic) -> Call:
    return lambda messages: client.messages.create(model=MODEL, max_tokens=64, messages=messages)  # type: ignore[arg-type]


def openai_call(client: openai.OpenAI) -> Call:
    return lambda messages: client.chat.completions.create(model=OPENAI_MODEL, messages=messages)  # type: ignore[arg-type]


def milliseconds(call: Call, messages: list[dict[str, Any]]) -> float:
    started = time.thread_time()
    call(messages)
    return (time.thread_time() - started) * 1_000


def compare(plain: Call, wrapped: Call, size: str, rounds: int, *, wire: str) -> dict[str, float]:
    """Medians of both, measured in turns: the CPU time of the calling thread, without the server's.

    Every round sends the history and one short step more, as a loop does: what is new has to be read and
    counted.
    """
    messages = history(*SIZES[size], wire=wire)
    pairs = []
    for number in range(rounds + 2):
        messages = [*messages, *step(number * 2 + 10_000, STEP_CHARS, wire=wire)]
        pairs.append((milliseconds(plain, messages), milliseconds(wrapped, messages)))
    del pairs[:2]
    base = statistics.median(first for first, _ in pairs)
    added = statistics.median(second - first for first, second in pairs)
    return {"plain_ms": base, "added_ms": added, "share": added / base}


def sizes(rounds: int) -> list[dict[str, Any]]:
    rows = []
    with ModelServer(lambda body, n: USAGE_REPLY, price_cache=False) as server:
        plain = anthropic.Anthropic(base_url=server.url, api_key="none")
        chat = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none")
        for size in SIZES:
            for sdk, wire, call, client in (
                ("anthropic", "anthropic_messages", anthropic_call, plain),
                ("openai", "openai_chat", openai_call, chat),
            ):
                count, chars = SIZES[size]
                body = len(json.dumps(history(count, chars, wire=wire)))
                few = rounds if size != "1 MB" or sdk == "anthropic" else max(5, rounds // 4)
                row = compare(call(client), call(ctxkit.wrap(client, stack())), size, few, wire=wire)  # type: ignore[arg-type]
                rows.append({"size": size, "body_kb": body / 1_000, "sdk": sdk, **row})
    return rows


USAGE_REPLY = reply(text="ok", usage=ctxkit.Usage(input_tokens=10, output_tokens=2))


def turns(last: int) -> list[dict[str, Any]]:
    """The flow alone, without a client: what one more turn costs as the history grows."""
    import orjson

    from ctxkit.drive import run
    from ctxkit.messages import Histories, ModelRequest, ModelResponse
    from ctxkit.wire import wire_named
    from ctxkit.wire.growing import GrowingBodies

    wire = wire_named("anthropic_messages")
    bodies, histories, made = GrowingBodies(), Histories(), stack()
    answer = {"content": [{"type": "text", "text": "ok"}], "usage": {"input_tokens": 10, "output_tokens": 2}}

    class Edge:
        def model(self, request: ModelRequest) -> ModelResponse:
            return ModelResponse(wire=wire, body=answer, request=request, status=200)

        def tool(self, call: Any) -> Any:
            raise NotImplementedError

    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find the fault in this module."}]
    seconds: list[tuple[float, float, int]] = []
    for number in range(last):
        messages.extend(step(number + 1, 1_000, wire=wire.name))
        raw = orjson.dumps({"model": MODEL, "max_tokens": 64, "messages": messages})
        started = time.thread_time()
        body = bodies.read(raw, key=wire.messages_key)
        parsed = time.thread_time()
        run(made.model_flow(ModelRequest(wire=wire, body=body, raw=raw, histories=histories)), Edge())
        seconds.append((parsed - started, time.thread_time() - parsed, len(raw)))
    rows = []
    for turn in (10, 50, 200, last):
        window = seconds[max(0, turn - 10) : turn]
        rows.append(
            {
                "turn": turn,
                "body_kb": window[-1][2] / 1_000,
                "parse_ms": statistics.median(parse for parse, _, _ in window) * 1_000,
                "stack_ms": statistics.median(flow for _, flow, _ in window) * 1_000,
            }
        )
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    widths = {key: max(len(key), 12) for key in rows[0]}
    print("  ".join(key.rjust(widths[key]) for key in rows[0]))
    for row in rows:
        cells = (f"{value:,.3f}" if isinstance(value, float) else str(value) for value in row.values())
        print("  ".join(cell.rjust(widths[key]) for key, cell in zip(row, cells, strict=True)))
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--turns", type=int, default=1_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = {"calls": sizes(options.rounds), "turns": turns(options.turns)}
    if options.json:
        json.dump(result, sys.stdout)
        return
    show(result["calls"])
    show(result["turns"])


if __name__ == "__main__":
    main()
