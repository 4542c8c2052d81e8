"""The rig of every kind of provider, one after the other."""

from collections.abc import AsyncIterator

import pytest

from tests.contract.rig import Rig
from tests.contract.rigs import RIGS, SLOW


@pytest.fixture(
    params=[pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in RIGS]
)
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    async with RIGS[request.param]() as made:
        yield made
