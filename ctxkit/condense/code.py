"""`condense_code`: source code as its outline, with the parts in full that the question asks about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice

from ctxkit.condense.base import Budget, Condensed
from ctxkit.condense.lines import Lines, Tier, View, around, clip, from_both_ends, spread
from ctxkit.condense.mentions import mentions
from ctxkit.condense.room import fits

# The number of a line as `cat -n`, editors' tools and compilers write it in front.
NUMBER = re.compile(r" *+\d{1,9}(?:→|\t| {0,4}\| ?)|\d{1,9}:(?!:)")
NUMBERED_SHARE = 0.3
SIGNATURE_LINES, ASKED_LINES, BLOCK_LINES = 12, 400, 100
IMPORT = re.compile(
    r"(?:import|from|using|use|package|require|#\s*include|extern crate)\b"
    r"|(?:const|let|var) [^=]{1,200}= require\("
)
MODIFIERS = (
    r"(?:(?:abstract|async|const|constexpr|data|declare|default|export|extern|final|inline|internal|open|override"
    r"|partial|private|protected|pub(?:\([^)]{0,20}\))?|public|readonly|sealed|static|suspend|unsafe|virtual)"
    r" +){0,6}+"
)
KEYWORDS = (
    "class|def|defp|defmodule|enum|extension|fn|func|function|impl|interface|macro_rules!|mod|module|namespace"
    "|object|proc|protocol|record|struct|sub|template|trait|type|union"
)
NOT_NAMES = (
    "assert|await|case|catch|do|elif|else|except|for|foreach|if|lock|match|new|return|super|switch|throw|until"
    "|using|when|while|with|yield"
)
# A word that tells a definition, a function that a variable is set to, or a name and its parameters.
DEFINITION = re.compile(
    r"(?:export )?(?:const|let|var) (?P<variable>[\w$]+)[^=]{0,100}= (?:async )?(?:function\b|\(|[\w$]+ =>)"
    rf"|{MODIFIERS}(?:"
    rf"(?:{KEYWORDS})\b\*?[ <(](?:\([^)]{{0,100}}\) )?[ <*]*(?P<word>[\w$.:]*)"
    rf"|(?!(?:{NOT_NAMES})\b)(?:[\w<>\[\],.*&:?]++ ++){{0,6}}+(?P<method>[\w$.:~#]++) ?\(.*\{{$"
    rf"|(?!(?:{NOT_NAMES})\b)(?:[\w<>\[\]*&:]++ ++){{1,6}}+(?P<function>[\w:~]++)\([^;]*\)$"
    r")"
)
DECORATORS = ("@", "#[")
COMMENT = re.compile(r"//|/?\*|#(?!\s*\w+ *[<\"(]|if|endif|else|\[)|--")
DOCSTRING = re.compile(r"[rRuU]?(?:\"\"\"|''')")
TO_DO = re.compile(rb"\b(?:todo|fixme|hack|xxx)\b")
PARTS_OF_A_TERM = re.compile(r"\w+")


class _Source:
    """The lines of source code, and how they are nested.

    Attributes:
        lines: What there is, numbers in front included.
        numbered: Whether most lines have their number in front.
        code: The lines without their numbers and indentation.
        indents: How far each line is indented; that of the last one for a blank line.
        others: The lines that have no number where most have: paths, and what a tool says.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        found = [NUMBER.match(line) for line in lines]
        self.numbered = sum(map(bool, found)) >= NUMBERED_SHARE * len(lines)
        starts = [number.end() if number and self.numbered else 0 for number in found]
        self.others = [at for at, number in enumerate(found) if self.numbered and not number]
        self.lines = Lines("\n".join(map(_unpadded, lines, starts)))
        self.code: list[str] = []
        self.indents: list[int] = []
        indent = 0
        for line, start in zip(lines, starts, strict=True):
            unnumbered = line[start:].rstrip()
            code = unnumbered.lstrip()
            indent = len(unnumbered) - len(code) if code else indent
            self.indents.append(indent)
            self.code.append(code)

    @cached_property
    def names(self) -> dict[int, str]:
        """What is defined, by the number of the line."""
        found = ((number, DEFINITION.match(line)) for number, line in enumerate(self.code) if line)
        return {number: name[name.lastgroup or 0].lower() for number, name in found if name}

    @cached_property
    def above(self) -> list[int]:
        """The line each line is nested in; -1 for none."""
        nested: list[int] = []
        open_lines: list[int] = []
        for number, indent in enumerate(self.indents):
            while open_lines and self.indents[open_lines[-1]] >= indent:
                open_lines.pop()
            nested.append(open_lines[-1] if open_lines else -1)
            if self.code[number]:
                open_lines.append(number)
        return nested

    def block(self, number: int, most: int) -> Iterator[int]:
        """A line, those that are nested in it, and the one that closes it; at most so many."""
        yield number
        for inside in range(number + 1, min(len(self.code), number + most)):
            code = self.code[inside]
            is_nested = not code or self.indents[inside] > self.indents[number]
            if is_nested or code.startswith(("{", "}", ")", "]", "end")):
                yield inside
            if not is_nested and not code.startswith(("{", ")", "]")):
                break

    def signature(self, number: int) -> Iterator[int]:
        """The line of a definition, what decorates it, and the lines in which its parameters go on."""
        if number and self.code[number - 1].startswith(DECORATORS):
            yield number - 1
        open_brackets = 0
        for line in range(number, min(len(self.code), number + SIGNATURE_LINES)):
            yield line
            open_brackets += self.code[line].count("(") - self.code[line].count(")")
            if open_brackets <= 0:
                break

    def summary(self, number: int) -> int:
        """The first line of what is said about a definition, above or below it; its own line for none."""
        below = max(self.signature(number)) + 1
        if below < len(self.code) and DOCSTRING.match(self.code[below]):
            return below
        above = number
        while above and number - above < SIGNATURE_LINES and COMMENT.match(self.code[above - 1]):
            above -= 1
        return above

    def outer(self, numbers: Iterable[int]) -> Iterator[int]:
        """The lines, and after each one the lines it is nested in."""
        seen: set[int] = {-1}
        for number in numbers:
            while number not in seen:
                seen.add(number)
                yield number
                number = self.above[number]


def condense_code(text: str, budget: Budget) -> Condensed:
    """Shorten source code to its outline, with what the question asks about in full.

    Imports, what is defined, and notes of things to do stay as long as there is room; of what the question
    names, the whole body is shown. Padding in front of line numbers goes without loss, and where lines are
    not numbered, what is hidden is said with the numbers it has in the text.

    Args:
        text: Source code of any language, with or without a number in front of each line.
        budget: How much may be shown.
    """
    if fits(text, budget):
        return Condensed(text, "code")
    source = _Source(text.split("\n"))
    if fits(source.lines.text, budget):
        return Condensed(source.lines.text, "code")
    view = View if source.numbered else _Unnumbered
    return view(source.lines, _tiers(source, budget), "code").fitted(text, budget)


class _Unnumbered(View):
    """Lines without numbers in front: where some are hidden, the gap says which."""

    def _with_gaps(self, numbers: Sequence[int], longest: int) -> Iterator[str]:
        lines = self.lines.lines
        after = 0
        for number in (*numbers, len(lines)):
            if number > after:
                yield f"[... lines {after + 1}-{number} ...]"
            if number < len(lines):
                yield clip(lines[number], longest)
            after = number + 1


def _unpadded(line: str, start: int) -> str:
    return line.lstrip(" ") if start else line


def _tiers(source: _Source, budget: Budget) -> list[Tier]:
    most = budget.max_tokens
    lines = source.lines
    count = len(lines.lines)
    words = {word for term in budget.terms for word in PARTS_OF_A_TERM.findall(term)}
    asked = [number for number, name in source.names.items() if name in words]
    about = lines.about(budget.terms)[:most]
    imports = [number for number, code in enumerate(source.code) if code and IMPORT.match(code)]
    outermost = sorted(spread(list(source.names), most), key=source.indents.__getitem__)
    blocks = sorted((list(source.block(number, BLOCK_LINES)) for number in outermost), key=len)
    return [
        Tier(from_both_ends(count, 4)),
        Tier(source.others[:most], share=0.2),
        Tier(_joined(most, (source.block(number, ASKED_LINES) for number in asked)), share=0.4),
        Tier(_joined(most, [source.outer(about)]), share=0.15),
        Tier(_joined(most, map(source.signature, outermost)), share=0.4),
        Tier(_joined(most, (source.block(number, BLOCK_LINES) for number in imports)), share=0.1),
        Tier(lines.matching([TO_DO], most), share=0.1),
        Tier([source.summary(number) for number in outermost], share=0.1),
        Tier(around(about, count, before=2, after=6), share=0.15),
        Tier(mentions(source.code)[:most], share=0.3),
        Tier(_joined(most, blocks)),
        Tier(range(min(count, most))),
    ]


def _joined(most: int, parts: Iterable[Iterable[int]]) -> list[int]:
    """The numbers of all parts, at most so many."""
    return list(islice(chain.from_iterable(parts), most))
