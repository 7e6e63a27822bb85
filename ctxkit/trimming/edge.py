"""A mark for the prompt cache in front of what was cleared, so that all before it is read and not written."""

from __future__ import annotations

from ctxkit.messages import ModelRequest
from ctxkit.money.cache_rules import cache_rules
from ctxkit.wire.anthropic_form import MARK
from ctxkit.wire.anthropic_marks import last_markable, marked
from ctxkit.wire.usage_fields import mapping

WIRE = "anthropic_messages"


def with_edge_marked(request: ModelRequest, place: int) -> ModelRequest:
    """The request with the last block in front of a message marked, where the caller marks and has one left.

    The provider looks back over few places from each mark. So without one here it would not find what it
    kept of the beginning, as everything behind was changed. A caller that marks nothing caches nothing.

    Args:
        request: After the edit.
        place: The index of the first message that was changed.
    """
    rules = cache_rules(request.model)
    if request.wire.name != WIRE or rules is None or not request.editable:
        return request
    from ctxkit.validity.anthropic_cache import MOST_MARKS, marks_by_itself, marks_of

    marks = marks_of(request)
    used = len(marks) + marks_by_itself(request, marks)
    if not used or used >= MOST_MARKS:
        return request
    messages = request.wire.messages(request.body)
    for index in range(place - 1, -1, -1):
        part = last_markable(messages[index].get("content"))
        if part is not None:
            break
    else:
        return request
    if MARK in messages[index]["content"][part]:
        return request
    # What is kept for an hour must stand in front of what is kept for less.
    behind = {mark.ttl for mark in marks if mark.where[0] == "messages" and int(mark.where[1]) >= index}
    behind.add(str(mapping(request.body.get(MARK)).get("ttl")))
    lifetime = "1h" if "1h" in behind else "5m"
    made = marked(messages[index], ("content", part), lifetime)
    return request.with_messages([*messages[:index], made, *messages[index + 1 :]])
