"""`condense_base64`: data are named instead of shown."""

from __future__ import annotations

from base64 import b64encode, encodebytes, urlsafe_b64encode

import pytest

from ctxkit.condense.base import Budget
from ctxkit.condense.base64 import condense_base64
from ctxkit.tokens import counter_for

COUNTER = counter_for(None)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40


def shown(text: str, max_tokens: int = 200, *terms: str) -> list[str]:
    """The lines of the condensed text."""
    made = condense_base64(text, Budget(max_tokens, COUNTER, frozenset(terms)))
    assert COUNTER.count(made.text) <= max_tokens
    assert not made.lossless
    return made.text.split("\n")


@pytest.mark.parametrize(
    "encoded",
    [b64encode(PNG).decode(), urlsafe_b64encode(PNG).decode(), encodebytes(PNG).decode()],
    ids=["one piece", "for addresses", "lines"],
)
def test_data_are_named_with_their_size_and_both_ends_and_the_text_around_stays(encoded: str) -> None:
    before, data, after, note = shown(f"image: x.png\n{encoded.rstrip()}\ndone")
    assert (before, after) == ("image: x.png", "done")
    assert data.startswith(encoded[:24]) and data.endswith(encoded.rstrip()[-12:])
    assert f"characters of base64: {len(PNG):,} bytes, a PNG image ...]" in data
    assert "what can be read shown; encoded data (about " in note


def test_hexadecimal_digits_are_data_too() -> None:
    assert "characters of hexadecimal: 10,248 bytes, a PNG image ...]" in shown(PNG.hex())[0]


@pytest.mark.parametrize(
    ("first", "name"),
    [
        (b"\xff\xd8\xff\xe0", "a JPEG image"),
        (b"GIF89a", "a GIF image"),
        (b"RIFF\x00\x00\x00\x00WEBP", "a WebP image"),
        (b"\x00\x00\x00\x20ftypisom", "an MP4 video"),
        (b"%PDF-1.7", "a PDF document"),
        (b"PK\x03\x04", "a ZIP archive or Office document"),
        (b"\x1f\x8b\x08", "gzip data"),
        (b"\x7fELF", "an ELF program"),
        (b"SQLite format 3\x00", "a SQLite database"),
        (b"\x00asm", "a WebAssembly module"),
        (b'{"a": 1}', "JSON"),
    ],
)
def test_data_are_told_by_how_they_begin(first: bytes, name: str) -> None:
    encoded = b64encode(first + bytes(9_000)).decode()
    assert f" bytes, {name} ...]" in shown(encoded)[0]


def test_data_that_nothing_is_known_of_have_no_name() -> None:
    assert " bytes ...]" in shown(b64encode(b"\x07\x07" + bytes(9_000)).decode())[0]


def test_of_bytes_that_are_no_text_what_can_be_read_is_shown() -> None:
    binary = PNG + b"\x00Copyright Ann\x00" + bytes(5_000)
    made = shown(binary.decode("utf-8", "replace"), 4_000)
    assert made[0].startswith(f"[{len(binary.decode('utf-8', 'replace')):,} characters of binary data")
    assert "Copyright Ann" in made
    assert "bytes that are no text" in made[-1]


def test_bytes_read_one_by_one_are_told_by_how_they_begin() -> None:
    assert "binary data, a PNG image;" in shown((PNG + bytes(5_000)).decode("latin-1"), 1_000)[0]


def test_of_many_data_those_are_shown_that_the_question_asks_about() -> None:
    encoded = b64encode(PNG[:200]).decode()
    text = "\n".join(f"file_{number}: {encoded}" for number in range(300))
    made = shown(text, 500, "file_123")
    assert any(line.startswith("file_123: ") for line in made)
    assert "lines and encoded data" in made[-1]
