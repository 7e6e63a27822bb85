"""`condense_html`: the readable text of a page, as Markdown, without its markup, scripts and styles.

Pages are read by two regular expressions of our own: the parser of the standard library takes quadratic time
for some hostile pages, and those of other packages are large, or far slower, or under licences of their own.
"""

from __future__ import annotations

import re
from collections import Counter
from html import unescape

from ctxkit.condense.base import Budget, Condensed
from ctxkit.condense.lines import Lines
from ctxkit.condense.markdown import Document, DocumentView
from ctxkit.condense.reading import reading
from ctxkit.condense.room import beginning, fits

# What is never shown. What is not closed goes on to the end of the page, as in a browser.
UNSEEN = re.compile(
    r"<!--(?:.*?-->|.*)|<(script|style|template|noscript)(?=[\s/>])(?:[^>]*+>.*?</\1\s*+>|.*)",
    re.IGNORECASE | re.DOTALL,
)
# A quote hides what looks like a tag. Of all attempts that go on at a place, each is inside another kind of
# quote or in none, and `<` ends the one in none: so there are never more than three, and time stays linear.
TAG = re.compile(r"<(?:(/?)([a-zA-Z][\w:-]*+)((?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+)>|[!?][^<>]*+>)")
ATTRIBUTE = re.compile(
    r"(?<![\w-])(alt|href)\s{0,9}=\s{0,9}(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>]++))", re.IGNORECASE
)
MAIN = re.compile(r"<(?:main|article)[\s>]", re.IGNORECASE)
SPACE = re.compile(r"\s+")
NOT_A_PLACE = ("#", "javascript:", "data:")
# Where a line ends in front of an element and behind it; inside of a cell of a table the first do not.
FLOWING = re.compile(
    r"address|article|aside|body|center|d[dlt]|details|div|fieldset|figcaption|figure|footer|form|header|main|nav"
    r"|p|section|summary"
)
LINES = re.compile(
    r"blockquote|br|button|caption|h[1-6r]|head|html|li|ol|option|pre|select|table|title|tr|ul"
)
HEADING = re.compile(r"h([1-6])")
CONTENT = ("main", "article", "title")
SPARE = ("nav", "aside", "footer", "form", "select", "button")
DEEPEST = 6


class _Page:
    """The text of a page, line by line.

    Attributes:
        lines: What has been read so far.
        spare: The numbers of the lines that belong to the page's frame: navigation, forms, footers.
    """

    def __init__(self, markup: str) -> None:
        self.lines: list[str] = []
        self.spare: set[int] = set()
        self._line: list[str] = []
        self._is_blank = True
        self._prefix = ""
        self._links: list[str] = []
        self._open: Counter[str] = Counter()
        self._has_main = MAIN.search(markup) is not None
        place = 0
        for tag in TAG.finditer(markup):
            self._text(markup[place : tag.start()])
            place = tag.end()
            if tag[2]:
                self._tag(tag[2].lower(), tag[3], is_end=bool(tag[1]))
        self._text(markup[place:])
        self._end_line()

    def _text(self, text: str) -> None:
        text = unescape(text)
        if not self._open["pre"]:
            self._write(SPACE.sub(" ", text))
            return
        first, *others = text.split("\n")
        self._write(first)
        for line in others:
            self._end_line()
            self._write(line)

    def _write(self, text: str) -> None:
        self._line.append(text)
        self._is_blank = self._is_blank and not text.strip()

    def _tag(self, name: str, attributes: str, *, is_end: bool) -> None:
        if LINES.fullmatch(name):
            self._end_line()
        elif FLOWING.fullmatch(name):
            self._break()
        elif name == "code" and not self._open["pre"]:
            self._line.append("`")
        if is_end:
            self._end(name)
        else:
            self._start(name, attributes)

    def _break(self) -> None:
        if self._open["td"]:
            self._line.append(" ")
        else:
            self._end_line()

    def _start(self, name: str, attributes: str) -> None:
        if name == "a":
            self._links.append(_attribute(attributes, "href"))
        elif name == "img" and (said := _attribute(attributes, "alt")):
            self._write(f"[image: {said}]")
        elif name in ("td", "th") and not self._is_blank:
            self._line.append(" | ")
        elif name == "title":
            self._prefix = "# "
        elif heading := HEADING.fullmatch(name):
            self._prefix = f"{'#' * int(heading[1])} "
        elif name == "li":
            depth = min(DEEPEST, self._open["ul"] + self._open["ol"])
            self._prefix = f"{'  ' * (depth - 1)}- "
        elif name == "pre":
            self._prefix = ""
            self._append("```")
        if not attributes.endswith("/"):
            self._open[name] += 1

    def _end(self, name: str) -> None:
        if name == "a" and self._links:
            place = self._links.pop()
            if place and not place.startswith(NOT_A_PLACE) and not self._is_blank:
                self._line.append(f" ({place})")
        elif name == "pre" and self._open["pre"] == 1:
            self._append("```")
        elif name == "li" or HEADING.fullmatch(name):
            self._prefix = ""
        self._open[name] = max(0, self._open[name] - 1)

    def _end_line(self) -> None:
        line = "".join(self._line)
        line = line.rstrip() if self._open["pre"] else SPACE.sub(" ", line).strip()
        self._line = []
        self._is_blank = True
        if line:
            self._append(f"{self._prefix}{line}")
            self._prefix = ""

    def _append(self, line: str) -> None:
        is_content = not self._has_main or any(self._open[name] for name in CONTENT)
        if not is_content or any(self._open[name] for name in SPARE):
            self.spare.add(len(self.lines))
        self.lines.append(line)


def condense_html(text: str, budget: Budget) -> Condensed:
    """Shorten a page to its text as Markdown, and then to what matters of that.

    Headings, lists, links, rows of tables and code stay what they are; scripts, styles and comments go. Where
    the text is still too long, it is shortened as Markdown is, and navigation, forms and footers go first.

    Args:
        text: The HTML of a page or of a part of one.
        budget: How much may be shown.
    """
    if fits(text, budget):
        return Condensed(text, "html")
    page = _Page(UNSEEN.sub(" ", text))
    if not page.lines:
        return beginning(text, budget, "html")
    lines = Lines("\n".join(page.lines))
    if whole := reading(
        text,
        lines.text,
        budget,
        "html",
        kept="the text of the page",
        hidden="its markup, scripts and styles",
    ):
        return whole
    document = Document(lines, frozenset(page.spare))
    return DocumentView.of(document, "html", budget, besides="all markup").fitted(text, budget)


def _attribute(attributes: str, name: str) -> str:
    """What an element's attribute says; empty where it has none."""
    for found in ATTRIBUTE.finditer(attributes):
        if found[1].lower() == name:
            return unescape(found[2] or found[3] or found[4] or "").strip()
    return ""
