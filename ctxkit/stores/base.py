"""What a store must be able to do, and how to wait where nothing tells that a call has ended.

A store keeps values under text keys, and knows which keys are being worked on. Every method is a flow.
"""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from ctxkit.errors import ConfigError
from ctxkit.flow import Flow, perform

LEASE_SECONDS = 300.0
FIRST_PAUSE_SECONDS = 0.005
LONGEST_PAUSE_SECONDS = 0.25


class Store(Protocol):
    """Keeps values for a while, and lets one caller lead while others wait for it.

    Whoever is to work out the value of a key leads it under a token of its own, and lands it in the end. A
    leader that has not landed when its lease is over is taken for lost, and the next one may lead. A value
    that is put under a token is only kept while that token leads: `delete` ends the lead of a key too, so
    that nothing which was begun before it is kept after it.

    Attributes:
        keeps_objects: Whether values may be any object. Where not, they are bytes.
    """

    keeps_objects: bool

    def get(self, key: str) -> Flow[Any]:
        """The value kept under a key; `None` where there is none, or its time is over."""
        ...

    def put(self, key: str, value: Any, *, ttl_seconds: float | None = None, token: str = "") -> Flow[bool]:
        """Keep a value, for a time or until room is needed.

        Returns:
            Whether it is kept: it fits, and its token, where one is given, leads the key.
        """
        ...

    def delete(self, key: str) -> Flow[None]:
        """Forget a key: what is kept, and who leads it."""
        ...

    def keys(self, prefix: str) -> Flow[list[str]]:
        """The keys with this beginning that have a value or a leader."""
        ...

    def lead(self, key: str, token: str) -> Flow[bool]:
        """Whether the caller leads the key now; `False` where another one does."""
        ...

    def wait(self, key: str) -> Flow[None]:
        """Wait until nobody leads the key."""
        ...

    def land(self, key: str, token: str) -> Flow[None]:
        """End the lead of this token; that of any other stays."""
        ...


def check_positive(value: float | None, option: str) -> None:
    """Refuse a setting that is not above zero; `None` stands for no limit.

    Raises:
        ConfigError: It is not above zero.
    """
    if value is not None and not value > 0:
        raise ConfigError(f"{option} must be above zero, it is {value}", option=option)


def poll(is_led: Callable[[], Flow[bool]]) -> Flow[None]:
    """Ask again and again, less and less often, until a key is led by nobody."""
    pause = FIRST_PAUSE_SECONDS
    while (yield from is_led()):
        yield from _sleep(pause * random.uniform(0.5, 1))
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)


def _sleep(seconds: float) -> Flow[None]:
    def sleep_async() -> Awaitable[None]:
        import asyncio

        return asyncio.sleep(seconds)

    return perform(lambda: time.sleep(seconds), sleep_async)
