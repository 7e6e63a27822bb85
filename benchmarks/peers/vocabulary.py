"""Gives peers ctxkit's own vocabularies as the files that tiktoken would download."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from ctxkit.tokens._vocabulary import DEFINITIONS, EncodingName, vocabulary

# What tiktoken 0.14 calls the files in TIKTOKEN_CACHE_DIR. Read on 2026-11-30.
CACHED_AS: dict[EncodingName, str] = {
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
}


def write_cache(folder: Path) -> None:
    """Fill a folder that a peer may use as TIKTOKEN_CACHE_DIR.

    Raises:
        ValueError: A file is not the one that OpenAI publishes; tiktoken would try to download it.
    """
    for name, cached_as in CACHED_AS.items():
        lines = (b"%b %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(vocabulary(name)))
        content = b"".join(lines)
        if hashlib.sha256(content).hexdigest() != DEFINITIONS[name].sha256:
            raise ValueError(f"{name} is not the vocabulary that OpenAI publishes: its sha256 differs")
        (folder / cached_as).write_bytes(content)
