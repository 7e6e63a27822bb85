"""`detect`: what kind of content a tool result is, told from a bounded sample of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import dropwhile, pairwise

import orjson

from ctxkit.condense.base import ContentKind

SAMPLE_CHARS = 6_000
LINE_CHARS = 300
# Long enough that no word is taken for it.
BASE64_RUN = 120
NOT_TEXT = "\x00\ufffd"
VARIABLE = re.compile(r"\b[^\W\d]*+\d\w*+")


def _any(*patterns: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    return re.compile("|".join(patterns), flags)


JSON_START = re.compile(r'\s*(?:[{\[]\s*["{\[\]}]|\[\s*(?:-?\d|true\b|false\b|null\b))')
ROWS_START = re.compile(r"\s*\[\s*\{")
HTML_START = re.compile(r"\s*(?:<\?xml[^>]{0,200}>\s*)?<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
HTML_LINE = re.compile(r"\s*</?(?:a|b|br|div|h[1-6]|i|img|li|link|meta|p|script|span|table|td|tr|ul)\b")
# What a program fills in: such a page is read as source code.
TEMPLATE = re.compile(r"<%[=\s]|\{%[-\s]|\{\{ ?\w")
DIFF = re.compile(r"^(?:diff --git |@@ -\d+(?:,\d+)? \+\d+)", re.MULTILINE)
BASE64 = re.compile(rf"[A-Za-z0-9+/_-]{{{BASE64_RUN},}}+={{0,2}}")
LINE_NUMBER = re.compile(r"(\d{1,6}):")
FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
HEADING = re.compile(r"^#{1,6} \S", re.MULTILINE)
NUMBERED = re.compile(r"\s*\d+(?:→|\t|\s{0,4}\|)")
TEST_SUMMARY = _any(
    r"^[ \t]*\d+ (?:passing|failing)\b",
    r"^=+ .{0,200}\b(?:passed|failed|test session starts|errors?)\b.{0,80} =+$",
    r"^Ran \d+ tests? in",
    r"^[ \t]*--- (?:PASS|FAIL)",
    r"^(?:ok|FAIL)[ \t]+\S+[ \t]+(?:[\d.]+s|\(cached\)|\[build failed\])",
    r"^test result: ",
    r"^[ \t]*Tests?:? +\d+ (?:passed|failed)",
    r"^TAP version",
    r"^\d+ (?:passed|failed)\b.{0,80} in [\d.]+ ?s",
    r"^\d+ examples?, \d+ failures?",
    flags=re.MULTILINE,
)
TIMESTAMP = (
    r"\W{0,3}(?:\w+=)?\W?"
    r"(?:\d{4}[-/]\d\d[-/]\d\d[T ]|\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:|\d{10}(?:\d{3})?\b)"
)
PATH_CHAR = r"[^\s:,;(){}<>'\"]"
SIZE = r"(?:[\d.]+[KMGT]?\s+)?"

# The first of these that matches a line names what the line is; each share is how many of the lines it takes.
LINE_KINDS: Sequence[tuple[str, re.Pattern[str]]] = [
    ("numbered", NUMBERED),
    (
        "test_output",
        _any(
            r"\s*(?:--- (?:PASS|FAIL|SKIP)|=== (?:RUN|PAUSE|CONT)|[✓✔✗✘✖×] |(?:not )?ok \d+|E   )",
            r"(?:PASSED|FAILED|ERROR|SKIPPED|ok|FAIL|PASS|\?)\s+\S*[/:.]\S",
            r"test \S+ \.\.\. ",
            r"\S+::\S+ [A-Z]{4,7}",
            r".* \.\.\. (?:ok|FAIL|ERROR|skipped)",
        ),
    ),
    (
        "traceback",
        _any(
            r"Traceback \(most recent|goroutine \d|panic: |Caused by: |npm (?:error|ERR!) ",
            r'\s+(?:File ".{1,200}", line \d|at \S|--> |(?:> )?(?:\d+ )?│ )',
            r"(?:\w+\.){0,20}\w*(?:Error|Exception)(?:: |$)",
            r"[^\s(]{1,200}+\(\d+,\d+\): ",
            r"[^\s:]{1,200}+:\d+:\d+:? ",
            r"[^\s:]{1,200}+:\d+: (?:\w+ )?(?:error|warning|note)",
            r"\s+\d+:\d+\s+(?:error|warning)\s",
            r"(?:error|warning)(?:\[\w+\])?: ",
        ),
    ),
    ("log", _any(TIMESTAMP, r'\s{0,4}\{"')),
    (
        "search_hits",
        _any(
            r"(?:[A-Za-z]:)?[^\s:]{1,200}+:\d+:",
            r"[^\s:]{1,200}?\.\w{1,10}-\d+-",
            r"(?=[^\s:]{0,200}[./])[^\s:]{1,200}+:(?! |//)",
            r"\d{1,6}[:-](?![\d:])",
            r"--$",
        ),
    ),
    (
        "listing",
        _any(
            r"[-dlbcps][-rwxsStT]{9}",
            r"total \d+$",
            r"[│|\s]*+(?:├──|└──|--)",
            rf"{SIZE}{PATH_CHAR}*/{PATH_CHAR}*$",
            r"[\w@+-][\w.@+-]*\.\w{1,5}$",
        ),
    ),
    (
        "table",
        _any(
            r"\s*\|.*\|\s*$",
            r"[-+| ]{8,}$",
            r"[^,]{0,80}+(?:,[^,]{0,80}+){3}",
            r"[^\t]++\t[^\t]++\t[^\t]",
            r"\S+(?: \S+)*  +\S+(?: \S+)*  +\S+(?: \S+)*  +\S",
        ),
    ),
    (
        "markdown",
        _any(r"#{1,6} \S", r"\s*[-*+] \S", r"\s*\d{1,3}[.)] \S", r"> ", r"\*\*\S", r"!?\[[^\]]{1,200}\]\("),
    ),
    (
        "log",
        _any(
            r".{0,60}\b(?:DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|TRACE|CRITICAL)\b",
            r".{0,60}\blevel=",
            r"npm (?:notice|warn)|\s*(?:Collecting|Downloading|Requirement already|Installing|Get:\d)",
        ),
    ),
    (
        "code",
        _any(
            r"\s*(?:def|class|import|from|func|package|const|let|var|return|if|for|while|public|private|static)\b",
            r"\s*(?:use|fn|struct|type|interface|export|async|await|try|else|elif|switch|case|namespace|@\w+)\b",
            r"\s*(?:#include|#define|//|/\*|\*/|\* )",
            r".*[{};]\s*$",
            r"\s*[)\]}]+[,;]?$",
        ),
    ),
]
# What a text is when at least such a part of its lines is like that; the first that holds.
SHARES: Sequence[tuple[ContentKind, str, float]] = [
    ("code", "numbered", 0.6),
    ("search_hits", "search_hits", 0.6),
    ("listing", "listing", 0.6),
    ("test_output", "test_output", 0.4),
    ("traceback", "traceback", 0.3),
    ("log", "log", 0.4),
    ("table", "table", 0.75),
]
MARKDOWN_SHARE, CODE_SHARE, NDJSON_SHARE = 0.15, 0.35, 0.9
HTML_SHARE, CONSECUTIVE_SHARE = 0.3, 0.5
REPETITIVE_LINES, REPETITIVE_SHARE = 20, 0.4


def detect(text: str) -> ContentKind:
    """Tell what kind of content a tool result is, from its start, its middle and its end.

    It never fails, and takes the same short time for a text of any length.

    Args:
        text: Anything.

    Returns:
        The kind; `text` where none is recognised.
    """
    sample = _Sample.of(text)
    return _as_data(sample) or _as_markup(sample) or _as_lines(sample)


@dataclass(frozen=True, slots=True)
class _Sample:
    """Parts of a text.

    Attributes:
        parts: Its first, some middle and its last characters; one part where that is all of it.
        lines: The lines of the parts that are whole and not blank, cut where they are long.
    """

    parts: Sequence[str]
    lines: Sequence[str]

    @classmethod
    def of(cls, text: str) -> _Sample:
        """The parts of a text, or all of one that is short."""
        if len(text) <= 3 * SAMPLE_CHARS:
            parts, lines = [text], text.split("\n")
        else:
            middle = len(text) // 2
            parts = [text[:SAMPLE_CHARS], text[middle : middle + SAMPLE_CHARS], text[-SAMPLE_CHARS:]]
            lines = [line for part in parts for line in part.split("\n")[1:-1]]
        return cls(parts, [line[:LINE_CHARS].rstrip() for line in lines if not line.isspace() and line])

    @property
    def start(self) -> str:
        return self.parts[0]

    def finds(self, pattern: re.Pattern[str]) -> bool:
        """Whether a pattern is in any of the parts."""
        return any(map(pattern.search, self.parts))

    def share_of(self, pattern: re.Pattern[str]) -> float:
        """The part of all characters that a pattern takes."""
        taken = sum(len(found) for part in self.parts for found in pattern.findall(part))
        return taken / max(1, sum(map(len, self.parts)))


def _as_data(sample: _Sample) -> ContentKind | None:
    """JSON, lines of JSON, or what is no text."""
    objects = sum(line.startswith("{") for line in sample.lines)
    if objects > 1 and objects >= NDJSON_SHARE * len(sample.lines) and _is_json(sample.start.split("\n")[0]):
        return "ndjson"
    end = sample.parts[-1].rstrip()[-1:]
    if JSON_START.match(sample.start) and end in ("}", "]"):
        if not _starts_with_a_line_of_json(sample):
            return "json_rows" if ROWS_START.match(sample.start) else "json"
        if JSON_START.match(_without_lines_of_json(sample.start)):
            return "json"
    if any(sign in part for sign in NOT_TEXT for part in sample.parts) or sample.share_of(BASE64) > 0.5:
        return "base64"
    return None


def _starts_with_a_line_of_json(sample: _Sample) -> bool:
    """Whether the first line is a value by itself, so that what follows is no part of it."""
    first, _, rest = sample.start.lstrip().partition("\n")
    return bool(rest.strip()) and _is_json(first)


def _without_lines_of_json(text: str) -> str:
    """What follows the lines at the start of a text that are values by themselves."""
    lines = text.split("\n")
    return "\n".join(dropwhile(lambda line: _is_json(line) or not line.strip(), lines))


def _is_json(line: str) -> bool:
    try:
        orjson.loads(line)
    except ValueError:
        return False
    return True


def _as_markup(sample: _Sample) -> ContentKind | None:
    """A diff or a page."""
    if sample.finds(DIFF) and not any(map(NUMBERED.match, sample.lines[:1])):
        return "diff"
    tags = sum(map(bool, map(HTML_LINE.match, sample.lines)))
    if HTML_START.match(sample.start) or tags > HTML_SHARE * len(sample.lines):
        return "code" if TEMPLATE.search(sample.start) else "html"
    return None


def _as_lines(sample: _Sample) -> ContentKind:
    """What most of the lines are."""
    total = max(1, len(sample.lines))
    counts = Counter(map(_line_kind, sample.lines))
    share = {kind: count / total for kind, count in counts.items()}
    if share.get("numbered", 0) < CODE_SHARE and sample.finds(TEST_SUMMARY):
        return "test_output"
    for kind, line_kind, least in SHARES:
        if share.get(line_kind, 0) >= least:
            return "code" if kind == "search_hits" and _are_consecutive(sample.lines) else kind
    markdown, code = share.get("markdown", 0), share.get("code", 0)
    if sample.finds(FENCE) or (sample.finds(HEADING) and markdown >= MARKDOWN_SHARE and code < CODE_SHARE):
        return "code" if share.get("numbered", 0) >= MARKDOWN_SHARE else "markdown"
    if code >= CODE_SHARE:
        return "code"
    forms = {VARIABLE.sub("0", line) for line in sample.lines}
    return "log" if total >= REPETITIVE_LINES and len(forms) <= REPETITIVE_SHARE * total else "text"


def _are_consecutive(lines: Sequence[str]) -> bool:
    """Whether the lines are numbered one after the other, as a file is shown and hits are not."""
    numbers = [int(found[1]) for line in lines if (found := LINE_NUMBER.match(line))]
    in_a_row = sum(after == before + 1 for before, after in pairwise(numbers))
    return in_a_row >= CONSECUTIVE_SHARE * len(lines)


def _line_kind(line: str) -> str:
    return next((kind for kind, pattern in LINE_KINDS if pattern.match(line)), "text")
