"""What every test shares: how long properties are tried, and a task of the test's own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

import ctxkit
from ctxkit.tokens import CALIBRATION

settings.register_profile("ci", max_examples=100, deadline=None, derandomize=True)
settings.register_profile("nightly", max_examples=5_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(autouse=True)
def untrained() -> None:
    """What the process learned of models' counts in earlier tests is forgotten."""
    CALIBRATION.reset()


@pytest.fixture
def task() -> Iterator[ctxkit.Task]:
    """A task around the test, so that what it books is not mixed with what others booked."""
    with ctxkit.task("test") as started:
        yield started


@pytest.fixture(params=["blocking", "awaiting"])
def runner(request: pytest.FixtureRequest) -> Iterator[asyncio.Runner | None]:
    """What runs a test in one of the two colours: an event loop to await on, or `None` to block."""
    if request.param == "blocking":
        yield None
        return
    with asyncio.Runner() as loop:
        yield loop
