from __future__ import annotations

from collections.abc import Iterator

import pytest
from calling import HTTP_KINDS, SDKS, HttpKind, Sdk, Waiter


@pytest.fixture(params=HTTP_KINDS, ids=str)
def kind(request: pytest.FixtureRequest) -> HttpKind:
    """Each HTTP library in each colour."""
    made: HttpKind = request.param
    return made


@pytest.fixture(params=SDKS, ids=str)
def sdk(request: pytest.FixtureRequest) -> Sdk:
    """Each SDK in each colour."""
    made: Sdk = request.param
    return made


@pytest.fixture
def wait() -> Iterator[Waiter]:
    """Waits for what has to be awaited."""
    waiter = Waiter()
    yield waiter
    waiter.close()
