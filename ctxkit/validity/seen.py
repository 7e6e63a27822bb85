"""A set of ids that grows with a history and shares what it holds with its earlier states."""

from __future__ import annotations

from collections.abc import Iterable

# Sets of falling size, so that there are few of them and each id was copied a few times at most.
Seen = tuple[frozenset[str], ...]


def with_ids(seen: Seen, ids: Iterable[str]) -> Seen:
    """The set with more ids; the one given stays as it is."""
    added = frozenset(ids)
    while added and seen and len(seen[-1]) <= len(added):
        added |= seen[-1]
        seen = seen[:-1]
    return (*seen, added) if added else seen


def is_seen(seen: Seen, name: str) -> bool:
    """Whether an id is in the set."""
    return any(name in ids for ids in seen)
