"""Which requests of recorded runs a provider would refuse. Reads no file and prints nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from ctxkit.errors import BodyError
from ctxkit.messages import Histories, ModelRequest
from ctxkit.transcripts import Skipped, Transcript
from ctxkit.transcripts.requests import request_body
from ctxkit.validity import Problem, problems_of
from ctxkit.validity.check import RULES
from ctxkit.wire import wire_named


@dataclass(frozen=True, slots=True)
class FoundProblem:
    """A problem of a recorded request.

    Attributes:
        path: The file of the run.
        line: The line that the run starts at, from 1.
        request: The first request of the run that has the problem, from 1.
        problem: What is wrong.
    """

    path: str
    line: int
    request: int
    problem: Problem

    def to_dict(self) -> dict[str, Any]:
        """The problem as JSON."""
        place = {"path": self.path, "line": self.line, "request": self.request}
        return {**place, **asdict(self.problem)}


@dataclass(slots=True)
class CheckReport:
    """What was found in recorded runs.

    Attributes:
        requests: How many requests were looked at.
        problems: What is wrong with them, once for each run, as later requests send it again.
        skipped: What could not be read or judged.
    """

    requests: int = 0
    problems: list[FoundProblem] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON."""
        return {
            "valid": not self.problems,
            "requests": self.requests,
            "problems": [found.to_dict() for found in self.problems],
            "skipped": [asdict(part) for part in self.skipped],
        }


def check(transcripts: Iterable[Transcript]) -> CheckReport:
    """Tell which requests of recorded runs a provider would refuse, and why.

    Each request is judged as far as the log shows it; one of which it shows no message is left out.

    Args:
        transcripts: The runs, taken one at a time.
    """
    report = CheckReport()
    for transcript in transcripts:
        if transcript.wire in RULES:
            report.requests += sum(recorded.input_messages > 0 for recorded in transcript.requests)
            report.problems.extend(check_run(transcript))
        else:
            reason = f"it is not known here what is refused of the wire {transcript.wire}"
            report.skipped.append(Skipped(transcript.path, transcript.line, reason))
    return report


def check_run(transcript: Transcript) -> Iterator[FoundProblem]:
    """What is wrong with the requests of one run, each problem where it was first sent.

    Raises:
        ConfigError: The run is in a wire that does not exist.
    """
    wire, histories = wire_named(transcript.wire), Histories()
    found: set[Problem] = set()
    for number, recorded in enumerate(transcript.requests, 1):
        if recorded.input_messages > 0:
            body = request_body(transcript, recorded)
            for problem in _problems(ModelRequest(wire, body, histories=histories)):
                if problem not in found:
                    found.add(problem)
                    yield FoundProblem(transcript.path, transcript.line, number, problem)


def _problems(request: ModelRequest) -> tuple[Problem, ...]:
    try:
        return problems_of(request)
    except BodyError as error:
        return (Problem("body_is_well_formed", error.where, str(error)),)
