"""What can be taken from a text without loss: terminal codes, overwritten frames, repetitions.

`clean` is right for every kind of text. `tidy` also changes line ends and folds lines, which is right where
lines are read one by one, and wrong for code, diffs and JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby, pairwise

from ctxkit.condense.base import gap

# Colours and cursor moves, window titles and links, and single-character commands.
TERMINAL_CODE = re.compile(
    r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|[\]PX^_][^\x07\x1b]*+(?:\x07|\x1b\\)|[ -/]*+[0-OQ-WYZ\\`-~])"
)
OVERSTRUCK = re.compile(r"[^\x08\n]\x08")
DIGITS = str.maketrans("0123456789", "0" * 10)
# Frames of a progress bar begin alike; a spinner's are only this long.
ALIKE_CHARS = 6
SPINNER_CHARS = 4
FOLDED_LINES = "more lines like the one above"


def clean(text: str) -> str:
    """The text as a terminal would show it in the end: no codes, no frames that were painted over.

    A carriage return ends a frame. A frame is left out where the next one begins like it, or is a spinner's;
    every other becomes a line of its own, so that nothing else is lost.
    """
    if "\x1b" in text:
        text = TERMINAL_CODE.sub("", text)
    if "\x08" in text:
        text = OVERSTRUCK.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join("\n".join(_frames(line)) if "\r" in line else line for line in text.split("\n"))
    return text


def _frames(line: str) -> Iterator[str]:
    """The frames of a line that were not painted over by another state of the same."""
    frames = [frame for frame in line.split("\r") if frame.strip()]
    for frame, following in pairwise(frames):
        if len(frame.strip()) >= SPINNER_CHARS and _start(frame) != _start(following):
            yield frame
    yield from frames[-1:]


def _start(frame: str) -> str:
    return frame.lstrip()[:ALIKE_CHARS].translate(DIGITS)


def tidy(text: str) -> str:
    """The text without white space at the ends of lines, and with repeated lines said once and counted."""
    folded: list[str] = []
    for line, same in groupby(map(str.rstrip, text.split("\n"))):
        folded.append(line)
        repeated = sum(1 for _ in same) - 1
        if repeated:
            said = gap(repeated, FOLDED_LINES)
            folded.extend([said] if len(said) < repeated * (len(line) + 1) else [line] * repeated)
    return "\n".join(folded)
