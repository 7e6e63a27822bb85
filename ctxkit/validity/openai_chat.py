"""What OpenAI's Chat Completions API refuses.

The provider's words are second hand, and all rules were held against recorded requests that were answered.
Other providers of this API are laxer in places: what only OpenAI refuses and others take is no rule here.
"""

from __future__ import annotations

from collections.abc import Iterator

from ctxkit.messages import Block, ModelRequest, Turn
from ctxkit.validity.problems import Finding, Message, Rules, index_of

ROLES = ("system", "assistant", "user", "function", "tool", "developer")


def continues(turn: Turn) -> bool:
    """Whether a turn is one more answer to the calls of a batch; each has a message of its own here."""
    return turn.role == "tool" and turn.parent is not None and turn.parent.role == "tool"


def role_is_known(turn: Turn) -> Iterator[Finding]:
    """A message has one of the six roles.

    Source: the types of the `openai` SDK 3.57.0; read on 2026-11-30.
    """
    if turn.parent is not None and turn.role not in ROLES:
        supported = ", ".join(f"'{role}'" for role in ROLES[:-1])
        yield Finding(
            ("messages", index_of(turn), "role"),
            f"Invalid value: '{turn.role}'. Supported values are: {supported}, and '{ROLES[-1]}'.",
        )


def tool_message_names_its_call(turn: Turn) -> Iterator[Finding]:
    """A message of the role `tool` has a `tool_call_id`.

    Source: vercel/ai#2178; read on 2026-11-30.
    """
    if turn.role == "tool" and turn.blocks[0].call_id is None:
        yield Finding(
            turn.blocks[0].where,
            "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.",
        )


def function_message_names_its_function(turn: Turn) -> Iterator[Finding]:
    """A message of the older role `function` has a `name`; nothing else ties it to its call.

    Source: the error text in public bug reports; read on 2026-11-30.
    """
    if turn.role == "function" and not turn.native.get("name"):
        yield Finding(
            turn.blocks[0].where,
            "Missing parameter 'name': messages with role 'function' must have a 'name'.",
        )


def tool_call_has_its_message(left: Message, right: Message) -> Iterator[Finding]:
    """Every call is answered right behind it: all calls of a parallel batch, not some of them.

    Source: langchain-ai/langchain#38352, agno-agi/agno#4345; read on 2026-11-30.
    """
    answered = {result.call_id for result in results(right)}
    for call in calls(left):
        if call.call_id not in answered:
            yield Finding(
                call.where,
                f"An assistant message with 'tool_calls' must be followed by tool messages responding to "
                f"each 'tool_call_id'. The following tool_call_ids did not have response messages: "
                f"{call.call_id}",
            )


def tool_message_has_its_call(left: Message, right: Message) -> Iterator[Finding]:
    """A message of the role `tool` answers a call of the message before its batch.

    Source: langchain-ai/langchain#33245, dapr/dapr-agents#145; read on 2026-11-30.
    """
    called = {call.call_id for call in calls(left)}
    for result in results(right):
        if not called:
            yield Finding(
                result.where,
                "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
            )
        elif result.call_id is not None and result.call_id not in called:
            yield Finding(
                result.where,
                f"Invalid parameter: 'tool_call_id' of '{result.call_id}' not found in 'tool_calls' of "
                f"previous message.",
            )


def tool_call_has_one_message(left: Message, right: Message) -> Iterator[Finding]:
    """No call is answered twice.

    Source: agno-agi/agno#5116, anomalyco/opencode#1211; read on 2026-11-30.
    """
    first: dict[str, Block] = {}
    for result in results(right):
        if result.call_id is None:
            continue
        earlier = first.setdefault(result.call_id, result)
        if earlier is not result:
            yield Finding(
                result.where,
                f"Invalid parameter: Duplicate value for 'tool_call_id' of '{result.call_id}', in "
                f"messages[{earlier.where[1]}] and messages[{result.where[1]}].",
            )


def calls(message: Message) -> Iterator[Block]:
    """The calls under `tool_calls` of a message; one under the older `function_call` has no id."""
    blocks = (block for turn in message for block in turn.blocks)
    return (block for block in blocks if block.kind == "tool_call" and "tool_calls" in block.where)


def results(message: Message) -> Iterator[Block]:
    """The answers in a batch of messages of the role `tool`."""
    return (block for turn in message if turn.role == "tool" for block in turn.blocks)


def there_is_a_message(request: ModelRequest, last: Turn) -> Iterator[Finding]:
    """A request has a message.

    Source: the error text in public bug reports; read on 2026-11-30.
    """
    if last.parent is None:
        yield Finding(
            ("messages",),
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty "
            "array instead.",
        )


RULES = Rules(
    continues=continues,
    turns=(role_is_known, tool_message_names_its_call, function_message_names_its_function),
    exchanges=(tool_call_has_its_message, tool_message_has_its_call, tool_call_has_one_message),
    endings=(there_is_a_message,),
)
