"""What Anthropic's Messages API refuses about thinking, and about an answer begun by the caller.

The provider's words are second hand. That a message with thinking must start with it holds for old models
only (recorded requests to Sonnet 5 break it), so it is no rule here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ctxkit.messages import Block, ModelRequest, Turn
from ctxkit.validity.models import claude_version
from ctxkit.validity.problems import Finding, index_of
from ctxkit.wire.native import path

NO_PREFILL_SINCE = (4, 6)


def thinking_is_signed(turn: Turn) -> Iterator[Finding]:
    """A thinking block has the signature it came with. Its text may be empty.

    Source: the error texts in public bug reports; read on 2026-11-30.
    """
    for block in turn.blocks:
        if block.kind != "thinking" or block.native.get("type") != "thinking":
            continue
        signature = block.native.get("signature")
        if signature is None:
            yield Finding(block.where, f"{path(block.where)}.thinking.signature: Field required")
        elif signature == "":
            yield Finding(block.where, f"{path(block.where)}: Invalid `signature` in `thinking` block")


def last_message_is_a_users(request: ModelRequest, last: Turn) -> Iterator[Finding]:
    """From Claude 4.6 on, the caller can't begin the answer; models of unknown generation are not judged.

    What pauses in a call of the provider's own tool (`pause_turn`) is continued by sending it as it came, so
    only a message that ends in text counts as begun by the caller.

    Source: snap-stanford/Biomni#284; docs "Server tools" on `pause_turn`; read on 2026-11-30.
    """
    version = claude_version(request.model)
    if last.role != "assistant" or version is None or version < NO_PREFILL_SINCE:
        return
    if not last.blocks or last.blocks[-1].kind == "assistant_text":
        yield Finding(
            ("messages", index_of(last)),
            "This model does not support assistant message prefill. The conversation must end with a user "
            "message.",
        )


def last_message_does_not_end_with_thinking(request: ModelRequest, last: Turn) -> Iterator[Finding]:
    """An answer that the caller begins does not end with thinking.

    Source: tailcallhq/forgecode#2107, router-for-me/CLIProxyAPI#5322; read on 2026-11-30.
    """
    if last.role == "assistant" and last.blocks and last.blocks[-1].kind == "thinking":
        kind = last.blocks[-1].native["type"]
        where = path(last.blocks[-1].where[:2])
        yield Finding(
            last.blocks[-1].where,
            f"{where}: The final block in an assistant message cannot be `{kind}`.",
        )


def last_message_has_no_thinking_where_it_is_off(request: ModelRequest, last: Turn) -> Iterator[Finding]:
    """Where a request turns thinking off, an answer that the caller begins has none.

    What holds where a request says nothing depends on the model, so that is not judged.

    Source: tailcallhq/forgecode#1853; read on 2026-11-30.
    """
    if last.role != "assistant" or _thinking_type(request) != "disabled":
        return
    for block in last.blocks:
        if block.kind == "thinking":
            yield Finding(
                block.where,
                f"{path(block.where)}: When thinking is disabled, an `assistant` message in the final "
                f"position cannot contain `{block.native['type']}`. To use thinking blocks, enable "
                f"`thinking` in your request.",
            )


def running_loop_starts_with_thinking(request: ModelRequest) -> Iterator[Finding]:
    """With thinking enabled, the thinking of a running tool loop is kept.

    A loop runs from the last message of the user's that is more than results of tools. Its thinking may
    stand in any of its messages; adaptive thinking asks for none.

    Source: docs "Extended thinking", OpenRouterTeam/ai-sdk-provider#162; read on 2026-11-30.
    """
    if _thinking_type(request) != "enabled":
        return
    loop = request.fold(Loop, lambda head: Loop(), Loop.step)
    if loop.first is not None and not loop.thinks:
        yield Finding(
            loop.first.where,
            f"{path(loop.first.where)}.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{_type(loop.first)}`. When `thinking` is enabled, a final `assistant` message must start with "
            f"a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We "
            f"recommend you include thinking blocks from previous turns. To avoid this requirement, disable "
            f"`thinking`.",
        )


@dataclass(frozen=True, slots=True)
class Loop:
    """The tool loop that runs at the end of a history.

    Attributes:
        first: The first block of its last message of the assistant's; `None` where no loop runs.
        thinks: Whether a message of the assistant's in it starts with thinking.
    """

    first: Block | None = None
    thinks: bool = False

    def step(self, turn: Turn) -> Loop:
        """The loop after one more turn."""
        if turn.role == "user":
            runs = all(block.kind == "tool_result" for block in turn.blocks)
            return self if runs else Loop()
        if turn.role != "assistant" or not turn.blocks:
            return self
        return Loop(turn.blocks[0], self.thinks or turn.blocks[0].kind == "thinking")


def _thinking_type(request: ModelRequest) -> object:
    thinking = request.body.get("thinking")
    return thinking.get("type") if isinstance(thinking, Mapping) else None


def _type(block: Block) -> str:
    return str(block.native["type"]) if isinstance(block.native, Mapping) else "text"
