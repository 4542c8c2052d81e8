"""The rig of every kind of provider, one after the other."""

from collections.abc import AsyncIterator

import pytest

from tests.contract.rig import Rig
from tests.contract.rigs import RIGS


@pytest.fixture(params=RIGS)
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    async with RIGS[request.param]() as made:
        yield made
