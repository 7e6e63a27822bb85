"""Makes an invalid request valid by the smallest edits, and says what it did and what it can't mend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ctxkit.messages import ModelRequest, Where
from ctxkit.validity import anthropic_mends, gemini_mends, openai_mends
from ctxkit.validity.check import problems_of, request_of
from ctxkit.validity.editing import Mend, drop
from ctxkit.validity.problems import Problem

# What each rule's problems are mended by, in the order in which that is done.
MENDS: Mapping[str, Mapping[str, Mend]] = {
    "anthropic_messages": anthropic_mends.MENDS,
    "openai_chat": openai_mends.CHAT_MENDS,
    "openai_responses": openai_mends.RESPONSES_MENDS,
    "gemini": gemini_mends.MENDS,
}
SIGNATURE = "a signature can only come from the provider"
REASONS: Mapping[str, str] = {
    "thinking_is_signed": SIGNATURE,
    "first_call_of_a_step_is_signed": SIGNATURE,
    "tool_ids_are_unique": "it can't be told which of the calls a result answers",
    "item_ids_are_unique": "the two items differ, and it can't be told which of them is right",
    "running_loop_starts_with_thinking": "thinking can't be made up: send it as it came, or turn it off",
    "last_message_is_a_users": "what the user would say can't be made up",
    "last_content_is_a_users": "what the user would say can't be made up",
    "role_is_known": "it can't be told whose message it is",
    "block_stands_in_its_role": "it can't be told whose message it is",
}
NO_SAFE_EDIT = "no edit is sure to keep what it means"
NOTHING_LEFT = "without it, nothing would be left for the model to answer"
# Edits may show problems that were hidden behind others. This often they never did, so it bounds the work.
PASSES = 8


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit of a body.

    Attributes:
        rule: The rule that was broken.
        where: The path to the problem, in the body as it was then.
        what: What was done, in words.
    """

    rule: str
    where: Where
    what: str


@dataclass(frozen=True, slots=True)
class Unresolved(Problem):
    """A problem that was not mended.

    Attributes:
        reason: Why not, in words.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Repaired:
    """A body after its repair.

    Attributes:
        body: The new body; the one that was given where there was nothing to do.
        edits: What was done, in order.
        unresolved: What is still wrong.
    """

    body: Mapping[str, Any]
    edits: tuple[Edit, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()


def repair(body: Mapping[str, Any] | bytes, *, wire: str | None = None) -> Repaired:
    """Make a request body valid by the smallest edits.

    A call without a result gets the one that stands too far behind, or a neutral stub. Results without a
    call, empty texts and a `cache_control` too many are left out. Thinking of a running tool loop is never
    touched, and what can't be mended without making something up stays as it is.

    ```python
    repaired = repair(body)
    for edit in repaired.edits:
        print(edit.rule, edit.where, edit.what)
    ```

    Args:
        body: The body, as JSON or as its bytes. It is not changed.
        wire: The wire's name; left out, it is told from the body.

    Returns:
        The new body, what was done, and what is still wrong with it. Repairing that body changes nothing.

    Raises:
        BodyError: It is no request body, or not what its wire says.
        ConfigError: There is no such wire.
    """
    request, edits, unresolved = mend(request_of(body, wire=wire))
    return Repaired(request.body, edits, unresolved)


def mend(request: ModelRequest) -> tuple[ModelRequest, tuple[Edit, ...], tuple[Unresolved, ...]]:
    """Make a request valid: the request, itself where nothing was to do, the edits, and what is still wrong.

    Raises:
        BodyError: The body is malformed.
    """
    mends = MENDS.get(request.wire.name, {})
    edits: list[Edit] = []
    problems = problems_of(request)
    for _ in range(PASSES):  # pragma: no branch - a pass without an edit always came first
        before = len(edits)
        broken = {problem.rule for problem in problems}
        for rule in filter(broken.__contains__, mends):
            request = _mend_rule(request, rule, mends[rule], edits)
        if len(edits) == before:
            break
        problems = problems_of(request)
    return request, tuple(edits), tuple(_unresolved(problem, mends) for problem in problems)


def _unresolved(problem: Problem, mends: Mapping[str, Mend]) -> Unresolved:
    default = NOTHING_LEFT if mends.get(problem.rule) is drop else NO_SAFE_EDIT
    reason = REASONS.get(problem.rule, default)
    return Unresolved(problem.rule, problem.where, problem.message, reason)


def _mend_rule(request: ModelRequest, rule: str, way: Mend, edits: list[Edit]) -> ModelRequest:
    """Mend all problems of one rule, the last first, so that paths to the others stay right."""
    body = request.body
    for problem in reversed([problem for problem in problems_of(request) if problem.rule == rule]):
        mended = way(request, body, problem)
        if mended is not None:
            body = mended.body
            edits.append(Edit(rule, problem.where, mended.what))
    return request if body is request.body else _edited(request, body)


def _edited(request: ModelRequest, body: Mapping[str, Any]) -> ModelRequest:
    changed = {key: value for key, value in body.items() if value is not request.body[key]}
    return request.edit(remove=request.body.keys() - body.keys(), **changed)
