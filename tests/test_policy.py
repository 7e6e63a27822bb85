"""Policies: a stack as data, the same from a file and from a mapping."""

from __future__ import annotations

import json
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

import ctxkit
from ctxkit.errors import ConfigError
from ctxkit.policy import Policy, read_policy
from ctxkit.stack import Stack

# What only code can give: memories, clocks and functions.
CODE = {"clock", "store", "ledger", "originals", "pinned", "invalidates", "bypass"}
SCHEMAS = {
    part["properties"]["use"]["const"]: part["properties"]
    for part in Policy.model_json_schema()["$defs"].values()
}
NEEDED: dict[str, dict[str, Any]] = {
    "CacheToolResults": {"tools": ["read_file"]},
    "LimitSpend": {"max_requests": 3},
}


def policy(*middlewares: dict[str, Any]) -> dict[str, Any]:
    return {"middlewares": list(middlewares)}


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_middleware_is_made_from_its_name_alone_where_it_needs_nothing_else(name: str) -> None:
    stack = Stack.from_policy(policy({"use": name, **NEEDED.get(name, {})}))
    assert [type(one) for one in stack.middlewares] == [getattr(ctxkit, name)]


@pytest.mark.parametrize("name", SCHEMAS)
def test_names_and_defaults_are_those_of_the_constructor(name: str) -> None:
    parameters = signature(getattr(ctxkit, name)).parameters
    settings = {key: part for key, part in SCHEMAS[name].items() if key != "use"}
    assert settings.keys() == parameters.keys() - CODE
    for key, part in settings.items():
        if "default" in part:
            assert part["default"] == json.loads(json.dumps(parameters[key].default))


def test_a_file_and_a_mapping_make_the_same_policy(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(
        '[[middlewares]]\nuse = "TruncateToolResults"\nmax_tokens = 2000\n'
        '[middlewares.per_tool]\ngrep = 500\n[[middlewares]]\nuse = "TrimHistory"\n'
    )
    data = policy(
        {"use": "TruncateToolResults", "max_tokens": 2000, "per_tool": {"grep": 500}},
        {"use": "TrimHistory"},
    )
    assert read_policy(path) == read_policy(str(path)) == read_policy(data)
    truncating, _ = Stack.from_policy(path).middlewares
    assert isinstance(truncating, ctxkit.TruncateToolResults)
    assert (truncating.max_tokens, truncating.per_tool) == (2000, {"grep": 500})


def test_what_is_hidden_is_kept_where_the_model_can_read_it_back() -> None:
    truncate = {"use": "TruncateToolResults"}
    recalling, truncating = Stack.from_policy(policy({"use": "RecallToolResults"}, truncate)).middlewares
    assert isinstance(recalling, ctxkit.RecallToolResults)
    assert isinstance(truncating, ctxkit.TruncateToolResults)
    assert truncating.originals is recalling.originals
    (alone,) = Stack.from_policy(policy(truncate)).middlewares
    assert isinstance(alone, ctxkit.TruncateToolResults)
    assert alone.originals is None


def test_two_stacks_of_one_policy_share_no_memory() -> None:
    described = read_policy(policy({"use": "RecallToolResults"}))
    (first,), (second,) = described.stack().middlewares, described.stack().middlewares
    assert isinstance(first, ctxkit.RecallToolResults)
    assert isinstance(second, ctxkit.RecallToolResults)
    assert first.originals is not second.originals


def test_a_middleware_refuses_its_own_settings() -> None:
    with pytest.raises(ConfigError, match="max_tokens must be at least 100"):
        Stack.from_policy(policy({"use": "TruncateToolResults", "max_tokens": 5}))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, r"policy: middlewares: Field required"),
        (policy({"use": "Shrink"}), r"policy: middlewares\.0: .*'Shrink'"),
        (policy({"use": "TokenMeter", "size": 1}), r"policy: middlewares\.0\.TokenMeter\.size: "),
    ],
)
def test_a_mistake_is_refused_with_its_place(data: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        Stack.from_policy(data)
    assert caught.value.option == "policy"


def test_a_file_that_is_no_toml_or_is_missing_is_refused_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    with pytest.raises(ConfigError, match=r"policy\.toml: can't be read: No such file"):
        read_policy(path)
    path.write_text("[[middlewares\n")
    with pytest.raises(ConfigError, match=r"policy\.toml: no TOML: "):
        read_policy(path)
