"""The vocabularies inside the package are OpenAI's own, and using them needs nothing from outside."""

from __future__ import annotations

import base64
import gzip
import hashlib
import lzma
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import tiktoken_ext.openai_public

from ctxkit.tokens import _pack
from ctxkit.tokens._pack import main, pack
from ctxkit.tokens._vocabulary import DEFINITIONS, EncodingName, encoding, file_name, unpack, vocabulary

REPOSITORY = Path(__file__).parents[2]
PUBLISHED_SHA256: dict[EncodingName, str] = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
NAMES = sorted(PUBLISHED_SHA256)


def published_file(tokens: list[bytes]) -> bytes:
    return b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for rank, token in enumerate(tokens))


def run_python(program: str) -> str:
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", NAMES)
def test_the_packed_vocabulary_rebuilds_the_published_file_byte_for_byte(name: EncodingName) -> None:
    rebuilt = hashlib.sha256(published_file(vocabulary(name))).hexdigest()
    assert rebuilt == PUBLISHED_SHA256[name] == DEFINITIONS[name].sha256


@pytest.mark.parametrize("name", NAMES)
def test_an_encoding_is_defined_as_tiktoken_defines_it(
    name: EncodingName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tripwire: pattern and control tokens are copied from `tiktoken_ext.openai_public`."""
    monkeypatch.setattr(
        tiktoken_ext.openai_public, "load_tiktoken_bpe", lambda url, expected_hash: expected_hash
    )
    theirs = tiktoken_ext.openai_public.ENCODING_CONSTRUCTORS[name]()
    ours = DEFINITIONS[name]
    assert theirs == {
        "name": name,
        "pat_str": ours.pattern,
        "special_tokens": ours.special_tokens,
        "mergeable_ranks": ours.sha256,
    }


@pytest.mark.parametrize(
    ("name", "ids"), [("o200k_base", [24912, 2375]), ("cl100k_base", [15339, 1917])], ids=NAMES[::-1]
)
def test_an_encoding_gives_the_ids_that_openai_documents(name: EncodingName, ids: list[int]) -> None:
    assert encoding(name).encode("hello world") == ids


def test_a_damaged_vocabulary_is_refused() -> None:
    packed = bytearray(pack(published_file([bytes([byte]) for byte in range(256)])))
    assert len(unpack(bytes(packed))) == 256
    packed[len(packed) // 2] ^= 1
    with pytest.raises(lzma.LZMAError):
        unpack(bytes(packed))


def test_a_vocabulary_with_a_gap_in_its_ranks_is_refused() -> None:
    with pytest.raises(ValueError, match="rank 7 stands where 1 should"):
        pack(b"IQ== 0\nIg== 7\n")


def test_a_file_that_openai_did_not_publish_is_not_packed(tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / f"{name}.tiktoken.gz").write_bytes(gzip.compress(b"IQ== 0\n"))
    with pytest.raises(ValueError, match="not the file that OpenAI publishes"):
        main(tmp_path, tmp_path)
    assert not list(tmp_path.glob("*.xz"))


def test_packing_the_published_files_gives_the_vocabularies_in_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in NAMES:
        original = published_file(vocabulary(name))
        (tmp_path / f"{name}.tiktoken.gz").write_bytes(gzip.compress(original, compresslevel=1))
    monkeypatch.setattr(sys, "argv", ["_pack", str(tmp_path), str(tmp_path)])
    runpy.run_path(_pack.__file__, run_name="__main__")
    for name in NAMES:
        assert unpack((tmp_path / file_name(name)).read_bytes()) == vocabulary(name)


def test_counting_opens_no_socket_and_leaves_tiktokens_settings_alone() -> None:
    program = """
import os, socket, sys
def refuse(*_, **__): raise AssertionError("a socket was opened")
socket.socket = socket.create_connection = refuse
before = dict(os.environ)
from ctxkit.tokens import TiktokenCounter
assert "tiktoken" not in sys.modules, "tiktoken is imported before anything is counted"
print([TiktokenCounter(name).count("hello world") for name in ("o200k_base", "cl100k_base")])
assert dict(os.environ) == before
assert "requests" not in sys.modules
"""
    assert run_python(program) == "[2, 2]"


def test_threads_that_count_at_once_share_one_encoding() -> None:
    program = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from ctxkit.tokens._vocabulary import encoding
barrier = Barrier(4)
def first_use(_):
    barrier.wait()
    return encoding("cl100k_base")
with ThreadPoolExecutor(4) as pool:
    print(len(set(map(id, list(pool.map(first_use, range(4)))))))
"""
    assert run_python(program) == "1"
