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
{code}
print(json.dumps([sorted(sys.modules), opened, connected]))
"""


def modules_of(code: str) -> tuple[set[str], list[str], list[str]]:
    """What a program has loaded, the files that it has opened, and its connections."""
    program = PROGRAM.replace("{code}", code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules, opened, connected = json.loads(done.stdout)
    assert done.stderr == ""
    return set(modules), opened, connected


def test_importing_ctxkit_loads_nothing_more_of_it() -> None:
    modules, _, _ = modules_of("import ctxkit")
    assert {name for name in modules if name.startswith("ctxkit")} == {"ctxkit"}


def test_setting_up_a_stack_loads_no_sdk_and_opens_no_data_file() -> None:
    modules, opened, connected = modules_of("import ctxkit; ctxkit.wrap; ctxkit.balanced(); ctxkit.task")
    assert not NEEDED_LATER & modules
    assert [path for path in opened if "ctxkit" in path and not path.endswith((".py", ".pyc"))] == []
    assert connected == []


def test_every_public_name_is_there_when_it_is_asked_for() -> None:
    assert all(getattr(ctxkit, name) is not None for name in ctxkit.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'loda'"):
        ctxkit.loda


def test_a_module_is_there_without_an_import_of_its_own() -> None:
    modules, _, _ = modules_of("import ctxkit; ctxkit.condense.truncate")
    assert "ctxkit.condense" in modules


def test_a_module_is_given_as_it_is() -> None:
    assert ctxkit.__getattr__("condense") is sys.modules["ctxkit.condense"]


def test_what_there_is_can_be_listed() -> None:
    assert set(ctxkit.__all__) <= set(dir(ctxkit))
