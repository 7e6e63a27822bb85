"""Runs for the comparison of history policies: one form for all, so that every policy is given the same.

A recorded run, whatever its provider, is told again as chat messages, which every library takes, and from
these as the messages of the wire that is simulated. Thinking and images are left out. What a log leaves out
in front of the messages stands as a system prompt of the size that the first answer reported.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import workload

from ctxkit.messages import Block, ModelRequest, Turn, Wire
from ctxkit.tokens import BlockCounter, block_counter_for, shape_of
from ctxkit.transcripts import RecordedRequest, Transcript, load
from ctxkit.transcripts.requests import context_starts, head
from ctxkit.wire import wire_named

Message = dict[str, Any]

DATA = Path(__file__).parents[1].parent / "shared" / "data" / "transcripts"
MARK = {"type": "ephemeral"}
MIN_REQUESTS = 25
MIN_TOKENS = 30_000
LONGEST = 6
UNKNOWN_FRONT = 8_000
# A Claude model's own tokens for one of o200k_base, as far as a log leaves something out.
CLAUDE_RATIO = 1.2
FILLER = " word"
# Some providers take no empty text.
EMPTY = "(empty)"
SAID = frozenset({"assistant_text", "tool_call"})


@dataclass(frozen=True)
class Run:
    """One run as chat messages.

    Attributes:
        id: What its log calls it.
        system: The system prompt; filler where it is unknown.
        tools: The tool definitions as functions.
        messages: What was said, without the system prompt.
        lengths: How many of the messages each request sent.
        starts: Where a context begins: at 0, and wherever the client compacted the history.
    """

    id: str
    system: str
    tools: Sequence[Message]
    messages: Sequence[Message]
    lengths: Sequence[int]
    starts: Sequence[int] = (0,)

    def uncompacted(self) -> Run:
        """The same run as it would be had its client compacted nothing."""
        return replace(self, starts=(0,))

    def transcript(self, model: str, provider: str) -> Transcript:
        """The run as if it had been recorded with this model, in Anthropic's form."""
        messages, places = anthropic_messages(self.messages)
        return Transcript(
            id=self.id,
            format="benchmark",
            wire="anthropic_messages",
            provider=provider,
            model=model,
            system=system_prompt(self.system),
            tools=[_anthropic_tool(tool) for tool in self.tools],
            messages=messages,
            requests=tuple(RecordedRequest(places[length]) for length in self.lengths),
            meta={"marks": [{"at": places[start]} for start in self.starts if start]},
        )


def system_prompt(text: str) -> list[Message]:
    """A system prompt in Anthropic's form, with a mark for the prompt cache at its end."""
    return [{"type": "text", "text": text or EMPTY, "cache_control": MARK}]


def anthropic_messages(messages: Sequence[Message]) -> tuple[list[Message], list[int]]:
    """Chat messages in Anthropic's form, where results that follow each other are one message.

    Returns:
        The native messages, and for each number of leading chat messages how many of these they are.
    """
    native: list[Message] = []
    places = [0]
    for message in messages:
        if message["role"] == "tool":
            result = _result(message)
            if native and _holds_results(native[-1]):
                native[-1]["content"].append(result)
            else:
                native.append({"role": "user", "content": [result]})
        else:
            native.append(_said(message))
        places.append(len(native))
    return native, places


def _holds_results(native: Message) -> bool:
    return isinstance(native["content"], list) and native["content"][0]["type"] == "tool_result"


def _result(message: Message) -> Message:
    return {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}


def _said(message: Message) -> Message:
    calls = [
        {
            "type": "tool_use",
            "id": call["id"],
            "name": call["function"]["name"],
            "input": _arguments(call["function"]["arguments"]),
        }
        for call in message.get("tool_calls") or ()
    ]
    if not calls:
        return {"role": message["role"], "content": message["content"]}
    text = [{"type": "text", "text": message["content"]}] if message["content"].strip() else []
    return {"role": message["role"], "content": [*text, *calls]}


@cache
def _arguments(text: str) -> Any:
    """The arguments of a call; none where a policy left them unreadable."""
    try:
        return json.loads(text)
    except ValueError:
        return {}


def _anthropic_tool(tool: Message) -> Message:
    function = tool["function"]
    return {
        "name": function["name"],
        "description": function.get("description", ""),
        "input_schema": function["parameters"],
    }


def recorded_runs(folder: Path = DATA, *, front_tokens: int | None = None) -> list[Run]:
    """The runs of at least 25 requests and 30,000 tokens, those with the most requests first.

    Args:
        folder: Where the transcripts are.
        front_tokens: What stands for system prompts and tools that a log leaves out; by default as much as
            its first answer reported.
    """
    found = []
    for transcript in load(folder, on_skip=lambda skipped: None):
        if len(transcript.requests) < MIN_REQUESTS or transcript.wire == "bedrock_converse":
            continue
        run, tokens = _told(transcript, front_tokens)
        if tokens >= MIN_TOKENS:
            found.append(run)
    return sorted(found, key=lambda run: -len(run.lengths))


def generated_run(turns: int) -> Run:
    """A loop of `workload`, as chat messages."""
    wire = "openai_chat"
    native = workload.messages(workload.loop(turns), wire=wire)
    tools = workload.body([], wire=wire)["tools"]
    lengths = list(range(1, len(native) + 1, 2))
    return Run(f"generated loop of {turns}", workload.SYSTEM, tools, native, lengths)


def _told(transcript: Transcript, front_tokens: int | None) -> tuple[Run, int]:
    """A recorded run as chat messages, and its tokens as o200k_base has them."""
    wire = wire_named(transcript.wire)
    request = ModelRequest(wire, wire.with_messages(head(transcript), list(transcript.messages)))
    counter = block_counter_for(None, wire.name)
    said: list[Message] = []
    ends = [0]
    for turn in request.turns:
        _add(said, _messages(turn, wire))
        ends.append(len(said))
    messages, paired = _paired(said)
    places = [paired[end] for end in ends]
    system = "\n".join(block.text for block in request.blocks() if block.kind == "system")
    if transcript.incomplete or not system:
        hidden = _hidden_tokens(transcript, request, counter) if front_tokens is None else front_tokens
        system = FILLER * hidden
    tokens = sum(counter.count(block) for block in request.blocks() if block.kind != "thinking")
    lengths = {places[one.input_messages] for one in transcript.requests}
    starts = {places[start] for start in context_starts(transcript)}
    tools = [_function(block) for block in request.tools] or _called(messages)
    return Run(transcript.id, system, tools, messages, _askable(lengths, messages), sorted(starts)), tokens


def _askable(lengths: set[int], messages: Sequence[Message]) -> list[int]:
    """The requests that send something, and do not end with words of the model."""
    return sorted(one for one in lengths if one and messages[one - 1]["role"] != "assistant")


def _paired(messages: Sequence[Message]) -> tuple[list[Message], list[int]]:
    """The messages with one result right behind each call, whatever the log left out or put elsewhere.

    Returns:
        The messages, and for each number of leading messages how many of these they are.
    """
    results: dict[str, Message] = {}
    for message in messages:
        if message["role"] == "tool":
            results.setdefault(message["tool_call_id"], message)
    paired: list[Message] = []
    places = [0]
    for message in messages:
        if message["role"] != "tool":
            paired.append(message)
            paired += (
                results.get(call["id"]) or _tool(call["id"], EMPTY) for call in message.get("tool_calls", ())
            )
        places.append(len(paired))
    return paired, places


def _function(definition: Block) -> Message:
    native = definition.native.get("function", definition.native)
    schema = native.get("parameters") or native.get("input_schema") or {"type": "object"}
    return _tool_definition(native["name"], native.get("description", ""), schema)


def _called(messages: Sequence[Message]) -> list[Message]:
    """What stands for unseen definitions of the tools that were called."""
    calls = (call["function"]["name"] for message in messages for call in message.get("tool_calls", ()))
    return [_tool_definition(name, "", {"type": "object"}) for name in sorted(set(calls))]


def _tool_definition(name: str, description: str, schema: Message) -> Message:
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": schema},
    }


def _hidden_tokens(transcript: Transcript, request: ModelRequest, counter: BlockCounter) -> int:
    """What the first answer reported beyond the messages that the log shows."""
    for recorded in transcript.requests:
        usage = recorded.usage
        if usage is not None and usage.input_tokens:
            shown = request.with_messages(list(transcript.messages)[: recorded.input_messages])
            return max(0, round(usage.input_tokens / CLAUDE_RATIO) - shape_of(shown, counter).total)
    return UNKNOWN_FRONT


def _add(messages: list[Message], following: Iterable[Message]) -> None:
    """Add messages; what the model says in several of them without an answer between is one."""
    for message in following:
        last = messages[-1] if messages else None
        if last and last["role"] == message["role"] == "assistant":
            texts = [one["content"] for one in (last, message) if one["content"]]
            calls = [*last.get("tool_calls", ()), *message.get("tool_calls", ())]
            messages[-1] = _assistant("\n".join(texts), calls)
        else:
            messages.append(message)


def _messages(turn: Turn, wire: Wire) -> Iterator[Message]:
    """A turn as chat messages: one for what the model said, for each result and for each text of the user."""
    said = [block for block in turn.blocks if block.kind in SAID]
    if said:
        text = "\n".join(block.text for block in said if block.kind == "assistant_text")
        yield _assistant(text, [_call(block, wire) for block in said if block.kind == "tool_call"])
    for block in turn.blocks:
        if block.kind == "tool_result":
            yield _tool(block.call_id or "", _shown(block))
        elif block.kind == "user_text":
            yield {"role": "user", "content": _shown(block)}


def _assistant(text: str, calls: Sequence[Message]) -> Message:
    if calls:
        return {"role": "assistant", "content": text, "tool_calls": list(calls)}
    return {"role": "assistant", "content": text if text.strip() else EMPTY}


def _tool(call_id: str, text: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def _call(block: Block, wire: Wire) -> Message:
    arguments = json.dumps(wire.call_input(block.native), ensure_ascii=False)
    return {
        "id": block.call_id or "",
        "type": "function",
        "function": {"name": block.tool or "", "arguments": arguments},
    }


def _shown(block: Block) -> str:
    return block.text if block.text.strip() else EMPTY
