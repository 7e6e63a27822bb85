"""OpenAI's Chat Completions API: requests, answers and their edits. Streams live in `openai_stream`.

Read from the types of the `openai` SDK 3.57.0 on 2026-11-30. Many other providers speak it, with fields of
their own, such as `reasoning_content`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ctxkit.messages import Accumulator, Block, Kind, ToolCall, Turn, Where
from ctxkit.usage import Usage
from ctxkit.wire import openai_stream, usage_fields
from ctxkit.wire.listed import ListedMessages
from ctxkit.wire.native import (
    block,
    body_object,
    dumps,
    items,
    parsed_input,
    path,
    string,
    text,
    text_parts,
    tool_of_call,
    with_text,
)

TEXT_KINDS: Mapping[str, Kind] = {
    "system": "system",
    "developer": "system",
    "user": "user_text",
    "assistant": "assistant_text",
}
TOOL_ROLES = frozenset({"tool", "function"})
MEDIA: Mapping[str, Kind] = {"image_url": "image", "file": "document", "input_audio": "document"}
REASONING_KEYS = ("reasoning_content", "reasoning")


class OpenAIChat(ListedMessages):
    """The wire `openai_chat`."""

    name = "openai_chat"

    def head_key(self, body: Mapping[str, Any]) -> Any:
        """The tool definitions; system prompts are messages here."""
        return body.get("tools"), body.get("functions")

    def head(self, body: Mapping[str, Any]) -> tuple[Block, ...]:
        """Tool definitions, of both generations."""
        return tuple(
            block("tool_definition", tool, (key, index), dumps(tool).decode(), tool=_definition_name(tool))
            for key in ("tools", "functions")
            for index, tool in enumerate(items(body.get(key), (key,)))
        )

    def turn(self, message: Any, index: int, parent: Turn) -> Turn:
        """One message; unknown roles and part types become blocks of kind `other`."""
        where: Where = ("messages", index)
        role = string(body_object(message, what=path(where)).get("role")) or ""
        if role in TOOL_ROLES:
            return Turn(role, message, (_result_block(message, where, parent),), parent)
        return Turn(role, message, _message_blocks(message, where, role), parent)

    def with_result_texts(self, message: Any, texts: Mapping[Where, str]) -> Any:
        """The tool message with another text."""
        (replacement,) = texts.values()
        return {**message, "content": with_text(message.get("content"), replacement)}

    def cleared_result(self, native: Any, text: str) -> Any:
        """The tool message with this text as its content."""
        return {**native, "content": text}

    def with_call_input(self, native: Any, call_input: Mapping[str, Any]) -> Any | None:
        """The function call with these `arguments`."""
        function = native.get("function")
        if not isinstance(function, Mapping):
            return None
        return {**native, "function": {**function, "arguments": dumps(call_input).decode()}}

    def result(self, call: ToolCall, content: Any, *, is_error: bool) -> dict[str, Any]:
        """A message of the role `tool`; a failure is said in its text, as the wire has no flag for it."""
        said = f"Error: {content}" if is_error and isinstance(content, str) else content
        return {"role": "tool", "tool_call_id": call.call_id, "content": said}

    def answer(self, body: Mapping[str, Any]) -> tuple[Block, ...]:
        """The blocks of every choice's message."""
        blocks: list[Block] = []
        for index, choice in enumerate(items(body.get("choices"), ("choices",))):
            message = choice.get("message") if isinstance(choice, Mapping) else None
            if isinstance(message, Mapping):
                blocks.extend(_message_blocks(message, ("choices", index, "message"), "assistant"))
        return tuple(blocks)

    def call_input(self, native: Any) -> Mapping[str, Any]:
        """The `arguments` of a function call; the text that a custom tool is called with is its `input`."""
        if isinstance(native.get("custom"), Mapping):
            return {"input": text(native["custom"].get("input"))}
        function = native.get("function", native)
        return parsed_input(function.get("arguments") if isinstance(function, Mapping) else None)

    def model(self, body: Mapping[str, Any]) -> str | None:
        """The response's `model`."""
        return string(body.get("model"))

    def usage(self, body: Mapping[str, Any]) -> Usage | None:
        """The response's `usage`, with the tier that served it."""
        return usage_fields.openai_chat(body.get("usage"), service_tier=body.get("service_tier"))

    def stop_reason(self, body: Mapping[str, Any]) -> str | None:
        """The first choice's `finish_reason`."""
        choices = body.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        return string(first.get("finish_reason")) if isinstance(first, Mapping) else None

    def accumulator(self) -> Accumulator:
        """A reader of one streamed answer."""
        return openai_stream.OpenAIChatAccumulator()

    def events(self, body: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[bytes]:
        """The answer as chunks, with usage where the request asks for it."""
        options = request.get("stream_options")
        include_usage = isinstance(options, Mapping) and options.get("include_usage") is True
        return openai_stream.chunks(body, include_usage=include_usage)


def _definition_name(tool: Any) -> str | None:
    if not isinstance(tool, Mapping):
        return None
    inner = tool.get("function", tool.get("custom", tool))
    name = string(inner.get("name")) if isinstance(inner, Mapping) else None
    return name or string(tool.get("type"))


def _message_blocks(message: Mapping[str, Any], where: Where, role: str) -> tuple[Block, ...]:
    kind = TEXT_KINDS.get(role, "other")
    blocks: list[Block] = []
    for key in REASONING_KEYS:
        if string(message.get(key)):
            blocks.append(block("thinking", message[key], (*where, key), message[key]))
            break
    content = message.get("content")
    if isinstance(content, str):
        if content:
            blocks.append(block(kind, content, (*where, "content"), content))
    else:
        blocks.extend(
            _part_block(part, (*where, "content", position), kind)
            for position, part in enumerate(items(content, (*where, "content")))
        )
    if string(message.get("refusal")):
        blocks.append(block(kind, message["refusal"], (*where, "refusal"), message["refusal"]))
    for position, call in enumerate(items(message.get("tool_calls"), (*where, "tool_calls"))):
        blocks.append(_call_block(call, (*where, "tool_calls", position)))
    if isinstance(message.get("function_call"), Mapping):
        blocks.append(_call_block(message["function_call"], (*where, "function_call")))
    return tuple(blocks)


def _part_block(part: Any, where: Where, kind: Kind) -> Block:
    part_type = string(body_object(part, what=path(where)).get("type")) or ""
    if part_type in ("text", "refusal"):
        return block(kind, part, where, text(part.get(part_type)))
    if part_type in MEDIA:
        return block(MEDIA[part_type], part, where, "", images=1)
    return block("other", part, where, text_parts([part]) or dumps(part).decode())


def _call_block(call: Any, where: Where) -> Block:
    inner = body_object(call, what=path(where)).get("function", call.get("custom", call))
    inner = inner if isinstance(inner, Mapping) else {}
    name = string(inner.get("name"))
    arguments = text(inner.get("arguments", inner.get("input")))
    call_id = string(call.get("id"))
    spelled = f"{name or ''} {arguments}"
    return block("tool_call", call, where, spelled, tool=name, call_id=call_id, client=True)


def _result_block(message: Mapping[str, Any], where: Where, parent: Turn) -> Block:
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    call_id = string(message.get("tool_call_id"))
    readable = text_parts(parts) if parts else text(content or None)
    return block(
        "tool_result",
        message,
        where,
        readable,
        tool=string(message.get("name")) or tool_of_call(parent, call_id),
        call_id=call_id,
        images=sum(isinstance(part, Mapping) and string(part.get("type")) in MEDIA for part in parts),
        client=True,
    )


OPENAI_CHAT = OpenAIChat()
