"""Requests, responses, tool calls and results: frozen values around the provider's own JSON.

A request is a sequence of blocks over its native body. Request N+1 shares the turns of request N and
whatever was worked out for them. How a body is read and rebuilt belongs to a `Wire`; nothing here knows a
provider.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Protocol, TypeVar

from ctxkit.blocks import Block, Kind, Turn, Where, replaced
from ctxkit.histories import Histories, TurnReader
from ctxkit.tool_calls import ToolCall, ToolResult
from ctxkit.usage import Usage

__all__ = [
    "Accumulator",
    "Block",
    "Framing",
    "Histories",
    "Kind",
    "ModelRequest",
    "ModelResponse",
    "Prompt",
    "ToolCall",
    "ToolResult",
    "Turn",
    "Where",
    "Wire",
]

S = TypeVar("S")
T = TypeVar("T")
Framing = Literal["sse", "aws", "json"]
"""How the events of a stream stand in its bytes: see `ctxkit.wire.framing`."""


class Wire(TurnReader, Protocol):
    """How one provider's bodies are read and rebuilt, without converting them."""

    @property
    def messages_key(self) -> str:
        """The key of a body's messages."""
        ...

    def has_server_state(self, body: Mapping[str, Any]) -> bool:
        """Whether a request goes on from a conversation or a prompt that its body only names.

        What the provider keeps of it is read by the model and billed, and no block stands for it.
        """
        ...

    def with_messages(self, body: Mapping[str, Any], messages: Sequence[Any]) -> dict[str, Any]:
        """The body with other messages."""
        ...

    def with_result_texts(self, message: Any, texts: Mapping[Where, str]) -> Any:
        """The message with other texts in the tool results at these paths."""
        ...

    def cleared_result(self, native: Any, text: str) -> Any | None:
        """A native tool result that says nothing but this text; `None` where it must hold something else."""
        ...

    def with_call_input(self, native: Any, call_input: Mapping[str, Any]) -> Any | None:
        """A native tool call with other arguments; `None` where its arguments are no object."""
        ...

    def result(self, call: ToolCall, content: Any, *, is_error: bool) -> dict[str, Any]:
        """A tool's result as the wire's own, content being a text or a list of native parts."""
        ...

    def answer(self, body: Mapping[str, Any]) -> tuple[Block, ...]:
        """The blocks of a response body."""
        ...

    def call_input(self, native: Any) -> Mapping[str, Any]:
        """The arguments of a native tool call; empty where they can't be read."""
        ...

    def model(self, body: Mapping[str, Any]) -> str | None:
        """The model that a response body names."""
        ...

    def usage(self, body: Mapping[str, Any]) -> Usage | None:
        """The usage that a response body reports; `None` where it reports none."""
        ...

    def stop_reason(self, body: Mapping[str, Any]) -> str | None:
        """Why the answer ended, in the provider's own word."""
        ...

    def accumulator(self) -> Accumulator:
        """A new reader of one streamed answer."""
        ...

    def events(self, body: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[bytes]:
        """A finished answer as the server-sent events that the wire would have streamed."""
        ...


class Accumulator(Protocol):
    """Builds a finished answer while its events pass by."""

    @property
    def complete(self) -> bool:
        """Whether the event that ends an answer has arrived."""
        ...

    def feed(self, event: Any) -> None:
        """Take the next event."""
        ...

    def finish(self) -> dict[str, Any] | None:
        """The answer's body from all that arrived; `None` where nothing did."""
        ...


@dataclass(frozen=True, eq=False)
class Prompt:
    """What a request body sends to a model: its head, its turns, and their blocks.

    Attributes:
        wire: How the body is read.
        body: The provider's JSON. Never edit it in place.
        histories: Where turns are shared with other prompts.
    """

    wire: TurnReader
    body: Mapping[str, Any]
    histories: Histories = field(default_factory=Histories, repr=False)

    @property
    def model(self) -> str | None:
        """The model asked for."""
        model = self.body.get("model")
        return model if isinstance(model, str) else None

    @cached_property
    def _chain(self) -> tuple[Turn, ...]:
        return self.histories.read(self.wire, self.body, size=self._size)

    @property
    def _size(self) -> int:
        """How many bytes it stands for among the histories that are kept."""
        return 0

    @property
    def head(self) -> Turn:
        """What stands in front of the messages."""
        return self._chain[0]

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """The native messages, in order. Raises `BodyError` where the body is malformed."""
        return self._chain[1:]

    @property
    def tools(self) -> tuple[Block, ...]:
        """The tool definitions."""
        return tuple(block for block in self.head.blocks if block.kind == "tool_definition")

    @property
    def system(self) -> tuple[Block, ...]:
        """The system prompt, as it stands in front of the messages."""
        return tuple(block for block in self.head.blocks if block.kind == "system")

    def blocks(self) -> Iterator[Block]:
        """Every block, in the order the model reads them."""
        for turn in self._chain:
            yield from turn.blocks

    def tool_results(self) -> Iterator[Block]:
        """The tool results, oldest first."""
        return (block for block in self.blocks() if block.kind == "tool_result")

    def fold(self, key: Hashable, initial: Callable[[Turn], S], step: Callable[[S, Turn], S]) -> S:
        """Fold a pure function over the head and the turns, remembering the state at every turn.

        Args:
            key: Names the fold and everything its result depends on besides the turns.
            initial: Gives the state after the head.
            step: Gives the state after one more turn. Must not change the state it is given.

        Returns:
            The state after the last turn. Only turns not seen before cost anything.
        """
        chain = self._chain
        start = len(chain) - 1
        while start > 0 and key not in chain[start].memo:
            start -= 1
        if key not in chain[start].memo:
            chain[0].memo[key] = initial(chain[0])
        state: S = chain[start].memo[key]
        for turn in chain[start + 1 :]:
            state = turn.memo[key] = step(state, turn)
        return state


@dataclass(frozen=True, eq=False)
class ModelRequest(Prompt):
    """One request to a model: its native body, and views of it.

    Attributes:
        wire: How the body is read and rebuilt.
        raw: The caller's own bytes, as long as nothing was changed.
        purpose: `main`, or what a middleware asks for: see `side_call`.
        provider: Who is asked, where that is known from the address; prices depend on it.
        url_model: The model that the address names, where it names one.
        url_stream: How the events of the answer stand in its bytes, where the address asks for a stream.
        retry: How many attempts at this same call came before, as the SDK says.
        origin: The caller's own request, where this one was edited.
        editable: `False` where edits are to be left out, as after the provider refused one: they then give
            the request itself.
    """

    wire: Wire
    raw: bytes | None = None
    purpose: str = "main"
    provider: str | None = None
    url_model: str | None = None
    url_stream: Framing | None = None
    retry: int = 0
    origin: ModelRequest | None = field(default=None, repr=False)
    editable: bool = True

    @property
    def model(self) -> str | None:
        """The model asked for, in the body or else in the address."""
        return super().model or self.url_model

    @property
    def stream(self) -> bool:
        """Whether the answer is asked for as events."""
        return self.url_stream is not None or self.body.get("stream") is True

    @property
    def _size(self) -> int:
        raw = self.raw if self.origin is None else self.origin.raw
        return len(raw or b"")

    def edit(self, *, remove: Iterable[str] = (), **changes: Any) -> ModelRequest:
        """A request with other top-level keys; everything else is shared.

        Args:
            remove: Keys to leave out.
            changes: Keys to set, such as `messages=[...]`. Where the address names the model, another
                `model` changes the address, too.
        """
        if not self.editable:
            return self
        url_model = self.url_model
        if url_model is not None and "model" in changes:
            url_model = changes["model"]
            if "model" not in self.body:
                del changes["model"]
        dropped = set(remove)
        body = {key: value for key, value in self.body.items() if key not in dropped}
        return replace(self._edited({**body, **changes}), url_model=url_model)

    def with_messages(self, messages: Sequence[Any]) -> ModelRequest:
        """A request with other native messages."""
        return self._edited(self.wire.with_messages(self.body, messages))

    def as_it_is(self) -> ModelRequest:
        """The caller's own request, with no edit and open to none."""
        return replace(self.origin or self, editable=False)

    def _edited(self, body: Mapping[str, Any]) -> ModelRequest:
        if not self.editable:
            return self
        return replace(self, body=body, raw=None, origin=self.origin or self)

    def with_result_texts(self, texts: Mapping[Block, str]) -> ModelRequest:
        """A request in which these tool results say something else; itself where there are none.

        The same texts for the same turn give the same native message every time.
        """
        return self._changed(
            texts, lambda message, edit: self.wire.with_result_texts(message, dict(edit)), tuple
        )

    def with_natives(self, natives: Mapping[Block, Any]) -> ModelRequest:
        """A request in which other native parts stand for these blocks; itself where there are none.

        The same parts, as objects, for the same turn give the same native message every time.
        """

        def changed(message: Any, edit: Sequence[tuple[Where, Any]]) -> Any:
            for where, native in edit:
                message = replaced(message, where[2:], native)
            return message

        return self._changed(
            natives, changed, lambda edit: ("with_natives", *(id(native) for _, native in edit))
        )

    def _changed(
        self,
        edits: Mapping[Block, T],
        change: Callable[[Any, Sequence[tuple[Where, T]]], Any],
        key_of: Callable[[Sequence[tuple[Where, T]]], Hashable],
    ) -> ModelRequest:
        """A request whose messages are changed where these blocks stand, each message once for each edit."""
        if not edits:
            return self
        by_message: dict[int, list[tuple[Where, T]]] = {}
        for block, made in edits.items():
            by_message.setdefault(int(block.where[1]), []).append((block.where, made))
        messages = list(self.wire.messages(self.body))
        for index, edit in by_message.items():
            memo, key = self.turns[index].memo, key_of(edit)
            if key not in memo:
                # The edit is kept, as an id stands for a part only as long as that exists.
                memo[key] = edit, change(messages[index], edit)
            messages[index] = memo[key][1]
        return self.with_messages(messages)

    def side_call(self, purpose: str, **changes: Any) -> ModelRequest:
        """A request of a middleware's own, never streamed; a meter further in books it under `purpose`."""
        request = replace(self, editable=True).edit(remove=("stream", "stream_options"), **changes)
        return replace(request, purpose=purpose, url_stream=None, retry=0, origin=None)


@dataclass(frozen=True, eq=False)
class ModelResponse:
    """One answer of a model.

    Attributes:
        wire: How the body is read.
        body: The provider's JSON. Never edit it in place.
        request: The request as it was sent, after every edit.
        complete: `False` where a stream ended before its last event.
        status: The HTTP status, where there was one.
        native: The integration's own response object.
        local: Whether a middleware made it, without asking anybody: it costs nothing.
    """

    wire: Wire
    body: Mapping[str, Any]
    request: ModelRequest
    complete: bool = True
    status: int | None = None
    native: Any = field(default=None, repr=False)
    local: bool = False

    @cached_property
    def usage(self) -> Usage | None:
        """What the answer says it used; `None` where it says nothing."""
        return self.wire.usage(self.body)

    @property
    def model(self) -> str | None:
        """The model that answered, or else the one that was asked."""
        return self.wire.model(self.body) or self.request.model

    @property
    def stop_reason(self) -> str | None:
        """Why the answer ended, in the provider's own word."""
        return self.wire.stop_reason(self.body)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The answer's blocks."""
        return self.wire.answer(self.body)

    @property
    def text(self) -> str:
        """The answer's text, without thinking and tool calls."""
        return "".join(block.text for block in self.blocks if block.kind == "assistant_text")

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tools the model asks for, in its order."""
        return tuple(
            ToolCall(block.tool or "", self.wire.call_input(block.native), block.call_id, block.native)
            for block in self.blocks
            if block.kind == "tool_call" and block.client
        )
