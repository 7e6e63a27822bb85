"""A stack as data: what a policy file may say, how it is read, and the stack that it makes.

Each middleware that can be described without code has one small model here, with the names and defaults of
its own constructor. What remembers, such as a store or a clock, is no setting and is passed in by code.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ctxkit.errors import ConfigError
from ctxkit.flow import Middleware
from ctxkit.middleware.cache_tool_results import CacheToolResults
from ctxkit.middleware.dedupe_tool_results import DedupeToolResults
from ctxkit.middleware.fit_window import FitWindow
from ctxkit.middleware.limit_spend import LimitSpend, OnLimit, Reserve, Scope
from ctxkit.middleware.place_cache_breakpoints import PlaceCacheBreakpoints, Ttl
from ctxkit.middleware.recall_tool_results import RecallToolResults
from ctxkit.middleware.repair_history import RepairHistory
from ctxkit.middleware.slim_tool_definitions import BoundThinking, SlimToolDefinitions
from ctxkit.middleware.summarize_history import SummarizeHistory
from ctxkit.middleware.summarize_tool_results import SummarizeToolResults
from ctxkit.middleware.token_meter import TokenMeter
from ctxkit.middleware.trim_history import TrimHistory
from ctxkit.middleware.truncate_tool_results import TruncateToolResults
from ctxkit.middleware.use_provider_context import UseProviderContext, Way
from ctxkit.originals import Originals
from ctxkit.stack import Stack

Source = str | os.PathLike[str] | Mapping[str, Any]
"""Where a policy comes from: the path of a TOML file, or what such a file holds."""
M = TypeVar("M", bound=BaseModel)


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Settings(_Data):
    """The settings of one middleware; `use` names it."""

    makes: ClassVar[type[Middleware]]
    takes_originals: ClassVar[bool] = False
    use: str

    def middleware(self, originals: Originals | None) -> Middleware:
        """The middleware with these settings."""
        settings = {name: getattr(self, name) for name in type(self).model_fields if name != "use"}
        if self.takes_originals:
            settings["originals"] = originals
        return self.makes(**settings)


class _CacheToolResults(_Settings):
    makes = CacheToolResults
    use: Literal["CacheToolResults"]
    tools: tuple[str, ...]
    ttl_seconds: float = 300.0
    namespace: str = ""
    keep_errors: bool = False
    say_cached: bool = False


class _DedupeToolResults(_Settings):
    makes = DedupeToolResults
    use: Literal["DedupeToolResults"]
    min_tokens: int = 100
    exempt: tuple[str, ...] = ()


class _FitWindow(_Settings):
    makes = FitWindow
    use: Literal["FitWindow"]
    window_tokens: int | None = None
    keep_steps: int = 1
    condense_tokens: int | None = None
    exempt: tuple[str, ...] = ()


class _LimitSpend(_Settings):
    makes = LimitSpend
    use: Literal["LimitSpend"]
    max_requests: int | None = None
    max_tokens: int | None = None
    max_cost_usd: Decimal | None = None
    scope: Scope = "task"
    on_limit: OnLimit = "raise"
    reserve: Reserve = "worst"
    finish_tokens: int = 4_096


class _PlaceCacheBreakpoints(_Settings):
    makes = PlaceCacheBreakpoints
    use: Literal["PlaceCacheBreakpoints"]
    ttl: Ttl = "auto"
    reorder: bool = True


class _RecallToolResults(_Settings):
    makes = RecallToolResults
    takes_originals = True
    use: Literal["RecallToolResults"]
    max_tokens: int = 8_000
    max_repeats: int = 3
    max_rounds: int = 8
    answers: bool = True


class _RepairHistory(_Settings):
    makes = RepairHistory
    use: Literal["RepairHistory"]


class _SlimToolDefinitions(_Settings):
    makes = SlimToolDefinitions
    use: Literal["SlimToolDefinitions"]
    sort: bool = False
    references: bool = True
    examples: bool = True
    bound_thinking: BoundThinking = "leave"


class _SummarizeHistory(_Settings):
    makes = SummarizeHistory
    use: Literal["SummarizeHistory"]
    start_tokens: int | None = None
    keep_steps: int = 3
    max_tokens: int = 4_000
    every_requests: int = 10
    min_net_saving_usd: Decimal | None = None
    remaining: int | None = None
    instructions: str | None = None


class _SummarizeToolResults(_Settings):
    makes = SummarizeToolResults
    takes_originals = True
    use: Literal["SummarizeToolResults"]
    model: str | None = None
    min_tokens: int = 4_000
    max_tokens: int = 1_000
    per_tool: dict[str, int] | None = None
    exempt: tuple[str, ...] = ()
    instructions: str | None = None


class _TokenMeter(_Settings):
    makes = TokenMeter
    use: Literal["TokenMeter"]


class _TrimHistory(_Settings):
    makes = TrimHistory
    takes_originals = True
    use: Literal["TrimHistory"]
    start_tokens: int | None = None
    target_tokens: int | None = None
    keep_steps: int = 3
    min_batch_tokens: int | None = None
    min_net_saving_usd: Decimal | None = None
    remaining: int | None = None
    exempt: tuple[str, ...] = ()
    clear_arguments: bool = True


class _TruncateToolResults(_Settings):
    makes = TruncateToolResults
    takes_originals = True
    use: Literal["TruncateToolResults"]
    max_tokens: int = 4_000
    per_tool: dict[str, int] | None = None
    exempt: tuple[str, ...] = ()


class _UseProviderContext(_Settings):
    makes = UseProviderContext
    use: Literal["UseProviderContext"]
    way: Way = "compact"
    start_tokens: int = 150_000
    keep_tool_uses: int = 3
    min_batch_tokens: int | None = None
    exempt: tuple[str, ...] = ()


Settings = Annotated[
    _CacheToolResults
    | _DedupeToolResults
    | _FitWindow
    | _LimitSpend
    | _PlaceCacheBreakpoints
    | _RecallToolResults
    | _RepairHistory
    | _SlimToolDefinitions
    | _SummarizeHistory
    | _SummarizeToolResults
    | _TokenMeter
    | _TrimHistory
    | _TruncateToolResults
    | _UseProviderContext,
    Field(discriminator="use"),
]
"""What one entry of a policy may be."""


class Policy(_Data):
    """A stack as data; `Policy.model_json_schema()` is what an editor checks a file against.

    Attributes:
        middlewares: The outermost first.
    """

    middlewares: tuple[Settings, ...]

    def stack(self) -> Stack:
        """The stack that the policy describes, with a memory of its own.

        Where `RecallToolResults` is part of it, whatever the others hide is kept for it.

        Raises:
            ConfigError: A middleware refuses its settings.
        """
        recalls = any(isinstance(settings, _RecallToolResults) for settings in self.middlewares)
        originals = Originals() if recalls else None
        return Stack(*(settings.middleware(originals) for settings in self.middlewares))


class Grid(Policy):
    """A policy with settings that vary.

    Attributes:
        grid: The values to try, by the name of a middleware in the policy and the path to its setting, such
            as `TruncateToolResults.per_tool.grep`.
    """

    grid: dict[str, Annotated[list[Any], Field(min_length=1)]] = {}


def read_policy(source: Source) -> Policy:
    """Read a policy from a TOML file, or from what such a file holds.

    Args:
        source: The path of the file, or a mapping with the key `middlewares`.

    Raises:
        ConfigError: The file can't be read, or a part of it is not known; the message names the place.
    """
    return _read(source, Policy)[1]


def read_grid(source: Source) -> tuple[Mapping[str, Any], Grid]:
    """Read a grid as `read_policy` reads a policy: the data as it was given, and the grid that it makes.

    Raises:
        ConfigError: The file can't be read, or a part of it is not known; the message names the place.
    """
    return _read(source, Grid)


def _read(source: Source, model: type[M]) -> tuple[Mapping[str, Any], M]:
    named = "policy" if isinstance(source, Mapping) else os.fspath(source)
    try:
        data = source if isinstance(source, Mapping) else tomllib.loads(Path(source).read_text("utf-8"))
        return data, model.model_validate(data)
    except OSError as error:
        raise ConfigError(f"{named}: can't be read: {error.strerror}", option="policy") from error
    except ValidationError as error:
        raise ConfigError(f"{named}: {_first_mistake(error)}", option="policy") from error
    except ValueError as error:
        raise ConfigError(f"{named}: no TOML: {error}", option="policy") from error


def _first_mistake(error: ValidationError) -> str:
    mistake = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, mistake['loc']))}: {mistake['msg']}"
