"""Tool-use loops of any length, made from a seed: real text, and sizes as long agent runs have them.

The text is the source of the standard library that runs this file. A step is one call of a tool and its
result. The first steps of a longer loop are those of a shorter one, and the same Python gives the same loop.
"""

from __future__ import annotations

import argparse
import ast
import configparser
import csv
import difflib
import fileinput
import inspect
import json
import logging
import os
import random
import re
import shutil
import smtplib
import subprocess
import tarfile
import tempfile
import textwrap
import urllib.request
import webbrowser
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

Body = dict[str, Any]

MODELS = {"anthropic_messages": "claude-sonnet-4-5", "openai_chat": "gpt-5"}
SYSTEM = (
    "You are a careful engineer who mends faults in a large code base. Read before you write, run the tests "
    "after every change, and say in one sentence what you found before you call the next tool."
)
TASK = "The nightly build fails on two platforms. Find out why, mend it, and run the tests that show it."

# Median 1.6 KB and 95th percentile 20 KB, as in the runs that were measured; the mean is then near 5 KB.
MEDIAN_CHARS = 1_600
SPREAD = 1.535
MAX_CHARS = 200_000
REPEATED = 0.12

TOOLS = {
    "read_file": ("Read a file, or a part of it, with line numbers.", ("path", "first_line", "last_line")),
    "grep": ("Search every file below a folder for a regular expression.", ("pattern", "folder")),
    "list_symbols": ("List the classes and functions of a package.", ("package",)),
    "run_tests": ("Run the tests whose names match, and show what each one gave.", ("match", "timeout")),
    "query_index": ("Ask the index of the code base; answers in JSON, one row a line.", ("where", "limit")),
}
# Their signatures and docstrings are the definitions of the tools that a loop carries and never calls.
UNUSED: tuple[Callable[..., Any], ...] = (
    argparse.ArgumentParser.add_argument_group,
    ast.literal_eval,
    configparser.ConfigParser.read_file,
    csv.Sniffer.sniff,
    difflib.unified_diff,
    fileinput.input,
    inspect.getmembers,
    json.dumps,
    logging.basicConfig,
    os.walk,
    re.split,
    shutil.copytree,
    shutil.make_archive,
    smtplib.SMTP.sendmail,
    subprocess.check_output,
    tarfile.open,
    tempfile.mkstemp,
    textwrap.shorten,
    urllib.request.urlretrieve,
    webbrowser.open,
)
UNUSED_CHARS = 250

_DEFINITION = re.compile(r"\s*(def|class) (\w+)(.*)")
_SEARCHED = re.compile(r"\b(return|raise|import)\b")


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a tool, what the model says before it, and what the tool gives back."""

    said: str
    tool: str
    arguments: dict[str, str]
    result: str


def loop(turns: int, *, seed: str = "s1", result_chars: int | None = None) -> Iterator[Step]:
    """The steps of a loop.

    Args:
        turns: How many.
        seed: Decides everything but the texts themselves.
        result_chars: The size of every result; by default sizes are drawn, and about one call in eight
            repeats an earlier one.
    """
    chance = random.Random(seed)
    known: list[Step] = []
    for _ in range(turns):
        if known and result_chars is None and chance.random() < REPEATED:
            yield chance.choice(known)
        else:
            known.append(_step(chance, result_chars or _drawn_chars(chance)))
            yield known[-1]


def messages(steps: Iterable[Step], *, wire: str) -> list[Body]:
    """The native messages of a loop, the task first: two a step."""
    made: list[Body] = [{"role": "user", "content": TASK}]
    pair = _anthropic_pair if wire == "anthropic_messages" else _chat_pair
    for number, step in enumerate(steps):
        made.extend(pair(f"call_{number:06}", step))
    return made


def body(native: Sequence[Body], *, wire: str) -> Body:
    """The request that sends these messages, with the system prompt and 25 tools of about 14 KB."""
    if wire == "anthropic_messages":
        head = {"model": MODELS[wire], "max_tokens": 4_096, "system": SYSTEM, "tools": _tools("input_schema")}
        return {**head, "messages": list(native)}
    functions = [{"type": "function", "function": tool} for tool in _tools("parameters")]
    system = {"role": "system", "content": SYSTEM}
    return {"model": MODELS[wire], "tools": functions, "messages": [system, *native]}


def _drawn_chars(chance: random.Random) -> int:
    return min(MAX_CHARS, max(20, round(MEDIAN_CHARS * chance.lognormvariate(0, SPREAD))))


def _step(chance: random.Random, chars: int) -> Step:
    tool = chance.choice(list(TOOLS))
    text = _texts()[tool]
    start = text.index("\n", chance.randrange(len(text) - chars - 1_000)) + 1
    word = chance.choice(_words())
    arguments = {name: f"{word}_{chance.randrange(1_000)}" for name in TOOLS[tool][1]}
    said = f"{chance.choice(_comments())} I look at {word} next."
    return Step(said, tool, arguments, text[start : start + chars])


def _anthropic_pair(call_id: str, step: Step) -> tuple[Body, Body]:
    use = {"type": "tool_use", "id": call_id, "name": step.tool, "input": step.arguments}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": step.result}
    return (
        {"role": "assistant", "content": [{"type": "text", "text": step.said}, use]},
        {"role": "user", "content": [result]},
    )


def _chat_pair(call_id: str, step: Step) -> tuple[Body, Body]:
    function = {"name": step.tool, "arguments": json.dumps(step.arguments)}
    calls = [{"id": call_id, "type": "function", "function": function}]
    return (
        {"role": "assistant", "content": step.said, "tool_calls": calls},
        {"role": "tool", "tool_call_id": call_id, "content": step.result},
    )


@cache
def _tools(schema_key: str) -> list[Body]:
    used = ((name, said, parameters) for name, (said, parameters) in TOOLS.items())
    unused = (
        (function.__qualname__.replace(".", "_"), inspect.getdoc(function) or "", _parameters(function))
        for function in UNUSED
    )
    return [_tool(*one, schema_key=schema_key) for one in (*used, *unused)]


def _tool(name: str, said: str, parameters: Sequence[str], *, schema_key: str) -> Body:
    properties = {one: {"type": "string", "description": one.replace("_", " ")} for one in parameters}
    schema = {"type": "object", "properties": properties, "required": list(parameters[:1])}
    return {"name": name, "description": said[:UNUSED_CHARS], schema_key: schema}


def _parameters(function: Callable[..., Any]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]


@cache
def _sources() -> dict[str, list[str]]:
    """The lines of every top-level module; what was generated when Python was built is left out."""
    return {
        path.name: path.read_text("utf-8").splitlines()
        for path in sorted(Path(os.__file__).parent.glob("*.py"))
        if not path.name.startswith(("_sysconfigdata", "sitecustomize"))
    }


def _numbered() -> Iterator[tuple[str, int, str]]:
    for name, lines in _sources().items():
        for number, line in enumerate(lines, 1):
            yield name, number, line


def _definitions() -> Iterator[tuple[str, int, str, str, str]]:
    for name, number, line in _numbered():
        if match := _DEFINITION.match(line):
            yield name, number, *match.groups()


@cache
def _texts() -> dict[str, str]:
    """For each tool all that it could ever say, of which a result is a stretch."""
    lines: dict[str, Iterable[str]] = {
        "read_file": (f"{number:5}  {line}" for _, number, line in _numbered()),
        "grep": (
            f"lib/{name}:{number}:{line}" for name, number, line in _numbered() if _SEARCHED.search(line)
        ),
        "list_symbols": (
            f"lib/{name}:{number}  {kind} {symbol}{rest}"
            for name, number, kind, symbol, rest in _definitions()
        ),
        "run_tests": (
            f"test_{symbol} (test_{name[:-3]}.{kind.title()}Tests) ... {'ok' if number % 40 else 'FAIL'}"
            for name, number, kind, symbol, _ in _definitions()
        ),
        "query_index": (
            json.dumps({"file": name, "line": number, "kind": kind, "name": symbol, "signature": rest})
            for name, number, kind, symbol, rest in _definitions()
        ),
    }
    return {tool: "\n".join(said) for tool, said in lines.items()}


@cache
def _words() -> list[str]:
    return sorted({symbol for *_, symbol, _ in _definitions()})


@cache
def _comments() -> list[str]:
    return [line.strip("# ") for _, _, line in _numbered() if line.startswith("# ") and line.endswith(".")]
