from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.calling import CALLS, HTTP_KINDS, SDK_CLIENTS, Http, Sdk, Waiter


@pytest.fixture
def wait() -> Iterator[Waiter]:
    """Waits for what has to be awaited."""
    waiter = Waiter()
    yield waiter
    waiter.close()


@pytest.fixture(
    params=HTTP_KINDS, ids=lambda kind: f"{kind[0].__name__}-{'async' if kind[1] else 'blocking'}"
)
def http(request: pytest.FixtureRequest, wait: Waiter) -> Http:
    """Each HTTP library in each colour."""
    library, awaits = request.param
    return Http(library, awaits=awaits, wait=wait)


@pytest.fixture(params=SDK_CLIENTS, ids=lambda client: client.__name__)
def sdk(request: pytest.FixtureRequest, wait: Waiter) -> Sdk:
    """Each SDK in each colour."""
    return Sdk(request.param, wait=wait)


@pytest.fixture(params=CALLS)
def path(request: pytest.FixtureRequest) -> str:
    """The path of each wire."""
    made: str = request.param
    return made
