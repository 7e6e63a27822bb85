"""Trajectories in the Agent Trajectory Interchange Format (ATIF), turned into chat messages.

Source: Harbor's RFC 0001 in version 1.4, read on 2026-11-30; the keys added up to 1.8 are second hand. A step
of the agent is its answer and what its tools gave.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ctxkit.transcripts._fields import dollars, measured, moment, objects
from ctxkit.transcripts._files import Source
from ctxkit.transcripts._providers import provider_of
from ctxkit.transcripts.base import RecordedRequest, Transcript
from ctxkit.usage import Usage
from ctxkit.wire.native import dumps, string, text
from ctxkit.wire.usage_fields import count, inclusive, known, mapping

FORMAT = "atif"
WIRE = "openai_chat"
WITHOUT_TOOLS = "the tool definitions are not in this log"
SEVERAL_CALLS = "some steps stand for several model calls, with their sums"
ROLES: Mapping[str, str] = {"system": "system", "user": "user", "agent": "assistant"}


def atif_usage(metrics: Any) -> Usage | None:
    """The tokens of a step, whose `prompt_tokens` hold the cached ones too.

    Writes to the prompt cache have no key of their own; Claude's stand in `extra` as its API names them.
    """
    native = mapping(metrics)
    return inclusive(
        native,
        input_tokens=known(native.get("prompt_tokens")),
        output_tokens=known(native.get("completion_tokens")),
        cache_read_tokens=count(native, "cached_tokens"),
        cache_write_tokens=count(mapping(native.get("extra")), "cache_creation_input_tokens"),
    )


def detect(record: Mapping[str, Any]) -> bool:
    """Whether a record is a trajectory."""
    parts = isinstance(record.get("steps"), list) and isinstance(record.get("agent"), Mapping)
    return parts and "schema_version" in record


def read(source: Source) -> Iterator[Transcript]:
    """The trajectories, each followed by those of its subagents."""
    for line, record in source.records():
        if detect(record):
            yield from _trajectories(source, line, record)
        else:
            source.skip(line, "not an ATIF trajectory")


def _trajectories(source: Source, line: int, record: Mapping[str, Any]) -> Iterator[Transcript]:
    run = _Trajectory()
    for step in objects(record.get("steps")):
        run.add(step)
    agent = mapping(record.get("agent"))
    model = string(agent.get("model_name")) or next((one.model for one in run.requests if one.model), None)
    tools = objects(agent.get("tool_definitions"))
    unknown = [*([] if tools else [WITHOUT_TOOLS]), *([SEVERAL_CALLS] if run.several else [])]
    yield Transcript(
        id=string(record.get("trajectory_id")) or string(record.get("session_id")) or source.name,
        format=FORMAT,
        wire=WIRE,
        provider=provider_of(model),
        model=model,
        system=None,
        tools=tools,
        messages=run.messages,
        requests=tuple(run.requests),
        incomplete="; ".join(unknown) or None,
        path=source.path,
        line=line,
        meta={"agent": string(agent.get("name")), "final_metrics": mapping(record.get("final_metrics"))},
    )
    for subagent in objects(record.get("subagent_trajectories")):
        yield from _trajectories(source, line, subagent)


@dataclass(slots=True)
class _Trajectory:
    """What the steps of one trajectory have said so far.

    Attributes:
        several: Whether a step stands for several calls of the model.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    requests: list[RecordedRequest] = field(default_factory=list)
    several: bool = False

    def add(self, step: Mapping[str, Any]) -> None:
        """Take one step."""
        role = ROLES.get(str(step.get("source")), "user")
        calls = known(step.get("llm_call_count"))
        if role == "assistant" and calls != 0 and step.get("is_copied_context") is not True:
            self.several = self.several or (calls or 1) > 1
            self.requests.append(_request(step, len(self.messages)))
        self.messages.append(_message(step, role))
        made = objects(step.get("tool_calls"))
        for result in objects(mapping(step.get("observation")).get("results")):
            self.messages.append(_result(result, made))


def _request(step: Mapping[str, Any], sent: int) -> RecordedRequest:
    metrics = mapping(step.get("metrics"))
    return RecordedRequest(
        input_messages=sent,
        usage=measured(atif_usage(metrics)),
        model=string(step.get("model_name")),
        timestamp=moment(step.get("timestamp")),
        recorded_cost_usd=dollars(metrics.get("cost_usd")),
    )


def _message(step: Mapping[str, Any], role: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": role, "content": _content(step.get("message"))}
    reasoning = string(step.get("reasoning_content"))
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    calls = [_call(call) for call in objects(step.get("tool_calls"))]
    return {**message, "tool_calls": calls} if calls else message


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    arguments = dumps(call.get("arguments") or {}).decode()
    function = {"name": call.get("function_name"), "arguments": arguments}
    return {"id": call.get("tool_call_id"), "type": "function", "function": function}


def _result(result: Mapping[str, Any], made: list[Mapping[str, Any]]) -> dict[str, Any]:
    """A tool's result; one that answers no call was told to the agent by its environment."""
    content = _content(result.get("content"))
    only = made[0].get("tool_call_id") if len(made) == 1 else None
    call_id = string(result.get("source_call_id")) or only
    if call_id is None:
        return {"role": "user", "content": content}
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def _content(content: Any) -> Any:
    """A text as it is, and parts in the shape of chat messages."""
    return [_part(part) for part in objects(content)] if isinstance(content, list) else text(content)


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part.get("type") == "image":
        return {"type": "image_url", "image_url": {"url": mapping(part.get("source")).get("path")}}
    return {"type": "text", "text": text(part.get("text"))}
