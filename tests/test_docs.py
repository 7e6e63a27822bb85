"""Every block of the README and of the docs runs, in order, as a reader would paste it.

Python blocks of one page share their names, and talk through the real SDKs to a scripted server; shell
blocks run in a shell. Only what sets the machine up is left out: running the tests is what it does.
"""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from ctxkit.testing import Answer, ModelServer, reply

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SETS_UP = ("make ", "pip install ", ".ci/run")
SHOWN_ONLY = {"text", "json", "toml"}


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(match[1], match[2]) for match in BLOCK.finditer(page.read_text())]


def pages_with(*languages: str) -> list[Any]:
    return [
        pytest.param(page, id=str(page.relative_to(ROOT)))
        for page in PAGES
        if any(language in languages for language, _ in blocks(page))
    ]


def scripted(body: Mapping[str, Any], number: int) -> Answer:
    """Calls the first tool once, with a text for every argument, and then has its say."""
    tools = body.get("tools") or []
    if not tools or "tool_result" in str(body["messages"]) or "'role': 'tool'" in str(body["messages"]):
        return reply(text="It is sunny in Paris.")
    schema = tools[0].get("input_schema") or tools[0]["function"]["parameters"]
    name = tools[0].get("name") or tools[0]["function"]["name"]
    return reply(tool_calls=[(name, dict.fromkeys(schema["properties"], "Paris"))])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(scripted) as running:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{running.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield running


def test_every_block_has_a_language_that_is_run_or_only_shown() -> None:
    languages = {language for page in PAGES for language, _ in blocks(page)}
    assert languages <= {"python", "sh"} | SHOWN_ONLY


def test_the_readme_shows_code_before_its_twentieth_line() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    assert lines.index("```python") < 20


@pytest.mark.parametrize("page", pages_with("python"))
def test_the_python_of_a_page_runs(page: Path, server: ModelServer) -> None:
    names: dict[str, Any] = {"__name__": "__docs__"}
    try:
        for language, code in blocks(page):
            if language == "python":
                exec(compile(code, str(page), "exec"), names)
    finally:
        for value in names.values():
            if isinstance(value, (anthropic.Anthropic, openai.OpenAI, httpx2.Client)):
                value.close()
        # A page that makes a second client leaves the first one to the collector, as its reader would.
        with warnings.catch_warnings(action="ignore", category=ResourceWarning):
            names.clear()
            gc.collect()
    assert server.errors == []


@pytest.mark.parametrize("page", pages_with("sh"))
def test_the_shell_commands_of_a_page_run(page: Path, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "CLAUDE_CONFIG_DIR": str(_sessions(tmp_path)),
        "CODEX_HOME": str(tmp_path),
    }
    for language, code in blocks(page):
        lines = [line for line in code.splitlines() if language == "sh" and not line.startswith(SETS_UP)]
        if lines:
            command = ["bash", "-euo", "pipefail", "-c", "\n".join(lines)]
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr


def _sessions(folder: Path) -> Path:
    """A Claude Code folder with one small session in it."""
    answer = {
        "id": "m1",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": [{"type": "text", "text": "Hello."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 5, "output_tokens": 7},
    }
    asked = {"role": "user", "content": "Hi."}
    lines = [
        {"type": "user", "uuid": "a", "parentUuid": None, "sessionId": "s", "message": asked},
        {"type": "assistant", "uuid": "b", "parentUuid": "a", "sessionId": "s", "message": answer},
    ]
    projects = folder / "claude" / "projects" / "here"
    projects.mkdir(parents=True)
    (projects / "session.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return folder / "claude"
