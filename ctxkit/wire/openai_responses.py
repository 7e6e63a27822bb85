"""OpenAI's Responses API: requests and answers, read only.

Read from the types of the `openai` SDK 3.57.0 on 2026-11-30. Its messages are items: texts, calls, results
and reasoning stand beside each other, each an item of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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

TEXT_KINDS: Mapping[str, Kind] = {
    "system": "system",
    "developer": "system",
    "user": "user_text",
    "assistant": "assistant_text",
}
MEDIA: Mapping[str, Kind] = {"input_image": "image", "input_file": "document", "input_audio": "document"}
TEXT_PARTS = frozenset({"input_text", "output_text", "text"})
ARGUMENTS = ("arguments", "input", "action", "queries", "code", "operation")


class OpenAIResponses:
    """The wire `openai_responses`."""

    name = "openai_responses"

    def messages(self, body: Mapping[str, Any]) -> Sequence[Any]:
        """The items under `input`; a prompt given as a string is one."""
        if "input" not in body:
            raise BodyError("input is missing", where=("input",))
        if isinstance(body["input"], str):
            return [{"role": "user", "content": body["input"]}]
        return items(body["input"], ("input",))

    def head_key(self, body: Mapping[str, Any]) -> Any:
        """Tools, then instructions."""
        return body.get("tools"), body.get("instructions")

    def head(self, body: Mapping[str, Any]) -> tuple[Block, ...]:
        """Tool definitions and the instructions."""
        blocks = [
            block(
                "tool_definition",
                tool,
                ("tools", index),
                dumps(tool).decode(),
                tool=string(body_object(tool, what=f"tools.{index}").get("name")) or string(tool.get("type")),
            )
            for index, tool in enumerate(items(body.get("tools"), ("tools",)))
        ]
        instructions = body.get("instructions")
        if isinstance(instructions, str):
            blocks.append(block("system", instructions, ("instructions",), instructions))
        return tuple(blocks)

    def turn(self, message: Any, index: int, parent: Turn) -> Turn:
        """One item; unknown types become blocks of kind `other`."""
        where: Where = ("input", index)
        blocks = tuple(_item_blocks(message, where, parent))
        return Turn(string(message.get("role")) or string(message.get("type")) or "", message, blocks, parent)

    def answer(self, body: Mapping[str, Any]) -> tuple[Block, ...]:
        """The blocks of every item under `output`."""
        blocks: list[Block] = []
        for index, item in enumerate(items(body.get("output"), ("output",))):
            blocks.extend(_item_blocks(item, ("output", index), None))
        return tuple(blocks)

    def call_input(self, native: Any) -> Mapping[str, Any]:
        """The arguments of a call."""
        return parsed_input(_arguments(native))

    def usage(self, body: Mapping[str, Any]) -> Usage | None:
        """The response's `usage`, with the searches that it counts apart."""
        return usage_fields.openai_responses(
            body.get("usage"), tool_usage=body.get("tool_usage"), service_tier=body.get("service_tier")
        )

    def stop_reason(self, body: Mapping[str, Any]) -> str | None:
        """Why the answer is incomplete, or else the response's `status`."""
        details = body.get("incomplete_details")
        reason = string(details.get("reason")) if isinstance(details, Mapping) else None
        return reason or string(body.get("status"))


def _item_blocks(item: Any, where: Where, parent: Turn | None) -> Iterable[Block]:
    kind = string(body_object(item, what=path(where)).get("type")) or "message"
    if kind == "message":
        yield from _message_blocks(item, where)
    elif kind == "reasoning":
        yield block("thinking", item, where, _reasoning_text(item))
    elif kind.endswith("_call"):
        name = string(item.get("name")) or kind
        call_text = f"{name} {text(_arguments(item))}"
        yield block("tool_call", item, where, call_text, tool=name, call_id=string(item.get("call_id")))
    elif kind.endswith("_output"):
        yield _result_block(item, where, parent)
    else:
        yield block("other", item, where, dumps(item).decode())


def _message_blocks(item: Mapping[str, Any], where: Where) -> Iterable[Block]:
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
    return block("other", part, where, dumps(part).decode())


def _reasoning_text(item: Mapping[str, Any]) -> str:
    """The reasoning, or else its summary; what is encrypted can't be read as text."""
    content, summary = item.get("content"), item.get("summary")
    readable = text_parts(content if isinstance(content, list) else [])
    return readable or text_parts(summary if isinstance(summary, list) else [])


def _result_block(item: Mapping[str, Any], where: Where, parent: Turn | None) -> Block:
    output = item.get("output", item.get("tools"))
    parts = output if isinstance(output, list) else []
    call_id = string(item.get("call_id"))
    return block(
        "tool_result",
        item,
        where,
        text_parts(parts) or text(output),
        tool=tool_of_call(parent, call_id),
        call_id=call_id,
        images=sum(isinstance(part, Mapping) and string(part.get("type")) in MEDIA for part in parts),
    )


def _arguments(item: Mapping[str, Any]) -> Any:
    return next((item[key] for key in ARGUMENTS if item.get(key) is not None), None)


OPENAI_RESPONSES = OpenAIResponses()
