"""`import ctxkit` is cheap: it loads nothing that only some users need, and reads no data."""

from __future__ import annotations

import json
import subprocess
import sys

NEEDED_LATER = {
    "anthropic",
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
