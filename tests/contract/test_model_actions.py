"""What an adapter does with its models beside chatting: alike for all that can."""

from collections.abc import Mapping

import anyio
import pytest

from ollm_tui.models.actions import ModelAction
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import (
    SupportsDelete,
    SupportsLoad,
    SupportsRunning,
    SupportsShow,
)
from ollm_tui.providers.operations import method_of
from tests.contract.rig import Rig

NONE = "there-is-no-such-model"
ACTIONS: Mapping[ModelAction, type] = {
    "show": SupportsShow,
    "delete": SupportsDelete,
    "load": SupportsLoad,
}


@pytest.mark.parametrize("action", list(ACTIONS))
async def test_a_model_that_is_not_there_is_reported_as_missing(
    rig: Rig, action: ModelAction
) -> None:
    if not isinstance(rig.provider, ACTIONS[action]):
        pytest.skip("it cannot do that")
    with anyio.fail_after(30), pytest.raises(AIError) as caught:
        await method_of(rig.provider, action)(NONE)
    assert caught.value.code == ErrorCode.MODEL_NOT_FOUND
    assert NONE in caught.value.message


async def test_what_runs_can_be_shown(rig: Rig) -> None:
    provider = rig.provider
    if not isinstance(provider, SupportsRunning) or not isinstance(provider, SupportsShow):
        pytest.skip("it cannot do that")
    with anyio.fail_after(30):
        for info in await provider.list_running():
            assert (await provider.show_model(info.name)).name == info.name
