"""How far counts are off from what providers reported, before and after calibration.

Reads the recorded requests of `../shared/data/usage_truth` whose body alone holds all billed input, and those
with images apart. Every record is counted before anything is learned from it.

    python benchmarks/count_accuracy.py [--data FOLDER] [--without-ctok] [--misses N] [--json]
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tables import show

from ctxkit.errors import BodyError
from ctxkit.messages import Histories, Prompt
from ctxkit.tokens.calibration import Calibration
from ctxkit.tokens.estimate import TokenCount
from ctxkit.transcripts.pairs import BY_NAME as ANSWERS
from ctxkit.usage import Usage
from ctxkit.wire import READERS

DATA = Path(__file__).parents[2] / "shared" / "data" / "usage_truth"
APIS = {
    "messages": "anthropic_messages",
    "invoke_anthropic": "anthropic_messages",
    "chat": "openai_chat",
    "responses": "openai_responses",
    "generateContent": "gemini",
    "converse": "bedrock_converse",
}
MEDIA = {"image", "document", "media"}
LARGE = 500
LEARNED = 10


@dataclass(frozen=True)
class Record:
    """One recorded request and what was reported for it."""

    file: str
    id: str
    provider: str
    wire: str
    model: str
    body: Mapping[str, Any]
    truth: int
    tools: bool
    media: bool
    scrubbed: bool

    @property
    def large(self) -> bool:
        return self.truth >= LARGE

    def prompt(self, histories: Histories) -> Prompt:
        return Prompt(READERS[self.wire], self.body, histories)


@dataclass(frozen=True)
class Scored:
    """A record with a count of it."""

    record: Record
    count: TokenCount
    seen: int

    @property
    def miss(self) -> int:
        return self.count.total - self.record.truth

    @property
    def share(self) -> float:
        return abs(self.miss) / self.record.truth

    @property
    def covered(self) -> bool:
        return self.count.low <= self.record.truth <= self.count.high


def records(folder: Path) -> Iterator[Record]:
    """The recorded requests that can be counted, in the order of the files."""
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path, "rt") as lines:
            for line in lines:
                record = _record(path.name.partition(".")[0], json.loads(line))
                if record is not None:
                    yield record


def _record(file: str, row: Mapping[str, Any]) -> Record | None:
    media = bool(row["not_countable"]) and MEDIA.issuperset(row["not_countable"])
    wire = APIS.get(row["api"])
    if wire is None or not (row["countable"] or media):
        return None
    truth = _reported(row, wire)
    if not truth:
        return None
    # A payload that was cut out of the record was billed, too.
    media = media or '"$blob"' in json.dumps(row["request"])
    body = {"model": row["model"], **row["request"]}
    record = Record(
        file=file,
        id=row["id"],
        provider=row["provider"],
        wire=wire,
        model=row["model"] or "",
        body=body,
        truth=truth,
        tools=bool(body.get("tools") or body.get("toolConfig") or body.get("functions")),
        media=media,
        scrubbed=bool(row["scrubbed"]),
    )
    return record if _is_readable(record) else None


def _is_readable(record: Record) -> bool:
    try:
        return record.prompt(Histories()).head is not None
    except BodyError:
        return False


def _reported(row: Mapping[str, Any], wire: str) -> int | None:
    """The input tokens that the answer reported, cache reads and writes included as the wire reads them."""
    key = "usageMetadata" if wire == "gemini" else "usage"
    usage = ANSWERS[wire].usage({key: row["usage"]})
    return row["input_tokens_total"] if usage is None else usage.input_tokens


def online(rows: Iterable[Record], *, anchored: bool) -> Iterator[Scored]:
    """Each record counted with what those before it taught; anchored, requests that go on share turns."""
    calibration, shared, seen = Calibration(), Histories(), dict[str, int]()
    for record in rows:
        prompt = record.prompt(shared if anchored else Histories())
        yield Scored(record, calibration.count(prompt), seen.get(record.model, 0))
        calibration.observe(prompt, Usage(input_tokens=record.truth, output_tokens=None))
        seen[record.model] = seen.get(record.model, 0) + 1


def before(rows: Iterable[Record]) -> Iterator[Scored]:
    """Each record counted by a calibration that knows nothing."""
    calibration = Calibration()
    for record in rows:
        yield Scored(record, calibration.count(record.prompt(Histories())), 0)


def halves(rows: list[Record]) -> Iterator[Scored]:
    """One half counted, by a hash of the id, after all of the other half was learned from."""
    calibration, seen = Calibration(), dict[str, int]()
    for record in rows:
        if _half(record):
            calibration.observe(record.prompt(Histories()), Usage(record.truth, None))
            seen[record.model] = seen.get(record.model, 0) + 1
    for record in rows:
        if not _half(record):
            yield Scored(record, calibration.count(record.prompt(Histories())), seen.get(record.model, 0))


def _half(record: Record) -> bool:
    return blake2b(record.id.encode(), digest_size=1).digest()[0] % 2 == 0


def group_of(record: Record) -> str:
    """The provider, and the API where it has several."""
    if record.provider in ("openai", "azure-openai"):
        return f"openai {record.wire.removeprefix('openai_')}"
    if record.provider in ("anthropic", "vertex-anthropic"):
        return "anthropic"
    return record.provider if record.provider in ("bedrock", "google") else "other"


def summary(scored: list[Scored]) -> dict[str, Any]:
    """The errors of a group: shares of the true count, tokens, and how many the band covered."""
    shares = sorted(one.share for one in scored)
    return {
        "records": len(scored),
        "true_tokens": statistics.median(one.record.truth for one in scored),
        "median": statistics.median(shares),
        "p95": shares[min(len(shares) - 1, int(0.95 * len(shares)))],
        "mean": statistics.fmean(shares),
        "bias": statistics.fmean(one.miss / one.record.truth for one in scored),
        "median_miss": statistics.median(abs(one.miss) for one in scored),
        "covered": statistics.fmean(one.covered for one in scored),
    }


def table(scored: list[Scored], key: Callable[[Record], str], *, least: int = 1) -> list[dict[str, Any]]:
    """One row for each group that has enough records, by name."""
    groups: dict[str, list[Scored]] = {}
    for one in scored:
        groups.setdefault(key(one.record), []).append(one)
    return [{"group": name, **summary(groups[name])} for name in sorted(groups) if len(groups[name]) >= least]


def by_set(record: Record) -> str:
    tools = "tools" if record.tools else "no tools"
    return f"{group_of(record)}, {tools}, {'>=' if record.large else '<'} {LARGE}"


def by_model(record: Record) -> str:
    return f"{group_of(record)}, {record.model}"


def aims(scored: list[Scored]) -> list[dict[str, Any]]:
    """What issue 4 asks for, and what was reached."""
    large = [one for one in scored if one.record.large]
    openai = [one for one in large if group_of(one.record).startswith("openai")]
    anthropic = [one for one in large if group_of(one.record) == "anthropic" and one.seen >= LEARNED]
    small = summary([one for one in scored if not one.record.large])
    rows: list[tuple[str, float, float]] = []
    for name, group, median, p95 in (("openai", openai, 0.005, 0.03), ("anthropic", anthropic, 0.01, 0.05)):
        found = summary(group)
        rows.append((f"{name}, >= {LARGE}: median at most", median, found["median"]))
        rows.append((f"{name}, >= {LARGE}: p95 at most", p95, found["p95"]))
    rows.append((f"all, < {LARGE}: median tokens at most", 5, small["median_miss"]))
    covered = summary(scored)["covered"]
    return [
        *({"aim": aim, "wanted": most, "found": found, "met": found <= most} for aim, most, found in rows),
        {"aim": "all: in the band at least", "wanted": 0.95, "found": covered, "met": covered >= 0.95},
    ]


def is_miss(one: Scored) -> bool:
    """Whether a count is outside of its band, or further off than 3 % (OpenAI) or 5 % and five tokens."""
    most = 0.03 if group_of(one.record).startswith("openai") else 0.05
    return not one.covered or (one.share > most and abs(one.miss) > 5)


def reason(one: Scored) -> str:
    """The class of a miss, in one line."""
    record = one.record
    if record.scrubbed:
        return "text was replaced in the recording"
    if one.miss < -0.6 * record.truth and record.truth > 100:
        return "the provider added a prompt, documents or search results of its own"
    if one.miss > 0.6 * record.truth and record.truth > 100:
        return "what was reported does not hold the whole prompt"
    if one.seen == 0:
        return "the first answer of its model"
    if one.seen < LEARNED:
        return "fewer than ten answers of its model"
    if not record.large:
        return "a small request: few tokens are a large share"
    return "one model id with several server prompts, hosts or forms of tools"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--without-ctok", action="store_true", help="as where ctok is not installed")
    parser.add_argument("--misses", type=int, default=20, help="so many are listed, the largest first")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.without_ctok:
        sys.modules["ctok"] = None  # type: ignore[assignment]
    everything = list(records(options.data))
    if not everything:
        parser.error(f"{options.data} holds no recorded requests")
    result = measured(everything, misses=options.misses)
    if options.json:
        json.dump(result, sys.stdout)
        return
    for title, rows in result.items():
        print(f"\n{title}", end="")
        show(rows or [{"records": 0}])


def measured(everything: list[Record], *, misses: int) -> dict[str, list[dict[str, Any]]]:
    """All tables by title."""
    text = [record for record in everything if not record.media]
    scored = list(online(text, anchored=True))
    missed = sorted(filter(is_miss, scored), key=lambda one: -abs(one.miss))
    classes = Counter(map(reason, missed))
    return {
        "before calibration": table(list(before(text)), by_set),
        "calibrated, each request by itself": table(list(online(text, anchored=False)), by_set),
        "calibrated, from the last reported count": table(scored, by_set),
        "one half learned, the other counted": table(list(halves(text)), by_set),
        "by model, from the last reported count": table(scored, by_model, least=20),
        "images and documents": table(list(before(r for r in everything if r.media)), by_set),
        "images and documents, calibrated": table(
            [one for one in online(everything, anchored=True) if one.record.media], by_set
        ),
        "aims": aims(scored),
        "misses by class": [{"class": name, "records": number} for name, number in classes.most_common()],
        "largest misses": [
            {
                "record": f"{one.record.file} {one.record.id} {one.record.model}",
                "true": one.record.truth,
                "count": one.count.total,
                "low": one.count.low,
                "high": one.count.high,
                "class": reason(one),
            }
            for one in missed[:misses]
        ],
    }


if __name__ == "__main__":
    main()
