"""Where there is no model, the folders of other programs are told of."""

import re
from pathlib import Path

import pytest

from ollm_tui.protocol.model import ModelInfo
from ollm_tui.providers.catalog import Listing
from ollm_tui.runtime.other_models import OtherFolder, OtherFolders
from tests.tui.screens import staged
from tests.tui.scripted import ScriptedCatalog, ScriptedRuntime

FOUND = OtherFolders(
    folders=(OtherFolder(title="LM Studio", path="/x", models=3, is_listed=False),),
    setting='other_folders = ["lmstudio"]',
)
WORDS = "LM Studio's folder holds 3 models"


def without_models(others: OtherFolders = FOUND) -> ScriptedRuntime:
    empty = Listing(provider="embedded", label="On this machine")
    return ScriptedRuntime(catalog=ScriptedCatalog(empty), others=others)


@pytest.mark.parametrize("key", ["f3", "ctrl+l"])
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_an_empty_list_tells_of_them_and_of_the_setting(
    config: Path, key: str, size: tuple[int, int]
) -> None:
    async with staged(config, without_models(), size=size) as stage:
        await stage.pilot.press(key)
        await stage.settle()
        shown = " ".join(re.sub("[│┃▌▐]", " ", stage.screen_text).split())
        assert WORDS in shown
        assert 'other_folders = ["lmstudio"]' in shown
        assert "below [embedded]" in shown


@pytest.mark.parametrize("key", ["f3", "ctrl+l"])
async def test_where_there_is_nothing_to_add_nothing_is_reported(config: Path, key: str) -> None:
    async with staged(config, without_models(OtherFolders())) as stage:
        await stage.pilot.press(key)
        await stage.settle()
        assert stage.runtime.looks == 1
        assert "folder" not in stage.screen_text


@pytest.mark.parametrize("key", ["f3", "ctrl+l"])
async def test_where_there_are_models_no_folder_is_searched(config: Path, key: str) -> None:
    models = (ModelInfo(name="qwen3:8b"),)
    local = Listing(provider="local", label="Ollama", models=models)
    runtime = ScriptedRuntime(catalog=ScriptedCatalog(local), others=FOUND)
    async with staged(config, runtime) as stage:
        await stage.pilot.press(key)
        await stage.settle()
        assert WORDS not in stage.screen_text
    assert runtime.looks == 0
