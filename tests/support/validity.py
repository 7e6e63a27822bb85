"""What is wrong with bodies, and what a repair makes of them, as short values to compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxkit.messages import Where
from ctxkit.validity import Repaired, repair, validate


def broken(body: Mapping[str, Any], wire: str) -> list[tuple[str, Where]]:
    """The rules that a body breaks, and where."""
    return [(problem.rule, problem.where) for problem in validate(body, wire=wire)]


def said(body: Mapping[str, Any], wire: str) -> str:
    """What the provider would say about a body's only problem."""
    (problem,) = validate(body, wire=wire)
    return problem.message


def mended(body: Mapping[str, Any], wire: str) -> Repaired:
    """The repair of a body that can be made valid: nothing is left, and repairing again changes nothing."""
    repaired = repair(body, wire=wire)
    assert repaired.unresolved == ()
    assert validate(repaired.body, wire=wire) == []
    assert repair(repaired.body, wire=wire).body is repaired.body
    return repaired


def refused(body: Mapping[str, Any], wire: str) -> list[tuple[str, str]]:
    """The rules that a repair of a body leaves broken, and why; the body stays as it is."""
    repaired = repair(body, wire=wire)
    assert repaired.body is body
    assert repaired.edits == ()
    return [(problem.rule, problem.reason) for problem in repaired.unresolved]


def text(said: str, **more: Any) -> dict[str, Any]:
    """A text block of Anthropic's."""
    return {"type": "text", "text": said, **more}


def tool_use(call_id: str, **more: Any) -> dict[str, Any]:
    """A call of a client's tool, as Anthropic has it."""
    return {"type": "tool_use", "id": call_id, "name": "search", "input": {}, **more}


def tool_result(call_id: str, content: Any = "Found.", **more: Any) -> dict[str, Any]:
    """The result of a client's tool, as Anthropic has it."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def web_search(call_id: str) -> dict[str, Any]:
    """A call of Anthropic's own web search."""
    return {"type": "server_tool_use", "id": call_id, "name": "web_search", "input": {"query": "foxes"}}


def searched(call_id: str) -> dict[str, Any]:
    """The result of Anthropic's own web search."""
    return {"type": "web_search_tool_result", "tool_use_id": call_id, "content": []}


def thinking(**more: Any) -> dict[str, Any]:
    """A thinking block whose text is not shown."""
    return {"type": "thinking", "thinking": "", "signature": "s", **more}


def user(*content: Any) -> dict[str, Any]:
    """A user's message with these blocks, or with one text."""
    return {"role": "user", "content": content[0] if isinstance(content[0], str) else list(content)}


def assistant(*content: Any) -> dict[str, Any]:
    """An assistant's message with these blocks."""
    return {"role": "assistant", "content": list(content)}


def messages(*native: Any, **more: Any) -> dict[str, Any]:
    """A body of Anthropic's or of OpenAI's chat API."""
    return {"messages": list(native), **more}
