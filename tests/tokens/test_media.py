"""Sizes are read from the headers of images, pages from documents, and images are cut up as documented."""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.messages import Block
from ctxkit.tokens.media import Medium, Patches, Tiles, byte_count, image_size, media_of, page_count, within

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", 640, 480)
GIF = b"GIF89a" + struct.pack("<HH", 640, 480)
JPEG = b"\xff\xd8\xff\xe0\x00\x04ab" + b"\xff\xff\xc2\x00\x11\x08" + struct.pack(">HH", 480, 640)
WEBP = b"RIFF\x00\x00\x00\x00WEBP"
VP8 = WEBP + b"VP8 " + bytes(10) + struct.pack("<HH", 640, 480)
VP8L = WEBP + b"VP8L" + bytes(5) + struct.pack("<I", 639 | 479 << 14)
VP8X = WEBP + b"VP8X" + bytes(8) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def block(native: Any, *, kind: Any = "image", images: int = 1) -> Block:
    return Block(kind=kind, text="", digest=b"", where=(), native=native, images=images)


@pytest.mark.parametrize("data", [PNG, GIF, JPEG, VP8, VP8L, VP8X])
def test_a_size_is_read_from_the_header(data: bytes) -> None:
    assert image_size(Medium("image", encoded(data + bytes(9)))) == (640, 480)


@pytest.mark.parametrize("data", [b"", b"BM", PNG[:20], JPEG[:12], WEBP + b"VP8 ", PNG[:16] + bytes(8)])
def test_what_shows_no_size_has_none(data: bytes) -> None:
    assert image_size(Medium("image", encoded(data))) is None


@given(st.text(max_size=80) | st.binary(max_size=80).map(lambda data: encoded(b"\xff\xd8" + data)))
def test_no_data_is_too_odd_to_be_looked_at(data: str) -> None:
    medium = Medium("image", data)
    size = image_size(medium)
    assert size is None or min(size) > 0
    assert page_count(medium) is None or "%" not in data


def test_no_more_than_the_header_of_an_image_is_decoded() -> None:
    assert image_size(Medium("image", encoded(PNG) + "A" * 400_000)) == (640, 480)
    late = b"\xff\xd8" + b"\xff\xe1\xff\xff" + bytes(65_533)
    assert image_size(Medium("image", encoded(late + JPEG[2:]))) == (640, 480)
    assert image_size(Medium("image", encoded(late + late[2:] + JPEG[2:]))) is None


def test_the_pages_of_a_pdf_are_its_page_objects() -> None:
    pages = b"%PDF-1.4 <</Type /Pages /Count 2>> <</Type/Page>> <</Type /Page /Parent 1 0 R>>"
    assert page_count(Medium("document", encoded(pages))) == 2
    assert page_count(Medium("document", encoded(b"%PDF-1.7 packed"))) is None
    assert byte_count(Medium("document", encoded(b"123456"))) == 6


DATA = encoded(PNG)
URL = f"data:image/png;base64,{DATA}"


@pytest.mark.parametrize(
    "native",
    [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}},
        {"type": "image_url", "image_url": {"url": URL}},
        {"type": "input_image", "image_url": URL},
        {"inlineData": {"mimeType": "image/png", "data": DATA}},
        {"inline_data": {"mime_type": "image/png", "data": DATA}},
        {"image": {"format": "png", "source": {"bytes": DATA}}},
        {
            "type": "tool_result",
            "content": [{"type": "text", "text": "See:"}, {"type": "image", "source": {"data": DATA}}],
        },
        {"role": "tool", "content": [{"type": "image_url", "image_url": {"url": URL}}]},
        {"type": "function_call_output", "output": [{"type": "input_image", "image_url": URL}]},
        {"type": "computer_call_output", "output": {"type": "computer_screenshot", "image_url": URL}},
        {"functionResponse": {"name": "f", "parts": [{"inlineData": {"data": DATA}}]}},
        {"toolResult": {"content": [{"image": {"source": {"bytes": DATA}}}]}},
    ],
)
def test_an_image_is_found_wherever_a_wire_puts_it(native: Any) -> None:
    (medium,) = media_of(block(native))
    assert (medium.kind, image_size(medium)) == ("image", (640, 480))


def test_a_medium_that_the_request_only_names_has_no_data() -> None:
    named = {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}}
    assert media_of(block(named)) == [Medium("image", detail="low")]
    assert media_of(block("iVBORw0KGgo=")) == [Medium("image")]
    assert media_of(block({"type": "tool_result", "content": "text"}, images=2)) == [Medium("image")] * 2
    assert media_of(block(named, images=0)) == []


@pytest.mark.parametrize(
    ("native", "kind"),
    [
        ({"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA"}}, "document"),
        ({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}, "audio"),
        ({"fileData": {"mimeType": "video/mp4", "fileUri": "files/1"}}, "video"),
        ({"document": {"format": "csv", "source": {"bytes": "AAAA"}}}, "document"),
    ],
)
def test_a_medium_is_of_the_kind_that_it_says(native: Any, kind: str) -> None:
    assert [medium.kind for medium in media_of(block(native, kind="document"))] == [kind]


TILES = Tiles(base=85, tile=170, edge=512, longest=2_048, shortest=768)
PATCHES = Patches(factor=1.2, budget=1_536, unknown=1_536, edge=32, low_detail_edge=512)


def test_tiles_are_counted_as_documented() -> None:
    """1024 by 1024 pixels are scaled to 768 by 768: four tiles, 765 tokens."""
    assert TILES.tokens((1_024, 1_024), "") == TILES.tokens((1_024, 1_024), "high") == 765
    assert TILES.tokens((100, 100), "auto") == 255
    assert TILES.tokens((2_048, 4_096), "") == 85 + 170 * 6
    assert TILES.tokens((2_048, 4_096), "low") == 85
    assert TILES.tokens(None, "") == 85 + 170 * 8


def test_patches_are_counted_as_documented() -> None:
    assert PATCHES.tokens((640, 480), "") == 360
    assert PATCHES.tokens((9_000, 9_000), "") == PATCHES.tokens(None, "") == round(1_536 * 1.2)
    assert PATCHES.tokens((9_000, 9_000), "low") == PATCHES.tokens(None, "low") == round(256 * 1.2)


@given(st.tuples(st.integers(1, 20_000), st.integers(1, 20_000)))
def test_no_image_of_known_size_takes_more_than_one_of_unknown_size(size: tuple[int, int]) -> None:
    assert TILES.tokens(size, "") <= TILES.tokens(None, "")
    assert PATCHES.tokens(size, "") <= PATCHES.tokens(None, "")
    assert max(within(size, 1_568)) <= 1_568
