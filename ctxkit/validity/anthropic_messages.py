"""What Anthropic's Messages API refuses about messages, tool calls and their results.

Rules on thinking stand in `anthropic_thinking`, those on the prompt cache in `anthropic_cache`. The
provider's words are second hand: from its docs as public repositories quote them, and from bug reports there.
All rules were held against recorded requests that were answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ctxkit.messages import Block, ModelRequest, Turn
from ctxkit.validity import anthropic_cache, anthropic_thinking
from ctxkit.validity.models import claude_version
from ctxkit.validity.problems import Finding, Message, Rules, index_of
from ctxkit.wire.native import path
from ctxkit.wire.usage_fields import mapping

TEXT_KINDS = frozenset({"user_text", "assistant_text", "system"})
TOOL_ID = re.compile(r"[a-zA-Z0-9_-]+")
SYSTEM_MESSAGES_SINCE = (4, 8)


def continues(turn: Turn) -> bool:
    """Whether a turn has the role of the one before it: the provider reads both as one message."""
    return turn.parent is not None and turn.parent.role == turn.role


def role_is_known(turn: Turn) -> Iterator[Finding]:
    """A message is a user's or an assistant's; from Claude 4.8 on it may be a system's, too.

    Source: the error text in public code, and recorded requests to Opus 4.8 and Fable 5; read on 2026-11-30.
    """
    if turn.parent is not None and turn.role not in ("user", "assistant", "system"):
        allowed = 'Allowed roles are "user" or "assistant".'
        yield Finding(
            ("messages", index_of(turn), "role"), f'messages: Unexpected role "{turn.role}". {allowed}'
        )


def system_message_is_supported(request: ModelRequest) -> Iterator[Finding]:
    """Up to Claude 4.7, no message is a system's; models of unknown generation are not judged.

    Source: the error text in public code, and a client that keeps system messages from Sonnet 4.6; read
    on 2026-11-30.
    """
    version = claude_version(request.model)
    if version is None or version >= SYSTEM_MESSAGES_SINCE:
        return
    first = request.fold(_first_system_message, lambda head: None, _first_system_message)
    if first is not None:
        yield Finding(
            ("messages", first, "role"),
            'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, '
            'not "system" as an input message role.',
        )


def _first_system_message(first: int | None, turn: Turn) -> int | None:
    return index_of(turn) if first is None and turn.role == "system" else first


def block_stands_in_its_role(turn: Turn) -> Iterator[Finding]:
    """Calls stand in an assistant's message, results of the client's tools in a user's.

    Source: the error text in public bug reports; read on 2026-11-30.
    """
    for block in turn.blocks:
        role = {"tool_call": "assistant", "tool_result": "user"}.get(block.kind)
        if role is not None and block.client and turn.role != role:
            kind = "tool_use" if role == "assistant" else "tool_result"
            where = path(block.where[:2])
            yield Finding(block.where, f"{where}: `{kind}` blocks can only be in `{role}` messages")


def text_is_not_empty(turn: Turn) -> Iterator[Finding]:
    """A text block has text in it, and not only white space.

    White space between cited texts, as answers with a web search have it, is not judged.

    Source: anthropics/claude-code#23390, home-assistant/core#175637; read on 2026-11-30.
    """
    cited = any(mapping(block.native).get("citations") for block in turn.blocks)
    for block in turn.blocks:
        if block.kind in TEXT_KINDS and block.native != "" and not block.text.strip():
            if not block.text:
                yield Finding(block.where, f"{block.where[0]}: text content blocks must be non-empty")
            elif not cited:
                said = "text content blocks must contain non-whitespace text"
                yield Finding(block.where, f"{block.where[0]}: {said}")


def marked_text_is_not_empty(turn: Turn) -> Iterator[Finding]:
    """No empty text carries a `cache_control`.

    Source: dario#1066, anthropics/claude-code#50082; read on 2026-11-30.
    """
    for block in turn.blocks:
        if block.kind in TEXT_KINDS and not block.text and mapping(block.native).get("cache_control"):
            yield Finding(
                block.where, f"{path(block.where)}.text: cache_control cannot be set for empty text blocks"
            )


def compaction_is_not_empty(turn: Turn) -> Iterator[Finding]:
    """A compaction block has a summary, or `null` where compacting failed.

    Source: the types of the `anthropic` SDK 2.14.0, read on 2026-11-30.
    """
    for block in turn.blocks:
        native = mapping(block.native)
        if native.get("type") == "compaction" and native.get("content") == "":
            yield Finding(block.where, f"{path(block.where)}: Empty string content is not allowed.")


def tool_id_has_its_form(turn: Turn) -> Iterator[Finding]:
    """The id of a call is made of letters, digits, `_` and `-`; other providers' ids may not be.

    Source: anomalyco/opencode#1279, QwenLM/qwen-code#8160; read on 2026-11-30.
    """
    for block in turn.blocks:
        if block.client and not TOOL_ID.fullmatch(block.call_id or ""):
            key = "tool_use.id" if block.kind == "tool_call" else "tool_result.tool_use_id"
            form = "String should match pattern '^[a-zA-Z0-9_-]+$'"
            yield Finding(block.where, f"{path(block.where)}.{key}: {form}")


def message_is_not_empty(left: Message, right: Message) -> Iterator[Finding]:
    """Every message has content, but for the assistant's where it is the last.

    Source: tidyverse/ellmer#709, anthropics/claude-code#6774; read on 2026-11-30.
    """
    for turn in left:
        last = not right and turn is left[-1]
        if not turn.blocks and not (last and turn.role == "assistant"):
            where = ("messages", index_of(turn))
            yield Finding(
                where,
                f"{path(where)}: all messages must have non-empty content except for the optional final "
                f"assistant message",
            )


def tool_use_has_its_result(left: Message, right: Message) -> Iterator[Finding]:
    """Every call is answered in the very next message: all calls of a parallel batch, not some of them.

    Source: docs "Handle tool calls", anthropics/claude-code#1237; read on 2026-11-30.
    """
    answered = {block.call_id for block in client_results(right)}
    for call in client_calls(left):
        if call.call_id not in answered:
            yield Finding(call.where, _unanswered(call))


def tool_results_come_first(left: Message, right: Message) -> Iterator[Finding]:
    """Results stand in front of everything else in their message.

    Source: docs "Handle tool calls" and "Server tools"; read on 2026-11-30.
    """
    calls = {call.call_id: call for call in client_calls(left)}
    behind = False
    for block in (block for turn in right for block in turn.blocks):
        if block.kind != "tool_result":
            behind = True
        elif behind and block.call_id in calls:
            yield Finding(block.where, _unanswered(calls[block.call_id]))
            return


def _unanswered(call: Block) -> str:
    return (
        f"{path(call.where[:2])}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{call.call_id}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
        f"message."
    )


def tool_result_has_its_tool_use(left: Message, right: Message) -> Iterator[Finding]:
    """Every result answers a call of the message right before.

    Source: anthropics/claude-code#8484, openclaw/openclaw#8525; read on 2026-11-30.
    """
    called = {call.call_id for call in client_calls(left)}
    for result in client_results(right):
        if result.call_id not in called:
            yield Finding(
                result.where,
                f"{path(result.where)}: unexpected `tool_use_id` found in `tool_result` blocks: "
                f"{result.call_id}. Each `tool_result` block must have a corresponding `tool_use` block in "
                f"the previous message.",
            )


def tool_use_has_one_result(left: Message, right: Message) -> Iterator[Finding]:
    """No call is answered twice.

    Source: the error text in public tests of clients; read on 2026-11-30.
    """
    waiting = [call.call_id for call in client_calls(left)]
    called = set(waiting)
    for result in client_results(right):
        if result.call_id in waiting:
            waiting.remove(result.call_id)
        elif result.call_id in called:
            yield Finding(
                result.where,
                f"{path(result.where)}: each tool_use must have a single result. Found multiple "
                f"`tool_result` blocks with id: {result.call_id}",
            )


def tool_ids_are_unique(left: Message, right: Message) -> Iterator[Finding]:
    """No two calls of a message share an id; calls of different messages may, as recorded requests show.

    Source: anomalyco/opencode#1279, anthropics/claude-code#28515; read on 2026-11-30.
    """
    seen: set[str | None] = set()
    for call in client_calls(left):
        if call.call_id in seen:
            yield Finding(call.where, f"{path(call.where)}: `tool_use` ids must be unique")
        seen.add(call.call_id)


def client_calls(message: Message) -> Iterator[Block]:
    """The calls of an assistant's message that the client has to answer."""
    blocks = (block for turn in message if turn.role == "assistant" for block in turn.blocks)
    return (block for block in blocks if block.kind == "tool_call" and block.client)


def client_results(message: Message) -> Iterator[Block]:
    """The answers in a user's message."""
    blocks = (block for turn in message if turn.role == "user" for block in turn.blocks)
    return (block for block in blocks if block.kind == "tool_result" and block.client)


def there_is_a_message(request: ModelRequest, last: Turn) -> Iterator[Finding]:
    """A request has a message.

    Source: the error text in public code; read on 2026-11-30.
    """
    if last.parent is None:
        yield Finding(("messages",), "messages: at least one message is required")


def first_message_is_a_users(request: ModelRequest) -> Iterator[Finding]:
    """On Bedrock, the first message is not the assistant's.

    Source: anthropics/anthropic-sdk-typescript#622, where Anthropic itself takes such a request and Bedrock
    refuses it; read on 2026-11-30.
    """
    on_bedrock = str(request.body.get("anthropic_version", "")).startswith("bedrock")
    if on_bedrock and request.turns and request.turns[0].role == "assistant":
        yield Finding(("messages", 0, "role"), 'messages: first message must use the "user" role')


def server_tool_use_has_its_result(request: ModelRequest) -> Iterator[Finding]:
    """A call of the provider's own tool keeps its result, which comes before the assistant's turn is over.

    The turn is over with anything of the user's but results of client tools. Until then a call may wait: at
    the end of the last message (`pause_turn`), or while the client answers calls of its own beside it.

    Source: docs "Server tools"; read on 2026-11-30.
    """
    for call in _server_tools(request).unanswered:
        result = _result_type(call)
        yield Finding(
            call.where,
            f"{path(call.where[:2])}: `{call.tool}` tool use with id `{call.call_id}` was found without a "
            f"corresponding `{result}` block",
        )


def server_result_has_its_tool_use(request: ModelRequest) -> Iterator[Finding]:
    """The result of the provider's own tool stands behind its call.

    Source: anthropics/claude-code#64026; read on 2026-11-30.
    """
    for result in _server_tools(request).unexpected:
        kind = result.native["type"]
        call = "mcp_tool_use" if kind == "mcp_tool_result" else "server_tool_use"
        yield Finding(
            result.where,
            f"{path(result.where)}: unexpected `tool_use_id` found in `{kind}` blocks: {result.call_id}. "
            f"Each `{kind}` block must have a corresponding `{call}` block before it.",
        )


def _result_type(call: Block) -> str:
    if call.native["type"] == "mcp_tool_use":
        return "mcp_tool_result"
    name = call.tool or ""
    return "tool_search_tool_result" if name.startswith("tool_search") else f"{name}_tool_result"


@dataclass(frozen=True, slots=True)
class ServerTools:
    """The calls of the provider's own tools that wait for their result, and what can't be mended any more."""

    waiting: tuple[Block, ...] = ()
    unanswered: tuple[Block, ...] = ()
    unexpected: tuple[Block, ...] = ()

    def step(self, turn: Turn) -> ServerTools:
        """The state after one more turn."""
        if turn.role == "user":
            only_results = all(block.kind == "tool_result" for block in turn.blocks)
            return self if only_results else ServerTools((), self.unanswered + self.waiting, self.unexpected)
        state = self
        for block in turn.blocks:
            if block.kind == "tool_call" and not block.client:
                state = replace(state, waiting=(*state.waiting, block))
            elif block.kind == "tool_result" and not block.client:
                state = state._answered(block)
        return state

    def _answered(self, result: Block) -> ServerTools:
        waiting = tuple(call for call in self.waiting if call.call_id != result.call_id)
        if len(waiting) == len(self.waiting):
            return replace(self, unexpected=(*self.unexpected, result))
        return replace(self, waiting=waiting)


def _server_tools(request: ModelRequest) -> ServerTools:
    return request.fold(ServerTools, lambda head: ServerTools(), ServerTools.step)


RULES = Rules(
    continues=continues,
    turns=(
        role_is_known,
        block_stands_in_its_role,
        text_is_not_empty,
        marked_text_is_not_empty,
        compaction_is_not_empty,
        tool_id_has_its_form,
        anthropic_thinking.thinking_is_signed,
    ),
    exchanges=(
        message_is_not_empty,
        tool_use_has_its_result,
        tool_results_come_first,
        tool_result_has_its_tool_use,
        tool_use_has_one_result,
        tool_ids_are_unique,
    ),
    endings=(
        there_is_a_message,
        anthropic_thinking.last_message_is_a_users,
        anthropic_thinking.last_message_does_not_end_with_thinking,
        anthropic_thinking.last_message_has_no_thinking_where_it_is_off,
    ),
    requests=(
        first_message_is_a_users,
        system_message_is_supported,
        server_tool_use_has_its_result,
        server_result_has_its_tool_use,
        anthropic_cache.at_most_four_blocks_are_marked,
        anthropic_cache.longer_lived_marks_come_first,
        anthropic_thinking.running_loop_starts_with_thinking,
    ),
)
