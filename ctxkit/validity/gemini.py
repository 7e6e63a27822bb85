"""What Google's Gemini API refuses.

The provider's words are second hand, and all rules were held against recorded requests that were answered.
These show that contents of one role in a row are read as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ctxkit.messages import Block, ModelRequest, Turn
from ctxkit.validity.models import gemini_version
from ctxkit.validity.problems import Finding, Message, Rules, index_of

SIGNED_CALLS_SINCE = (3, 0)


def continues(turn: Turn) -> bool:
    """Whether a turn is of the same side as the one before it; a role `function` is the user's side."""
    return turn.parent is not None and is_models(turn.parent) == is_models(turn)


def is_models(turn: Turn) -> bool:
    """Whether the model wrote a content."""
    return turn.role == "model"


def content_is_not_empty(turn: Turn) -> Iterator[Finding]:
    """A content has a part.

    Source: the error text in public bug reports; read on 2026-11-30.
    """
    if turn.parent is not None and not turn.blocks:
        index = index_of(turn)
        yield Finding(
            ("contents", index, "parts"),
            f"* GenerateContentRequest.contents[{index}].parts: contents.parts must not be empty.",
        )


def call_follows_a_users_turn(left: Message, right: Message) -> Iterator[Finding]:
    """A history does not begin with a function call, as a trimmed one may.

    Source: google-gemini/gemini-cli#26486, diegosouzapw/OmniRoute#13573; read on 2026-11-30.
    """
    if not left and any(True for _ in calls(right)):
        yield Finding(
            ("contents", 0),
            "Please ensure that function call turn comes immediately after a user turn or after a function "
            "response turn.",
        )


def calls_and_responses_are_as_many(left: Message, right: Message) -> Iterator[Finding]:
    """A turn of function calls is followed by as many function responses.

    Source: google-gemini/gemini-cli#3124, microsoft/vscode#299295; read on 2026-11-30.
    """
    called, answered = len(list(calls(left))), len(list(responses(right)))
    if called and called != answered:
        yield Finding(
            ("contents", index_of(left[-1])),
            "Please ensure that the number of function response parts is equal to the number of function "
            "call parts of the function call turn.",
        )


def response_follows_its_call(left: Message, right: Message) -> Iterator[Finding]:
    """Function responses stand right behind a turn of function calls.

    Source: the error text in public bug reports; read on 2026-11-30.
    """
    if any(True for _ in calls(left)):
        return
    for response in responses(right):
        yield Finding(
            response.where,
            "Please ensure that function response turn comes immediately after a function call turn.",
        )


def calls(message: Message) -> Iterator[Block]:
    """The function calls of the model's turn."""
    blocks = (block for turn in message if is_models(turn) for block in turn.blocks)
    return (block for block in blocks if block.kind == "tool_call" and block.client)


def responses(message: Message) -> Iterator[Block]:
    """The function responses of the user's turn."""
    blocks = (block for turn in message if not is_models(turn) for block in turn.blocks)
    return (block for block in blocks if block.kind == "tool_result" and block.client)


def there_is_a_content(request: ModelRequest, last: Turn) -> Iterator[Finding]:
    """A request has a content.

    Source: the error text in public bug reports; read on 2026-11-30.
    """
    if last.parent is None:
        yield Finding(("contents",), "* GenerateContentRequest.contents: contents is not specified")


def last_content_is_a_users(request: ModelRequest, last: Turn) -> Iterator[Finding]:
    """A request ends with the user's turn, or with function responses.

    Source: songquanpeng/one-api#836, crewAIInc/crewAI#6973; read on 2026-11-30.
    """
    if is_models(last):
        index = index_of(last)
        several = "multiturn requests ends with a user role or a function response."
        single = "single turn requests end with a user role or the role field is empty."
        yield Finding(("contents", index), f"Please ensure that {several if index else single}")


def first_call_of_a_step_is_signed(request: ModelRequest) -> Iterator[Finding]:
    """From Gemini 3 on, the first function call of each step of the running turn keeps its signature.

    The turn runs from the last content of the user's that is more than function responses. Models of unknown
    generation are not judged.

    Source: docs "Thought signatures"; read on 2026-11-30.
    """
    version = gemini_version(request.model)
    if version is None or version < SIGNED_CALLS_SINCE:
        return
    for call in request.fold(RunningTurn, lambda head: RunningTurn(), RunningTurn.step).unsigned:
        yield Finding(
            call.where,
            f"Function call is missing a thought_signature in functionCall parts. This is required for tools "
            f"to work correctly, and missing thought_signature may lead to degraded model performance. "
            f"Additional data, function call `default_api:{call.tool}` , position {int(call.where[1]) + 1}.",
        )


@dataclass(frozen=True, slots=True)
class RunningTurn:
    """The turn that runs at the end of a history.

    Attributes:
        unsigned: The first calls of its steps that have no signature.
        in_step: Whether the last step has a call already.
    """

    unsigned: tuple[Block, ...] = ()
    in_step: bool = False

    def step(self, turn: Turn) -> RunningTurn:
        """The running turn after one more content."""
        if not is_models(turn):
            runs = all(block.kind == "tool_result" for block in turn.blocks)
            return RunningTurn(self.unsigned if runs else ())
        first = next(calls((turn,)), None)
        if first is None or self.in_step:
            return self
        unsigned = self.unsigned if _signature(first.native) else (*self.unsigned, first)
        return RunningTurn(unsigned, in_step=True)


def _signature(part: Mapping[str, Any]) -> Any:
    return part.get("thoughtSignature") or part.get("thought_signature")


RULES = Rules(
    continues=continues,
    turns=(content_is_not_empty,),
    exchanges=(
        call_follows_a_users_turn,
        calls_and_responses_are_as_many,
        response_follows_its_call,
    ),
    endings=(there_is_a_content, last_content_is_a_users),
    requests=(first_call_of_a_step_is_signed,),
)
