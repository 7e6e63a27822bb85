"""Anthropic's Messages API: requests, answers and their edits. Streams live in `anthropic_stream`.

Read from the types of the `anthropic` SDK 2.14.0 on 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxkit.messages import Accumulator, Block, Kind, ToolCall, Turn, Where
from ctxkit.usage import Usage
from ctxkit.wire import anthropic_stream, usage_fields
from ctxkit.wire.listed import ListedMessages
from ctxkit.wire.native import (
    block,
    body_object,
    digest,
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

CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
THINKING = frozenset({"thinking", "redacted_thinking"})
MEDIA: Mapping[str, Kind] = {"image": "image", "document": "document"}


class AnthropicMessages(ListedMessages):
    """The wire `anthropic_messages`."""

    name = "anthropic_messages"

    def head_key(self, body: Mapping[str, Any]) -> Any:
        """Tools, then system: what the provider renders in front of the messages."""
        return body.get("tools"), body.get("system")

    def head(self, body: Mapping[str, Any]) -> tuple[Block, ...]:
        """Tool definitions and the system prompt."""
        blocks = [
            _definition(body_object(tool, what=f"tools.{index}"), ("tools", index))
            for index, tool in enumerate(items(body.get("tools"), ("tools",)))
        ]
        system = body.get("system")
        if isinstance(system, str):
            blocks.append(block("system", system, ("system",), system))
        else:
            blocks.extend(
                block("system", part, ("system", index), text_parts([part]))
                for index, part in enumerate(items(system, ("system",)))
            )
        return tuple(blocks)

    def turn(self, message: Any, index: int, parent: Turn) -> Turn:
        """One message; unknown roles and block types become blocks of kind `other`."""
        where: Where = ("messages", index)
        role = string(body_object(message, what=path(where)).get("role")) or ""
        content = message.get("content")
        where = (*where, "content")
        if isinstance(content, str):
            kind = _text_kind(role)
            return Turn(role, message, (block(kind, content, where, content),) if content else (), parent)
        return Turn(role, message, _content_blocks(content, where, role, parent), parent)

    def with_result_texts(self, message: Any, texts: Mapping[Where, str]) -> Any:
        """The message with other texts in these tool results."""
        content = list(message["content"])
        for where, replacement in texts.items():
            position = int(where[-1])
            part = content[position]
            content[position] = {**part, "content": with_text(part.get("content"), replacement)}
        return {**message, "content": content}

    def cleared_result(self, native: Any, text: str) -> Any:
        """The `tool_result` with this text as its content."""
        return {**native, "content": text}

    def with_call_input(self, native: Any, call_input: Mapping[str, Any]) -> Any:
        """The `tool_use` with this `input`."""
        return {**native, "input": call_input}

    def result(self, call: ToolCall, content: Any, *, is_error: bool) -> dict[str, Any]:
        """A `tool_result` block."""
        block = {"type": "tool_result", "tool_use_id": call.call_id, "content": content}
        return {**block, "is_error": True} if is_error else block

    def answer(self, body: Mapping[str, Any]) -> tuple[Block, ...]:
        """The blocks of a response's `content`."""
        return _content_blocks(body.get("content"), ("content",), "assistant", None)

    def call_input(self, native: Any) -> Mapping[str, Any]:
        """The `input` of a `tool_use` block."""
        return parsed_input(native.get("input"))

    def model(self, body: Mapping[str, Any]) -> str | None:
        """The response's `model`."""
        return string(body.get("model"))

    def usage(self, body: Mapping[str, Any]) -> Usage | None:
        """The response's `usage`."""
        return usage_fields.anthropic(body.get("usage"))

    def stop_reason(self, body: Mapping[str, Any]) -> str | None:
        """The response's `stop_reason`."""
        return string(body.get("stop_reason"))

    def accumulator(self) -> Accumulator:
        """A reader of one streamed answer."""
        return anthropic_stream.AnthropicAccumulator()

    def events(self, body: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[bytes]:
        """The answer as events."""
        return anthropic_stream.events(body)


def _definition(tool: Mapping[str, Any], where: Where) -> Block:
    """A tool, or a set of tools that goes by its family or by its server.

    What is loaded only when the model searches for it is no part of the prompt until then.
    """
    named = string(tool.get("name")) or string(tool.get("mcp_server_name"))
    name = named or (string(tool.get("type")) or "").partition("_toolset_")[0]
    spelled = "" if tool.get("defer_loading") is True else dumps(tool).decode()
    return block("tool_definition", tool, where, spelled, tool=name or None)


def _text_kind(role: str) -> Kind:
    kinds: dict[str, Kind] = {"user": "user_text", "assistant": "assistant_text", "system": "system"}
    return kinds.get(role, "other")


def _content_blocks(content: Any, where: Where, role: str, parent: Turn | None) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for position, part in enumerate(items(content, where)):
        blocks.append(_content_block(part, (*where, position), role, parent, blocks))
    return tuple(blocks)


def _content_block(part: Any, where: Where, role: str, parent: Turn | None, beside: Sequence[Block]) -> Block:
    kind_of_part = string(body_object(part, what=path(where)).get("type")) or ""
    if kind_of_part == "text":
        return block(_text_kind(role), part, where, text(part.get("text")))
    if kind_of_part in THINKING:
        return block("thinking", part, where, text(part.get("thinking", part.get("data"))))
    if kind_of_part in CALLS:
        name = string(part.get("name"))
        call_text = f"{name or ''} {dumps(part.get('input', {})).decode()}"
        call_id, client = string(part.get("id")), kind_of_part == "tool_use"
        return block("tool_call", part, where, call_text, tool=name, call_id=call_id, client=client)
    if kind_of_part.endswith("tool_result"):
        return _result_block(part, where, parent, beside)
    if kind_of_part == "mcp_tool_listing":
        listed = text(part.get("tools"))
        return block("tool_definition", part, where, listed, tool=string(part.get("mcp_server_name")))
    if kind_of_part == "search_result":
        return block("document", part, where, dumps(part).decode())
    if kind_of_part in MEDIA:
        inline = part.get("source", {})
        inline_text = text(inline.get("data")) if _is_plain_text(inline) else ""
        return block(MEDIA[kind_of_part], part, where, inline_text, images=0 if inline_text else 1)
    return block("other", part, where, text_parts([part]) or dumps(part).decode())


def _is_plain_text(source: Any) -> bool:
    return isinstance(source, Mapping) and source.get("type") == "text"


def _result_block(
    part: Mapping[str, Any], where: Where, parent: Turn | None, beside: Sequence[Block]
) -> Block:
    call_id = string(part.get("tool_use_id"))
    content = part.get("content")
    client = part.get("type") == "tool_result"
    parts = content if isinstance(content, list) else []
    images = sum(isinstance(inner, Mapping) and string(inner.get("type")) in MEDIA for inner in parts)
    return Block(
        kind="tool_result",
        text=text_parts(parts) or ("" if client and parts else text(content or None)),
        digest=digest(part),
        where=where,
        native=part,
        tool=tool_of_call(parent, call_id, beside),
        call_id=call_id,
        images=images,
        client=client,
        is_error=part.get("is_error") is True,
    )


ANTHROPIC_MESSAGES = AnthropicMessages()
