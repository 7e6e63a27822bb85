"""Reads the bodies of a growing history without parsing its beginning again.

A loop sends the same messages in every request and some more. Where a body begins with the bytes of an
earlier one up to the end of its messages, only what follows is parsed; the result is the same either way.
"""

from __future__ import annotations

import threading
from typing import Any

import orjson

from ctxkit.wire.native import body_object, loads

KEPT_BODIES = 8
# Below this, parsing is quicker than looking for what is known.
WORTH_BYTES = 16_384

Body = dict[str, Any]


class GrowingBodies:
    """Parses request bodies and remembers the last of them.

    Args:
        max_bytes: How many bytes of bodies are remembered, the most recent first.
    """

    def __init__(self, *, max_bytes: int = 64_000_000) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._known: list[tuple[bytes, Body]] = []

    def read(self, raw: bytes, *, key: str) -> Body:
        """The JSON object in these bytes; its parts may be shared with earlier ones.

        Args:
            raw: A request's bytes.
            key: The name of the list that grows, such as `messages`.

        Raises:
            BodyError: It is no JSON object.
        """
        if len(raw) < WORTH_BYTES:
            return body_object(loads(raw))
        with self._lock:
            known = self._known[::-1]
        for known_raw, known_body in known:
            body = grown(known_raw, known_body, raw, key=key)
            if body is not None:
                self._remember(raw, body, instead_of=known_raw)
                return body
        body = body_object(loads(raw))
        self._remember(raw, body, instead_of=None)
        return body

    def _remember(self, raw: bytes, body: Body, *, instead_of: bytes | None) -> None:
        with self._lock:
            self._known = [pair for pair in self._known if pair[0] is not instead_of]
            self._known.append((raw, body))
            while len(self._known) > KEPT_BODIES or sum(len(one) for one, _ in self._known) > self._max_bytes:
                del self._known[0]


def grown(known_raw: bytes, known_body: Body, raw: bytes, *, key: str) -> Body | None:
    """The body in `raw`, read as a known body with more items at the end of one list.

    Args:
        known_raw: The bytes of the known body.
        known_body: What they hold.
        raw: The bytes to read.
        key: The name of the list.

    Returns:
        What parsing `raw` would give; `None` where it is not a known body grown in this way.
    """
    if raw == known_raw:
        return known_body
    items = known_body.get(key)
    same = common_prefix(known_raw, raw)
    if not items or known_raw[same : same + 1] != b"]" or raw[same : same + 1] != b",":
        return None
    opening = b'{"' + key.encode() + b'":['
    known_rest = _object(opening + known_raw[same:])
    rest = _object(opening + raw[same + 1 :])
    keys = list(known_body)
    before = keys[: keys.index(key)]
    # The bracket closes this very list exactly where the known body goes on as it does behind the list.
    if known_rest is None or known_rest.get(key) != [] or list(known_rest) != keys[len(before) :]:
        return None
    if rest is None or not isinstance(rest.get(key), list) or any(name in rest for name in before):
        return None
    return {**{name: known_body[name] for name in before}, **rest, key: [*items, *rest[key]]}


def common_prefix(left: bytes, right: bytes) -> int:
    """How many bytes two byte strings have in common at their beginning."""
    view = memoryview(left)
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        # Compared in place: slices of bytes would be copied first.
        if right.startswith(view[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low


def _object(raw: bytes) -> Body | None:
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
