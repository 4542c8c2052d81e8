"""The scripted runtime has what the screens use of the real one, under the same names."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from ollm_tui import tui
from ollm_tui.chat.client import ChatClient
from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import AppPaths
from ollm_tui.library.downloads.queue import DownloadQueue
from ollm_tui.library.hub.repo import Hub
from ollm_tui.library.registry.catalogue import ModelRegistry
from ollm_tui.providers.catalog import ModelCatalog
from ollm_tui.runtime.chats import ChatBranches
from ollm_tui.runtime.compose import load_runtime
from ollm_tui.runtime.manager import ModelManager
from ollm_tui.store.conversations import ConversationStore
from tests.support.scripted import (
    ScriptedBranches,
    ScriptedCatalog,
    ScriptedClient,
    ScriptedRuntime,
)
from tests.support.scripted_chats import ScriptedChats
from tests.support.scripted_fetching import ScriptedDownloads, ScriptedHub, ScriptedRegistry
from tests.support.scripted_manager import ScriptedManager

NOT_ON_A_SCREEN: Final = frozenset(
    {
        *("config", "paths", "registry", "prober", "named", "lifecycle", "tools"),
        *("plugin_problems", "last_chat", "secrets", "ask_before_tools", "download_service"),
    }
)
"""What the command line, the public face and `tui/run.py` use, but no screen."""
PARTS: Final = (
    (ScriptedBranches, ChatBranches),
    (ScriptedCatalog, ModelCatalog),
    (ScriptedChats, ConversationStore),
    (ScriptedClient, ChatClient),
    (ScriptedDownloads, DownloadQueue),
    (ScriptedHub, Hub),
    (ScriptedManager, ModelManager),
    (ScriptedRegistry, ModelRegistry),
)


def members(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def parameters(function: Callable[..., object]) -> list[tuple[str, object, object]]:
    signature = inspect.signature(function)
    return [(one.name, one.kind, one.default) for one in signature.parameters.values()]


async def test_it_has_every_member_that_screens_use(tmp_path: Path) -> None:
    paths = AppPaths(*(tmp_path / part for part in ("config", "data", "state", "cache")))
    scripted = ScriptedRuntime()
    async with load_runtime(Flags(), {}, paths)() as runtime:
        assert members(runtime) - members(scripted) == NOT_ON_A_SCREEN
        for name in members(runtime) & members(scripted):
            own = getattr(scripted, name)
            if inspect.ismethod(own):
                assert parameters(own) == parameters(getattr(runtime, name)), name


@pytest.mark.parametrize(("scripted", "real"), PARTS)
def test_what_its_parts_share_with_the_real_ones_is_called_alike(
    scripted: type, real: type
) -> None:
    shared = members(scripted) & members(real)
    assert shared
    for name in shared:
        own = getattr(scripted, name)
        if inspect.isfunction(own):
            assert parameters(own) == parameters(getattr(real, name)), name


def test_screens_use_no_other_member() -> None:
    member = re.compile(rf"\bruntime\.({'|'.join(NOT_ON_A_SCREEN)})\b")
    folder = Path(tui.__file__).parent
    screens = [path for path in folder.rglob("*.py") if path != folder / "run.py"]
    assert len(screens) > 100
    assert [path for path in screens if member.search(path.read_text("utf-8"))] == []
