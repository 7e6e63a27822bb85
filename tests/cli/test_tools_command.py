"""`ctxkit tools`: what it reads, what it prints, and how it exits."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

FIELDS = {f"field_{number}": {"type": "string", "description": "What it holds."} for number in range(5)}


def tool(name: str, properties: Any = None, **more: Any) -> dict[str, Any]:
    """A tool as an MCP server lists it."""
    schema = {"type": "object", "properties": properties or {}}
    return {"name": name, "description": "Does it.", "inputSchema": schema, **more}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Two servers' tools, with duplicates and bloat."""
    web, disk = tmp_path / "web.json", tmp_path / "disk.json"
    web.write_text(json.dumps([tool("search", FIELDS), tool("look", FIELDS), tool("ping")]))
    long = tool("read", {"path": {"title": "Path"}}, description="Long. " * 100)
    disk.write_text(json.dumps({"tools": [long, tool("ping")]}))
    return web, disk


def test_the_json_is_one_object_of_the_documented_shape(ctxkit, files: tuple[Path, Path]) -> None:
    code, out, err = ctxkit("tools", *files, "--json")
    told = json.loads(out)
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert (told["model"], told["wire"]) == ("claude-sonnet-5-5", "anthropic_messages")
    assert told["task_requests"] == 100
    assert told["tools"][0]["name"] == "read"
    assert {row["server"] for row in told["servers"]} == {"web", "disk"}
    assert {(row["kind"], len(row["tools"])) for row in told["duplicates"]} == {
        ("same_name", 2),
        ("same_schema", 2),
    }
    assert {"description", "titles"} <= {row["kind"] for row in told["bloated"]}
    assert float(told["task_usd"]) == pytest.approx(100 * float(told["request_usd"]))
    assert float(told["task_cached_usd"]) < float(told["task_usd"])


def test_servers_tools_and_findings_are_shown_side_by_side(ctxkit, files: tuple[Path, Path]) -> None:
    code, out, err = ctxkit("tools", *files)
    assert (code, err) == (0, "")
    assert out.startswith("5 tools: ")
    assert "(written once, read 99 times)" in out
    assert "By server" in out
    assert "same name" in out
    assert "ping (2 times)" in out
    assert "same arguments" in out
    assert "search, look" in out
    assert "Could be shorter, in all" in out
    assert "long description" in out
    assert "all of it" in out
    assert "What could be shorter may lie within each other" in out


def test_one_server_has_no_column_for_it(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([tool("ping")]))
    out = ctxkit("tools", path).out
    assert out.startswith("1 tool: ")
    assert "server" not in out
    assert "Could be shorter" not in out
    assert "Duplicated" not in out


def test_files_of_one_name_are_told_apart_by_their_paths(ctxkit, tmp_path: Path) -> None:
    paths = [tmp_path / folder / "tools.json" for folder in ("one", "two")]
    for path in paths:
        path.parent.mkdir()
        path.write_text(json.dumps([tool("ping")]))
    told = json.loads(ctxkit("tools", *paths, "--json").out)
    assert {row["server"] for row in told["servers"]} == set(map(str, paths))


def test_standard_input_is_read(ctxkit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps([tool("ping")]).encode())))
    assert ctxkit("tools", "-").out.startswith("1 tool: ")


def test_long_tables_are_cut_and_all_shows_all(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    named = [tool(f"same_{number}", FIELDS) for number in range(6)]
    path.write_text(
        json.dumps([tool(f"tool_{number}", {"a": {"title": "A"}}) for number in range(30)] + named)
    )
    cut, whole = ctxkit("tools", path).out, ctxkit("tools", path, "--all").out
    assert "By tool (20 of 36; --all shows all)" in cut
    assert "2 more" in cut
    assert "shows all" not in whole
    assert "tool_29" in whole


def test_a_model_without_a_price_is_said_to_have_none(ctxkit, files: tuple[Path, Path]) -> None:
    out = ctxkit("tools", *files, "--model", "nobody-knows-1").out
    assert "cost unknown: the price list does not have nobody-knows-1" in out
    told = json.loads(ctxkit("tools", *files, "--model", "nobody-knows-1", "--json").out)
    assert (told["request_usd"], told["tools"][0]["task_usd"]) == (None, None)


def test_a_model_without_a_rate_for_cached_input_shows_plain_dollars(
    ctxkit, files: tuple[Path, Path]
) -> None:
    out = ctxkit("tools", *files, "--model", "gpt-4").out
    assert "gpt-4: $" in out
    assert "written once" not in out
    assert "unknown" in out


def test_tools_that_another_provider_runs_are_named(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([tool("ping"), {"googleSearch": {}}]))
    assert "no size for this model here: googleSearch" in ctxkit("tools", path).out.replace("\n", " ")


def test_only_tools_that_another_provider_runs_take_nothing(ctxkit, tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([{"googleSearch": {}}]))
    code, out, _ = ctxkit("tools", path)
    assert code == 0
    assert out.startswith("0 tools: 0 tokens")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[]", ": the list of tools is empty"),
        ('[\n{"name": }]', ":2: not JSON: "),
        ("", ":1: not JSON: "),
        ("[" * 100_000, ": not JSON: "),
        ('{"a": 1}', ": no tool definitions: expected "),
        ('[{"name": "a"}, 7]', ": tool 1 must be a JSON object, not int"),
    ],
)
def test_wrong_input_is_refused_on_one_line_with_its_place(
    ctxkit, tmp_path: Path, content: str, reason: str
) -> None:
    path = tmp_path / "tools.json"
    path.write_text(content)
    code, out, err = ctxkit("tools", path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"ctxkit: {path}{reason}")


def test_a_file_is_needed_and_must_be_there(ctxkit, tmp_path: Path) -> None:
    assert ctxkit("tools").code == 2
    assert "No such file" in ctxkit("tools", tmp_path / "nothing").err


def test_the_help_has_an_example_and_names_every_key_of_the_json(ctxkit, files: tuple[Path, Path]) -> None:
    _, out, _ = ctxkit("tools", "--help")
    assert "ctxkit tools tools.json" in out[out.index("Examples:") :]
    told = json.loads(ctxkit("tools", *files, "--json").out)
    keys = {*told, *told["tools"][0], *told["duplicates"][0], *told["bloated"][0]}
    assert [key for key in sorted(keys) if key not in out] == []
