"""`CacheToolResults`: gives a tool's earlier result again instead of running it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from fnmatch import fnmatchcase
from threading import Lock
from typing import Any, TypeVar
from uuid import uuid4

from ctxkit.errors import ConfigError
from ctxkit.flow import Flow, Middleware, ToolNext
from ctxkit.ledger import Reuse
from ctxkit.messages import ToolCall, ToolResult
from ctxkit.stores.base import Store
from ctxkit.stores.entries import Entry, key_of, namespace_prefix, pack, tool_prefix, unpack
from ctxkit.stores.memory import MemoryStore
from ctxkit.tasks import current_task, note_fault
from ctxkit.wire.native import loads

T = TypeVar("T")
# A tool's name, then argument values or predicates on the arguments; a list of such, or `None` for nothing.
Forget = str | tuple[Any, ...] | list[str | tuple[Any, ...]] | None


class CacheToolResults(Middleware):
    """Gives a tool's earlier result again instead of running it, for tools that are named to be cached.

    Equal means the same tool and the same arguments, whatever their order. Calls that are equal and
    overlap run once, and all get that result. What failed is not kept, and a call whose arguments can't be
    compared runs as if there were no cache. A store that fails never breaks a call: the tool runs.

    Args:
        tools: The tools whose results may be reused; `*` and `?` match as in file names. A mapping gives
            each its own time to live in seconds. The entries of an MCP server's tool list, or a mapping of
            names to annotations, choose the tools that are declared with `readOnlyHint`.
        ttl_seconds: How long a result may be reused.
        namespace: Keeps the results of users, or of working copies, apart.
        store: Where results are kept; a store in memory of its own where left out.
        invalidates: What a call of a tool makes out of date, by the tool's name or pattern. A function of the
            call gives the name of the other tool, alone or in a tuple with argument values that its calls
            have, or with predicates on their arguments; or a list of these. A call that failed counts too.
        bypass: Which calls run as if there were no cache.
        keep_errors: Whether results that are errors are kept too. What a tool raises never is.
        say_cached: Whether a text that is given again ends with a line that says so, for the model.
        clock: Gives the time in seconds, the same one for all who share the store.

    Raises:
        ConfigError: No tool is named, or a time to live is not above zero.
    """

    def __init__(
        self,
        tools: str | Iterable[Any] | Mapping[str, Any],
        *,
        ttl_seconds: float = 300.0,
        namespace: str = "",
        store: Store | None = None,
        invalidates: Mapping[str, Callable[[ToolCall], Forget]] | None = None,
        bypass: Callable[[ToolCall], bool] | None = None,
        keep_errors: bool = False,
        say_cached: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.tools = cacheable_tools(tools, ttl_seconds=ttl_seconds)
        self.namespace = namespace
        self.store: Store = MemoryStore() if store is None else store
        self.invalidates = dict(invalidates or {})
        self.bypass = bypass
        self.keep_errors = keep_errors
        self.say_cached = say_cached
        self._clock = clock
        self._reused: dict[str, Reuse] = {}
        self._lock = Lock()

    def stats(self) -> dict[str, Reuse]:
        """What was saved so far, by tool; `task.reused` has the same for one task."""
        with self._lock:
            return dict(self._reused)

    def wrap_tool_call(self, call: ToolCall, call_next: ToolNext) -> Flow[ToolResult]:
        """Give what is kept, wait for an equal call that runs, or run it and keep the result."""
        rules = [rule for pattern, rule in self.invalidates.items() if fnmatchcase(call.name, pattern)]
        if rules:
            return self._write(call, call_next, rules)
        ttl = next((ttl for pattern, ttl in self.tools.items() if fnmatchcase(call.name, pattern)), None)
        if ttl is None or (self.bypass is not None and self.bypass(call)):
            return call_next(call)
        key = key_of(self.namespace, call)
        return call_next(call) if key is None else self._read(call, call_next, key, ttl)

    def _read(self, call: ToolCall, call_next: ToolNext, key: str, ttl: float) -> Flow[ToolResult]:
        token = uuid4().hex
        found = yield from _guarded(self._found(key, token, ttl), otherwise=None)
        if isinstance(found, Entry):
            return self._again(call, found)
        if found is None:
            return (yield from call_next(call))
        started = self._clock()
        result = yield from self._landing(key, token, call_next(call))
        now = self._clock()
        if self.keep_errors or not result.is_error:
            entry = Entry(result.content, result.is_error, now, max(now - started, 0))
            yield from _guarded(self._keep(call, key, token, entry, ttl), otherwise=None)
        yield from _guarded(self.store.land(key, token), otherwise=None)
        return result

    def _found(self, key: str, token: str, ttl: float) -> Flow[Entry | str]:
        """What is kept, if need be after a wait for an equal call; or the token, which leads now."""
        while True:
            entry = yield from self._kept(key, ttl)
            if entry is not None:
                return entry
            if not (yield from self._landing(key, token, self.store.lead(key, token))):
                yield from self.store.wait(key)
                continue
            # An equal call may have ended since the store was asked.
            entry = yield from self._landing(key, token, self._kept(key, ttl))
            if entry is None:
                return token
            yield from self.store.land(key, token)
            return entry

    def _kept(self, key: str, ttl: float) -> Flow[Entry | None]:
        entry = unpack((yield from self.store.get(key)))
        return entry if entry is not None and self._clock() - entry.made < ttl else None

    def _keep(self, call: ToolCall, key: str, token: str, entry: Entry, ttl: float) -> Flow[None]:
        value: Any = pack(entry)
        if value is None and self.store.keeps_objects:
            value = replace(entry, content=deepcopy(entry.content))
        if value is None:
            note_fault(f"CacheToolResults: {call.name} gives no plain JSON", so="its results are not kept")
        else:
            yield from self.store.put(key, value, ttl_seconds=ttl, token=token)

    def _landing(self, key: str, token: str, flow: Flow[T]) -> Flow[T]:
        """The flow; where it fails, or is cancelled, others may lead."""
        try:
            return (yield from flow)
        except GeneratorExit:
            # A flow that is dropped can ask for nothing more: its lease runs out.
            raise
        except BaseException:
            yield from _guarded(self.store.land(key, token), otherwise=None)
            raise

    def _again(self, call: ToolCall, entry: Entry) -> ToolResult:
        with self._lock:
            self._reused[call.name] = self._reused.get(call.name, Reuse()).more(entry.seconds)
        current_task().book_reuse(call.name, entry.seconds)
        result = entry.result()
        if not self.say_cached or not isinstance(result.content, str):
            return result
        age = max(round(self._clock() - entry.made), 0)
        said = f"{result.content}\n[The result of an equal call {age} seconds ago, given again.]"
        return replace(result, content=said)

    def _write(
        self, call: ToolCall, call_next: ToolNext, rules: list[Callable[[ToolCall], Forget]]
    ) -> Flow[ToolResult]:
        try:
            result = yield from call_next(call)
        except GeneratorExit:
            raise
        except BaseException:
            yield from self._forget(call, rules)
            raise
        yield from self._forget(call, rules)
        return result

    def _forget(self, call: ToolCall, rules: list[Callable[[ToolCall], Forget]]) -> Flow[None]:
        for rule in rules:
            try:
                for names in _as_list(rule(call)):
                    yield from self._forget_one(*names)
            except Exception as error:
                note_fault(
                    f"CacheToolResults: {type(error).__name__}", error, so="all that is kept is forgotten"
                )
                yield from _guarded(
                    self._forget_one(), otherwise=None, so="results may be given that are out of date"
                )

    def _forget_one(self, tool: str | None = None, *values: Any) -> Flow[None]:
        whole = namespace_prefix(self.namespace)
        prefix = whole if tool is None else tool_prefix(self.namespace, tool)
        for key in (yield from self.store.keys(prefix)):
            if not values or _has_all(loads(key[len(prefix) :]), values):
                yield from self.store.delete(key)


def cacheable_tools(
    tools: str | Iterable[Any] | Mapping[str, Any], *, ttl_seconds: float
) -> dict[str, float]:
    """The time to live of each tool, by name or pattern.

    Args:
        tools: As `CacheToolResults` takes them.
        ttl_seconds: For the tools that have no time of their own.

    Raises:
        ConfigError: There is no tool, or a time to live is not above zero.

    Source: `ToolAnnotations` of the Model Context Protocol; the annotations of a server that is not trusted
    are only claims.
    """
    if isinstance(tools, str):
        tools = [tools]
    if isinstance(tools, Mapping) and isinstance(tools.get("tools"), list):
        tools = tools["tools"]
    if isinstance(tools, Mapping):
        times = {name: _time_to_live(declared, ttl_seconds) for name, declared in tools.items()}
    else:
        times = dict(_listed(tool, ttl_seconds) for tool in tools)
    named = {name: ttl for name, ttl in times.items() if ttl is not None}
    if not named:
        raise ConfigError("name at least one tool whose results may be reused", option="tools")
    for pattern, ttl in named.items():
        if not ttl > 0:
            raise ConfigError(f"the time to live of {pattern!r} must be above zero", option="ttl_seconds")
    return named


def _listed(tool: Any, ttl_seconds: float) -> tuple[str, float | None]:
    if isinstance(tool, str):
        return tool, ttl_seconds
    return str(_field(tool, "name")), _time_to_live(_field(tool, "annotations"), ttl_seconds)


def _time_to_live(declared: Any, ttl_seconds: float) -> float | None:
    """A number is the time itself; annotations give the default where they declare a tool read-only."""
    if isinstance(declared, (int, float)):
        return declared
    return ttl_seconds if _field(declared, "readOnlyHint") is True else None


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _as_list(forget: Forget) -> list[tuple[Any, ...]]:
    named = forget if isinstance(forget, list) else [] if forget is None else [forget]
    return [(one,) if isinstance(one, str) else one for one in named]


def _has_all(arguments: Any, values: tuple[Any, ...]) -> bool:
    return all(value(arguments) if callable(value) else _holds(arguments, value) for value in values)


def _holds(arguments: Any, value: Any) -> bool:
    """Whether a value stands anywhere in the arguments."""
    if arguments == value:
        return True
    if isinstance(arguments, dict):
        arguments = list(arguments.values())
    return isinstance(arguments, list) and any(_holds(item, value) for item in arguments)


def _guarded(flow: Flow[T], *, otherwise: T, so: str = "the tool's result is not kept") -> Flow[T]:
    """The flow of a store; where that fails, the fault is noted."""
    try:
        return (yield from flow)
    except Exception as error:
        note_fault(f"CacheToolResults: {type(error).__name__}", error, so=so)
        return otherwise
