"""Google's Gemini API, `generateContent`: requests, answers and their edits. Streams live in `gemini_stream`.

Read from the types of `google-genai` 3.6.1 on 2026-11-30. The API takes keys in camelCase and in snake_case;
both are read, and what is changed keeps its own. The model of a request is named by its address.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxkit.messages import Accumulator, Block, Kind, ToolCall, Turn, Where
from ctxkit.usage import Usage
from ctxkit.wire import gemini_stream, usage_fields
from ctxkit.wire.listed import ListedMessages
from ctxkit.wire.native import block, body_object, dumps, items, parsed_input, path, string, text, text_parts
from ctxkit.wire.usage_fields import mapping

TEXT_KINDS: Mapping[str, Kind] = {"user": "user_text", "model": "assistant_text", "system": "system"}
# The client runs functions; the provider runs code and its own tools.
CALLS = ("functionCall", "toolCall", "executableCode")
RESULTS = ("functionResponse", "toolResponse", "codeExecutionResult")
CLIENT_PARTS = frozenset({"functionCall", "functionResponse"})
CODE_EXECUTION = frozenset({"executableCode", "codeExecutionResult"})
MEDIA = ("inlineData", "fileData")
SIGNED = frozenset({"thought", "thoughtSignature"})
DECLARATIONS = ("functionDeclarations", "function_declarations")
SYSTEM = ("systemInstruction", "system_instruction")
CACHED = ("cachedContent", "cached_content")


class Gemini(ListedMessages):
    """The wire `gemini`."""

    name = "gemini"
    messages_key = "contents"

    def has_server_state(self, body: Mapping[str, Any]) -> bool:
        """Whether the request goes on from content that was cached before."""
        return any(string(body.get(key)) for key in CACHED)

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

    def with_result_texts(self, message: Any, texts: Mapping[Where, str]) -> Any:
        """The content with other texts in these function responses.

        A `response` is an object. Where it is a single text under some key, the other text takes its place;
        everything else becomes `{"output": ...}`, or `{"error": ...}` where it reported an error.
        """
        parts = list(message["parts"])
        for where, replacement in texts.items():
            position = int(where[-1])
            key, result = _held(parts[position], RESULTS)
            response = mapping(result.get("response"))
            place = _only_text(response) or ("error" if response.get("error") else "output")
            parts[position] = {**parts[position], key: {**result, "response": {place: replacement}}}
        return {**message, "parts": parts}

    def cleared_result(self, native: Any, text: str) -> Any:
        """The part whose function response says this text, and has no parts of its own any more."""
        key, result = _held(native, RESULTS)
        place = "error" if mapping(result.get("response")).get("error") else "output"
        bare = {name: value for name, value in result.items() if name != "parts"}
        return {**native, key: {**bare, "response": {place: text}}}

    def with_call_input(self, native: Any, call_input: Mapping[str, Any]) -> Any | None:
        """The part whose function call has these `args`; one that is signed stays as it is."""
        key, call = _held(native, CALLS)
        if key != "functionCall" or "thoughtSignature" in native:
            return None
        return {**native, key: {**call, "args": call_input}}

    def result(self, call: ToolCall, content: Any, *, is_error: bool) -> dict[str, Any]:
        """A part with a `functionResponse`; of a list of parts, what is no text stands beside the texts."""
        place = "error" if is_error else "output"
        made: dict[str, Any] = {"name": call.name, "response": {place: content}}
        if isinstance(content, list):
            made["response"] = {place: text_parts(content)}
            made["parts"] = [part for part in content if "text" not in mapping(part)]
        return {"functionResponse": {"id": call.call_id, **made} if call.call_id else made}

    def answer(self, body: Mapping[str, Any]) -> tuple[Block, ...]:
        """The blocks of every candidate."""
        blocks: list[Block] = []
        for index, candidate in enumerate(items(body.get("candidates"), ("candidates",))):
            content = mapping(candidate).get("content")
            if content is not None:
                blocks.extend(_content_blocks(content, ("candidates", index, "content"), "model"))
        return tuple(blocks)

    def call_input(self, native: Any) -> Mapping[str, Any]:
        """The `args` of a function call."""
        return parsed_input(_held(native, CALLS)[1].get("args"))

    def model(self, body: Mapping[str, Any]) -> str | None:
        """The response's `modelVersion`."""
        return string(body.get("modelVersion"))

    def usage(self, body: Mapping[str, Any]) -> Usage | None:
        """The response's `usageMetadata`."""
        return usage_fields.gemini(body.get("usageMetadata"))

    def stop_reason(self, body: Mapping[str, Any]) -> str | None:
        """The first candidate's `finishReason`, or why the prompt was blocked."""
        return gemini_stream.stop_reason(body)

    def accumulator(self) -> Accumulator:
        """A reader of one streamed answer."""
        return gemini_stream.GeminiAccumulator()

    def events(self, body: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[bytes]:
        """The answer as one chunk."""
        return gemini_stream.chunks(body)


def _definitions(tool: Mapping[str, Any], where: Where) -> Iterator[Block]:
    for key, value in tool.items():
        if key not in DECLARATIONS:
            spelled = dumps({key: value}).decode()
            yield block("tool_definition", value, (*where, key), spelled, tool=_camel(key))
            continue
        for position, function in enumerate(items(value, (*where, key))):
            at: Where = (*where, key, position)
            name = string(body_object(function, what=path(at)).get("name"))
            yield block("tool_definition", function, at, dumps(function).decode(), tool=name)


def _content_blocks(content: Any, where: Where, role: str) -> Iterator[Block]:
    parts = items(body_object(content, what=path(where)).get("parts"), (*where, "parts"))
    for position, part in enumerate(parts):
        yield _part_block(part, (*where, "parts", position), role)


def _part_block(part: Any, where: Where, role: str) -> Block:
    body_object(part, what=path(where))
    key, call = _held(part, CALLS)
    if key:
        name = _tool_name(key, call)
        spelled = f"{name} {text(call.get('args', call.get('code')))}"
        return block("tool_call", part, where, spelled, tool=name, **_ties(key, call))
    key, result = _held(part, RESULTS)
    if key:
        return _result_block(part, where, key, result)
    key, media = _held(part, MEDIA)
    if key:
        return block(_media_kind(media), part, where, "", images=1)
    if "text" in part:
        kind = "thinking" if part.get("thought") else TEXT_KINDS.get(role, "other")
        return block(kind, part, where, text(part["text"]))
    if part and SIGNED.issuperset(map(_camel, part)):
        return block("thinking", part, where, "")
    return block("other", part, where, dumps(part).decode())


def _result_block(part: Mapping[str, Any], where: Where, key: str, result: Mapping[str, Any]) -> Block:
    response = result.get("response", result.get("output"))
    only = _only_text(response)
    media = result.get("parts")
    return block(
        "tool_result",
        part,
        where,
        response[only] if only else text(response),
        tool=_tool_name(key, result),
        images=sum(bool(_held(mapping(one), MEDIA)[0]) for one in media) if isinstance(media, list) else 0,
        is_error=bool(mapping(response).get("error")),
        **_ties(key, result),
    )


def _only_text(response: Any) -> str | None:
    """The key of a response that is a single text; `None` where it is anything else."""
    if isinstance(response, Mapping) and len(response) == 1:
        ((key, value),) = response.items()
        return key if isinstance(value, str) else None
    return None


def _tool_name(key: str, native: Mapping[str, Any]) -> str:
    own = string(native.get("name")) or string(native.get("toolType", native.get("tool_type")))
    return own or ("codeExecution" if _camel(key) in CODE_EXECUTION else _camel(key))


def _ties(key: str, native: Mapping[str, Any]) -> dict[str, Any]:
    """What ties a call and its result together, and whether they are the client's."""
    return {"call_id": string(native.get("id")), "client": _camel(key) in CLIENT_PARTS}


def _held(part: Mapping[str, Any], keys: Sequence[str]) -> tuple[str, Mapping[str, Any]]:
    """The first of these keys that the part has, as it spells it, and the object under it."""
    for key, value in part.items():
        if isinstance(value, Mapping) and _camel(key) in keys:
            return key, value
    return "", {}


def _camel(key: str) -> str:
    first, *more = key.split("_")
    return first + "".join(word.capitalize() for word in more)


def _media_kind(media: Mapping[str, Any]) -> Kind:
    kind = str(media.get("mimeType", media.get("mime_type")))
    return "image" if kind.startswith("image/") else "document"


GEMINI = Gemini()
