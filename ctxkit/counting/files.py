"""Finding what a file holds to be counted: request bodies, recorded runs, or a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

from ctxkit.counting.counts import count_text, prompt_of
from ctxkit.counting.report import CountedRequest, CountReport
from ctxkit.errors import BodyError
from ctxkit.messages import Histories, Prompt
from ctxkit.tokens.calibration import CALIBRATION
from ctxkit.transcripts import RecordedRequest, Skipped, Transcript, bodies, pairs
from ctxkit.transcripts.requests import request_body
from ctxkit.wire import WIRES
from ctxkit.wire.native import loads
from ctxkit.wire.usage_fields import mapping

ReadRuns = Callable[[list[Skipped]], Iterable[Transcript]]
KEPT = "what the provider keeps of the conversation or the prompt"
AS_WRITTEN = frozenset({bodies.FORMAT, pairs.FORMAT})


class Found(NamedTuple):
    """A request body, where in a file it was found, and what `CountedRequest` says of it."""

    body: Mapping[str, Any]
    line: int
    request: int = 1
    wire: str | None = None
    provider: str | None = None
    reported: int | None = None
    incomplete: str | None = None


def count_file(
    data: bytes,
    *,
    path: str,
    runs: ReadRuns,
    model: str | None = None,
    wire: str | None = None,
    line: int | None = None,
) -> CountReport:
    """Count whatever a file holds: request bodies, recorded runs, or else a text.

    Args:
        data: What stands in the file.
        path: What the file is called where something of it can't be counted.
        runs: Reads the file as recorded runs, and notes in the list what could not be read.
        model: The model to count for; left out, the one that each request names.
        wire: The wire of the bodies; left out, it is told from each.
        line: Counts only what starts at this line, from 1.

    Raises:
        ConfigError: There is no such wire.
    """
    record_at = _records(data)
    if record_at is None:
        return CountReport([CountedRequest(count_text(data.decode(errors="replace"), model=model))])
    report = CountReport()
    histories = Histories()
    for found in _found(record_at, runs, report.skipped):
        if line is not None and line != found.line:
            continue
        try:
            prompt = prompt_of(found.body, model=model, wire=wire or found.wire, histories=histories)
            report.requests.append(_counted(found, prompt))
        except BodyError as error:
            report.skipped.append(Skipped(path, found.line, str(error)))
    report.skipped = [replace(part, path=path) for part in report.skipped]
    return report


def _counted(found: Found, prompt: Prompt) -> CountedRequest:
    return CountedRequest(
        count=CALIBRATION.count(prompt),
        line=found.line,
        request=found.request,
        prompt=prompt,
        provider=found.provider,
        reported_tokens=found.reported,
        incomplete=found.incomplete or _kept(prompt),
    )


def _kept(prompt: Prompt) -> str | None:
    """What of a request its provider keeps, so that the body does not show it."""
    wire = WIRES.get(prompt.wire.name)
    return KEPT if wire is not None and wire.has_server_state(prompt.body) else None


def _records(data: bytes) -> Callable[[int], Any] | None:
    """Gives the JSON that starts at a line, from 1; `None` where the file holds no JSON objects."""
    whole = _written(data)
    if isinstance(whole, list) and whole and isinstance(whole[0], dict):
        conversation = {"messages": whole} if "role" in whole[0] else None
        return lambda _: conversation
    if whole is not None:
        return (lambda _: whole) if isinstance(whole, dict) else None
    lines = data.split(b"\n")
    first = next(filter(bytes.strip, lines), b"")
    return (lambda line: _written(lines[line - 1])) if isinstance(_written(first), dict) else None


def _written(data: bytes) -> Any:
    """The JSON that is written there; `None` where it is none."""
    try:
        return loads(data)
    except BodyError:
        return None


def _found(record_at: Callable[[int], Any], runs: ReadRuns, skipped: list[Skipped]) -> Iterator[Found]:
    """The requests of a file: bodies as they stand there, with all their keys, and what runs have sent."""
    read = iter(runs(skipped))
    first = next(read, None)
    if first is None:
        skipped.clear()
        yield Found(mapping(record_at(1)), line=1)
        return
    for run in chain([first], read):
        body = _body(run, record_at(run.line)) if run.format in AS_WRITTEN else None
        if body is None:
            yield from _sent(run)
        else:
            yield _request(run, body, run.requests[-1], number=1)


def _sent(run: Transcript) -> Iterator[Found]:
    """The requests of a recorded run of which the log shows messages."""
    for number, recorded in enumerate(run.requests, 1):
        if recorded.input_messages:
            yield _request(run, request_body(run, recorded), recorded, number=number)


def _request(run: Transcript, body: Mapping[str, Any], recorded: RecordedRequest, *, number: int) -> Found:
    return Found(
        body=body,
        line=run.line,
        request=number,
        wire=run.wire,
        provider=run.provider,
        reported=None if recorded.usage is None else recorded.usage.input_tokens,
        incomplete=run.incomplete,
    )


def _body(run: Transcript, record: Any) -> Mapping[str, Any] | None:
    """The request body that a record is, or that it holds together with its answer."""
    if not isinstance(record, dict):
        return None
    body = record["request"] if run.format == pairs.FORMAT else record
    return {"model": run.model, **body}
