"""The details of a model: their sections, keys, search, and what is handed back."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ollm_tui.frontend.model_facts import left_words
from ollm_tui.frontend.model_sections import sections_of
from ollm_tui.models.actions import MODEL_ACTIONS
from ollm_tui.models.known_models import KnownModels
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.providers.catalog import Listing
from ollm_tui.runtime.details import ModelDetails
from ollm_tui.tui.models.details import ModelDetailsScreen
from ollm_tui.tui.widgets.chrome import KeyLine
from tests.hostile.payloads import PAYLOADS
from tests.tui.models.managed import LICENCE, REF, ManagedRuntime, ScriptedManager, known_details
from tests.tui.screens import Stage, staged
from tests.tui.scripted import ScriptedCatalog
from tests.tui.svg import SIZES, SvgSnapshot

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
GEMMA = ModelRef("local", "gemma3:4b")
CAN = dict.fromkeys(MODEL_ACTIONS)


def managed() -> ManagedRuntime:
    """Return a runtime with two models; everything is known of the first."""
    infos = tuple(ModelInfo(name=ref.model) for ref in (REF, GEMMA))
    return ManagedRuntime(
        catalog=ScriptedCatalog(Listing(provider="local", label="Ollama", models=infos)),
        manager=ScriptedManager(details={REF: known_details()}),
    )


async def opened(
    stage: Stage, details: ModelDetails | None = None, **more: object
) -> tuple[ModelDetailsScreen, list[object]]:
    """Put the details on the stage; the list gets what is handed back."""
    answers: list[object] = []
    page = ModelDetailsScreen(details or known_details(), now=lambda: NOW, **more)  # type: ignore[arg-type]
    stage.app.push_screen(page, answers.append)
    await stage.settle()
    return page, answers


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_picture_of_the_details(
    tmp_path: Path, svg_snapshot: SvgSnapshot, size: tuple[int, int]
) -> None:
    async with staged(tmp_path / "config.toml", size=size) as stage:
        await opened(stage, refusals=CAN)
        svg_snapshot(stage.app)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_picture_of_a_search_in_the_settings(
    tmp_path: Path, svg_snapshot: SvgSnapshot, size: tuple[int, int]
) -> None:
    async with staged(tmp_path / "config.toml", size=size) as stage:
        await opened(stage, section="settings")
        await stage.pilot.press("slash", *"num")
        await stage.settle()
        svg_snapshot(stage.app)


async def test_every_section_says_what_is_known_and_by_whom(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml", size=(100, 80)) as stage:
        await opened(stage)
        text = stage.screen_text
    for words in (
        "Summary",
        "place         Ollama at http://127.0.0.1:11434",
        "architecture  qwen3",
        "loaded        yes, 6.6 GB, 80 % on the GPU, for 30 min more",
        "tools      yes  reported by the engine",
        "counts      8,192 tokens  /set in this chat",
        "trained     40,960 tokens",
        "temperature  0.2  ~/.config/ollm/config.toml:7, options.temperature, instead of",
        "top_p        -  the default of Ollama",
        "verdict          partly: 80 % on the GPU, 6.8 of 26 GB free",
        "needs            6.8 GB",
        "NVIDIA GeForce RTX 3050, 6.0 GB  5.5 GB free",
        "stop         <|im_end|>",
        "{{- if .System }}<|im_start|>system",
        "Version 2.0, January 2004",
    ):
        assert words in text, words


def test_the_family_of_a_model_and_what_is_not_sent_have_a_section() -> None:
    known = KnownModels().of(["gemma3:4b"])
    details = replace(known_details(), known=known)
    [family] = [one for one in sections_of(details, NOW) if one.id == "family"]
    facts = {fact.name: (fact.value, fact.note) for fact in family.facts}
    assert facts["family"] == ("Gemma", "")
    assert facts["sliding window"] == ("1,024 tokens in 5 of 6 layers", "")
    assert facts["top_k"] == ("64", f"not sent: {details.place} has defaults of its own")
    [used] = [
        one for one in sections_of(replace(details, uses_family=True), NOW) if one.id == "family"
    ]
    assert "top_k" not in {fact.name for fact in used.facts}


async def test_what_is_not_known_has_no_section() -> None:
    bare = ModelDetails(ref=ModelRef("p", "m"), info=ModelInfo(name="m"), place="P")
    assert [section.id for section in sections_of(bare, NOW)] == ["summary", "capabilities"]
    known = [section.id for section in sections_of(known_details(system="Hi."), NOW)]
    assert known == [
        "summary", "capabilities", "context", "settings", "parameters", "fit", "system",
        "template", "licence",
    ]  # fmt: skip


async def test_tab_goes_through_the_sections_and_c_copies_the_current_one(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        page, _ = await opened(stage, section="licence")
        await stage.pilot.press("c")
        await stage.settle()
        assert stage.app.clipboard == LICENCE
        assert "Sent 26 lines to the terminal's clipboard" in stage.screen_text
        await stage.pilot.press("shift+tab", "shift+tab", "shift+tab", "c")
        await stage.settle()
        assert stage.app.clipboard.splitlines()[:2] == ["stop\t<|im_start|>", "stop\t<|im_end|>"]
        for _section in range(20):
            await stage.pilot.press("tab")
        assert page.sheet.current == len(page.sheet.sections) - 1


async def test_scrolling_takes_the_current_section_along(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        page, _ = await opened(stage)
        await stage.pilot.press("end")
        await stage.settle()
        assert page.sheet.sections[page.sheet.current].id == "licence"
        await stage.pilot.press("home")
        await stage.settle()
        assert page.sheet.sections[page.sheet.current].id == "summary"
        await stage.pilot.press("down", "down", "pagedown", "pageup", "up")
        await stage.settle()
        assert page.sheet.scroll_offset.y == 1


async def test_a_search_goes_from_match_to_match_and_letters_stay_letters(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        page, answers = await opened(stage, refusals=CAN)
        await stage.pilot.press("slash", *"A PARA")
        await stage.settle()
        first = page.sheet.scroll_offset.y
        assert first > 0
        await stage.pilot.press("enter")
        await stage.settle()
        second = page.sheet.scroll_offset.y
        assert second > first
        await stage.pilot.press("escape", "N")
        await stage.settle()
        assert page.sheet.scroll_offset.y == first
        await stage.pilot.press("n", "n")
        await stage.settle()
        assert page.sheet.scroll_offset.y > second
        assert answers == []
        await stage.pilot.press("slash", *"zq")
        await stage.settle()
        assert "no matches" in stage.screen_text
        await stage.pilot.press("escape", "escape")
        await stage.settle()
        assert answers == [None]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("key", "answer"),
    [
        ("enter", "chat"),
        ("f6", "load"),
        ("f7", "unload"),
        ("f8", "delete"),
        ("f9", "copy"),
        ("q", None),
    ],
)
async def test_what_is_to_be_done_is_handed_back(
    tmp_path: Path, key: str, answer: str | None
) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        _, answers = await opened(stage, refusals=CAN)
        await stage.pilot.press(key)
        await stage.settle()
        assert answers == [answer]


async def test_what_cannot_be_done_says_why_and_is_not_offered(tmp_path: Path) -> None:
    refusals = CAN | {"delete": "vLLM cannot delete models.", "load": None}
    async with staged(tmp_path / "config.toml", size=(120, 40)) as stage:
        page, answers = await opened(stage, refusals=refusals)
        await stage.pilot.press("f8")
        await stage.settle()
        assert "vLLM cannot delete models." in stage.screen_text
        assert answers == []
        keys = page.query_one(KeyLine).render_line(0).text
        assert "F6 load" in keys
        assert "delete" not in keys


async def test_a_screen_that_only_shows_does_nothing(tmp_path: Path) -> None:
    async with staged(tmp_path / "config.toml") as stage:
        _, answers = await opened(stage)
        await stage.pilot.press("f6")
        await stage.settle()
        assert "Not available here." in stage.screen_text
        assert answers == []


async def test_no_text_of_a_model_drives_the_terminal(tmp_path: Path) -> None:
    texts = [payload.text for payload in PAYLOADS]
    whole = "\n".join(texts)
    details = known_details(
        ref=ModelRef("p", texts[0]),
        info=ModelInfo(
            name=whole,
            label=f"label {whole}",
            details={"family": whole, **{text: [text] for text in texts}},
        ),
        place=whole,
        licence=whole,
        template=whole,
        system=whole,
        modelfile=whole,
        parameters=tuple((text, text) for text in texts),
        path=whole,
    )
    async with staged(tmp_path / "config.toml", size=(100, 40)) as stage:
        page, _ = await opened(stage, details)
        while not page.sheet.is_whole:
            await stage.pilot.pause()
        shown = ""
        for top in range(0, page.sheet.virtual_size.height, 30):
            page.sheet.scroll_to(y=top, animate=False, immediate=True)
            shown += "".join(page.sheet.render_line(y).text for y in range(30))
    assert "␛" in shown
    controls = [c for c in shown if ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0]
    assert controls == []
    assert "\u202e" not in shown


async def test_a_long_text_is_laid_out_in_turns(tmp_path: Path) -> None:
    many = "{{ .Prompt }} " * 15_000 + "\n" * 5_000 + "the very end"
    async with staged(tmp_path / "config.toml") as stage:
        page, _ = await opened(stage, known_details(template=many), section="template")
        page.sheet.on_resize()
        await stage.pilot.press("slash", *"very end")
        await stage.settle()
        await stage.app.workers.wait_for_complete()
        assert page.sheet.is_whole
        assert "the very end" in stage.screen_text
        await stage.pilot.resize_terminal(60, 24)
        await stage.settle()
        assert page.sheet.sections[page.sheet.current].id == "template"


async def test_show_opens_the_details_of_the_chats_model_and_of_others(tmp_path: Path) -> None:
    runtime = managed()
    async with staged(tmp_path / "config.toml", runtime, size=(100, 40)) as stage:
        await stage.ask("/set temperature 1.5")
        await stage.ask("/show")
        assert isinstance(stage.app.screen, ModelDetailsScreen)
        assert runtime.manager.done == [("show", REF)]
        assert "temperature  1.5  /set in this chat, instead of 0.2 of" in stage.screen_text
        await stage.pilot.press("escape")
        await stage.ask("/show local://gemma3:4b")
        assert runtime.manager.done[-1] == ("show", GEMMA)
        assert "1.5  /set" not in stage.screen_text


async def test_show_license_goes_there_and_what_is_not_there_is_reported(tmp_path: Path) -> None:
    runtime = managed()
    async with staged(tmp_path / "config.toml", runtime) as stage:
        await stage.ask("/show license")
        page = stage.app.screen
        assert isinstance(page, ModelDetailsScreen)
        assert page.sheet.sections[page.sheet.current].id == "licence"
        await stage.pilot.press("escape")
        await stage.ask("/show modelfile")
        assert "qwen3:8b has no modelfile." in stage.shown


async def test_what_is_chosen_in_the_details_is_done(tmp_path: Path) -> None:
    runtime = managed()
    async with staged(tmp_path / "config.toml", runtime) as stage:
        await stage.ask("/show")
        await stage.pilot.press("f7")
        await stage.settle()
        assert "Unloaded qwen3:8b." in stage.shown
        await stage.ask("/show")
        await stage.pilot.press("f8")
        await stage.settle()
        assert "Delete this model permanently?" in stage.screen_text
        assert "5.2 GB · Ollama at http://127.0.0.1:11434" in stage.screen_text
        assert "The open chat uses it" in stage.screen_text
        await stage.pilot.press("escape")
        await stage.settle()
        await stage.ask("/show local://gemma3:4b")
        await stage.pilot.press("enter")
        await stage.settle()
        assert "Now using gemma3:4b." in stage.shown
        await stage.ask("/show")
        await stage.pilot.press("f9")
        await stage.settle()
        assert "Copy it in the model list" in stage.screen_text
    assert [action[0] for action in runtime.manager.done] == [
        "show", "unload", "show", "show", "show",
    ]  # fmt: skip


async def test_load_and_unload_take_a_name_and_a_time_and_say_what_fails(tmp_path: Path) -> None:
    runtime = managed()
    manager = runtime.manager
    async with staged(tmp_path / "config.toml", runtime) as stage:
        await stage.ask("/load")
        await stage.ask("/load local://gemma3:4b 30m")
        await stage.ask("/unload local://gemma3:4b")
        assert manager.done == [
            ("load", REF, None),
            ("load", GEMMA, "30m"),
            ("unload", GEMMA),
        ]
        assert "Loaded gemma3:4b." in stage.shown
        manager.fails = AIError(ErrorCode.TIMEOUT, "It took too long.", hint="Ask again.")
        await stage.ask("/load")
        assert "It took too long." in stage.shown


def test_how_long_a_model_stays_is_not_trusted() -> None:
    times = ["2026-11-20T12:30:00+00:00", "2026-11-21T12:00:00Z", "2318-01-01T00:00:00Z"]
    times += ["2020-01-01T00:00:00Z", "soon", "2026-11-20"]
    expected = ["for 30 min more", "for 24 h more", "stays until unloaded"]
    assert [left_words(time, NOW) for time in times] == [*expected, "unloading", "", ""]
    assert left_words(None, NOW) == ""
