"""`SlimToolDefinitions`: sends shorter tool definitions that say the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ctxkit.condense.schema import slim_schema
from ctxkit.errors import ConfigError
from ctxkit.flow import Flow, Middleware, ModelNext, compute
from ctxkit.messages import ModelRequest, ModelResponse, Turn
from ctxkit.wire.native import string
from ctxkit.wire.thinking import binds_thinking

BoundThinking = Literal["leave", "start", "resume"]
SCHEMAS = ("input_schema", "parameters", "parametersJsonSchema", "parameters_json_schema")
DECLARATIONS = ("functionDeclarations", "function_declarations")
# What a tool that the caller wrote is called; a provider's own goes by another type.
CALLERS_TYPES = (None, "custom", "function")
_STARTED = "slim_tool_definitions.started"


class SlimToolDefinitions(Middleware):
    """Makes the schemas of tool definitions shorter without changing what they allow or say.

    The same definitions give the same bytes in every request and in every process. Tools that a provider
    defines or runs itself pass as they are. What is taken out is told by `ctxkit.condense.schema`.

    A model that binds its thinking to the tools (see `ctxkit.wire.thinking`) refuses that thinking once
    they change, so for such a model nothing is done unless it is asked for, and a history that holds thinking
    of before is left alone.

    Args:
        sort: Whether tools are put in the order of their names. Where the caller marks a tool for the prompt
            cache, they stay in their order.
        references: Whether parts of a schema that repeat are moved to `$defs`, where that is shorter and the
            provider reads references.
        examples: Whether `examples` stay.
        bound_thinking: For models that bind their thinking: `leave` every request as it is; `start` with
            histories that have no thinking yet, and go on with those as long as this process lives; or
            `resume` with all of them, as all that went before was made with this middleware, too.

    Raises:
        ConfigError: `bound_thinking` is none of these.
    """

    def __init__(
        self,
        *,
        sort: bool = False,
        references: bool = True,
        examples: bool = True,
        bound_thinking: BoundThinking = "leave",
    ) -> None:
        if bound_thinking not in ("leave", "start", "resume"):
            raise ConfigError(
                f"bound_thinking must be leave, start or resume, it is {bound_thinking!r}",
                option="bound_thinking",
            )
        self.sort = sort
        self.references = references
        self.examples = examples
        self.bound_thinking = bound_thinking

    def wrap_model_call(self, request: ModelRequest, call_next: ModelNext) -> Flow[ModelResponse]:
        """Send shorter definitions."""
        tools = request.body.get("tools")
        if not isinstance(tools, list) or not tools or not self._may_edit(request):
            return (yield from call_next(request))
        memo, key = request.head.memo, (type(self).__name__, self.sort, self.references, self.examples)
        if key not in memo:
            size = sum(len(block.text) for block in request.tools)
            memo[key] = yield from compute(lambda: self.slimmed(tools, wire=request.wire.name), size=size)
        slim = memo[key]
        return (yield from call_next(request if slim == tools else request.edit(tools=slim)))

    def slimmed(self, tools: list[Any], *, wire: str) -> list[Any]:
        """A list of native tool definitions, made shorter.

        Args:
            tools: The definitions in the wire's own form; never changed.
            wire: Its name.
        """
        made = [self._slim_tool(tool, wire) for tool in tools]
        marked = any(isinstance(tool, Mapping) and "cache_control" in tool for tool in tools)
        return sorted(made, key=_name) if self.sort and not marked else made

    def _may_edit(self, request: ModelRequest) -> bool:
        if not binds_thinking(request.wire.name, request.model):
            return True
        if self.bound_thinking == "start":
            return _starts_or_goes_on(request)
        return self.bound_thinking == "resume"

    def _slim_tool(self, tool: Any, wire: str) -> Any:
        if not isinstance(tool, Mapping) or tool.get("type") not in CALLERS_TYPES:
            return tool
        made = dict(tool)
        for key in DECLARATIONS:
            if isinstance(tool.get(key), list):
                made[key] = [self._slim_function(function, wire) for function in tool[key]]
        if isinstance(tool.get("function"), Mapping):
            made["function"] = self._slim_function(tool["function"], wire)
        return self._slim_function(made, wire)

    def _slim_function(self, function: Any, wire: str) -> Any:
        if not isinstance(function, Mapping):
            return function
        made = dict(function)
        for key in SCHEMAS:
            if isinstance(function.get(key), Mapping):
                made[key] = slim_schema(
                    function[key],
                    name=string(function.get("name")) or "",
                    references=self.references and wire != "gemini",
                    examples=self.examples,
                    open_objects=not _is_strict(function, wire),
                )
        return made


def _starts_or_goes_on(request: ModelRequest) -> bool:
    """Whether a history has no thinking yet, or all of it was made with slim tools; if so, it is marked."""

    def step(state: tuple[bool, bool], turn: Turn) -> tuple[bool, bool]:
        started, thought = state
        started = started or (turn.parent is not None and _STARTED in turn.parent.memo)
        return started, thought or any(block.kind == "thinking" for block in turn.blocks)

    started, thought = request.fold(f"{_STARTED}.before", lambda head: (False, False), step)
    if thought and not started:
        return False
    for turn in request.turns[-1:]:
        turn.memo[_STARTED] = True
    return True


def _is_strict(function: Mapping[str, Any], wire: str) -> bool:
    """Whether the provider holds the model to the schema, and asks for closed objects.

    The Responses API does so where nothing is said. Read from the types of the `openai` SDK 3.57.0 on
    2026-11-30.
    """
    return bool(function.get("strict", wire == "openai_responses"))


def _name(tool: Any) -> str:
    """What a tool is sorted by: its name, or what a provider's own goes by."""
    inner = tool.get("function", tool) if isinstance(tool, Mapping) else {}
    named = string(inner.get("name")) if isinstance(inner, Mapping) else None
    return named or (string(tool.get("type")) if isinstance(tool, Mapping) else None) or ""
