"""What is done with models on their screen: asked before, told while and after, or why not."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from ollm_tui.frontend.consent import ARMED_AFTER_S
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelRef
from ollm_tui.providers.catalog import Listing
from ollm_tui.tui.dialogs.armed import WAITING
from ollm_tui.tui.dialogs.questions import ChoiceDialog, YesNoDialog
from ollm_tui.tui.models import operations
from ollm_tui.tui.models.details import ModelDetailsScreen
from ollm_tui.tui.models.dialogs import CopyName
from tests.tui.models.managed import REFUSAL, ManagedRuntime, known_details
from tests.tui.models.scenes import HERE, OLLAMA, QWEN, opened, page, runtime
from tests.tui.screens import Stage, staged
from tests.tui.scripted import ScriptedCatalog
from tests.tui.svg import SIZES, SvgSnapshot

BOTH = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
LLAVA = ModelRef("local", "llava:13b")


@asynccontextmanager
async def shown(
    tmp_path: Path, scripted: ManagedRuntime, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[Stage]:
    async with staged(tmp_path / "config.toml", scripted, size=size) as stage:
        await opened(stage)
        yield stage


async def armed(stage: Stage) -> YesNoDialog:
    """Wait until the question takes an answer."""
    dialog = stage.app.screen
    assert isinstance(dialog, YesNoDialog)
    with anyio.fail_after(10 + ARMED_AFTER_S):
        while WAITING in stage.screen_text:
            await stage.pilot.pause(0.02)
    return dialog


async def press(stage: Stage, *keys: str) -> None:
    await stage.pilot.press(*keys)
    await stage.settle()


async def test_loading_asks_how_long_and_goes_on_when_the_screen_is_left(tmp_path: Path) -> None:
    scripted = runtime(OLLAMA)
    scripted.manager.held = anyio.Event()
    async with shown(tmp_path, scripted) as stage:
        await press(stage, "down", "f6")
        assert isinstance(stage.app.screen, ChoiceDialog)
        assert "Until unloaded" in stage.screen_text
        await press(stage, "end", "enter")
        assert scripted.manager.done == [("load", LLAVA, "-1")]
        assert "Loading llava:13b…" in stage.screen_text
        await press(stage, "escape")
        assert len(stage.app.screen_stack) == 1
        scripted.manager.held.set()
        await stage.settle()
        assert "Loaded llava:13b." in stage.shown


async def test_a_command_waits_its_turn_while_something_is_done_with_the_model(
    tmp_path: Path,
) -> None:
    scripted = runtime(OLLAMA)
    scripted.manager.held = anyio.Event()
    async with staged(tmp_path / "config.toml", scripted) as stage:
        await stage.ask("/load local://llava:13b")
        await stage.ask("/unload local://llava:13b")
        assert scripted.manager.done == [("load", LLAVA, None)]
        assert "Another action on llava:13b is in progress." in stage.shown
        scripted.manager.held.set()
        await stage.settle()
        assert "Loaded llava:13b." in stage.shown


async def test_the_models_screen_shows_what_a_command_of_the_chat_does_and_how_it_ended(
    tmp_path: Path,
) -> None:
    scripted = runtime(OLLAMA)
    scripted.manager.held = anyio.Event()
    async with staged(tmp_path / "config.toml", scripted) as stage:
        await stage.ask("/load local://llava:13b")
        await press(stage, "f3")
        assert "Loading llava:13b…" in stage.screen_text
        scripted.manager.held.set()
        await stage.settle()
        assert "Loading llava:13b…" not in stage.screen_text
        assert "Loaded llava:13b." in stage.screen_text
        assert "Loaded llava:13b." in stage.shown


async def test_a_delete_in_the_details_is_refused_aloud_while_a_command_loads_the_model(
    tmp_path: Path,
) -> None:
    scripted = runtime(OLLAMA)
    scripted.manager.held = held = anyio.Event()
    async with staged(tmp_path / "config.toml", scripted) as stage:
        await stage.ask("/load local://llava:13b")
        scripted.manager.held = None
        await stage.ask("/show local://llava:13b")
        await press(stage, "f8")
        assert not isinstance(stage.app.screen, YesNoDialog)
        assert "Another action on llava:13b is in progress." in stage.shown
        assert all(action != "delete" for action, *_ in scripted.manager.done)
        held.set()
        await stage.settle()


async def test_the_first_choice_leaves_the_time_to_the_server(tmp_path: Path) -> None:
    scripted = runtime(OLLAMA)
    async with shown(tmp_path, scripted) as stage:
        await press(stage, "down", "f6", "enter")
        assert scripted.manager.done == [("load", LLAVA, None)]
        assert "Loaded llava:13b." in stage.screen_text
        assert "is loaded" not in stage.shown
        await press(stage, "f7")
        assert scripted.manager.done[-1] == ("unload", LLAVA)
        assert "Unloaded llava:13b." in stage.screen_text


async def test_a_failure_is_a_line_with_its_next_step(tmp_path: Path) -> None:
    scripted = runtime(OLLAMA)
    scripted.manager.fails = REFUSAL
    async with shown(tmp_path, scripted) as stage:
        await press(stage, "down", "f6", "enter")
        text = " ".join(stage.screen_text.split())
        assert "Ollama does not answer at localhost:11434. Start it with `ollama serve`." in text


async def test_one_thing_at_a_time_is_done_with_a_model(tmp_path: Path) -> None:
    scripted = runtime(OLLAMA)
    scripted.manager.held = anyio.Event()
    async with shown(tmp_path, scripted) as stage:
        await press(stage, "down", "f6", "enter", "f7")
        assert len(scripted.manager.done) == 1
        assert "Another action on llava:13b is in progress." in stage.screen_text
        scripted.manager.held.set()
        await stage.settle()


async def test_copying_asks_for_a_name_and_takes_neither_none_nor_the_same(tmp_path: Path) -> None:
    scripted = runtime(OLLAMA)
    async with shown(tmp_path, scripted) as stage:
        await press(stage, "f9", "enter")
        assert isinstance(stage.app.screen, CopyName)
        assert "Enter a name first." in stage.screen_text
        await stage.type("qwen3:8b")
        await press(stage, "enter")
        assert "It already has this name." in stage.screen_text
        await stage.type("-mine")
        await press(stage, "enter")
        assert scripted.manager.done == [("copy", QWEN, "qwen3:8b-mine")]
        assert "Copied qwen3:8b to qwen3:8b-mine." in stage.screen_text


async def test_deleting_one_of_two_names_says_that_the_model_stays(tmp_path: Path) -> None:
    again = "To get it back, download it again."
    models = [
        replace(one, details={"digest": "d" if one.name != "llava:13b" else "l"})
        for one in OLLAMA.models
    ]
    models.append(replace(models[0], name="zz-mine"))
    for names, words in (
        (("qwen3:8b", "zz-mine"), "Only this name is deleted: the same model stays as"),
        (("llava:13b",), again),
    ):
        kept = tuple(one for one in models if one.name in names)
        async with shown(tmp_path, runtime(replace(OLLAMA, models=kept))) as stage:
            await press(stage, "f8")
            await armed(stage)
            shown_words = " ".join(stage.screen_text.replace("│", " ").split())
            assert words in shown_words
            assert (again in shown_words) is (words == again)


@pytest.mark.parametrize("is_late", [False, True])
async def test_a_name_that_was_deleted_elsewhere_is_no_way_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_late: bool
) -> None:
    monkeypatch.setattr(operations, "LISTED_WITHIN_S", 0.0)
    one = replace(OLLAMA.models[0], details={"digest": "d"})
    was = replace(OLLAMA, models=(one, replace(one, name="zz-mine")))
    scripted = runtime(was)
    async with shown(tmp_path, scripted) as stage:
        scripted.catalog.lists(replace(OLLAMA, models=(one,)))
        if is_late:
            scripted.catalog.late["local"] = anyio.Event()
        await press(stage, "f8")
        await armed(stage)
        shown_words = " ".join(stage.screen_text.replace("│", " ").split())
        assert "the same model stays" not in shown_words
        assert "To get it back, download it again." in shown_words


async def test_deleting_names_what_and_where_and_no_is_the_default(tmp_path: Path) -> None:
    scripted = runtime(OLLAMA)
    async with shown(tmp_path, scripted) as stage:
        await press(stage, "down", "f8")
        await armed(stage)
        for words in ("llava:13b", "8.0 GB", "Ollama at http://localhost:11434"):
            assert words in stage.screen_text
        assert "The open chat uses it" not in stage.screen_text
        await press(stage, "enter", "enter")
        assert isinstance(stage.app.screen, YesNoDialog)
        await armed(stage)
        await press(stage, "n")
        assert scripted.manager.done == []
        await press(stage, "f8")
        await press(stage, "y")
        assert scripted.manager.done == []
        await press(stage, "escape")
        await press(stage, "f8")
        await armed(stage)
        await press(stage, "y")
        assert scripted.manager.done == [("delete", LLAVA)]
        assert "Deleted llava:13b from Ollama at http://localhost:11434." in stage.screen_text
        assert stage.client.conversation.model == "local://qwen3:8b"


async def test_the_chat_whose_model_is_deleted_reports_it_and_asks_for_another(
    tmp_path: Path,
) -> None:
    scripted = runtime(OLLAMA, HERE)
    async with shown(tmp_path, scripted) as stage:
        await press(stage, "f8")
        await armed(stage)
        assert "The open chat uses it and will have no model." in stage.screen_text
        assert "It is loaded now." in stage.screen_text
        await press(stage, "y")
        assert stage.client.conversation.model is None
        assert "no model" in stage.screen_text.splitlines()[0]
        await press(stage, "escape")
        assert "Deleted qwen3:8b from Ollama" in stage.shown
        assert "no model is selected now" in stage.shown
        await stage.ask("hello")
        assert stage.client.prompts == []
        assert stage.chat.composer.text == "hello"


async def test_a_failed_deletion_leaves_the_chat_its_model(tmp_path: Path) -> None:
    scripted = runtime(OLLAMA)
    scripted.manager.fails = AIError(ErrorCode.PERMISSION_DENIED, "It is read-only.")
    async with shown(tmp_path, scripted) as stage:
        await press(stage, "f8")
        await armed(stage)
        await press(stage, "y")
        assert "It is read-only." in stage.screen_text
        assert stage.client.conversation.model == "local://qwen3:8b"


async def test_a_model_that_is_deleted_elsewhere_is_not_lost_silently(tmp_path: Path) -> None:
    scripted = runtime(OLLAMA)
    without = Listing(provider="local", label="Ollama", models=OLLAMA.models[1:])
    async with shown(tmp_path, scripted) as stage:
        scripted.catalog = ScriptedCatalog(without)
        await press(stage, "escape")
        # the list that is known is the old one
        scripted.catalog = ScriptedCatalog(without, known=(OLLAMA,))
        await opened(stage)
        await press(stage, "escape")
        assert stage.shown.count("Ollama no longer lists qwen3:8b, this chat's model.") == 1
        # it may come back, as when one server of several is away
        assert stage.client.conversation.model == "local://qwen3:8b"


async def test_a_server_that_fails_takes_no_model_away(tmp_path: Path) -> None:
    scripted = runtime(OLLAMA)
    down = Listing(provider="local", label="Ollama", problem=REFUSAL)
    scripted.catalog = ScriptedCatalog(down, known=(OLLAMA,))
    async with shown(tmp_path, scripted) as stage:
        assert stage.client.conversation.model == "local://qwen3:8b"
        assert "Ollama does not answer" in stage.screen_text


async def test_what_cannot_be_done_is_in_no_hint_and_says_why_on_request(tmp_path: Path) -> None:
    async with shown(tmp_path, runtime()) as stage:
        await press(stage, "ctrl+end")
        hints = stage.screen_text.splitlines()[-1]
        assert "Enter chat" in hints
        assert "delete" not in hints
        assert "load" not in hints
        await press(stage, "f8")
        assert "vLLM cannot delete models." in stage.screen_text
        await press(stage, "f2")
        assert isinstance(stage.app.screen, ChoiceDialog)
        for words in ("vLLM cannot drop models from memory.", "vLLM cannot copy models."):
            assert words in stage.screen_text
        # the first that can be done is marked, the others cannot be
        await press(stage, "down", "down", "enter")
        assert stage.client.conversation.model == "vllm://meta-llama/Llama-3.3-70B-Instruct"


async def test_the_menu_does_what_is_chosen(tmp_path: Path) -> None:
    scripted = runtime(OLLAMA)
    async with shown(tmp_path, scripted) as stage:
        await press(stage, "f2")
        lines = stage.screen_text.splitlines()
        assert any("Unload" in line and "F7" in line for line in lines)
        screen = stage.app.screen
        assert isinstance(screen, ChoiceDialog)
        await press(stage, "end", "up", "enter")
        assert len(scripted.manager.done) + len(stage.app.screen_stack) > 2
        assert page(stage) is not None


async def test_the_details_show_the_model_and_what_is_chosen_there_is_done(
    tmp_path: Path,
) -> None:
    scripted = runtime(OLLAMA)
    scripted.manager.details[LLAVA] = known_details(ref=LLAVA)
    async with shown(tmp_path, scripted) as stage:
        await press(stage, "down", "f4")
        assert isinstance(stage.app.screen, ModelDetailsScreen)
        assert "llava:13b" in stage.screen_text.splitlines()[0]
        await press(stage, "escape")
        assert page(stage).is_current
        await press(stage, "f4", "f9")
        assert isinstance(stage.app.screen, CopyName)
        await press(stage, "escape", "f4", "enter")
        assert stage.client.conversation.model == "local://llava:13b"
        assert len(stage.app.screen_stack) == 1


async def test_deleting_from_the_details_of_a_chat_takes_its_model_and_says_so_once(
    tmp_path: Path,
) -> None:
    scripted = runtime(OLLAMA)
    async with staged(tmp_path / "config.toml", scripted, size=(120, 40)) as stage:
        await stage.ask("/show")
        await press(stage, "f8")
        await armed(stage)
        await press(stage, "y")
        assert scripted.manager.done[-1] == ("delete", QWEN)
        assert stage.client.conversation.model is None
        assert stage.shown.count("Deleted") == 1


async def test_details_that_cannot_be_had_are_a_line(tmp_path: Path) -> None:
    scripted = runtime(OLLAMA)
    scripted.manager.fails = REFUSAL
    async with shown(tmp_path, scripted) as stage:
        await press(stage, "f4")
        assert "Ollama does not answer at localhost:11434." in stage.screen_text
        assert "Asking about" not in stage.screen_text


@BOTH
async def test_the_question_before_deleting_looks_as_drawn(
    size: tuple[int, int], svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    async with shown(tmp_path, runtime(), size) as stage:
        await press(stage, "f8")
        await armed(stage)
        await stage.settle()
        svg_snapshot(stage.app)


@BOTH
async def test_the_menu_looks_as_drawn(
    size: tuple[int, int], svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    async with shown(tmp_path, runtime(), size) as stage:
        await press(stage, "ctrl+end", "f2")
        await stage.settle()
        svg_snapshot(stage.app)
