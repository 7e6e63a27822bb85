"""How short condensed tool results are, how quick that is, and how much of what was needed is still shown.

The texts are the recorded tool results that are larger than the limit. What was needed are the strings that
a later answer or tool call of the same run took from a result, and could know from nowhere before it. What is
not shown any more is looked for in the original, as the model can with one search of `RecallToolResults`.
Beside it stand the start alone, the start and the end, and with --peers headroom's specialist for each kind,
which takes no limit: there ours gets the tokens that headroom's takes, text by text. So it does with those of
`toons`, which writes JSON without loss.

    python benchmarks/condense.py [--limits 500,2000,8000] [--data PATH] [--peers] [--json]
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peers.running import ask
from tables import show

from ctxkit.condense import MIN_TOKENS, condense
from ctxkit.condense.asked import asked_before
from ctxkit.condense.detect import detect
from ctxkit.evidence import holds, needs
from ctxkit.messages import ModelRequest
from ctxkit.recall import Part, read
from ctxkit.tokens import counter_for, head, tail
from ctxkit.transcripts import load
from ctxkit.transcripts.bodies import MESSAGES
from ctxkit.transcripts.requests import head as shared_body
from ctxkit.wire import READERS

LEAST_CHARS = 1_500
LARGE_CHARS = 5_000_000
# What one answer of `RecallToolResults` has at most.
READ_TOKENS = 8_000
PEER_TEXTS, PEER_CHARS = 40, 60_000
# How a condensed listing says the folder that all its paths have in common.
FOLDER = re.compile(r"All under (.*)/:")
KEEPERS: Mapping[str, Callable[[str, int, str], str]] = {
    "ctxkit": lambda text, limit, query: condense(text, max_tokens=limit, query=query).text,
    "start": lambda text, limit, query: head(text, limit, counter_for(None)),
    "start and end": lambda text, limit, query: (
        head(text, limit // 2, counter_for(None)) + tail(text, limit // 2, counter_for(None))
    ),
}


@dataclass(frozen=True)
class Case:
    """A recorded tool result.

    Attributes:
        kind: What it is taken for.
        text: The whole.
        tokens: Of the whole.
        query: What it was called for.
        needed: What the run took from it later.
    """

    kind: str
    text: str
    tokens: int
    query: str
    needed: Sequence[str]


def cases(data: Path, least_tokens: int) -> Iterator[Case]:
    """The recorded results that are larger than a number of tokens, each text once."""
    seen = set()
    counter = counter_for(None)
    for text, query, needed in (*_of_runs(data / "transcripts"), *_of_tools(data / "tool_outputs")):
        if len(text) < LEAST_CHARS or text in seen:
            continue
        seen.add(text)
        tokens = counter.count(text)
        if tokens > least_tokens:
            yield Case(detect(text), text, tokens, query, needed)


def _of_runs(folder: Path) -> Iterator[tuple[str, str, Sequence[str]]]:
    for run in load(folder, on_skip=lambda part: None):
        if run.wire not in READERS or run.wire == "bedrock_converse":
            continue
        messages = {MESSAGES.get(run.wire, "messages"): list(run.messages)}
        request = ModelRequest(READERS[run.wire], {**shared_body(run), **messages})
        taken: dict[int, set[str]] = defaultdict(set)
        for need in needs(request.head, request.turns):
            taken[id(need.source)].add(need.string)
        for block, query in asked_before(request.turns):
            yield block.text, query, sorted(taken[id(block)])


def _of_tools(folder: Path) -> Iterator[tuple[str, str, Sequence[str]]]:
    for path in sorted(folder.glob("*.gz")):
        yield gzip.decompress(path.read_bytes()).decode(errors="replace"), "", ()


def kept(found: Sequence[Case], limit: int) -> list[dict[str, Any]]:
    """For each kind: how much is left, and what share of what was needed is in it."""
    rows = []
    for kind in sorted({case.kind for case in found}):
        some = [case for case in found if case.kind == kind and case.tokens > limit]
        if not some:
            continue
        row: dict[str, Any] = {"kind": kind, "limit": limit, "texts": len(some)}
        row["needed"] = sum(len(case.needed) for case in some)
        for name, keeper in KEEPERS.items():
            shown = [keeper(case.text, limit, case.query) for case in some]
            if name == "ctxkit":
                row |= {"left": _left(some, shown), "kept": _share(some, shown)}
                row["kept or found"] = _share(some, shown, found=True)
            else:
                row[name] = _share(some, shown)
        rows.append(row)
    return rows


def beside_headroom(found: Sequence[Case], limit: int) -> list[dict[str, Any]]:
    """For each kind that headroom shortens: both at the tokens that headroom leaves."""
    some = [case for case in found if case.tokens > limit and len(case.text) <= PEER_CHARS]
    by_kind = {kind: [case for case in some if case.kind == kind] for kind in sorted({c.kind for c in some})}
    chosen = [case for cases in by_kind.values() for case in cases[:PEER_TEXTS]]
    task = {"texts": [(case.kind, case.text, case.query) for case in chosen]}
    answer = ask("condense_headroom", task, peer="headroom")
    counter, rows = counter_for(None), []
    for kind in by_kind:
        made = [
            (case, text, seconds)
            for case, text, seconds in zip(chosen, answer["texts"], answer["seconds"], strict=True)
            if case.kind == kind and counter.count(text) < case.tokens
        ]
        if not made:
            continue
        cases, theirs = [case for case, *_ in made], [text for _, text, _ in made]
        ours, seconds = _at_the_size_of(cases, theirs)
        megabytes = sum(len(case.text) for case in cases) / 1e6
        rows.append(
            {
                "kind": kind,
                "texts": len(made),
                "needed": sum(len(case.needed) for case in cases),
                "headroom left": _left(cases, theirs),
                "headroom kept": _share(cases, theirs),
                "headroom MB/s": megabytes / max(1e-9, sum(spent for *_, spent in made)),
                "ctxkit left": _left(cases, ours),
                "ctxkit kept": _share(cases, ours),
                "ctxkit MB/s": megabytes / seconds,
            }
        )
    return rows


def beside_toons(found: Sequence[Case]) -> list[dict[str, Any]]:
    """For JSON: what is left where nothing may be lost, and what of ours loses nothing at that size."""
    rows = []
    for kind in ("json", "json_rows"):
        some = [case for case in found if case.kind == kind]
        theirs = ask("condense_toons", {"texts": [case.text for case in some]}, peer="toons")["texts"]
        limits = [max(MIN_TOKENS, counter_for(None).count(text)) for text in theirs]
        made = [
            condense(case.text, max_tokens=limit, query=case.query)
            for case, limit in zip(some, limits, strict=True)
        ]
        ours = [one.text for one in made]
        rows.append(
            {
                "kind": kind,
                "texts": len(some),
                "toons left": _left(some, theirs),
                "ctxkit left": _left(some, ours),
                "ctxkit lossless": sum(one.lossless for one in made),
                "ctxkit kept": _share(some, ours),
            }
        )
    return rows


def _at_the_size_of(cases: Sequence[Case], texts: Sequence[str]) -> tuple[list[str], float]:
    """The cases condensed to the tokens of other texts, and the CPU seconds that took."""
    limits = [max(MIN_TOKENS, counter_for(None).count(text)) for text in texts]
    started = time.process_time()
    made = [
        condense(case.text, max_tokens=limit, query=case.query).text
        for case, limit in zip(cases, limits, strict=True)
    ]
    return made, time.process_time() - started


def _left(some: Sequence[Case], shown: Sequence[str]) -> float:
    """The share of the tokens that is left."""
    return sum(map(counter_for(None).count, shown)) / sum(case.tokens for case in some)


def _share(some: Sequence[Case], shown: Sequence[str], *, found: bool = False) -> float | None:
    """The share of what was needed that is shown, or found in the original by one search for it."""
    needed = sum(len(case.needed) for case in some)
    still = sum(
        sum(
            holds(_whole_paths(text), string) or (found and _is_found(case, string)) for string in case.needed
        )
        for case, text in zip(some, shown, strict=True)
    )
    return still / needed if needed else None


def _is_found(case: Case, string: str) -> bool:
    answer = read(case.text, Part(search=string), max_tokens=READ_TOKENS, counter=counter_for(None))
    return string in answer


def _whole_paths(text: str) -> str:
    """A text and, where it is a listing with each folder said once, its paths put together."""
    root = folder = ""
    paths = []
    for line in text.split("\n"):
        if said := FOLDER.fullmatch(line):
            root, folder = f"{said[1]}/", ""
        elif line.startswith("  ") and folder:
            paths += [f"{root}{folder}{line[2:]}", f"{folder}{line[2:]}"]
        else:
            folder = line if line.endswith("/") else ""
            paths.append(f"{root}{line}")
    return "\n".join([text, *paths])


def speed(found: Sequence[Case], limit: int) -> list[dict[str, Any]]:
    """For each kind: megabytes a second of CPU, as recorded and in one text of 5 MB."""
    rows = []
    for kind in sorted({case.kind for case in found}):
        some = [case for case in found if case.kind == kind and case.tokens > limit]
        if some:
            texts = [case.text for case in some]
            large = ("\n".join(texts) + "\n") * (LARGE_CHARS // sum(map(len, texts)) + 1)
            rows.append(
                {
                    "kind": kind,
                    "as recorded, MB/s": _rate(texts, limit, None),
                    "median KB": sorted(map(len, texts))[len(texts) // 2] / 1000,
                    "5 MB of it, MB/s": _rate([large[:LARGE_CHARS]], limit, kind),
                }
            )
    return rows


def _rate(texts: Sequence[str], limit: int, kind: Any) -> float:
    started = time.process_time()
    for text in texts:
        condense(text, max_tokens=limit, kind=kind)
    return sum(map(len, texts)) / (time.process_time() - started) / 1e6


def main() -> None:
    """Print the tables, or all rows as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limits", default="500,2000,8000")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    limits = [int(limit) for limit in options.limits.split(",")]
    found = list(cases(options.data, min(limits)))
    tables = [*(kept(found, limit) for limit in limits), speed(found, 2_000)]
    if options.peers:
        tables += [beside_headroom(found, min(limits)), beside_toons(found)]
    if options.json:
        json.dump(tables, sys.stdout, indent=2)
        return
    for table in tables:
        show(table)


if __name__ == "__main__":
    main()
