"""`RecallToolResults`: one tool with which the model reads again what was hidden of tool results."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ctxkit.condense import MIN_TOKENS
from ctxkit.condense.base import NOTE
from ctxkit.drive import run
from ctxkit.errors import ConfigError
from ctxkit.flow import Flow, Middleware, ModelNext, ToolNext, compute
from ctxkit.messages import ModelRequest, ModelResponse, ToolCall, ToolResult
from ctxkit.originals import RECALL_TOOL, Originals
from ctxkit.recall import Part, Place, answer_key, continued, definition, inserted, places_of, read, with_tool
from ctxkit.recall.tool import DESCRIPTION
from ctxkit.stores.entries import namespace_prefix
from ctxkit.tasks import current_task, note_fault
from ctxkit.tokens import counter_for
from ctxkit.tool_functions import ToolEdge
from ctxkit.wire.last_request import last_request
from ctxkit.wire.native import dumps, loads
from ctxkit.wire.thinking import binds_thinking

T = TypeVar("T")
PURPOSE = "recall"
# Of a loop whose history is not at hand, so many reads are remembered.
REMEMBERED_READS = 20
NO_HANDLE = f"{NOTE}name the handle that stands in the note of the shortened result]"
UNKNOWN = (
    f"{NOTE}nothing is kept under this handle: it is unknown, or its time is over; "
    f"call the tool again for its result]"
)
REPEATED = f"{NOTE}this was read before and does not change: go on with what is known, or read another part]"
NOT_RUN = (
    f"{NOTE}not run, as {RECALL_TOOL} was called beside it: call it again, now that its result is there]"
)
LEFT_OUT = "what was read is left out of later requests"
ENOUGH = "Nothing more can be read now. Answer with what is known."


class RecallToolResults(Middleware):
    """Gives the model a tool that reads whole results again, by line range or by search.

    Around a client it adds the tool behind all others and answers it: the model is asked on, under the
    purpose `recall`, until it says something that is not for this tool, and that is the caller's answer.
    What the caller did not see is kept beside the originals and stands in later requests where it stood, to
    the same byte. A call of another tool in the same answer is put off: the model makes it again.

    Where the caller's own tools have the tool already (`tool`, `function`), their loop answers it. Around
    tool functions this middleware answers in their place.

    Stands outside of what cuts results, and shares its originals with it. Where the model binds its thinking
    to the tools, the tool is only added to a loop that had it from the start.

    Args:
        originals: What can be read.
        max_tokens: The most that one read gives.
        max_repeats: How often the same part may be read in one history.
        max_rounds: How often the model may read before an answer; then it is asked to answer.
        answers: Whether to add the tool and to answer it around a client. It holds streamed answers back
            until they are finished; without it, give the model `tool` yourself.

    Raises:
        ConfigError: `max_tokens` is below 100, or another number below 1.
    """

    def __init__(
        self,
        originals: Originals,
        *,
        max_tokens: int = 8_000,
        max_repeats: int = 3,
        max_rounds: int = 8,
        answers: bool = True,
    ) -> None:
        for option, given, least in (
            ("max_tokens", max_tokens, MIN_TOKENS),
            ("max_repeats", max_repeats, 1),
            ("max_rounds", max_rounds, 1),
        ):
            if given < least:
                raise ConfigError(f"{option} must be at least {least}, it is {given}", option=option)
        self.originals = originals
        self.max_tokens = max_tokens
        self.max_repeats = max_repeats
        self.max_rounds = max_rounds
        self.answers = answers
        self.buffers_stream = answers

    def tool(self, wire: str = "anthropic_messages") -> dict[str, Any]:
        """The tool's definition, for a loop that answers it by itself.

        Args:
            wire: The wire that the loop speaks, such as `openai_chat`.
        """
        self.originals.recallable = True
        return definition(wire)

    @property
    def function(self) -> Callable[..., str]:
        """The tool as a plain function, for a loop that runs its tools by name."""
        self.originals.recallable = True

        def recall_tool_result(
            handle: str,
            first_line: int | None = None,
            last_line: int | None = None,
            search: str | None = None,
            first_char: int | None = None,
        ) -> str:
            given = {
                "handle": handle,
                "first_line": first_line,
                "last_line": last_line,
                "search": search,
                "first_char": first_char,
            }
            return run(self._for_loop(given), ToolEdge(lambda call: None))

        recall_tool_result.__doc__ = DESCRIPTION
        return recall_tool_result

    def wrap_tool_call(self, call: ToolCall, call_next: ToolNext) -> Flow[ToolResult]:
        """Answer the tool where a loop calls it."""
        if call.name != RECALL_TOOL:
            return (yield from call_next(call))
        return ToolResult((yield from self._for_loop(call.input)))

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        """Offer the tool, and answer it until the model answers the caller."""
        given = self.originals.readable_in(request)
        self.originals.recallable |= given
        offered = request if given or not self.answers else with_tool(request)
        if offered is request:
            return (yield from call_next(request))
        past = yield from self._past(request)
        if not past.had_tool:
            return (yield from call_next(request))
        self.originals.recallable = True
        asked = inserted(offered, past.hidden)
        response = yield from call_next(asked)
        last, response = yield from self._read_on(asked, response, call_next)
        yield from self._remember(past, asked, last, response)
        return response

    def _read_on(
        self, asked: ModelRequest, response: ModelResponse, call_next: ModelNext
    ) -> Flow[tuple[ModelRequest, ModelResponse]]:
        """Answer the tool until the model says something else; the last request and its answer."""
        for left in reversed(range(self.max_rounds)):
            calls = response.tool_calls
            if not self.originals.readable_in(response.request) or not any(map(_is_recall, calls)):
                break
            results = yield from self._results(asked, calls)
            asked = continued(asked, response, results)
            if not left:
                asked = last_request(asked, ENOUGH)
            response = yield from _ask_on(asked, call_next)
        return asked, response

    def _results(self, asked: ModelRequest, calls: Sequence[ToolCall]) -> Flow[list[Any]]:
        """The results of all calls of an answer, as the wire's own."""
        earlier = list(_reads(asked))
        results = []
        for call in calls:
            if _is_recall(call):
                question = _question(call.input)
                said = yield from self._answer(question, earlier.count(question), asked)
                earlier.append(question)
            else:
                said = NOT_RUN
            results.append(asked.wire.result(call, said, is_error=not _is_recall(call)))
        return results

    def _for_loop(self, given: Mapping[str, Any]) -> Flow[str]:
        """What the tool gives where only the call is at hand."""
        reads: deque[_Question] = current_task().memory(self, lambda: deque(maxlen=REMEMBERED_READS))
        question = _question(given)
        earlier = reads.count(question)
        reads.append(question)
        return (yield from self._answer(question, earlier, None))

    def _answer(self, question: _Question, earlier: int, request: ModelRequest | None) -> Flow[str]:
        if not question.handle:
            return NO_HANDLE
        if earlier >= self.max_repeats:
            return REPEATED
        text = yield from _guarded(self.originals.get(question.handle), so="what it was to give is not found")
        if text is None and request is not None:
            text = self._in_history(question.handle, request)
        if text is None:
            return UNKNOWN
        whole, counter = text, counter_for(None if request is None else request.model)
        return (
            yield from compute(
                lambda: read(whole, question.part, max_tokens=self.max_tokens, counter=counter),
                size=len(whole),
            )
        )

    def _in_history(self, handle: str, request: ModelRequest) -> str | None:
        """The text of a handle where the caller's history has it whole: no store has to keep it then."""
        texts = (block.text for block in request.tool_results())
        return next((text for text in texts if self.originals.handle(text) == handle), None)

    def _past(self, request: ModelRequest) -> Flow[_Past]:
        """What is remembered of the caller's history."""
        places = places_of(request)
        hidden: dict[int, list[Any]] = {}
        had_tool: list[bool] = []
        for turn, place in zip(request.turns, places[1:], strict=True):
            known = None
            if place.key is not None:
                if self not in turn.memo:
                    turn.memo[self] = yield from _guarded(self._recalled(place.key), so=LEFT_OUT)
                known = turn.memo[self]
            if known:
                hidden[place.begins] = known
            if any(block.kind == "thinking" for block in turn.blocks):
                had_tool.append(known is not None)
        binds = binds_thinking(request.wire.name, request.model)
        return _Past(places[-1], hidden, thinks=bool(had_tool), had_tool=not binds or all(had_tool[:1]))

    def _recalled(self, key: str) -> Flow[list[Any] | None]:
        kept = yield from self.originals.store.get(self._key(key))
        return loads(kept) if isinstance(kept, bytes) else None

    def _remember(
        self, past: _Past, asked: ModelRequest, last: ModelRequest, response: ModelResponse
    ) -> Flow[None]:
        """Keep what the caller did not see; for bound thinking also that the tool was there."""
        key = answer_key(past.end, response.blocks)
        if key is None or not self.originals.readable_in(response.request):
            return
        messages = asked.wire.messages
        hidden = messages(last.body)[len(messages(asked.body)) :]
        thinks = not past.thinks and any(block.kind == "thinking" for block in response.blocks)
        if hidden or (thinks and binds_thinking(asked.wire.name, asked.model)):
            ttl = self.originals.ttl_seconds
            put = self.originals.store.put(self._key(key), dumps(hidden), ttl_seconds=ttl)
            yield from _guarded(put, so=LEFT_OUT)

    def _key(self, answer: str) -> str:
        return f"recalled{namespace_prefix(self.originals.namespace)}{answer}"


@dataclass(frozen=True, slots=True)
class _Question:
    """What the tool is asked for."""

    handle: str
    part: Part


@dataclass(frozen=True, slots=True)
class _Past:
    """What is remembered of a caller's history.

    Attributes:
        end: The place of its last turn.
        hidden: What the caller did not see, by how many of the caller's messages stand before it.
        thinks: Whether there is thinking in it.
        had_tool: Whether the tool may stand in the request: no thinking was made without it that binds it.
    """

    end: Place
    hidden: Mapping[int, Sequence[Any]]
    thinks: bool
    had_tool: bool


def _ask_on(asked: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
    try:
        return (yield from call_next(replace(asked.side_call(PURPOSE), origin=asked.origin)))
    except Exception:
        # The guard takes what a side call raises for a fault of this middleware; the caller has to see it.
        return (yield from call_next(asked))


def _is_recall(call: ToolCall) -> bool:
    return call.name == RECALL_TOOL


def _reads(request: ModelRequest) -> Iterator[_Question]:
    """What the tool was asked for in a history."""
    for block in request.blocks():
        if block.kind == "tool_call" and block.tool == RECALL_TOOL:
            yield _question(request.wire.call_input(block.native))


def _question(given: Mapping[str, Any]) -> _Question:
    handle = given.get("handle")
    return _Question(handle.strip() if isinstance(handle, str) else "", Part.of(given))


def _guarded(flow: Flow[T], *, so: str) -> Flow[T | None]:
    """The flow of a store; where that fails, the fault is noted."""
    try:
        return (yield from flow)
    except Exception as error:
        note_fault(f"RecallToolResults: {type(error).__name__}", error, so=so)
        return None
