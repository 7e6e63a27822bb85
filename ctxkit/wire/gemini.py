"""Google's Gemini API (`generateContent`): requests and answers, read only.

Read from the types of `google-genai` 3.6.1 on 2026-11-30. The API takes keys in camelCase and in snake_case;
both are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ctxkit.errors import BodyError
from ctxkit.messages import Block, Kind, Turn, Where
from ctxkit.usage import Usage
from ctxkit.wire import usage_fields
from ctxkit.wire.native import block, body_object, dumps, items, parsed_input, path, string, text

TEXT_KINDS: Mapping[str, Kind] = {"user": "user_text", "model": "assistant_text", "system": "system"}
CALLS = ("functionCall", "toolCall", "executableCode")
RESULTS = ("functionResponse", "toolResponse", "codeExecutionResult")
MEDIA = ("inlineData", "fileData")
DECLARATIONS = ("functionDeclarations", "function_declarations")
SYSTEM = ("systemInstruction", "system_instruction")


class Gemini:
    """The wire `gemini`."""

    name = "gemini"

    def messages(self, body: Mapping[str, Any]) -> Sequence[Any]:
        """The list under `contents`."""
        if "contents" not in body:
            raise BodyError("contents is missing", where=("contents",))
        return items(body["contents"], ("contents",))

    def head_key(self, body: Mapping[str, Any]) -> Any:
        """Tools, then the system instruction."""
        return body.get("tools"), [body.get(key) for key in SYSTEM]

    def head(self, body: Mapping[str, Any]) -> tuple[Block, ...]:
        """Tool definitions, one for each function, and the system instruction."""
        blocks: list[Block] = []
        for index, tool in enumerate(items(body.get("tools"), ("tools",))):
            blocks.extend(_definitions(body_object(tool, what=f"tools.{index}"), ("tools", index)))
        for key in SYSTEM:
            system = body.get(key)
            if isinstance(system, str):
                blocks.append(block("system", system, (key,), system))
            elif system is not None:
                blocks.extend(_content_blocks(system, (key,), "system"))
        return tuple(blocks)

    def turn(self, message: Any, index: int, parent: Turn) -> Turn:
        """One content; unknown roles and part types become blocks of kind `other`."""
        where: Where = ("contents", index)
        role = string(body_object(message, what=path(where)).get("role")) or "user"
        return Turn(role, message, tuple(_content_blocks(message, where, role)), parent)

    def answer(self, body: Mapping[str, Any]) -> tuple[Block, ...]:
        """The blocks of every candidate."""
        blocks: list[Block] = []
        for index, candidate in enumerate(items(body.get("candidates"), ("candidates",))):
            content = candidate.get("content") if isinstance(candidate, Mapping) else None
            if content is not None:
                blocks.extend(_content_blocks(content, ("candidates", index, "content"), "model"))
        return tuple(blocks)

    def call_input(self, native: Any) -> Mapping[str, Any]:
        """The `args` of a function call."""
        return parsed_input(_inner(native, CALLS)[1].get("args"))

    def usage(self, body: Mapping[str, Any]) -> Usage | None:
        """The response's `usageMetadata`."""
        return usage_fields.gemini(body.get("usageMetadata"))

    def stop_reason(self, body: Mapping[str, Any]) -> str | None:
        """The first candidate's `finishReason`."""
        candidates = body.get("candidates")
        first = candidates[0] if isinstance(candidates, list) and candidates else None
        return string(first.get("finishReason")) if isinstance(first, Mapping) else None


def _definitions(tool: Mapping[str, Any], where: Where) -> Iterable[Block]:
    for key, value in tool.items():
        if key not in DECLARATIONS:
            yield block("tool_definition", value, (*where, key), dumps({key: value}).decode(), tool=key)
            continue
        for position, function in enumerate(items(value, (*where, key))):
            at: Where = (*where, key, position)
            name = string(body_object(function, what=path(at)).get("name"))
            yield block("tool_definition", function, at, dumps(function).decode(), tool=name)


def _content_blocks(content: Any, where: Where, role: str) -> Iterable[Block]:
    parts = items(body_object(content, what=path(where)).get("parts"), (*where, "parts"))
    for position, part in enumerate(parts):
        yield _part_block(part, (*where, "parts", position), role)


def _part_block(part: Any, where: Where, role: str) -> Block:
    body_object(part, what=path(where))
    call_key, call = _inner(part, CALLS)
    if call_key:
        name = string(call.get("name")) or call_key
        call_text = f"{name} {text(call.get('args', call.get('code')))}"
        return block("tool_call", part, where, call_text, tool=name, call_id=string(call.get("id")))
    result_key, result = _inner(part, RESULTS)
    if result_key:
        name = string(result.get("name")) or result_key
        result_text = text(result.get("response", result.get("output")))
        return block("tool_result", part, where, result_text, tool=name, call_id=string(result.get("id")))
    media_key, media = _inner(part, MEDIA)
    if media_key:
        return block(_media_kind(media), part, where, "", images=1)
    if "text" not in part:
        return block("other", part, where, dumps(part).decode())
    kind: Kind = "thinking" if part.get("thought") else TEXT_KINDS.get(role, "other")
    return block(kind, part, where, text(part["text"]))


def _inner(part: Mapping[str, Any], keys: Sequence[str]) -> tuple[str, Mapping[str, Any]]:
    """The first of these keys that the part has, in either spelling, and what it holds."""
    for key, value in part.items():
        first, *more = key.split("_")
        camel = first + "".join(word.capitalize() for word in more)
        if camel in keys and isinstance(value, Mapping):
            return camel, value
    return "", {}


def _media_kind(media: Mapping[str, Any]) -> Kind:
    kind = str(media.get("mimeType", media.get("mime_type")))
    return "image" if kind.startswith("image/") else "document"


GEMINI = Gemini()
