"""`condense_base64`: data in a text: what it is, how much, how it begins and ends, and the text around it."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Sequence

from ctxkit.condense.base import Budget, Condensed, gap
from ctxkit.condense.lines import Lines, Tier, View, around, from_both_ends
from ctxkit.condense.reading import reading
from ctxkit.condense.room import fits

SHOWN_START, SHOWN_END = 24, 12
# In one piece, or in lines of the same length.
ENCODED = re.compile(
    r"[A-Za-z0-9+/_-]{120,}+={0,2}"
    r"|[A-Za-z0-9+/_-]{40,119}+(?:\n[A-Za-z0-9+/_-]{40,119}+){2,}+(?:\n?[A-Za-z0-9+/_-]*+={1,2})?"
)
HEXADECIMAL = re.compile(r"[0-9a-fA-F]+")
# What a program like `strings` shows of bytes that are no text.
UNREADABLE = re.compile(r"[^\x20-\x7e\xa0-\ufffc\t\n]+")
READABLE_CHARS = 5
NOT_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ufffd]")
MAGIC_BYTES = 64
# How files begin; a dot stands for any byte.
MAGIC: Sequence[tuple[str, re.Pattern[bytes]]] = [
    (name, re.compile(magic, re.DOTALL))
    for name, magic in [
        ("a PNG image", rb"\x89PNG"),
        ("a JPEG image", rb"\xff\xd8\xff"),
        ("a GIF image", rb"GIF8[79]a"),
        ("a WebP image", rb"RIFF....WEBP"),
        ("a WAV sound", rb"RIFF....WAVE"),
        ("an MP3 sound", rb"ID3|\xff[\xfb\xf3\xf2]"),
        ("an Ogg stream", rb"OggS"),
        ("an MP4 video", rb"....ftyp"),
        ("a WebM or Matroska video", rb"\x1aE\xdf\xa3"),
        ("a PDF document", rb"%PDF-"),
        ("a ZIP archive or Office document", rb"PK\x03\x04"),
        ("gzip data", rb"\x1f\x8b"),
        ("bzip2 data", rb"BZh[1-9]"),
        ("xz data", rb"\xfd7zXZ"),
        ("zstd data", rb"\x28\xb5\x2f\xfd"),
        ("a 7z archive", rb"7z\xbc\xaf\x27\x1c"),
        ("an ELF program", rb"\x7fELF"),
        ("a Windows program", rb"MZ"),
        ("a Mach-O program", rb"\xcf\xfa\xed\xfe|\xca\xfe\xba\xbe"),
        ("a WebAssembly module", rb"\x00asm"),
        ("a SQLite database", rb"SQLite format 3\x00"),
        ("a font", rb"wOF[F2]|OTTO|\x00\x01\x00\x00\x00"),
        ("an XML document", rb"\s*<\?xml|\s*<svg"),
        ("JSON", rb"\s*[\[{]\s*\""),
    ]
]


def condense_base64(text: str, budget: Budget) -> Condensed:
    """Say what the data in a text is, instead of showing it.

    Of data in base64 or in hexadecimal digits the start and the end are shown, with its size and what it is
    by its first bytes. Of bytes that are no text, what can be read in them is shown, one string a line.

    Args:
        text: Base64, hexadecimal digits, or bytes that were read as if they were text.
        budget: How much may be shown.
    """
    if fits(text, budget):
        return Condensed(text, "base64")
    is_binary = NOT_TEXT.search(text) is not None
    lines = Lines(_strings(text) if is_binary else ENCODED.sub(_described, text))
    besides = "bytes that are no text" if is_binary else "encoded data"
    if whole := reading(text, lines.text, budget, "base64", kept="what can be read", hidden=besides):
        return whole
    count = len(lines.lines)
    about = lines.about(budget.terms)[: budget.max_tokens]
    tiers = [
        Tier(from_both_ends(count, 4)),
        Tier(about, share=0.5),
        Tier(around(about, count, before=1, after=1), share=0.2),
        Tier(from_both_ends(count, budget.max_tokens)),
    ]
    return View(lines, tiers, "base64", besides=besides).fitted(text, budget)


def _described(found: re.Match[str]) -> str:
    """What stands for a run of data."""
    data = "".join(found[0].split())
    encoding, size = ("hexadecimal", 2) if HEXADECIMAL.fullmatch(data) else ("base64", 4 / 3)
    said = f"characters of {encoding}: {int(len(data.rstrip('=')) / size):,} bytes{_what(data, encoding)}"
    hidden = gap(len(data) - SHOWN_START - SHOWN_END, said)
    return f"{data[:SHOWN_START]} {hidden} {data[-SHOWN_END:]}"


def _what(digits: str, encoding: str) -> str:
    """What data is by its first bytes, after a comma; empty where they don't tell."""
    first = digits[: MAGIC_BYTES - MAGIC_BYTES % 4].replace("-", "+").replace("_", "/")
    return _named(bytes.fromhex(first) if encoding == "hexadecimal" else b64decode(first))


def _named(first: bytes) -> str:
    return next((f", {name}" for name, magic in MAGIC if magic.match(first)), "")


def _strings(text: str) -> str:
    """What bytes are, and what can be read in them."""
    first = text[:MAGIC_BYTES]
    what = _named(first.encode("latin-1", "replace"))
    found = (part.strip() for part in UNREADABLE.split(text))
    strings = [part for part in found if len(part) >= READABLE_CHARS]
    return "\n".join([f"[{len(text):,} characters of binary data{what}; what can be read in it:]", *strings])
