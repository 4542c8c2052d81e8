"""What an adapter does with its models beside chatting: alike for all that can."""

from collections.abc import Awaitable, Callable, Mapping

import anyio
import pytest

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import (
    ProviderAdapter,
    SupportsDelete,
    SupportsLoad,
    SupportsRunning,
    SupportsShow,
)
from ollm_tui.providers.operations import deleter, loader, shower
from tests.contract.rig import Rig

NONE = "there-is-no-such-model"
ACTIONS: Mapping[str, tuple[type, Callable[[ProviderAdapter], Awaitable[object]]]] = {
    "show": (SupportsShow, lambda adapter: shower(adapter).show_model(NONE)),
    "delete": (SupportsDelete, lambda adapter: deleter(adapter).delete_model(NONE)),
    "load": (SupportsLoad, lambda adapter: loader(adapter).load_model(NONE)),
}


@pytest.mark.parametrize("action", list(ACTIONS))
async def test_a_model_that_is_not_there_is_reported_as_missing(rig: Rig, action: str) -> None:
    needed, do = ACTIONS[action]
    if not isinstance(rig.provider, needed):
        pytest.skip("it cannot do that")
    with anyio.fail_after(30), pytest.raises(AIError) as caught:
        await do(rig.provider)
    assert caught.value.code == ErrorCode.MODEL_NOT_FOUND
    assert NONE in caught.value.message


async def test_what_runs_can_be_shown(rig: Rig) -> None:
    provider = rig.provider
    if not isinstance(provider, SupportsRunning) or not isinstance(provider, SupportsShow):
        pytest.skip("it cannot do that")
    with anyio.fail_after(30):
        for info in await provider.list_running():
            assert (await provider.show_model(info.name)).name == info.name
