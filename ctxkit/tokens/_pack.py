"""Makes the data files in `vocab/` from the vocabulary files that OpenAI publishes, gzipped.

Run `python -m ctxkit.tokens._pack SOURCE_DIR [TARGET_DIR]`. Only needed when a vocabulary is added.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import lzma
import struct
import sys
from pathlib import Path

from ctxkit.tokens._vocabulary import DEFINITIONS, file_name


def pack(original: bytes) -> bytes:
    """The data file for one of OpenAI's vocabulary files; `unpack` in `_vocabulary` reads it.

    Raises:
        ValueError: The ranks do not run from 0 upwards without a gap.
    """
    tokens: list[bytes] = []
    for line in original.splitlines():
        token, rank = line.split()
        if int(rank) != len(tokens):
            raise ValueError(f"rank {int(rank)} stands where {len(tokens)} should")
        tokens.append(base64.b64decode(token))
    data = struct.pack("<I", len(tokens)) + bytes(map(len, tokens)) + b"".join(tokens)
    return lzma.compress(data)


def main(source: Path, target: Path) -> None:
    """Pack every vocabulary.

    Args:
        source: Holds `o200k_base.tiktoken.gz` and its kin.
        target: Gets the data files.

    Raises:
        ValueError: A file is not the one that OpenAI publishes.
    """
    for name, definition in DEFINITIONS.items():
        original = gzip.decompress((source / f"{name}.tiktoken.gz").read_bytes())
        if hashlib.sha256(original).hexdigest() != definition.sha256:
            raise ValueError(f"{name}.tiktoken.gz is not the file that OpenAI publishes: its sha256 differs")
        (target / file_name(name)).write_bytes(pack(original))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).with_name("vocab"))
