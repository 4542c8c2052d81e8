"""Brackets are characters: no field that a person or a server can name reads markup in them."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from textual.content import Content

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.providers.catalog import Listing
from tests.support.seeds import in_parts
from tests.tui.screens import Stage, staged
from tests.tui.scripted import ScriptedCatalog, ScriptedRuntime, finish, text, thinking

pytestmark = pytest.mark.slow

BRACKETS = (
    "[/INST]", "[INST]", "[/]", "[/", "[", "]", "[]", "[[x]]", "[b", "[b ", "[b]x[/b]", "[b]x",
    "x[/red]", "[red]x", "[red]x[/]", "[$primary]x", "[on red]x", "[#ff0000]x", "[reverse]x[/]",
    "[/some/path]", "regex [^/]+[/]", "deepseek[coder]:33b", "[ ] todo [x] done", "[@click]x",
    "[@click=app.quit]x[/]", "[@click=app.quit()]x", "[link=http://evil/]x[/link]", "[link]",
    "\\[b]x", "a\\", "[a\\]", "[!note]", "[1;31m", "[0]", "[a=b]", "[a='b']", '[a="b]"]',
    "[not a tag at all]", "x [bold italic]y", "[/b][/i][/u]", "[blink]", "{x} [x] <x>", "[ b ]",
)  # fmt: skip


def test_there_are_enough_strings() -> None:
    assert len(set(BRACKETS)) >= 40


def listing(names: tuple[str, ...], label: str = "Ollama") -> Listing:
    models = tuple(ModelInfo(name=name) for name in names)
    return Listing(provider="local", label=label, models=models)


async def shown_in_picker(stage: Stage) -> str:
    await stage.pilot.press("ctrl+l")
    await stage.pilot.pause(0.05)
    seen = stage.screen_text
    await stage.pilot.press("up")  # from the first row to the last
    await stage.pilot.pause()
    seen += stage.screen_text
    await stage.pilot.press("down")
    for _page in range(len(BRACKETS) // 10 + 1):
        await stage.pilot.press("pagedown")
        await stage.pilot.pause()
        seen += "\n" + stage.screen_text
    await stage.pilot.press("escape")
    return seen


async def test_model_names_with_brackets_are_listed_as_they_are(tmp_path: Path) -> None:
    runtime = ScriptedRuntime(catalog=ScriptedCatalog(listing(BRACKETS)))
    async with staged(tmp_path / "config.toml", runtime, size=(120, 40)) as stage:
        seen = await shown_in_picker(stage)
    assert [name for name in BRACKETS if name not in seen] == []


@pytest.mark.one_in(6)
@pytest.mark.parametrize("start", range(0, len(BRACKETS), 3))
async def test_labels_and_problems_with_brackets_are_shown_as_they_are(
    tmp_path: Path, start: int
) -> None:
    names = BRACKETS[start : start + 3]
    listings = [listing(("m",), f"of {name}") for name in names]
    for name in names:
        problem = AIError(ErrorCode.SERVICE_UNAVAILABLE, f"said {name}.")
        listings.append(Listing(provider=f"p{name}", label=f"other {name}", problem=problem))
    for place, entry in enumerate(listings):
        listings[place] = replace(entry, provider=f"p{place}")
    runtime = ScriptedRuntime(catalog=ScriptedCatalog(*listings))
    async with staged(tmp_path / "config.toml", runtime, size=(120, 40)) as stage:
        await stage.pilot.press("ctrl+l")
        await stage.pilot.pause(0.05)
        for name in names:
            assert f"of {name.strip()}" in stage.screen_text
            assert f"said {name}." in stage.screen_text


@pytest.mark.slow
async def test_every_text_with_brackets_is_shown_as_it_is(tmp_path: Path) -> None:
    everything = "\n".join(BRACKETS)
    # A message of more lines than these is folded once it is sent.
    few_lines = "\n".join("  ".join(BRACKETS[start::15]) for start in range(15))
    async with staged(tmp_path / "config.toml", size=(120, 400)) as stage:
        await stage.pilot.press("ctrl+t")
        await stage.ask(f"prompt:\n{few_lines}\nthat is all")
        stage.client.give(thinking(everything), text("ok", "answer-1"), finish())
        await stage.settle()
        assert stage.screen_text.count("deepseek[coder]:33b") == 2
        for name in BRACKETS:
            assert count(name, stage) >= 2, name
        await stage.ask("again")
        stage.client.fail(AIError(ErrorCode.ENGINE_ERROR, everything, hint=everything))
        await stage.settle()
        for name in BRACKETS:
            assert count(name, stage) >= 4, name


def count(name: str, stage: Stage) -> int:
    """Say how often a text is on the screen, wherever its lines were broken."""
    flat = re.sub(r"\s*\n[\s▌]*|\s", "", stage.screen_text)
    return flat.count(re.sub(r"\s", "", name))


@in_parts(4)
async def test_names_with_brackets_in_the_frame_are_shown_as_they_are(
    tmp_path: Path, part: int
) -> None:
    async with staged(tmp_path / "config.toml", size=(120, 30)) as stage:
        controller = stage.controller
        for name in BRACKETS[part::4]:
            controller.models.use_model(ModelRef("local", name))
            await stage.ask(f"about {name} .")
            stage.client.answer("Yes.")
            await stage.settle()
            stage.chat.hints.flash(f"hint {name}", 5)
            stage.chat.composer.insert(f"/theme {name}")
            await stage.settle()
            header, _, rest = stage.screen_text.partition("\n")
            assert f"{name.rstrip()} " in header.replace("·", " "), name
            assert f"about {name} ." in header, name
            assert f"hint {name}".rstrip() in rest, name
            assert f"/theme {name}".rstrip() in rest, name
            assert f"Now using {name}." in rest, name
            stage.chat.composer.stash()
            controller.start_new()
            await stage.settle()


def test_content_is_what_keeps_them() -> None:
    assert all(Content(name).plain == name for name in BRACKETS)
