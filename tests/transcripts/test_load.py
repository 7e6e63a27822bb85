"""`load`: which files are read, what is skipped and said, and how little memory it takes."""

from __future__ import annotations

import gzip
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from ctxkit.errors import TranscriptError
from ctxkit.transcripts import Skipped, find_session_files, load

BODY: dict[str, Any] = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "hello"}]}


def body(text: str) -> bytes:
    return json.dumps({**BODY, "messages": [{"role": "user", "content": text}]}).encode()


def said(path: str | Path) -> list[str]:
    return [transcript.messages[0]["content"] for transcript in load(path)]


def test_a_folder_is_read_recursively_in_the_order_of_its_paths(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "2.json").write_bytes(body("second"))
    (tmp_path / "a.jsonl").write_bytes(body("first"))
    assert said(tmp_path) == ["first", "second"]


def test_hidden_files_of_a_folder_are_left_alone_but_read_when_named(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "log.jsonl").write_bytes(body("hidden"))
    assert said(tmp_path) == []
    assert said(tmp_path / ".git" / "log.jsonl") == ["hidden"]


def test_a_glob_reads_what_it_matches_once(tmp_path: Path) -> None:
    for name in ("one.jsonl", "two.jsonl", "three.txt"):
        (tmp_path / name).write_bytes(body(name))
    assert said(f"{tmp_path}/*.jsonl") == ["one.jsonl", "two.jsonl"]
    assert said(f"{tmp_path}/**") == ["one.jsonl", "three.txt", "two.jsonl"]


def test_a_file_whose_name_looks_like_a_glob_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "run[1].jsonl").write_bytes(body("first"))
    assert said(tmp_path / "run[1].jsonl") == ["first"]


def test_nothing_at_the_path_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(TranscriptError) as raised:
        load(tmp_path / "absent.jsonl")
    assert (raised.value.line, "absent.jsonl" in raised.value.path) == (None, True)


def test_gzip_is_told_by_content_and_not_by_name(read: Any) -> None:
    transcripts, skipped = read(gzip.compress(body("hello")), name="log.jsonl")
    assert ([t.messages[0]["content"] for t in transcripts], skipped) == (["hello"], [])


def test_a_document_over_several_lines_is_one_record(read: Any) -> None:
    (transcript,), skipped = read(json.dumps(BODY, indent=2).encode())
    assert (transcript.messages, skipped) == (BODY["messages"], [])


def test_a_list_of_bodies_is_read_as_its_items(read: Any) -> None:
    transcripts, skipped = read(json.dumps([BODY, 7, BODY], indent=1).encode())
    assert len(transcripts) == 2
    assert [skip.reason for skip in skipped] == ["not a JSON object, but a number"]


def test_a_damaged_line_is_reported_with_its_number_and_the_rest_is_read(read: Any) -> None:
    transcripts, skipped = read(BODY, b"", b'{"model": ', b"[]", b'"text"', b"null", BODY)
    assert len(transcripts) == 2
    assert [skip.line for skip in skipped] == [3, 4, 5, 6]
    assert skipped[0].reason.startswith("not JSON")
    assert [skip.reason for skip in skipped[1:]] == [
        "not a JSON object, but a list",
        "not a JSON object, but a string",
        "not a JSON object, but null",
    ]


def test_a_damaged_first_line_does_not_hide_the_rest(read: Any) -> None:
    transcripts, skipped = read(b'{"model": ', BODY, BODY)
    assert (len(transcripts), [skip.line for skip in skipped]) == (2, [1])


def test_a_line_that_is_not_utf_8_is_reported_and_the_rest_is_read(read: Any) -> None:
    transcripts, skipped = read(BODY, '{"model": "ü"}'.encode("latin-1"), BODY)
    assert (len(transcripts), [skip.line for skip in skipped]) == (2, [2])


def test_a_lone_surrogate_is_text_like_any_other(read: Any) -> None:
    (transcript,), skipped = read(b'{"model": "m", "messages": [{"role": "user", "content": "\\ud83d"}]}')
    assert (transcript.messages[0]["content"], skipped) == ("\ud83d", [])


def test_a_byte_order_mark_is_no_damage(read: Any) -> None:
    transcripts, skipped = read(b"\xef\xbb\xbf" + body("first"), body("second"))
    assert (len(transcripts), skipped) == (2, [])


def test_a_run_without_a_name_is_called_after_its_file(read: Any) -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "hello"}]}
    claude = {"type": "user", "uuid": "u1", "sessionId": None, "message": message}
    stream = {"type": "user", "session_id": None, "message": message}
    codex = {"type": "response_item", "payload": {"type": "message", **message}}
    pi = {"type": "message", "message": message}
    for record in (claude, stream, codex, pi):
        assert [transcript.id for transcript in read(record, name="run.jsonl")[0]] == ["run.jsonl"]


def test_a_truncated_gzip_gives_what_came_before(read: Any) -> None:
    lines = b"\n".join(body(f"{number} {number**99}") for number in range(400))
    transcripts, skipped = read(gzip.compress(lines)[:-2000])
    assert 0 < len(transcripts) < 400
    assert [skip.line for skip in skipped] == [len(transcripts) + 1]
    assert "end-of-stream" in skipped[0].reason


def test_a_truncated_document_gives_its_damage(read: Any) -> None:
    document = gzip.compress(json.dumps([BODY] * 50, indent=1).encode())
    transcripts, skipped = read(document[: len(document) - 9])
    assert transcripts == []
    assert "JSON" in skipped[0].reason


def test_a_gzip_that_only_lacks_its_end_gives_the_document_and_says_so(read: Any) -> None:
    transcripts, skipped = read(gzip.compress(json.dumps(BODY, indent=1).encode() + b"\n")[:-8])
    assert (len(transcripts), len(skipped)) == (1, 1)


def test_an_empty_file_is_skipped(read: Any) -> None:
    assert [skip.reason for skip in read(b"\n \n")[1]] == ["the file is empty"]


def test_a_file_that_may_not_be_read_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret.jsonl").write_bytes(body("hello"))

    def refuse(path: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    skipped: list[Skipped] = []
    assert list(load(tmp_path, on_skip=skipped.append)) == []
    assert (skipped[0].line, skipped[0].reason) == (None, "can't be read: Permission denied")


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ((b"# Notes", b"", b"Nothing here."), "not JSON, nor lines of JSON"),
        (({"name": "x"}, {"name": "y"}), "no transcript format that is known here"),
        ((b"\x89PNG\x00\xff",), "not JSON: "),
        (({"model": "m", "messages": []},), "no transcript format that is known here"),
    ],
)
def test_a_file_of_an_unknown_format_is_skipped_with_one_reason(
    read: Any, lines: tuple[Any, ...], reason: str
) -> None:
    transcripts, (skipped,) = read(*lines)
    assert transcripts == []
    assert skipped.reason.startswith(reason)


def test_what_is_skipped_is_logged_where_nobody_asks_for_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "half.jsonl").write_bytes(body("hello") + b"\n{")
    with caplog.at_level(logging.WARNING, logger="ctxkit.transcripts"):
        assert len(list(load(tmp_path))) == 1
    assert caplog.messages[0].endswith("empty.jsonl: the file is empty")
    assert "half.jsonl:2: not JSON" in caplog.messages[1]


def test_transcripts_are_read_one_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(body("first") + b"\n{damaged\n" + body("second"))
    skipped: list[Skipped] = []
    transcripts = load(tmp_path, on_skip=skipped.append)
    next(transcripts)
    assert skipped == []
    next(transcripts)
    assert len(skipped) == 1


def test_session_files_are_found_where_the_clients_keep_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude = tmp_path / ".claude" / "projects" / "repo" / "1.jsonl"
    codex = tmp_path / ".codex" / "sessions" / "2026" / "11" / "30" / "rollout-1.jsonl"
    moved = tmp_path / "moved" / "projects" / "repo" / "2.jsonl"
    for file in (claude, codex, moved, codex.with_name("history.jsonl")):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.delenv("CODEX_HOME", raising=False)
    assert find_session_files() == [claude, codex]
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "moved"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "nowhere"))
    assert find_session_files() == [moved]


SUPPLIED: dict[str, Any] = {"tools": [{"name": "find"}], "system": "Be brief."}
CLAUDE = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "Hi."}}


def test_what_a_log_does_not_hold_may_be_supplied_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(json.dumps(CLAUDE))
    (transcript,) = load(tmp_path, **SUPPLIED)
    assert (transcript.tools, transcript.system) == (SUPPLIED["tools"], "Be brief.")
    assert transcript.meta["supplied"] == ("tools", "system")
    assert transcript.incomplete == "the system prompt and the tool definitions are not in this log"


def test_what_a_log_holds_is_not_replaced(tmp_path: Path) -> None:
    own = {"model": "m", "system": "Be long.", "tools": [{"name": "read", "input_schema": {}}]}
    (tmp_path / "log.json").write_text(json.dumps({**own, "messages": BODY["messages"]}))
    (transcript,) = load(tmp_path, **SUPPLIED)
    assert (transcript.tools, transcript.system) == (own["tools"], "Be long.")
    assert "supplied" not in transcript.meta


def test_the_system_prompt_of_chat_messages_is_one_of_them_and_never_supplied(tmp_path: Path) -> None:
    (tmp_path / "log.json").write_bytes(body("hello"))
    (transcript,) = load(tmp_path, **SUPPLIED)
    assert (transcript.system, transcript.meta["supplied"]) == (None, ("tools",))
