"""`sweep`: recorded runs through every policy of a grid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit.errors import ConfigError
from ctxkit.policy import read_policy
from ctxkit.replay import replay
from ctxkit.replay.sweep import policies_of, sweep
from ctxkit.transcripts import Transcript, load

LONG = "\n".join(f"{number}: nothing to see in this line" for number in range(1_000))
TRUNCATE = {"use": "TruncateToolResults"}


def grid(*middlewares: dict[str, Any], **varied: list[Any]) -> dict[str, Any]:
    return {"middlewares": list(middlewares), "grid": varied}


@pytest.fixture
def runs(tmp_path: Path) -> list[Transcript]:
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "What is wrong?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": f"{LONG}\ncode_4711\n{LONG}"},
        {"role": "assistant", "content": "It is code_4711."},
    ]
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps({"model": "gpt-4.1", "messages": messages}) + "\n")
    return list(load(path))


def test_every_combination_is_tried_and_the_last_setting_varies_fastest() -> None:
    varied = {"TruncateToolResults.max_tokens": [500, 900], "TrimHistory.keep_steps": [1, 2]}
    made = policies_of(grid(TRUNCATE, {"use": "TrimHistory"}, **varied))
    assert [tuple(values.values()) for values, _ in made] == [(500, 1), (500, 2), (900, 1), (900, 2)]
    chosen = [{**TRUNCATE, "max_tokens": 500}, {"use": "TrimHistory", "keep_steps": 2}]
    assert made[1][1] == read_policy({"middlewares": chosen})


def test_a_limit_for_one_tool_can_vary_and_the_grid_stays_as_it_was() -> None:
    given = grid(TRUNCATE, **{"TruncateToolResults.per_tool.read": [300, 600]})
    before = json.dumps(given)
    settings = [policy.model_dump()["middlewares"][0]["per_tool"] for _, policy in policies_of(given)]
    assert settings == [{"read": 300}, {"read": 600}]
    assert json.dumps(given) == before


def test_a_policy_without_a_grid_is_tried_as_it_is() -> None:
    assert policies_of({"middlewares": [TRUNCATE]}) == [({}, read_policy({"middlewares": [TRUNCATE]}))]


def test_each_policy_gives_what_its_own_replay_gives(runs: list[Transcript]) -> None:
    tight, loose = sweep(iter(runs), grid(TRUNCATE, **{"TruncateToolResults.max_tokens": [300, 3_000]}))
    assert tight.report.saved_tokens > loose.report.saved_tokens > 0
    alone = replay(runs, loose.policy.stack)
    assert loose.report.saved_tokens == alone.saved_tokens
    assert loose.report.saved_usd == alone.saved_usd
    assert loose.report.policy == "TruncateToolResults.max_tokens=3000"
    assert loose.values == {"TruncateToolResults.max_tokens": 3_000}


@pytest.mark.parametrize("name", ["TrimHistory.keep_steps", "TruncateToolResults"])
def test_a_setting_that_is_not_in_the_policy_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"grid: '{name}' names no setting"):
        policies_of(grid(TRUNCATE, **{name: [1]}))


def test_a_policy_that_a_middleware_refuses_is_found_before_anything_is_replayed() -> None:
    with pytest.raises(ConfigError, match="max_tokens must be at least 100"):
        sweep([], grid(TRUNCATE, **{"TruncateToolResults.max_tokens": [1_000, 5]}))


def test_a_grid_is_read_from_a_file_as_from_a_mapping(tmp_path: Path) -> None:
    path = tmp_path / "grid.toml"
    path.write_text(
        '[grid]\n"TruncateToolResults.max_tokens" = [500, 900]\n'
        '[[middlewares]]\nuse = "TruncateToolResults"\n'
    )
    assert policies_of(path) == policies_of(grid(TRUNCATE, **{"TruncateToolResults.max_tokens": [500, 900]}))


def test_values_that_are_no_list_are_refused_with_their_place() -> None:
    with pytest.raises(ConfigError, match=r"grid\.TruncateToolResults\.max_tokens: .*list"):
        policies_of({"middlewares": [TRUNCATE], "grid": {"TruncateToolResults.max_tokens": 500}})


def test_a_path_through_a_number_is_refused() -> None:
    with pytest.raises(ConfigError, match="goes through 'max_tokens', which is no table"):
        policies_of(grid({**TRUNCATE, "max_tokens": 500}, **{"TruncateToolResults.max_tokens.read": [1]}))


def test_a_setting_without_values_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"grid\.TruncateToolResults\.max_tokens: .*at least 1 item"):
        policies_of(grid(TRUNCATE, **{"TruncateToolResults.max_tokens": []}))
