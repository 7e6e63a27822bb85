"""`import ctxkit` is cheap: it loads nothing that only some users need, and reads no data."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import ctxkit

NEEDED_LATER = {
    "anthropic",
    "asyncio",
    "ctxkit.testing",
    "ctxkit.transcripts",
    "ctxkit.validity",
    "genai_prices",
    "httpx",
    "httpx2",
    "openai",
    "pydantic",
    "rich",
    "tiktoken",
    "typer",
}
PROGRAM = """
import json, sys
opened, connected = [], []
def audit(event, arguments):
    if event == "open":
        opened.append(str(arguments[0]))
    if event.startswith("socket."):
        connected.append(event)
sys.addaudithook(audit)
import ctxkit
print(json.dumps([sorted(sys.modules), opened, connected]))
"""


def test_importing_ctxkit_loads_no_sdk_and_opens_no_data_file() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    modules, opened, connected = json.loads(done.stdout)
    assert done.stderr == ""
    assert not NEEDED_LATER & set(modules)
    assert [path for path in opened if "ctxkit" in path and not path.endswith((".py", ".pyc"))] == []
    assert connected == []


def test_every_public_name_is_there_when_it_is_asked_for() -> None:
    assert all(getattr(ctxkit, name) is not None for name in ctxkit.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'loda'"):
        ctxkit.loda
