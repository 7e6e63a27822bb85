"""OpenAI's Responses API: requests, answers and their edits. Streams live in `openai_responses_stream`.

Read from the types of the `openai` SDK 3.57.0 on 2026-11-30. Its messages are items: texts, calls, results
and reasoning stand beside each other, each an item of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

from ctxkit.errors import BodyError
from ctxkit.messages import Accumulator, Block, Kind, ToolCall, Turn, Where
from ctxkit.usage import Usage
from ctxkit.wire import openai_responses_stream, usage_fields
from ctxkit.wire.native import (
    block,
    body_object,
    call_of,
    dumps,
    items,
    parsed_input,
    path,
    string,
    text,
    text_parts,
    with_text,
)
from ctxkit.wire.usage_fields import mapping

TEXT_KINDS: Mapping[str, Kind] = {
    "system": "system",
    "developer": "system",
    "user": "user_text",
    "assistant": "assistant_text",
}
MEDIA: Mapping[str, Kind] = {
    "input_image": "image",
    "computer_screenshot": "image",
    "input_file": "document",
    "input_audio": "document",
}
TEXT_PARTS = frozenset({"input_text", "output_text", "text", "summary_text", "reasoning_text"})
# Calls that the client answers, each with an item of the same name and `_output`; the provider runs the rest.
CLIENT_CALLS = frozenset(
    {
        "function_call",
        "custom_tool_call",
        "computer_call",
        "local_shell_call",
        "shell_call",
        "apply_patch_call",
    }
)
# Where a call that the provider ran holds what came of it.
HELD_RESULTS: Mapping[str, tuple[str, ...]] = {
    "code_interpreter_call": ("outputs",),
    "file_search_call": ("results",),
    "image_generation_call": ("result",),
    "mcp_call": ("output", "error"),
}
DEFINITIONS = frozenset({"additional_tools", "mcp_list_tools"})
ARGUMENTS = ("arguments", "input", "action", "actions", "queries", "code", "operation")
# Where a request names what the provider keeps: earlier answers, or a prompt of its library.
SERVER_STATE = ("previous_response_id", "conversation", "prompt")
_GENERATION = re.compile(r"((_use)?_preview)?(_\d{4}_\d\d_\d\d)?$")


class OpenAIResponses:
    """The wire `openai_responses`."""

    name = "openai_responses"
    messages_key = "input"

    def messages(self, body: Mapping[str, Any]) -> Sequence[Any]:
        """The items under `input`; a prompt given as a string is one, and a kept prompt may stand alone."""
        given = body.get("input")
        if given is None and not self.has_server_state(body):
            raise BodyError("input is missing", where=("input",))
        if isinstance(given, str):
            return [{"role": "user", "content": given}]
        return items(given, ("input",))

    def has_server_state(self, body: Mapping[str, Any]) -> bool:
        """Whether the request goes on from an earlier answer, or names a prompt or an item that is kept."""
        given = body.get("input")
        return any(body.get(key) is not None for key in SERVER_STATE) or (
            isinstance(given, list) and any(mapping(item).get("type") == "item_reference" for item in given)
        )

    def with_messages(self, body: Mapping[str, Any], messages: Sequence[Any]) -> dict[str, Any]:
        """The body with other items, its keys in their old order."""
        return {**body, "input": list(messages)}

    def head_key(self, body: Mapping[str, Any]) -> Any:
        """Tools, then instructions."""
        return body.get("tools"), body.get("instructions")

    def head(self, body: Mapping[str, Any]) -> tuple[Block, ...]:
        """Tool definitions, those of a namespace one by one, and the instructions."""
        blocks: list[Block] = []
        for index, tool in enumerate(items(body.get("tools"), ("tools",))):
            blocks.extend(_definitions(body_object(tool, what=f"tools.{index}"), ("tools", index)))
        instructions = body.get("instructions")
        if isinstance(instructions, str):
            blocks.append(block("system", instructions, ("instructions",), instructions))
        return tuple(blocks)

    def turn(self, message: Any, index: int, parent: Turn) -> Turn:
        """One item; unknown types become blocks of kind `other`."""
        blocks = tuple(_item_blocks(message, ("input", index), parent))
        return Turn(string(message.get("role")) or string(message.get("type")) or "", message, blocks, parent)

    def with_result_texts(self, message: Any, texts: Mapping[Where, str]) -> Any:
        """The item with another text; of a shell's outputs, the first says it, and the rest nothing."""
        (replacement,) = texts.values()
        output = message.get("output")
        if message["type"] != "shell_call_output":
            return {**message, "output": with_text(output, replacement)}
        said = zip(output or (), chain([replacement], repeat("")), strict=False)
        return {**message, "output": [{**entry, "stdout": one, "stderr": ""} for entry, one in said]}

    def cleared_result(self, native: Any, text: str) -> Any | None:
        """The output item with this text as its output; a screenshot can't be replaced by one."""
        if native["type"] == "computer_call_output":
            return None
        if native["type"] == "shell_call_output":
            return self.with_result_texts(native, {("output",): text})
        return {**native, "output": text}

    def with_call_input(self, native: Any, call_input: Mapping[str, Any]) -> Any | None:
        """The `function_call` with these `arguments`."""
        if native["type"] != "function_call":
            return None
        return {**native, "arguments": dumps(call_input).decode()}

    def result(self, call: ToolCall, content: Any, *, is_error: bool) -> dict[str, Any]:
        """The output item for a call; a failure is said in its text where the item has no field for it."""
        kind = string(mapping(call.native).get("type")) or "function_call"
        made = {"type": f"{kind}_output", "call_id": call.call_id}
        if kind == "shell_call":
            outcome = {"type": "exit", "exit_code": int(is_error)}
            return {**made, "output": [{"stdout": text(content), "stderr": "", "outcome": outcome}]}
        if kind == "apply_patch_call":
            return {**made, "status": "failed" if is_error else "completed", "output": content}
        if kind == "computer_call" and isinstance(content, list):
            return {**made, "output": content[0]}
        said = f"Error: {content}" if is_error and isinstance(content, str) else content
        return {**made, "output": said}

    def answer(self, body: Mapping[str, Any]) -> tuple[Block, ...]:
        """The blocks of every item under `output`."""
        blocks: list[Block] = []
        for index, item in enumerate(items(body.get("output"), ("output",))):
            blocks.extend(_item_blocks(item, ("output", index), None, blocks))
        return tuple(blocks)

    def call_input(self, native: Any) -> Mapping[str, Any]:
        """The arguments of a call; a text or a list stands under the key that it has in the item."""
        key, value = _arguments(native)
        if key == "arguments" or isinstance(value, Mapping):
            return parsed_input(value)
        return {key: value} if key else {}

    def model(self, body: Mapping[str, Any]) -> str | None:
        """The response's `model`."""
        return string(body.get("model"))

    def usage(self, body: Mapping[str, Any]) -> Usage | None:
        """The response's `usage`, with the searches that it counts apart."""
        return usage_fields.openai_responses(
            body.get("usage"), tool_usage=body.get("tool_usage"), service_tier=body.get("service_tier")
        )

    def stop_reason(self, body: Mapping[str, Any]) -> str | None:
        """Why the answer is incomplete, or else the response's `status`."""
        return string(mapping(body.get("incomplete_details")).get("reason")) or string(body.get("status"))

    def accumulator(self) -> Accumulator:
        """A reader of one streamed answer."""
        return openai_responses_stream.OpenAIResponsesAccumulator()

    def events(self, body: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[bytes]:
        """The answer as events."""
        return openai_responses_stream.events(body)


def _definitions(tool: Mapping[str, Any], where: Where) -> Iterator[Block]:
    kind = string(tool.get("type")) or ""
    name = string(tool.get("name")) or string(tool.get("server_label")) or _GENERATION.sub("", kind)
    if kind != "namespace":
        yield block("tool_definition", tool, where, dumps(tool).decode(), tool=name or None)
        return
    shared = {key: value for key, value in tool.items() if key != "tools"}
    yield block("tool_definition", tool, where, dumps(shared).decode(), tool=name)
    for position, inner in enumerate(items(tool.get("tools"), (*where, "tools"))):
        at: Where = (*where, "tools", position)
        yield from _definitions(body_object(inner, what=path(at)), at)


def _item_blocks(
    item: Any, where: Where, parent: Turn | None, beside: Sequence[Block] = ()
) -> Iterator[Block]:
    kind = string(body_object(item, what=path(where)).get("type")) or "message"
    if kind == "message":
        yield from _message_blocks(item, where)
    elif kind == "reasoning":
        yield block("thinking", item, where, _reasoning_text(item))
    elif kind.endswith("_call") or kind == "program":
        yield from _call_blocks(item, kind, where)
    elif kind.endswith("_output"):
        yield _result_block(item, kind, where, call_of(parent, _call_id(item), beside))
    elif kind in DEFINITIONS:
        label = string(item.get("server_label"))
        yield block("tool_definition", item, where, text(item.get("tools")), tool=label)
    else:
        yield block("other", item, where, _readable(item))


def _readable(native: Mapping[str, Any]) -> str:
    """The JSON of an item, but for what is encrypted: that has a tenth of the tokens that it looks like."""
    return dumps({key: value for key, value in native.items() if key != "encrypted_content"}).decode()


def _message_blocks(item: Mapping[str, Any], where: Where) -> Iterator[Block]:
    kind = TEXT_KINDS.get(string(item.get("role")) or "", "other")
    content = item.get("content")
    where = (*where, "content")
    if isinstance(content, str):
        if content:
            yield block(kind, content, where, content)
        return
    for position, part in enumerate(items(content, where)):
        yield _part_block(part, (*where, position), kind)


def _part_block(part: Any, where: Where, kind: Kind) -> Block:
    part_type = string(body_object(part, what=path(where)).get("type")) or ""
    if part_type in MEDIA:
        return block(MEDIA[part_type], part, where, "", images=1)
    if part_type in TEXT_PARTS or part_type == "refusal":
        return block(kind, part, where, text(part.get("text", part.get("refusal"))))
    return block("other", part, where, _readable(part))


def _reasoning_text(item: Mapping[str, Any]) -> str:
    """The reasoning, or else its summary; what is encrypted can't be read as text."""
    content, summary = item.get("content"), item.get("summary")
    readable = text_parts(content if isinstance(content, list) else [])
    return readable or text_parts(summary if isinstance(summary, list) else [])


def _call_blocks(item: Mapping[str, Any], kind: str, where: Where) -> Iterator[Block]:
    """The call, and what came of it where the item holds that, too."""
    name = string(item.get("name")) or kind.removesuffix("_call")
    call_id = _call_id(item)
    spelled = f"{name} {text(_arguments(item)[1])}"
    # A shell is the client's, but for one in a container of the provider.
    local = mapping(item.get("environment")).get("type", "local") == "local"
    client = kind in CLIENT_CALLS and local
    yield block("tool_call", item, where, spelled, tool=name, call_id=call_id, client=client)
    for key in HELD_RESULTS.get(kind, ()):
        held = item.get(key)
        if held is not None:
            is_image = key == "result"
            yield block(
                "tool_result",
                held,
                (*where, key),
                "" if is_image else _output_text(held) or text(held),
                tool=name,
                call_id=call_id,
                images=int(is_image),
                is_error=key == "error",
            )


def _result_block(item: Mapping[str, Any], kind: str, where: Where, call: Block | None) -> Block:
    call_kind = kind.removesuffix("_output")
    output = item.get("output", item.get("result", item.get("tools")))
    parts = output if isinstance(output, list) else [output]
    own_name = None if call_kind in ("function_call", "custom_tool_call") else call_kind.removesuffix("_call")
    return block(
        "tool_result",
        item,
        where,
        _shell_text(output, where) if kind == "shell_call_output" else _output_text(output),
        tool=string(item.get("name")) or (call.tool if call is not None else own_name),
        call_id=_call_id(item),
        images=sum(map(_is_media, parts)),
        client=call_kind in CLIENT_CALLS and (call is None or call.client),
        is_error=item.get("status") == "failed",
    )


def _output_text(output: Any) -> str:
    if isinstance(output, list):
        return text_parts(output) or ("" if any(map(_is_media, output)) else text(output or None))
    return "" if _is_media(output) else text(output)


def _is_media(part: Any) -> bool:
    return string(mapping(part).get("type")) in MEDIA


def _shell_text(output: Any, where: Where) -> str:
    where = (*where, "output")
    entries = [body_object(entry, what=path(where)) for entry in items(output, where)]
    said = (text(entry.get(stream)) for entry in entries for stream in ("stdout", "stderr"))
    return "\n".join(one for one in said if one)


def _call_id(item: Mapping[str, Any]) -> str | None:
    return string(item.get("call_id")) or string(item.get("id"))


def _arguments(item: Mapping[str, Any]) -> tuple[str, Any]:
    """The key that a call's arguments stand under, and the arguments."""
    return next(((key, item[key]) for key in ARGUMENTS if item.get(key) is not None), ("", None))


OPENAI_RESPONSES = OpenAIResponses()
