"""A call of a tool, and what it gave back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool.

    Attributes:
        name: The tool's name.
        input: Its arguments by name.
        call_id: What ties the result to the call; `None` for a plain function call.
        native: The provider's JSON for it, where a model made it.
    """

    name: str
    input: Mapping[str, Any]
    call_id: str | None = None
    native: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave back.

    Attributes:
        content: The function's own return value, of any type.
        is_error: Whether the tool failed.
        from_cache: Whether an earlier result was given instead of running the tool.
    """

    content: Any
    is_error: bool = False
    from_cache: bool = False
