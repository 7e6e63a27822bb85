"""Plays a script: the answer to one model call, with usage. No transport is known here."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ctxkit.testing.answers import Answer, Reply, Script
from ctxkit.testing.prompt_cache import CacheRule, PromptCache
from ctxkit.testing.shapes import Shape
from ctxkit.tokens import counter_for
from ctxkit.usage import Usage

Content = Mapping[str, Any] | bytes


class Playback:
    """One run through a script, from its first answer on.

    Args:
        script: The answers.
        price_cache: The rule of the prompt cache.

    Attributes:
        cache: The prompt cache that computed usage comes from.
    """

    def __init__(self, script: Script, *, price_cache: CacheRule) -> None:
        self.cache = PromptCache(rule=price_cache)
        self._script = script if callable(script) else _in_order(script)
        self._calls = itertools.count()

    def play(self, body: Mapping[str, Any], shape: Shape) -> tuple[Answer, Content]:
        """The answer to the next model call, and its content as the provider would have sent it.

        Raises:
            AssertionError: The script has run out.
        """
        call = next(self._calls)
        answer = self._script(body, call)
        return answer, self._content(answer, body, shape, call)

    def _content(self, answer: Answer, body: Mapping[str, Any], shape: Shape, call: int) -> Content:
        content = answer.content
        if isinstance(content, Reply):
            made = shape.body(shape.message(content, call), call, body.get("model"))
            usage = content.usage or self._usage(made, body, shape)
            known = usage.input_tokens is not None and usage.output_tokens is not None
            return {**made, "usage": shape.usage(usage)} if known else made
        if content is None:
            return shape.error(answer.status, f"a scripted failure with status {answer.status}")
        if isinstance(content, bytes) or answer.status >= 400 or "usage" in content:
            return content
        return {**content, "usage": shape.usage(self._usage(content, body, shape))}

    def _usage(self, made: Mapping[str, Any], body: Mapping[str, Any], shape: Shape) -> Usage:
        """The computed usage of a request and its answer."""
        count = counter_for(body.get("model")).count
        tokens = [(block.kind, count(block.text)) for block in shape.wire.answer(made)]
        return replace(
            self.cache.take(body, wire=shape.wire.name),
            output_tokens=sum(number for _, number in tokens),
            reasoning_tokens=sum(number for kind, number in tokens if kind == "thinking"),
        )


def _in_order(answers: Sequence[Answer]) -> Callable[[Mapping[str, Any], int], Answer]:
    def answer(body: Mapping[str, Any], call: int) -> Answer:
        if call >= len(answers):
            raise AssertionError(
                f"the script has run out: it holds {len(answers)} answers, and this is call {call + 1}"
            )
        return answers[call]

    return answer
