"""Images, documents and other media of a block: what a request shows of them, and how images are cut up.

The numbers stand in `constants`, and what each provider makes of them in `structure`. No more is decoded than
the size needs.
"""

from __future__ import annotations

import binascii
import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ctxkit.messages import Block
from ctxkit.wire.usage_fields import mapping

MediaKind = Literal["image", "document", "audio", "video"]
Size = tuple[int, int]

# Where a part keeps its medium, in the words of all wires; some nest two of them.
_HOLDERS = (
    "source",
    "image_url",
    "file",
    "input_audio",
    "inlineData",
    "inline_data",
    "fileData",
    "image",
    "document",
    "audio",
    "video",
)
_DATA = ("data", "bytes", "file_data", "image_url", "url")
_TYPES = ("media_type", "mimeType", "mime_type", "format", "type")
_PART_TYPES = frozenset(
    {
        "image",
        "document",
        "image_url",
        "file",
        "input_audio",
        "input_image",
        "input_file",
        "computer_screenshot",
    }
)
# What a media type, or a format, begins with.
_KINDS: Mapping[str, MediaKind] = {
    "image/": "image",
    "audio/": "audio",
    "wav": "audio",
    "mp3": "audio",
    "video/": "video",
    "application/": "document",
    "text/": "document",
}
# Where a tool result keeps its parts.
_RESULTS = ("functionResponse", "function_response", "toolResult")
_PARTS = ("content", "output", "parts")

_DATA_URL = re.compile(r"data:([^;,]*)[^,]*,")
# A JPEG may carry a thumbnail, a profile and other metadata in front of its size.
HEADER_CHARS = 96_000
_PAGE = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")
_JPEG_SIZES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})


@dataclass(frozen=True, slots=True)
class Medium:
    """One image, document, sound or film, as far as the request shows it.

    Attributes:
        kind: What it is.
        data: Its bytes in base64; empty where the request only names it.
        media_type: As the request says, such as `image/png`; empty where it doesn't.
        detail: How closely an image is to be looked at, in the provider's word; empty where it is not said.
    """

    kind: MediaKind
    data: str = ""
    media_type: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Tiles:
    """Images that are scaled down to fit, and cut into tiles.

    Attributes:
        base: Tokens of each image; all of them at low detail.
        tile: Tokens of each tile.
        edge: Of a tile, in pixels.
        longest: The longest edge of an image that is not scaled down.
        shortest: The shortest edge of an image that is not scaled down.
    """

    base: int
    tile: int
    edge: int
    longest: int
    shortest: int

    def tokens(self, size: Size | None, detail: str) -> int:
        """The tokens of an image; the most that one takes where its size is not known."""
        if detail == "low":
            return self.base
        width, height = within(size or (self.longest, self.shortest), self.longest)
        factor = min(1.0, self.shortest / min(width, height))
        return self.base + self.tile * grid((_scaled(width, factor), _scaled(height, factor)), self.edge)


@dataclass(frozen=True, slots=True)
class Patches:
    """Images cut into patches, scaled down where there are too many.

    Attributes:
        factor: Tokens of each patch.
        budget: The most patches of an image.
        unknown: The patches of an image of unknown size.
        edge: Of a patch, in pixels.
        low_detail_edge: The longest edge at low detail.
    """

    factor: float
    budget: float
    unknown: int
    edge: int
    low_detail_edge: int

    def tokens(self, size: Size | None, detail: str) -> int:
        """The tokens of an image; the most that one takes where its size is not known."""
        if detail == "low":
            size = within(size or (self.low_detail_edge, self.low_detail_edge), self.low_detail_edge)
        patches = self.unknown if size is None else min(self.budget, grid(size, self.edge))
        return round(patches * self.factor)


def grid(size: Size, edge: int) -> int:
    """How many squares of this edge cover an image."""
    return math.ceil(size[0] / edge) * math.ceil(size[1] / edge)


def within(size: Size, longest: int) -> Size:
    """A size scaled down so that its longer edge has at most so many pixels."""
    factor = min(1.0, longest / max(size))
    return _scaled(size[0], factor), _scaled(size[1], factor)


def _scaled(pixels: int, factor: float) -> int:
    return max(1, round(pixels * factor))


def media_of(block: Block) -> list[Medium]:
    """The media of a block, as many as `block.images` says."""
    if not block.images:
        return []
    fallback: MediaKind = "document" if block.kind == "document" else "image"
    found = [_medium(part, fallback) for part in _media_parts(mapping(block.native))]
    return (found + [Medium(fallback)] * block.images)[: block.images]


def image_size(medium: Medium) -> Size | None:
    """Width and height in pixels, from the header of a PNG, JPEG, GIF or WebP; `None` where it shows none."""
    header = _decoded(medium.data[:HEADER_CHARS])
    try:
        size = _size(header)
    except (struct.error, IndexError):
        return None
    return size if size is not None and min(size) > 0 else None


def page_count(medium: Medium) -> int | None:
    """The pages of a PDF; `None` where they are not seen, as in a file that packs its objects."""
    return len(_PAGE.findall(_decoded(medium.data))) or None


def byte_count(medium: Medium) -> int:
    """How many bytes the data stands for."""
    return len(medium.data) * 3 // 4


def _media_parts(native: Any) -> list[Mapping[str, Any]]:
    """The parts with media in them: the native itself, or those of a tool result."""
    if _has_medium(native):
        return [native]
    held = next((native[key] for key in _RESULTS if isinstance(native.get(key), Mapping)), native)
    parts: Any = next((held[key] for key in _PARTS if isinstance(held.get(key), (list, Mapping))), [])
    return [part for part in (parts if isinstance(parts, list) else [parts]) if _has_medium(part)]


def _has_medium(part: Any) -> bool:
    part = mapping(part)
    return part.get("type") in _PART_TYPES or any(key in part for key in _HOLDERS)


def _medium(part: Mapping[str, Any], fallback: MediaKind) -> Medium:
    holder = part
    for key in (*_HOLDERS, *_HOLDERS):
        inner = holder.get(key)
        if isinstance(inner, Mapping):
            holder = inner
    data = _first_text(holder, _DATA)
    media_type = _first_text(holder, _TYPES)
    url = _DATA_URL.match(data)
    if url is not None:
        data, media_type = data[url.end() :], url[1]
    elif "://" in data[:16]:
        data = ""
    detail = _first_text(holder, ("detail",)) or _first_text(part, ("detail",))
    kinds = (kind for start, kind in _KINDS.items() if media_type.startswith(start))
    return Medium(next(kinds, fallback), data, media_type, detail)


def _first_text(holder: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    return next((holder[key] for key in keys if isinstance(holder.get(key), str)), "")


def _decoded(data: str) -> bytes:
    """The bytes behind base64; none where it is anything else."""
    try:
        return binascii.a2b_base64(data[: len(data) - len(data) % 4])
    except ValueError:
        return b""


def _size(header: bytes) -> Size | None:
    if header.startswith(b"\x89PNG\r\n\x1a\n"):
        width, height = struct.unpack_from(">II", header, 16)
        return width, height
    if header.startswith((b"GIF87a", b"GIF89a")):
        width, height = struct.unpack_from("<HH", header, 6)
        return width, height
    if header.startswith(b"\xff\xd8"):
        return _jpeg_size(header)
    if header[8:12] == b"WEBP":
        return _webp_size(header)
    return None


def _jpeg_size(header: bytes) -> Size:
    """Walks from segment to segment to the one that begins the frame."""
    at = 2
    while header[at + 1] not in _JPEG_SIZES:
        at += 1 if header[at + 1] == 0xFF else 2 + struct.unpack_from(">H", header, at + 2)[0]
    height, width = struct.unpack_from(">HH", header, at + 5)
    return width, height


def _webp_size(header: bytes) -> Size:
    kind = header[12:16]
    if kind == b"VP8X":
        width, height = header[24:27], header[27:30]
        return 1 + int.from_bytes(width, "little"), 1 + int.from_bytes(height, "little")
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", header, 21)
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack_from("<HH", header, 26)
    return width & 0x3FFF, height & 0x3FFF
