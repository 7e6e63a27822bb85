"""Our own transcripts, read: what `RecordTranscript` wrote, each run with the bodies of its requests.

A file is gone through twice: once to learn where each run ends, and once to read it, so that no more is kept
in memory than the runs that were going on at the same time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ctxkit.transcripts._files import Record, Source, read_records
from ctxkit.transcripts._runs import API_OF, Runs, pair
from ctxkit.transcripts.base import RecordedRequest, Transcript
from ctxkit.transcripts.recording import MARK, RECENT_HISTORIES, VERSION
from ctxkit.usage import Media, Usage

FORMAT = "ctxkit"
WITHOUT_CONTENT = "what was sent and said is not in this log"
LOST = "a part of what was sent stood in a line that can't be read"
DAMAGE = "not a line of a ctxkit transcript"
CONTENT = frozenset({"request", "sent", "answer", "parts"})
NOT_BILLED = "not_billed"
CLOCK_TOLERANCE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class RecordedAttempt:
    """One attempt as it was recorded; `transcript.meta["attempts"]` holds those of a run, oldest first.

    Attributes:
        recorded: The attempt among the transcript's requests; not there where it was not billed.
        request: The body as the caller made it; `None` where it was not recorded or its line was damaged.
        sent: The body as it was sent; the very same object where nothing was edited.
        answer: The body that came back; `None` where nothing did or it was not recorded.
        fields: What else its line says, such as `outcome`, `status`, `error`, `retry` and `purpose`.
    """

    recorded: RecordedRequest
    request: Mapping[str, Any] | None
    sent: Mapping[str, Any] | None
    answer: Mapping[str, Any] | None
    fields: Mapping[str, Any] = field(repr=False)

    @property
    def outcome(self) -> str:
        """`billed`, `not_billed` or `unknown`."""
        return str(self.fields.get("outcome"))


def detect(record: Mapping[str, Any]) -> bool:
    """Whether a record is a line of ours."""
    return MARK in record


def read(source: Source) -> Iterator[Transcript]:
    """The runs of a file, in the order they ended."""
    ends = _Ends()
    for line, record in source.records():
        ends.note(line, record)
    reading = _Reading(source)
    for outcome in read_records(Path(source.path)):
        if isinstance(outcome, Record):
            reading.take(outcome)
            for run in ends.runs_at(outcome):
                yield from reading.end(run)
            reading.forget(ends.section_at(outcome))
    reading.report()


class _Ends:
    """The last line of each run and of each section."""

    def __init__(self) -> None:
        self._runs: dict[str, int] = {}
        self._sections: dict[str, int] = {}

    def note(self, line: int, record: Mapping[str, Any]) -> None:
        """Take the next line."""
        self._runs[str(record.get("run"))] = line
        self._sections[str(record.get("section"))] = line

    def runs_at(self, record: Record) -> list[str]:
        """The run that ends with this line, where one does."""
        run = str(record.value.get("run"))
        return [run] if self._runs.get(run) == record.line else []

    def section_at(self, record: Record) -> str | None:
        """The section that ends with this line, where one does."""
        section = str(record.value.get("section"))
        return section if self._sections.get(section) == record.line else None


@dataclass(slots=True)
class _Section:
    """The parts and the last histories of lines that share one numbering."""

    parts: dict[int, Any] = field(default_factory=dict)
    histories: OrderedDict[int, list[int]] = field(default_factory=OrderedDict)
    ended: float = float("-inf")

    def body(self, written: Any) -> dict[str, Any] | None:
        """A body put together from its parts; `None` where there is none, or where a part is lost."""
        if written is None:
            return None
        try:
            return {
                key: [self.parts[part] for part in self._history(value)]
                if isinstance(value, Mapping)
                else self.parts[value]
                for key, value in written.items()
            }
        except KeyError:
            return None

    def went_back(self, ended: float) -> float:
        """By how many seconds the clock went back since the line before; 0 where it did not."""
        back = self.ended - ended
        self.ended = ended
        return back if back > CLOCK_TOLERANCE_SECONDS else 0.0

    def _history(self, written: Mapping[str, Any]) -> list[int]:
        kept = self.histories[written["base"]][: written["keep"]] if "base" in written else []
        history = self.histories[written["history"]] = [*kept, *written["add"]]
        while len(self.histories) > RECENT_HISTORIES:
            self.histories.popitem(last=False)
        return history


class _Reading:
    """What the lines of one file have said so far."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._sections: dict[str, _Section] = {}
        self._runs = Runs()
        self._keys: dict[str, dict[tuple[str, str, str | None], None]] = {}
        self._tools: dict[str, list[Mapping[str, Any]]] = {}
        self._repeated = 0

    def take(self, record: Record) -> None:
        """Take the next line."""
        line, fields = record
        if fields.get(MARK) != VERSION:
            self._source.skip(line, f"{DAMAGE} of version {VERSION}")
            return
        try:
            if fields["kind"] == "attempt":
                self._take_attempt(line, fields)
            elif fields["kind"] == "tool":
                self._tools.setdefault(fields["run"], []).append(fields)
        except (AttributeError, KeyError, TypeError, ValueError):
            self._source.skip(line, DAMAGE)

    def end(self, run: str) -> Iterator[Transcript]:
        """The transcripts of a run, one for each of its histories."""
        tools = tuple(self._tools.pop(run, ()))
        for key in self._keys.pop(run, {}):
            _, purpose, incomplete = key
            for transcript, attempts in self._runs.end(key):
                meta = {"task": transcript.meta["task"], "purpose": purpose, "attempts": tuple(attempts)}
                billed = (one.recorded for one in attempts if one.outcome != NOT_BILLED)
                yield replace(
                    transcript,
                    format=FORMAT,
                    requests=tuple(billed),
                    incomplete=incomplete,
                    meta={**meta, "tool_runs": tools} if tools else meta,
                )

    def forget(self, section: str | None) -> None:
        """Let go of the parts of a section that has ended."""
        self._sections.pop(section or "", None)

    def report(self) -> None:
        """Say what was left out."""
        if self._repeated:
            self._source.skip(None, f"{self._repeated} attempts stand in what was read before")

    def _take_attempt(self, line: int, written: Mapping[str, Any]) -> None:
        section = self._sections.setdefault(written["section"], _Section())
        section.parts |= {int(number): part for number, part in written.get("parts", {}).items()}
        request = section.body(written.get("request"))
        sent = section.body(written["sent"]) if "sent" in written else request
        ended = written["started"] + written["seconds"]
        back = section.went_back(ended)
        if back:
            self._source.skip(line, f"the clock had gone back by {back:.0f} s; the order of the lines counts")
        identity = (FORMAT, written["id"])
        if identity in self._source.counted:
            self._repeated += 1
            return
        for one in pair(self._source, line, _pair(written, request, ended)):
            recorded = _recorded(one.requests[0], written)
            details = {name: written[name] for name in written.keys() - {MARK, *CONTENT}}
            attempt = RecordedAttempt(recorded, request, sent, written.get("answer"), details)
            key = (written["run"], written["purpose"], _missing(written, request))
            self._runs.add(key, replace(one, meta=details), detail=attempt)
            self._keys.setdefault(written["run"], {})[key] = None
            self._source.counted.add(identity)


def _missing(written: Mapping[str, Any], request: object) -> str | None:
    """What is not known of a request, in one sentence; `None` where all of it is."""
    if request is not None:
        return None
    return LOST if "request" in written else WITHOUT_CONTENT


def _pair(written: Mapping[str, Any], request: Mapping[str, Any] | None, ended: float) -> dict[str, Any]:
    """An attempt as the reader of pairs takes it."""
    main = written["purpose"] == "main"
    name = f"{written['task']}~{written['run']}"
    return {
        "id": name if main else f"{name}~{written['purpose']}",
        "api": API_OF[written["wire"]],
        "request": request or {},
        "response": written.get("answer"),
        "model": written.get("url_model") or written.get("model"),
        "response_model": written.get("model"),
        "provider": written.get("provider"),
        "stop_reason": written.get("stop_reason"),
        "timestamp": ended * 1000,
    }


def _recorded(request: RecordedRequest, written: Mapping[str, Any]) -> RecordedRequest:
    return replace(request, usage=_usage(written.get("usage")), output_known=written.get("complete") is True)


def _usage(written: Any) -> Usage | None:
    if not isinstance(written, Mapping):
        return None
    names = {one.name for one in fields(Usage)}
    plain = {name: value for name, value in written.items() if name in names}
    return Usage(**{**plain, "media": tuple(Media(**one) for one in plain.get("media", ()))})
