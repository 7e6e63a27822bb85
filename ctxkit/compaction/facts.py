"""The exact facts of an old history, drawn from it without a model: what is open, said, decided and named.

A summary may get such things wrong; what stands here is taken word for word.
"""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ctxkit.blocks import Block, Turn
from ctxkit.condense.facts import missing_facts
from ctxkit.evidence import holds, strings
from ctxkit.tokens import Counter
from ctxkit.wire.native import string
from ctxkit.wire.usage_fields import mapping

CallInput = Callable[[Any], Mapping[str, Any]]

# A box of a list in Markdown, as models write down what they plan; ticked where it is done.
BOX = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s*\[([ xX])\]\s*(\S.*)$")
OPEN = re.compile(r"\b(?:TODO|FIXME|still (?:to do|open|missing)|remains to be)\b", re.IGNORECASE)
DECIDED = re.compile(
    r"\b(?:decid\w+|decision|agreed|chose|instead of|rather than|must|never|always|do not|from now on)\b",
    re.IGNORECASE,
)
DONE = frozenset({"completed", "complete", "done", "cancelled", "canceled"})
LABELS = ("content", "title", "task", "text", "description", "step")
SAID: frozenset[str] = frozenset({"assistant_text", "tool_call"})
MOST_ERRORS = 20
# What is longer is no note but a text of its own.
LINE_CHARS = 300


def exact_facts(
    turns: Sequence[Turn], call_input: CallInput, *, summary: str, counter: Counter, max_tokens: int
) -> str:
    """Draw what must not be lost from turns that a summary is to stand for.

    They are: to-dos that are open at the end, in lists of boxes and in the arguments of calls; what the user
    said, and lines that decide something; and the paths, ids, numbers and identifiers that the model named
    most often, with those of error lines. The last are left out where the summary has them.

    Args:
        turns: What is to go, in order.
        call_input: Gives the arguments of a native call, as the wire reads them.
        summary: What the model wrote.
        counter: Counts tokens.
        max_tokens: The most that the facts take together.

    Returns:
        Lines under headings; empty where there is nothing.
    """
    blocks = [block for turn in turns for block in turn.blocks]
    sections: list[tuple[str, list[str]]] = [
        ("Still to be done", _open(blocks, call_input)),
        ("The user said", _said(blocks)),
        ("Decided", _decided(blocks)),
    ]
    written: list[str] = []
    left = max_tokens
    for number, (heading, lines) in enumerate(sections):
        made = _section(heading, lines, counter, left // (len(sections) + 1 - number))
        written += made
        left -= sum(_tokens(line, counter) for line in made)
    names = [name for name in _names(blocks) if not holds(summary, name)]
    return "\n".join([*written, *_list("Named", names, counter, left)])


def _open(blocks: Iterable[Block], call_input: CallInput) -> list[str]:
    """To-dos that no later line ticks off, and those of the last call that wrote a list of them."""
    found: dict[str, None] = {}
    listed: list[str] = []
    for block in blocks:
        if block.kind == "tool_call":
            listed = next(_lists(call_input(block.native)), listed)
        elif block.kind == "assistant_text":
            for line in block.text.splitlines():
                _note_open(line, found)
    return [*found, *(label for label in listed if label not in found)]


def _note_open(line: str, found: dict[str, None]) -> None:
    box = BOX.match(line)
    if box and box[1] != " ":
        found.pop(box[2].strip(), None)
    elif box:
        found[box[2].strip()] = None
    elif OPEN.search(line) and len(line) <= LINE_CHARS:
        found[line.strip()] = None


def _lists(given: Mapping[str, Any]) -> Iterator[list[str]]:
    """The lists of to-dos in the arguments of a call: what of each is not done."""
    for value in given.values():
        entries = [mapping(entry) for entry in value] if isinstance(value, list) else []
        if entries and all(string(entry.get("status")) for entry in entries):
            waiting = (entry for entry in entries if entry["status"] not in DONE)
            yield [label for label in map(_label, waiting) if label is not None]


def _label(entry: Mapping[str, Any]) -> str | None:
    return next((string(entry.get(key)) for key in LABELS if string(entry.get(key))), None)


def _said(blocks: Iterable[Block]) -> list[str]:
    """What the user said, where it is short."""
    texts = (" ".join(block.text.split()) for block in blocks if block.kind == "user_text")
    return list(dict.fromkeys(text for text in texts if 0 < len(text) <= LINE_CHARS))


def _decided(blocks: Iterable[Block]) -> list[str]:
    """The lines that decide something: the model's, and those of long texts of the user's."""
    lines: dict[str, None] = {}
    for block in blocks:
        if block.kind == "assistant_text" or (block.kind == "user_text" and len(block.text) > LINE_CHARS):
            for line in block.text.splitlines():
                if len(line) <= LINE_CHARS and DECIDED.search(line) and not BOX.match(line):
                    lines[line.strip()] = None
    return list(lines)


def _names(blocks: Sequence[Block]) -> list[str]:
    """What the model named, most often first, and what error lines hold."""
    named = Tally(name for block in blocks if block.kind in SAID for name in sorted(strings(block.text)))
    results = "\n".join(block.text for block in blocks if block.kind == "tool_result")
    errors = missing_facts(results, "", most=MOST_ERRORS)
    return list(dict.fromkeys([*errors, *(name for name, _ in named.most_common())]))


def _section(heading: str, lines: Sequence[str], counter: Counter, room: int) -> list[str]:
    """The last lines that there is room for, in their order, under a heading."""
    head = f"{heading}:"
    left = room - _tokens(head, counter)
    kept: list[str] = []
    for line in reversed(lines):
        item = f"- {line}"
        left -= _tokens(item, counter)
        if left < 0:
            break
        kept.append(item)
    return [head, *reversed(kept)] if kept else []


def _list(heading: str, names: Sequence[str], counter: Counter, room: int) -> list[str]:
    """The first names that there is room for, in one line."""
    left = room - counter.count(f"{heading}: ")
    kept: list[str] = []
    for name in names:
        left -= counter.count(f", {name}")
        if left < 0:
            break
        kept.append(name)
    return [f"{heading}: {', '.join(kept)}"] if kept else []


def _tokens(line: str, counter: Counter) -> int:
    return counter.count(f"{line}\n")
