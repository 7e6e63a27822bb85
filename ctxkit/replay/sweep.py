"""`sweep`: recorded runs through every policy of a grid, so that limits are chosen by what they do.

A grid is a policy with one key more, `grid`: the settings that vary, each with the values to try.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from itertools import product
from typing import Any

from ctxkit.errors import ConfigError
from ctxkit.policy import Policy, Source, read_grid, read_policy
from ctxkit.replay.edge import SideCalls
from ctxkit.replay.replay import replay
from ctxkit.replay.report import ReplayReport
from ctxkit.transcripts import Transcript


@dataclass(frozen=True, slots=True)
class Tried:
    """One policy of a sweep.

    Attributes:
        values: What the grid's settings were, by their names in the grid.
        policy: The whole policy.
        report: What it saves and loses.
    """

    values: Mapping[str, Any]
    policy: Policy
    report: ReplayReport


def sweep(
    transcripts: Iterable[Transcript], grid: Source, *, side_calls: SideCalls | None = None
) -> Iterator[Tried]:
    """Replay recorded runs under every policy of a grid, one policy after the other.

    ```python
    grid = {
        "middlewares": [{"use": "TruncateToolResults"}],
        "grid": {"TruncateToolResults.max_tokens": [1_000, 2_000, 4_000]},
    }
    for tried in sweep(load("runs/"), grid):
        print(tried.values, tried.report.saved_usd, tried.report.evidence_recall)
    ```

    Args:
        transcripts: The runs. All are held in memory, as each policy needs them again.
        grid: A TOML file or a mapping, see `policies_of`.
        side_calls: Answers what middlewares ask the model by themselves; a `StandIn` where left out.

    Returns:
        One after the other, as they are finished; the last setting of the grid varies fastest.

    Raises:
        ConfigError: A policy of the grid is wrong. It is raised before anything is replayed.
    """
    policies = policies_of(grid)
    for _, policy in policies:
        policy.stack()
    return _try_all(list(transcripts), policies, side_calls)


def policies_of(grid: Source) -> list[tuple[dict[str, Any], Policy]]:
    """Every policy of a grid, with the values that make it.

    Args:
        grid: A policy, as a TOML file or a mapping, with a key `grid` such as
            `{"TruncateToolResults.per_tool.grep": [500, 1_000]}`: the name of a middleware in the policy, the
            path to its setting, and the values to try.

    Raises:
        ConfigError: A setting's middleware is not in the policy, or a policy is wrong.
    """
    given, checked = read_grid(grid)
    varied = checked.grid
    made = []
    for chosen in product(*varied.values()):
        values = dict(zip(varied, chosen, strict=True))
        data = {"middlewares": deepcopy(given["middlewares"])}
        for name, value in values.items():
            _set(data["middlewares"], name, value)
        made.append((values, read_policy(data)))
    return made


def _try_all(
    runs: list[Transcript], policies: list[tuple[dict[str, Any], Policy]], side_calls: SideCalls | None
) -> Iterator[Tried]:
    for values, policy in policies:
        label = ", ".join(f"{name}={value}" for name, value in values.items())
        yield Tried(values, policy, replay(runs, policy.stack, side_calls=side_calls, policy=label))


def _set(middlewares: list[dict[str, Any]], name: str, value: Any) -> None:
    """Set one setting of every middleware of that name."""
    use, *path = name.split(".")
    found = [settings for settings in middlewares if settings["use"] == use]
    if not found or not path:
        raise ConfigError(f"grid: {name!r} names no setting of a middleware in the policy", option="grid")
    for settings in found:
        for key in path[:-1]:
            settings = settings.setdefault(key, {})
            if not isinstance(settings, dict):
                raise ConfigError(f"grid: {name!r} goes through {key!r}, which is no table", option="grid")
        settings[path[-1]] = value
