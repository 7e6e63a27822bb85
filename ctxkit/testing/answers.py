"""What a script is made of: one `Answer` for each model call.

An answer is plain data. How it looks on a wire belongs to `shapes`, how it is sent to `server`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ctxkit.errors import ConfigError
from ctxkit.usage import Usage


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model says, independent of any wire.

    Attributes:
        text: The text; with an empty one, the answer has no text block.
        tool_calls: The name and the input of each tool that the model calls.
        thinking: What the model thinks before it speaks.
        usage: What the answer reports; `None` to have it computed from the request.
    """

    text: str = ""
    tool_calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    thinking: str = ""
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What becomes of one model call. Made by `reply`, `native`, `raw` and `failure`.

    Attributes:
        content: A reply or a native body to be completed, or bytes sent as they are; `None` stands for
            the provider's own body for an error of that status.
        status: The HTTP status.
        headers: Headers of the answer, beside those that the server sets.
        wait_seconds: How long the server waits before it answers.
        after_bytes: After how many bytes of the body the server hangs up; `None`: it does not.
    """

    content: Reply | Mapping[str, Any] | bytes | None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_seconds: float = 0.0
    after_bytes: int | None = None


Script = Sequence[Answer] | Callable[[Mapping[str, Any], int], Answer]
"""Answers in the order of the calls, or a function of the request's body and the call's number, from 0."""


def reply(
    text: str = "",
    *,
    tool_calls: Sequence[tuple[str, Mapping[str, Any]]] = (),
    thinking: str = "",
    usage: Usage | None = None,
) -> Answer:
    """An answer in the words of whichever wire asks.

    Args:
        text: The text.
        tool_calls: The name and the input of each tool that the model calls.
        thinking: What the model thinks before it speaks.
        usage: What the answer reports. Left out, it is computed from the request; with tokens that are
            `None`, the answer reports no usage at all.
    """
    return Answer(Reply(text, tuple(tool_calls), thinking, usage))


def native(body: Mapping[str, Any], *, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer with this response body, in the provider's own JSON.

    Where the body has no key `usage`, one that is computed from the request is added.
    """
    return Answer(body, headers=headers or {})


def raw(body: bytes, *, content_type: str) -> Answer:
    """An answer with these bytes and status 200, whatever they are: a broken body, a stream of your own."""
    return Answer(body, headers={"content-type": content_type})


def failure(
    status: int,
    body: Mapping[str, Any] | str | None = None,
    *,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """An error answer.

    Both SDKs retry 408, 409, 429 and everything from 500 on. The headers `{"retry-after-ms": "1"}` keep
    such a test fast, and `{"x-should-retry": "false"}` stops them (`anthropic` 2.14.0 and `openai`
    3.57.0, read on 2026-11-30).

    Args:
        status: The HTTP status.
        body: JSON, or a page of HTML as gateways send it; left out, the provider's own body for an error.
        headers: Headers beside those that the server sets.
    """
    if isinstance(body, str):
        return Answer(body.encode(), status, {"content-type": "text/html", **(headers or {})})
    return Answer(body, status, headers or {})


def slow(answer: Answer, *, seconds: float) -> Answer:
    """The same answer, after a wait."""
    return replace(answer, wait_seconds=seconds)


def hang_up(answer: Answer, *, after_bytes: int = 0) -> Answer:
    """The same answer, cut off: the connection drops in the middle of it.

    Args:
        answer: What would have been answered.
        after_bytes: How many bytes of the body are sent, compression included, its last byte never. With
            0, not even the status line is.

    Raises:
        ConfigError: `after_bytes` is negative.
    """
    if after_bytes < 0:
        raise ConfigError(f"after_bytes must be 0 or more, not {after_bytes}", option="after_bytes")
    return replace(answer, after_bytes=after_bytes)
