"""Profiles on the screen: chosen from a list or the palette, and saved from the chat."""

from pathlib import Path

from ollm_tui.config.load import load_config
from ollm_tui.config.paths import AppPaths
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.providers.catalog import Listing
from ollm_tui.runtime.profiles import Profiles
from ollm_tui.tui.chat.profile_dialog import ProfilePicker
from tests.tui.screens import Stage, staged
from tests.tui.scripted import ScriptedCatalog, ScriptedRuntime
from tests.tui.svg import SvgSnapshot

TEXT = """\
# mine
[profiles.coding]
model = "local://gemma3"
system_prompt = "You review code."
[profiles.coding.options]
temperature = 0.2
[profiles.translate]
system_prompt = "Translate into German."
tools = []
"""


def with_profiles(config: Path, text: str) -> ScriptedRuntime:
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(text, "utf-8")
    models = (ModelInfo(name="qwen3:8b", context=32768), ModelInfo(name="gemma3"))
    listing = Listing(provider="local", label="Ollama", models=models)
    runtime = ScriptedRuntime(catalog=ScriptedCatalog(listing))
    paths = AppPaths(config.parent, *[Path("/nowhere")] * 3)
    loaded = load_config(paths, {"OLLM_CONFIG": str(config)})
    preset, shown = runtime._chat_factory.preset, runtime.catalog.shown_address
    runtime.profiles = Profiles(loaded, paths, preset, shown)
    return runtime


async def opened(stage: Stage) -> None:
    await stage.ask("/profile")
    await stage.settle()
    assert isinstance(stage.app.screen, ProfilePicker)


async def test_a_profile_is_chosen_from_the_list_and_saved_again(config: Path) -> None:
    async with staged(config, with_profiles(config, TEXT)) as stage:
        await opened(stage)
        await stage.type("review")
        await stage.settle()
        assert "No profile matches." in stage.screen_text
        await stage.pilot.press(*["backspace"] * 6)
        await stage.type("cod")
        await stage.pilot.press("enter")
        await stage.settle()
        chat = stage.client.conversation
        assert (chat.profile, chat.model) == ("coding", "local://gemma3")
        assert (chat.system_prompt, chat.options.temperature) == ("You review code.", 0.2)
        assert "Profile coding from the next prompt: local://gemma3" in stage.shown
        await stage.ask("/set temperature 0.5")
        await stage.ask("/save coding")
        await stage.settle()
        assert "Saved the profile coding." in stage.shown
    text = config.read_text("utf-8")
    assert text.startswith("# mine\n[profiles.coding]\n")
    assert "temperature = 0.5" in text
    assert '[profiles.translate]\nsystem_prompt = "Translate into German."\ntools = []\n' in text


async def test_the_palette_has_the_profiles(config: Path) -> None:
    async with staged(config, with_profiles(config, TEXT)) as stage:
        await stage.pilot.press("ctrl+p")
        await stage.settle()
        await stage.type("transl")
        await stage.pilot.press("enter")
        await stage.settle()
        assert stage.client.conversation.profile == "translate"
        assert stage.client.conversation.model == "local://qwen3:8b"


async def test_it_looks_as_drawn(config: Path, svg_snapshot: SvgSnapshot) -> None:
    async with staged(config, with_profiles(config, TEXT)) as stage:
        await opened(stage)
        svg_snapshot(stage.app)
