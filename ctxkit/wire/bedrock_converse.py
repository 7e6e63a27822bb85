"""Bedrock's Converse API: requests and answers, read only.

Read from recorded requests of six libraries on 2026-11-30. A content block has no type: its one key says what
it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ctxkit.messages import Block, Kind, Turn, Where
from ctxkit.usage import Usage
from ctxkit.wire import usage_fields
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
    tool_of_call,
)

TEXT_KINDS: Mapping[str, Kind] = {"user": "user_text", "assistant": "assistant_text", "system": "system"}
MEDIA: Mapping[str, Kind] = {"image": "image", "video": "image", "document": "document", "audio": "document"}
TOOLS: Where = ("toolConfig", "tools")


class BedrockConverse(ListedMessages):
    """The wire `bedrock_converse`."""

    name = "bedrock_converse"

    def head_key(self, body: Mapping[str, Any]) -> Any:
        """Tools, then system."""
        return body.get("toolConfig"), body.get("system")

    def head(self, body: Mapping[str, Any]) -> tuple[Block, ...]:
        """Tool definitions and the system prompt."""
        config = body_object(body.get("toolConfig") or {}, what="toolConfig")
        definitions = [
            _definition(tool, (*TOOLS, index)) for index, tool in enumerate(items(config.get("tools"), TOOLS))
        ]
        system = _blocks(body.get("system"), ("system",), "system", None)
        return (*definitions, *system)

    def turn(self, message: Any, index: int, parent: Turn) -> Turn:
        """One message; unknown roles and block types become blocks of kind `other`."""
        where: Where = ("messages", index)
        role = string(body_object(message, what=path(where)).get("role")) or ""
        content = _blocks(message.get("content"), (*where, "content"), role, parent)
        return Turn(role, message, tuple(content), parent)

    def answer(self, body: Mapping[str, Any]) -> tuple[Block, ...]:
        """The blocks of the message under `output`."""
        where: Where = ("output", "message")
        output = body_object(body.get("output") or {}, what="output")
        message = body_object(output.get("message") or {}, what=path(where))
        return tuple(_blocks(message.get("content"), (*where, "content"), "assistant", None))

    def call_input(self, native: Any) -> Mapping[str, Any]:
        """The `input` of a `toolUse` block."""
        return parsed_input(_held(native, "toolUse").get("input"))

    def usage(self, body: Mapping[str, Any]) -> Usage | None:
        """The response's `usage`."""
        return usage_fields.bedrock_converse(body.get("usage"))

    def stop_reason(self, body: Mapping[str, Any]) -> str | None:
        """The response's `stopReason`."""
        return string(body.get("stopReason"))


def _definition(tool: Any, where: Where) -> Block:
    specification = _held(body_object(tool, what=path(where)), "toolSpec", "systemTool")
    name = string(specification.get("name"))
    kind: Kind = "other" if "cachePoint" in tool else "tool_definition"
    return block(kind, tool, where, "" if kind == "other" else dumps(tool).decode(), tool=name)


def _blocks(content: Any, where: Where, role: str, parent: Turn | None) -> Iterable[Block]:
    for position, part in enumerate(items(content, where)):
        yield _content_block(part, (*where, position), role, parent)


def _content_block(part: Any, where: Where, role: str, parent: Turn | None) -> Block:
    body_object(part, what=path(where))
    if "text" in part:
        return block(TEXT_KINDS.get(role, "other"), part, where, text(part["text"]))
    if "reasoningContent" in part:
        reasoning = _held(part, "reasoningContent")
        said = _held(reasoning, "reasoningText").get("text", reasoning.get("redactedContent"))
        return block("thinking", part, where, text(said))
    if "toolUse" in part:
        call = _held(part, "toolUse")
        name = string(call.get("name"))
        call_text = f"{name or ''} {dumps(call.get('input', {})).decode()}"
        return block("tool_call", part, where, call_text, tool=name, call_id=string(call.get("toolUseId")))
    if "toolResult" in part:
        return _result_block(part, where, parent)
    kind = next((MEDIA[key] for key in MEDIA if key in part), None)
    if kind is not None:
        return block(kind, part, where, "", images=1)
    return block("other", part, where, "" if "cachePoint" in part else dumps(part).decode())


def _result_block(part: Mapping[str, Any], where: Where, parent: Turn | None) -> Block:
    result = _held(part, "toolResult")
    call_id = string(result.get("toolUseId"))
    content = items(result.get("content"), (*where, "toolResult", "content"))
    inner = [body_object(piece, what=path(where)) for piece in content]
    media = [piece for piece in inner if MEDIA.keys() & piece.keys()]
    return block(
        "tool_result",
        part,
        where,
        "\n".join(text(piece.get("text", piece.get("json", piece))) for piece in inner if piece not in media),
        tool=tool_of_call(parent, call_id),
        call_id=call_id,
        images=len(media),
        is_error=result.get("status") == "error",
    )


def _held(native: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """What the first of these keys holds, an empty object where it holds none."""
    return next((native[key] for key in keys if isinstance(native.get(key), Mapping)), {})


BEDROCK_CONVERSE = BedrockConverse()
