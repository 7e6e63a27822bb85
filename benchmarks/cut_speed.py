"""What a cut to N tokens takes, beside tokenizing the whole text and decoding its first N tokens.

Both are measured in turns in one process, in CPU time of the thread, and given as medians; trust the ratios.
A `cut` counts again what it gives out, which encode-and-decode does not.

    python benchmarks/cut_speed.py [--rounds N] [--json]
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ctxkit.tokens import head, tail
from ctxkit.tokens._vocabulary import encoding
from ctxkit.tokens.encoding_counter import EncodingCounter
from ctxkit.tokens.tiktoken_engine import TiktokenEngine
from ctxkit.tokens.toktok_engine import ToktokEngine

ENCODING = "o200k_base"
WORDS = ("the", "cache", "reads", "a", "long", "history", "again", "and", "bills", "each", "request")
SIZES = {
    "4 KB": (4_000, 500),
    "20 KB": (20_000, 2_000),
    "100 KB": (100_000, 2_000),
    "1 MB": (1_000_000, 2_000),
}


def texts() -> dict[str, str]:
    """A megabyte of each kind, the same in every run."""
    chance = random.Random(1)
    rows = ({"id": number, "name": f"item {number * 7}", "ok": number % 3 == 0} for number in range(25_000))
    made = {
        "prose": " ".join(chance.choices(WORDS, k=300_000)),
        "code": "".join(
            f"    def call_{n}(self, value):\n        return self.run(value, {n})\n" for n in range(20_000)
        ),
        "json": json.dumps(list(rows)),
        "log": "".join(
            f"2026-11-30T22:{n % 60:02}:07Z WARN [w-{n % 9}] retry {n} failed\n" for n in range(25_000)
        ),
        "chinese": "今天天气很好，我们去公园玩，看见了很多花。" * 50_000,
        "base64": base64.b64encode(chance.randbytes(800_000)).decode(),
        "spaces": f"{' ' * 99_999}x" * 10,
    }
    return {kind: text[:1_000_000] for kind, text in made.items()}


def engines() -> dict[str, EncodingCounter]:
    made = {"tiktoken": EncodingCounter(ENCODING, engine=TiktokenEngine)}
    if find_spec("toktok"):
        made["toktok"] = EncodingCounter(ENCODING, engine=partial(ToktokEngine, import_module=import_module))
    return made


def whole(counter: EncodingCounter, text: str, max_tokens: int) -> str:
    """All tokens of the text, and the first of them as text again."""
    if counter.engine.__class__ is TiktokenEngine:
        reference = encoding(ENCODING)
        ids = reference.encode(text, disallowed_special=())
        return reference.decode_bytes(ids[:max_tokens]).decode(errors="ignore")
    tokenizer = import_module("toktok")._encoding(ENCODING)
    data: bytes = tokenizer.decode_bytes(tokenizer.encode_ordinary(text)[:max_tokens])
    return data.decode(errors="ignore")


def milliseconds(call: Callable[[], object]) -> float:
    started = time.thread_time()
    call()
    return (time.thread_time() - started) * 1_000


def measure(rounds: int) -> list[dict[str, Any]]:
    rows = []
    for engine, counter in engines().items():
        for kind, text in texts().items():
            for size, (chars, max_tokens) in SIZES.items():
                part = text[:chars]
                calls = {
                    "whole_ms": partial(whole, counter, part, max_tokens),
                    "head_ms": partial(head, part, max_tokens, counter),
                    "tail_ms": partial(tail, part, max_tokens, counter),
                }
                taken: dict[str, list[float]] = {name: [] for name in calls}
                for _ in range(rounds):
                    for name, call in calls.items():
                        taken[name].append(milliseconds(call))
                medians = {name: statistics.median(values) for name, values in taken.items()}
                ratio = medians["head_ms"] / medians["whole_ms"]
                rows.append(
                    {
                        "engine": engine,
                        "kind": kind,
                        "size": size,
                        "tokens": max_tokens,
                        **medians,
                        "head_share": ratio,
                    }
                )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = measure(options.rounds)
    if options.json:
        json.dump(rows, sys.stdout)
        return
    print("  ".join(key.rjust(10) for key in rows[0]))
    for row in rows:
        cells = (f"{value:,.3f}" if isinstance(value, float) else str(value) for value in row.values())
        print("  ".join(cell.rjust(10) for cell in cells))


if __name__ == "__main__":
    main()
