"""Google's Gemini API (`generateContent`): requests and answers, read only.

Read from the types of `google-genai` 3.6.1 on 2026-11-30.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxkit.errors import BodyError
from ctxkit.messages import Block, Kind, Turn, Where
from ctxkit.usage import Usage
from ctxkit.wire import usage_fields
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
)

TEXT_KINDS: Mapping[str, Kind] = {"user": "user_text", "model": "assistant_text", "system": "system"}
MEDIA = ("inlineData", "fileData")
CALLS = ("functionCall", "executableCode")
RESULTS = ("functionResponse", "codeExecutionResult")


class Gemini:
    """The wire `gemini`."""

    name = "gemini"

    def messages(self, body: Mapping[str, Any]) -> Sequence[Any]:
        """The list under `contents`."""
        if "contents" not in body:
            raise BodyError("contents is missing", where=("contents",))
        return items(body["contents"], ("contents",))

    def with_messages(self, body: Mapping[str, Any], messages: Sequence[Any]) -> dict[str, Any]:
        """The body with other contents, its keys in their old order."""
        return {**body, "contents": list(messages)}

    def head_key(self, body: Mapping[str, Any]) -> Any:
        """Tools, then the system instruction."""
        return body.get("tools"), body.get("systemInstruction")

    def head(self, body: Mapping[str, Any]) -> tuple[Block, ...]:
        """Tool definitions, one for each function, and the system instruction."""
        blocks: list[Block] = []
        for index, tool in enumerate(items(body.get("tools"), ("tools",))):
            blocks.extend(_definitions(body_object(tool, what=f"tools.{index}"), ("tools", index)))
        system = body.get("systemInstruction")
        if isinstance(system, str):
            blocks.append(block("system", system, ("systemInstruction",), system))
        elif system is not None:
            where: Where = ("systemInstruction", "parts")
            parts = items(body_object(system, what="systemInstruction").get("parts"), where)
            blocks.extend(
                _part_block(part, (*where, position), "system", None) for position, part in enumerate(parts)
            )
        return tuple(blocks)

    def turn(self, message: Any, index: int, parent: Turn) -> Turn:
        """One content; unknown roles and part types become blocks of kind `other`."""
        where: Where = ("contents", index)
        role = string(body_object(message, what=path(where)).get("role")) or "user"
        parts = items(message.get("parts"), (*where, "parts"))
        blocks = tuple(
            _part_block(part, (*where, "parts", position), role, parent)
            for position, part in enumerate(parts)
        )
        return Turn(role, message, blocks, parent)

    def answer(self, body: Mapping[str, Any]) -> tuple[Block, ...]:
        """The blocks of every candidate."""
        blocks: list[Block] = []
        for index, candidate in enumerate(items(body.get("candidates"), ("candidates",))):
            content = candidate.get("content") if isinstance(candidate, Mapping) else None
            if isinstance(content, Mapping):
                where: Where = ("candidates", index, "content", "parts")
                blocks.extend(
                    _part_block(part, (*where, position), "model", None)
                    for position, part in enumerate(items(content.get("parts"), where))
                )
        return tuple(blocks)

    def call_input(self, native: Any) -> Mapping[str, Any]:
        """The `args` of a function call."""
        call = next((native[key] for key in CALLS if isinstance(native.get(key), Mapping)), {})
        return parsed_input(call.get("args"))

    def usage(self, body: Mapping[str, Any]) -> Usage | None:
        """The response's `usageMetadata`."""
        return usage_fields.gemini(body.get("usageMetadata"))

    def stop_reason(self, body: Mapping[str, Any]) -> str | None:
        """The first candidate's `finishReason`."""
        candidates = body.get("candidates")
        first = candidates[0] if isinstance(candidates, list) and candidates else None
        return string(first.get("finishReason")) if isinstance(first, Mapping) else None


def _definitions(tool: Mapping[str, Any], where: Where) -> list[Block]:
    declared = items(tool.get("functionDeclarations"), (*where, "functionDeclarations"))
    blocks = [
        block(
            "tool_definition",
            function,
            (*where, "functionDeclarations", position),
            dumps(function).decode(),
            tool=string(body_object(function, what=path(where)).get("name")),
        )
        for position, function in enumerate(declared)
    ]
    hosted = {key: value for key, value in tool.items() if key != "functionDeclarations"}
    blocks.extend(
        block("tool_definition", value, (*where, key), dumps({key: value}).decode(), tool=key)
        for key, value in hosted.items()
    )
    return blocks


def _part_block(part: Any, where: Where, role: str, parent: Turn | None) -> Block:
    if isinstance(part, str):
        part = {"text": part}
    native = body_object(part, what=path(where))
    for key in CALLS:
        if isinstance(native.get(key), Mapping):
            return _call_block(native, native[key], key, where)
    for key in RESULTS:
        if isinstance(native.get(key), Mapping):
            return _result_block(native, native[key], key, where, parent)
    if any(key in native for key in MEDIA):
        return block(_media_kind(native), native, where, "", images=1)
    if "text" in native:
        kind = "thinking" if native.get("thought") is True else TEXT_KINDS.get(role, "other")
        return block(kind, native, where, text(native["text"]))
    return block("other", native, where, dumps(native).decode())
