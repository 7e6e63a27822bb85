"""OpenAI's two public vocabularies, kept inside the package and handed to tiktoken from there.

Nothing is downloaded, and no cache folder or environment variable is read or set. `_pack` makes the data
files, `vocab/LICENSE` says whose they are, and tests hold them to OpenAI's own files byte for byte.
"""

from __future__ import annotations

import lzma
import struct
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tiktoken import Encoding

EncodingName = Literal["o200k_base", "cl100k_base"]


@dataclass(frozen=True, slots=True)
class Definition:
    """What makes an encoding, besides its tokens.

    Attributes:
        pattern: The regular expression that cuts a text into the pieces that are tokenized one by one.
        special_tokens: Control tokens and their ids. No text is ever counted as one of them.
        sha256: The hash of the file that OpenAI publishes.
    """

    pattern: str
    special_tokens: Mapping[str, int]
    sha256: str


# Read from `tiktoken_ext.openai_public` of tiktoken 0.14.0 on 2026-11-30.
DEFINITIONS: Mapping[EncodingName, Definition] = {
    "o200k_base": Definition(
        pattern=(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
            r"|\p{N}{1,3}"
            r"| ?[^\s\p{L}\p{N}]+[\r\n/]*"
            r"|\s*[\r\n]+"
            r"|\s+(?!\S)"
            r"|\s+"
        ),
        special_tokens={"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018},
        sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": Definition(
        pattern=(
            r"'(?i:[sdmt]|ll|ve|re)"
            r"|[^\r\n\p{L}\p{N}]?+\p{L}++"
            r"|\p{N}{1,3}+"
            r"| ?[^\s\p{L}\p{N}]++[\r\n]*+"
            r"|\s++$"
            r"|\s*[\r\n]"
            r"|\s+(?!\S)"
            r"|\s"
        ),
        special_tokens={
            "<|endoftext|>": 100_257,
            "<|fim_prefix|>": 100_258,
            "<|fim_middle|>": 100_259,
            "<|fim_suffix|>": 100_260,
            "<|endofprompt|>": 100_276,
        },
        sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}

_lock = threading.Lock()


def encoding(name: EncodingName) -> Encoding:
    """The tiktoken encoding of that name, built on first use and then shared by the whole process."""
    with _lock:
        return _build(name)


def vocabulary(name: EncodingName) -> list[bytes]:
    """The tokens of an encoding, each at the place that is its rank and its id."""
    from importlib import resources  # not at the top: it takes 8 ms

    return unpack((resources.files(__package__) / "vocab" / file_name(name)).read_bytes())


def file_name(name: EncodingName) -> str:
    """The data file of an encoding."""
    return f"{name}.bin.xz"


def unpack(packed: bytes) -> list[bytes]:
    """The tokens of a data file: a count, as many lengths of a byte each, then all tokens on end.

    Raises:
        lzma.LZMAError: The file is damaged; xz keeps a checksum of what it holds.
    """
    data = lzma.decompress(packed)
    (count,) = struct.unpack_from("<I", data)
    start = 4 + count
    ends = accumulate(data[4:start], initial=start)
    return [data[begin:end] for begin, end in pairwise(ends)]


@cache
def _build(name: EncodingName) -> Encoding:
    from tiktoken import Encoding

    definition = DEFINITIONS[name]
    return Encoding(
        name,
        pat_str=definition.pattern,
        mergeable_ranks={token: rank for rank, token in enumerate(vocabulary(name))},
        special_tokens=dict(definition.special_tokens),
    )
