"""`ctxkit profile --doctor`: which requests of a session missed the prompt cache, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def line(kind: str, uuid: str, parent: str | None, content: Any, at: str, **message: Any) -> str:
    """A line of a Claude Code session."""
    said = {"role": kind, "content": content, **message}
    record = {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s1",
        "version": "2.0.0",
        "timestamp": f"2026-11-30T{at}Z",
        "message": said,
    }
    return json.dumps(record) + "\n"


def answer(number: int, parent: str, at: str, *, read: int, written: int) -> str:
    usage = {
        "input_tokens": 10,
        "output_tokens": 20,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
    }
    return line(
        "assistant",
        f"a{number}",
        parent,
        [{"type": "text", "text": f"Answer {number}."}],
        at,
        id=f"msg_{number}",
        model="claude-sonnet-5",
        stop_reason="end_turn",
        usage=usage,
    )


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session whose third request comes an hour after the second."""
    path = tmp_path / "session.jsonl"
    path.write_text(
        line("user", "u1", None, "What is this?", "12:00:00")
        + answer(1, "u1", "12:00:05", read=0, written=20_000)
        + line("user", "u2", "a1", "And that?", "12:01:00")
        + answer(2, "u2", "12:01:05", read=20_000, written=500)
        + line("user", "u3", "a2", "Are you there?", "13:01:00")
        + answer(3, "u3", "13:01:05", read=0, written=21_000)
    )
    return path


def test_a_pause_is_named_with_what_it_cost(ctxkit, session: Path) -> None:
    code, out, err = ctxkit("profile", session, "--doctor")
    assert (code, err) == (0, "")
    assert out.startswith("1 request paid again for what the prompt cache could have held: $0.047")
    assert "expired" in out
    assert "60 min after" in " ".join(out.split()) or "1 h after" in " ".join(out.split())


def test_the_json_is_the_profiles_with_a_list_of_misses(ctxkit, session: Path) -> None:
    code, out, _ = ctxkit("profile", session, "--doctor", "--json")
    report = json.loads(out)
    (miss,) = report["doctor"]
    assert (code, report["totals"]["requests"], miss["cause"], miss["turn"]) == (0, 3, "expired", 3)
    assert miss["missed_tokens"] == 20_500


def test_a_session_that_missed_nothing_says_so(ctxkit, session: Path) -> None:
    session.write_text("".join(session.read_text().splitlines(keepends=True)[:4]))
    code, out, _ = ctxkit("profile", session, "--doctor")
    assert (code, out.splitlines()[0]) == (0, "no prefix was paid for twice")
