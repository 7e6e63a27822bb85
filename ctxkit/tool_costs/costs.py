"""The tokens and dollars of tool definitions, tool by tool and list by list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from ctxkit.messages import Prompt
from ctxkit.money import Rates, price_list_version, rates
from ctxkit.tokens import block_counter_for, shape_of
from ctxkit.tool_costs.bloat import Bloat, Duplicate, Listed, bloat_of, duplicates_of
from ctxkit.tool_costs.forms import ToolDefinition
from ctxkit.wire import WIRES

TASK_REQUESTS = 100
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Dollars:
    """What tokens of tool definitions cost, in US dollars; each `None` where the price list does not say.

    Attributes:
        request_usd: In one request, as plain input.
        request_cached_usd: In one request that reads them from the prompt cache.
        task_usd: In a task of `TASK_REQUESTS` requests, as plain input each time.
        task_cached_usd: In such a task, written to the prompt cache once and read every other time.
    """

    request_usd: Decimal | None = None
    request_cached_usd: Decimal | None = None
    task_usd: Decimal | None = None
    task_cached_usd: Decimal | None = None

    def to_dict(self) -> dict[str, str | None]:
        """The amounts as JSON."""
        return {key: None if usd is None else f"{usd:f}" for key, usd in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class ToolCost:
    """What one tool definition, or a list of them, takes.

    Attributes:
        server: The list that it is from.
        name: The tool; `None` for the whole list.
        tools: How many tools it stands for.
        tokens: Tokens in every request.
    """

    server: str
    name: str | None
    tools: int
    tokens: int


@dataclass(frozen=True, slots=True)
class ToolsReport:
    """What lists of tool definitions take together.

    Attributes:
        model: The model that they are offered to.
        wire: The wire in whose form they are offered.
        counter: The name of the tokenizer.
        tools: Each tool, the largest first.
        servers: Each list, the largest first.
        frame_tokens: What comes with the first tool, whichever it is.
        rates: What the model's tokens cost in a short prompt; `None` where the price list does not say.
        duplicates: Tools that say the same.
        bloated: Parts that could be shorter.
        left_out: Tools without a schema that are written for another wire, such as those that another
            provider runs itself, each as its list and its name.
    """

    model: str
    wire: str
    counter: str
    tools: tuple[ToolCost, ...]
    servers: tuple[ToolCost, ...]
    frame_tokens: int
    rates: Rates | None
    duplicates: tuple[Duplicate, ...]
    bloated: tuple[Bloat, ...]
    left_out: tuple[tuple[str, str], ...]

    @property
    def total_tokens(self) -> int:
        """The tokens that the tools add to every request."""
        return sum(tool.tokens for tool in self.tools) + self.frame_tokens

    def dollars(self, tokens: int) -> Dollars:
        """What so many tokens of definitions cost."""
        if self.rates is None:
            return Dollars()
        plain, read = self.rates.input, self.rates.cache_read
        request = plain * tokens / MILLION
        if read is None:
            return Dollars(request, task_usd=TASK_REQUESTS * request)
        # Where writing has no rate of its own, it costs what plain input costs.
        write = plain if self.rates.cache_write is None else self.rates.cache_write
        return Dollars(
            request_usd=request,
            request_cached_usd=read * tokens / MILLION,
            task_usd=TASK_REQUESTS * request,
            task_cached_usd=(write + (TASK_REQUESTS - 1) * read) * tokens / MILLION,
        )

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON."""
        total = self.total_tokens
        return {
            "model": self.model,
            "wire": self.wire,
            "counter": self.counter,
            "task_requests": TASK_REQUESTS,
            "total_tokens": total,
            "frame_tokens": self.frame_tokens,
            **self.dollars(total).to_dict(),
            "tools": [self._row(tool) for tool in self.tools],
            "servers": [self._row(server) for server in self.servers],
            "duplicates": [duplicate.to_dict() for duplicate in self.duplicates],
            "bloated": [asdict(bloat) for bloat in self.bloated],
            "left_out": [{"server": server, "name": name} for server, name in self.left_out],
            "price_list": price_list_version(),
        }

    def _row(self, cost: ToolCost) -> dict[str, Any]:
        share = cost.tokens / self.total_tokens if self.total_tokens else None
        return {**asdict(cost), "share": share, **self.dollars(cost.tokens).to_dict()}


def tool_costs(lists: Mapping[str, Sequence[ToolDefinition]], *, model: str) -> ToolsReport:
    """Tell what tool definitions take of every request that offers them, as a model's provider renders them.

    ```python
    report = tool_costs({"github": read_tools(answer)}, model="claude-sonnet-5-5")
    print(report.total_tokens, report.dollars(report.total_tokens).task_cached_usd)
    ```

    Args:
        lists: The definitions, list by list, each under a name such as its server's.
        model: The model that they are offered to.
    """
    offer = _Offer(model, _wire_for(model, lists))
    tools = [(server, tool) for server, definitions in lists.items() for tool in definitions]
    known = [(server, tool) for server, tool in tools if offer.can_show(tool)]
    sizes, frame_tokens = offer.sizes([tool for _, tool in known])
    costs = [ToolCost(server, tool.name, 1, size) for (server, tool), size in zip(known, sizes, strict=True)]
    listed = [Listed(server, tool, offer.size(tool)) for server, tool in known if tool.schema is not None]
    return ToolsReport(
        model=model,
        wire=offer.wire,
        counter=offer.counter.name,
        tools=tuple(sorted(costs, key=_largest_first)),
        servers=tuple(sorted((_sum(server, costs) for server in lists), key=_largest_first)),
        frame_tokens=frame_tokens,
        rates=rates(model),
        duplicates=tuple(duplicates_of(listed, count=offer.size)),
        bloated=tuple(bloat_of(listed, count=offer.size)),
        left_out=tuple((server, tool.name) for server, tool in tools if not offer.can_show(tool)),
    )


class _Offer:
    """Tools as they are offered to a model, in the form of its provider."""

    def __init__(self, model: str, wire: str) -> None:
        self.wire = wire
        self.counter = block_counter_for(model, wire)
        self._model = model

    def can_show(self, tool: ToolDefinition) -> bool:
        """Whether the tool can be written in this form."""
        return tool.schema is not None or tool.wire == self.wire

    def sizes(self, tools: Sequence[ToolDefinition]) -> tuple[list[int], int]:
        """The tokens of each tool as it was written, and what comes with the first of them."""
        prompt = self._prompt([self._native(tool) for tool in tools])
        sizes = [self.counter.count(block) for block in prompt.tools]
        whole, empty = (shape_of(one, self.counter).total for one in (prompt, self._prompt([])))
        return sizes, whole - empty - sum(sizes)

    def size(self, tool: ToolDefinition) -> int:
        """The tokens of a tool with its name, description and schema alone; none where it is loaded later."""
        (block,) = self._prompt([tool.written_for(self.wire)]).tools
        return self.counter.count(block)

    def _native(self, tool: ToolDefinition) -> Mapping[str, Any]:
        return tool.native if tool.wire == self.wire else tool.written_for(self.wire)

    def _prompt(self, natives: Sequence[Mapping[str, Any]]) -> Prompt:
        wire = WIRES[self.wire]
        return Prompt(wire, {"model": self._model, "tools": list(natives), wire.messages_key: []})


def _wire_for(model: str, lists: Mapping[str, Sequence[ToolDefinition]]) -> str:
    """The wire that a model's own provider speaks; of OpenAI's two the one that the tools are written for."""
    name = model.lower()
    if "claude" in name:
        return "anthropic_messages"
    if "gemini" in name:
        return "gemini"
    written = {tool.wire for definitions in lists.values() for tool in definitions}
    return "openai_responses" if "openai_responses" in written else "openai_chat"


def _sum(server: str, costs: Sequence[ToolCost]) -> ToolCost:
    own = [cost.tokens for cost in costs if cost.server == server]
    return ToolCost(server, None, len(own), sum(own))


def _largest_first(cost: ToolCost) -> int:
    return -cost.tokens
