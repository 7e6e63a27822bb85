"""Random histories that a provider accepts, in all four wires, as a tool-use loop would send them.

How each is written stands in a module for each provider. `support.histories` has the other kind: histories
of pieces that may or may not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from ctxkit.messages import Histories, ModelRequest
from ctxkit.wire import wire_named
from support.valid_anthropic import AnthropicLoop
from support.valid_gemini import GeminiLoop
from support.valid_loops import Loop
from support.valid_openai import ChatLoop, ResponsesLoop

LOOPS: tuple[type[Loop], ...] = (AnthropicLoop, ChatLoop, ResponsesLoop, GeminiLoop)


@dataclass(frozen=True)
class History:
    """A history that a provider accepts.

    Attributes:
        wire: The wire's name.
        head: The body without its messages.
        messages: The native messages.
        ends: After how many messages a loop sends a request, in order; the last has them all.
        typed: Whether the SDK's types know all that is in it.
    """

    wire: str
    head: Mapping[str, Any]
    messages: tuple[Any, ...]
    ends: tuple[int, ...]
    typed: bool

    def body(self, end: int) -> dict[str, Any]:
        """The body of the request that is sent after so many messages."""
        return wire_named(self.wire).with_messages(self.head, self.messages[:end])

    def request(self, end: int, histories: Histories | None = None) -> ModelRequest:
        """The same as a request, in a process of its own unless histories are given."""
        return ModelRequest(wire_named(self.wire), self.body(end), histories=histories or Histories())


@st.composite
def _histories(draw: Callable[[st.SearchStrategy[Any]], Any], kind: type[Loop]) -> History:
    loop = kind(draw)
    loop.write()
    return History(kind.wire, loop.head(), tuple(loop.messages), tuple(loop.ends), loop.typed)


VALID_HISTORIES: Mapping[str, st.SearchStrategy[History]] = {kind.wire: _histories(kind) for kind in LOOPS}
