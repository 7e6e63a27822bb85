"""What every worker for histories does: it reads a run from standard input and answers what its policy sends.

A worker runs in the environment of its peer, so nothing here needs more than the standard library.
The task is `{"policy", "system", "messages", "lengths", "starts"}`: chat messages, how many of them each
request has, and where the client began a new context.
The answer is `{"versions", "seconds", "messages", "requests", "side_calls"}`. A request is how many messages
it shares with the one before, then the numbers of the others: those of the task first, then the answer's own
`messages`. A side call is the tokens of its prompt and of its answer, about.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from importlib import metadata
from itertools import pairwise, takewhile
from typing import Any

Message = dict[str, Any]
SideCall = tuple[int, int]


class Policy:
    """Decides what of one context is sent, as a user of its library would let it.

    Args:
        messages: All that will be said in the context, the system prompt first.

    Attributes:
        side_calls: What it asked a model by itself for the last request.
    """

    def __init__(self, messages: list[Message]) -> None:
        self.messages = messages
        self.side_calls: list[SideCall] = []

    def send(self, length: int) -> list[Message]:
        """What is sent when the context has so many messages."""
        raise NotImplementedError


class Answer:
    """Messages by their numbers, and the requests that are made of them.

    Args:
        given: The messages of the task, which have the first numbers.
    """

    def __init__(self, given: Sequence[Message]) -> None:
        self.messages: list[Message] = []
        self.requests: list[list[int]] = []
        self._given = len(given)
        self._numbers: dict[Any, int] = {}
        for number, message in enumerate(given):
            self._numbers.setdefault(_key(message), number)
        self._last: list[int] = []

    def add(self, request: Iterable[Message]) -> None:
        """Take one request."""
        numbers = [self._number(message) for message in request]
        pairs = zip(numbers, self._last, strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        self.requests.append([shared, *numbers[shared:]])
        self._last = numbers

    def _number(self, message: Message) -> int:
        key = _key(message)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self._given + len(self.messages)
            self.messages.append(message)
        return number


def work(policies: Mapping[str, Callable[[list[Message]], Policy]], *, packages: Iterable[str]) -> None:
    """Do the task on standard input.

    Args:
        policies: The policies that a task may name.
        packages: The distributions whose versions the answer gives.
    """
    task = json.load(sys.stdin)
    system = {"role": "system", "content": task["system"]}
    answer = Answer([system, *task["messages"]])
    side_calls, seconds = [], 0.0
    with redirect_stdout(sys.stderr):
        for start, end in pairwise([*task["starts"], len(task["messages"])]):
            policy = policies[task["policy"]]([system, *task["messages"][start:end]])
            for length in task["lengths"]:
                if start < length <= end:
                    policy.side_calls = []
                    started = time.process_time()
                    request = policy.send(length - start + 1)
                    seconds += time.process_time() - started
                    answer.add(request)
                    side_calls.append(policy.side_calls)
    json.dump(
        {
            "versions": {package: metadata.version(package) for package in packages},
            "seconds": seconds,
            "messages": answer.messages,
            "requests": answer.requests,
            "side_calls": side_calls,
        },
        sys.stdout,
    )


def _key(message: Message) -> Any:
    """What makes two messages the same."""
    calls = message.get("tool_calls") or ()
    said = tuple((call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls)
    content = message.get("content") or ""
    text = content if isinstance(content, str) else json.dumps(content)
    return message["role"], text, message.get("tool_call_id"), said
