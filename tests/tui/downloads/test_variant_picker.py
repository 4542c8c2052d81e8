"""The choice of a quantization: what is shown of each, what keys change, and what is queued."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from textual.app import App

from ollm_tui.frontend.model_offers import Offer, rows_of
from ollm_tui.frontend.model_search import ModelFits
from ollm_tui.library.downloads.job import HubFiles, Origin, ProviderPull
from ollm_tui.library.hub.repo import HubFile, HubModel, HubRepo
from ollm_tui.library.hub.variants import variants_of
from ollm_tui.library.machine import Machine
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.runtime.download_targets import DownloadTarget
from ollm_tui.tui.downloads.variant_picker import VariantPicker
from ollm_tui.tui.keys.keymap import Keymap
from tests.tui.screens import Stage, staged
from tests.tui.scripted import ScriptedRuntime
from tests.tui.scripted_fetching import (
    GB,
    LIBRARY,
    MACHINE,
    OLLAMA,
    QWEN,
    QWEN_REPO,
    ScriptedHub,
)
from tests.tui.svg import SIZES, SvgSnapshot

OFFER = Offer(
    repo="bartowski/Qwen3-8B-GGUF", entry=QWEN, targets=(LIBRARY, OLLAMA), ollama="qwen3:8b"
)
VISION_OFFER = Offer(repo="ggml-org/gemma-3-4b-it-GGUF", targets=(LIBRARY, OLLAMA))


class Choosing:
    """An open dialog, and what it gave."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.gave: tuple[Origin, ...] | None = None

    async def press(self, *keys: str) -> str:
        await self.stage.pilot.press(*keys)
        await self.stage.settle()
        return self.shown

    @property
    def shown(self) -> str:
        return self.stage.screen_text

    @property
    def app(self) -> App[None]:
        return self.stage.app

    def take(self, origins: tuple[Origin, ...] | None) -> None:
        self.gave = origins


@asynccontextmanager
async def choosing(
    folder: Path,
    offer: Offer = OFFER,
    hub: ScriptedHub | None = None,
    machine: Machine | None = MACHINE,
    size: tuple[int, int] = (120, 40),
) -> AsyncIterator[Choosing]:
    async with staged(folder / "config.toml", ScriptedRuntime(), size=size) as stage:
        chosen = Choosing(stage)
        dialog = VariantPicker(offer, hub or ScriptedHub(), ModelFits(machine), Keymap())
        stage.app.push_screen(dialog, chosen.take)
        await stage.settle()
        yield chosen


def line_of(text: str, shown: str) -> str:
    return next(line for line in shown.splitlines() if text in line)


async def test_each_quantization_has_its_size_and_verdict_and_one_is_recommended(
    tmp_path: Path,
) -> None:
    async with choosing(tmp_path) as dialog:
        shown = dialog.shown
        for words in ("8.2B parameters", "32k context", "licence apache-2.0", "84k downloads"):
            assert words in shown
        assert "16.4 GB" in line_of("BF16", shown)
        assert "2 parts" in line_of("BF16", shown)
        assert "GPU" in line_of("Q4_K_M", shown)
        assert "▸ Q4_K_M" in shown
        assert "recommended" in line_of("Q4_K_M", shown)
        assert shown.count("recommended") == 1
        assert "fits GPU: about" in shown
        assert "8k context, f16 cache: model 5.0 GB" in shown
        assert "To /models · 212.0 GB free" in shown


async def test_enter_takes_the_recommended_one_with_all_that_the_hub_declared(
    tmp_path: Path,
) -> None:
    async with choosing(tmp_path) as dialog:
        await dialog.press("enter")
        known = QWEN_REPO.variants[3]
        assert dialog.gave == (
            HubFiles(
                repo="bartowski/Qwen3-8B-GGUF",
                revision="1" * 40,
                name=known.name,
                files=known.files,
                licence="apache-2.0",
            ),
        )


async def test_parts_of_one_model_are_one_choice(tmp_path: Path) -> None:
    async with choosing(tmp_path) as dialog:
        await dialog.press("up", "up", "up", "up", "up", "enter")
        assert dialog.gave is not None
        (origin,) = dialog.gave
        assert isinstance(origin, HubFiles)
        assert [file.path for file in origin.files] == [
            "Qwen3-8B-BF16-00001-of-00002.gguf",
            "Qwen3-8B-BF16-00002-of-00002.gguf",
        ]


async def test_the_named_one_is_marked(tmp_path: Path) -> None:
    async with choosing(tmp_path, replace(OFFER, quantization="q6_k")) as dialog:
        await dialog.press("enter")
        assert dialog.gave is not None
        assert isinstance(dialog.gave[0], HubFiles)
        assert dialog.gave[0].name == "Qwen3-8B-Q6_K"


async def test_another_window_and_another_cache_change_the_verdicts(tmp_path: Path) -> None:
    async with choosing(tmp_path) as dialog:
        assert "GPU" in line_of("▸ Q4_K_M", dialog.shown)
        shown = await dialog.press("right", "right")
        assert "32k context, f16 cache" in shown
        assert "% GPU" in line_of("Q4_K_M ", shown)
        shown = await dialog.press("v")
        assert "q8_0 cache" in shown
        shown = await dialog.press("v", "v", "left", "left", "left", "left")
        assert "4k context, f16 cache" in shown
        shown = await dialog.press(*["right"] * 9)
        assert "32k context, f16 cache" in shown  # it was trained with no more


async def test_without_a_word_about_the_machine_nothing_is_judged(tmp_path: Path) -> None:
    async with choosing(tmp_path, machine=None) as dialog:
        assert "recommended" not in dialog.shown
        await dialog.press("enter")
        assert dialog.gave is not None
        assert isinstance(dialog.gave[0], HubFiles)
        assert dialog.gave[0].name == "Qwen3-8B-Q4_K_M"


async def test_a_server_can_pull_it_instead(tmp_path: Path) -> None:
    async with choosing(tmp_path) as dialog:
        shown = await dialog.press("w")
        assert "To Ollama, which pulls hf.co/bartowski/Qwen3-8B-GGUF:Q4_K_M" in shown
        shown = await dialog.press("down")
        assert "hf.co/bartowski/Qwen3-8B-GGUF:IQ3_XXS" in shown
        shown = await dialog.press("w")
        assert "To Ollama, which pulls qwen3:8b" in shown
        await dialog.press("enter")
        assert dialog.gave == (ProviderPull(provider="local", model="qwen3:8b"),)


async def test_while_the_hub_is_silent_a_server_can_be_chosen_already(tmp_path: Path) -> None:
    hub = ScriptedHub(gate=anyio.Event())
    async with choosing(tmp_path, hub=hub) as dialog:
        assert "Loading the list of files…" in dialog.shown
        assert "▸ Q4_K_M" in dialog.shown
        await dialog.press("enter")
        assert dialog.gave is None  # the files are not known yet
        await dialog.press("w", "enter")
        name = "hf.co/bartowski/Qwen3-8B-GGUF:Q4_K_M"
        assert dialog.gave == (ProviderPull(provider="local", model=name),)


async def test_the_mark_stays_where_it_was_put_when_the_hub_answers(tmp_path: Path) -> None:
    hub = ScriptedHub(gate=anyio.Event())
    async with choosing(tmp_path, hub=hub) as dialog:
        await dialog.press("up")
        assert hub.gate is not None
        hub.gate.set()
        await dialog.stage.settle()
        await dialog.press("enter")
        assert dialog.gave is not None
        assert isinstance(dialog.gave[0], HubFiles)
        assert dialog.gave[0].name == "Qwen3-8B-Q8_0"


async def test_a_hub_that_cannot_be_asked_is_reported_with_the_next_step(tmp_path: Path) -> None:
    hub = ScriptedHub(problem=AIError(ErrorCode.AUTH_FAILED, "It is gated.", hint="Set HF_TOKEN."))
    async with choosing(tmp_path, hub=hub) as dialog:
        assert "It is gated. Set HF_TOKEN." in dialog.shown
        assert "Enter download" not in dialog.shown
        await dialog.press("enter")
        assert dialog.gave is None
        assert "Enter download" in await dialog.press("w")
        await dialog.press("escape")
        assert dialog.gave == ()


async def test_speech_is_judged_without_a_window(tmp_path: Path) -> None:
    entry = replace(
        QWEN, purposes=frozenset({"speech"}), skills={}, context=None, sizes={"F16": 3 * GB}
    )
    hub = ScriptedHub(problem=AIError(ErrorCode.SERVICE_UNAVAILABLE, "It does not answer."))
    async with choosing(tmp_path, replace(OFFER, entry=entry), hub) as dialog:
        assert "model 3.0 GB, overhead" in dialog.shown
        assert "cache" not in dialog.shown
        assert "c context" not in dialog.shown


async def test_what_a_model_sees_by_goes_along(tmp_path: Path) -> None:
    async with choosing(tmp_path, VISION_OFFER) as dialog:
        assert "With image encoder (mmproj-gemma-3-4b-it-F16, 851 MB)" in dialog.shown
        assert "mmproj" not in dialog.shown.partition("With image")[0]
        await dialog.press("enter")
        assert dialog.gave is not None
        kinds = [(one.kind, one.name) for one in dialog.gave if isinstance(one, HubFiles)]
        assert kinds[1] == ("projector", "mmproj-gemma-3-4b-it-F16")
        assert kinds[0][0] == "model"


async def test_what_a_model_sees_by_can_be_left_out(tmp_path: Path) -> None:
    async with choosing(tmp_path, VISION_OFFER) as dialog:
        assert "Without image encoder" in await dialog.press("p")
        await dialog.press("enter")
        assert dialog.gave is not None
        assert len(dialog.gave) == 1


async def test_terms_that_have_to_be_accepted_are_named_with_their_page(tmp_path: Path) -> None:
    async with choosing(tmp_path, VISION_OFFER) as dialog:
        assert "huggingface.co/ggml-org/gemma-3-4b-it-GGUF" in dialog.shown
        assert "HF_TOKEN" in dialog.shown
        assert "licence gemma" in dialog.shown


async def test_what_has_no_room_is_reported(tmp_path: Path) -> None:
    small = DownloadTarget(label="this machine", folder=Path("/models"), free=4 * GB)
    async with choosing(tmp_path, replace(OFFER, targets=(small,))) as dialog:
        assert "There is not enough disk space." in dialog.shown
        assert "There is not enough room" not in await dialog.press("down")


async def test_what_cannot_be_fetched_says_why(tmp_path: Path) -> None:
    broken = replace(QWEN_REPO.variants[3], problem="part 2 of 3 is missing")
    repo = replace(QWEN_REPO, variants=(broken,))
    async with choosing(tmp_path, hub=ScriptedHub(repos=(repo,))) as dialog:
        assert "part 2 of 3 is missing" in line_of("Q4_K_M", dialog.shown)
        assert "recommended" not in dialog.shown
        shown = await dialog.press("enter")
        assert "It cannot be downloaded: part 2 of 3 is missing" in shown
        assert dialog.gave is None


async def test_a_repository_without_model_files_says_so(tmp_path: Path) -> None:
    repo = HubRepo(model=QWEN_REPO.model, revision="1" * 40)
    offer = replace(OFFER, entry=None)
    async with choosing(tmp_path, offer, ScriptedHub(repos=(repo,))) as dialog:
        assert "It contains no model files." in dialog.shown
        assert "c context" not in dialog.shown
        assert "f16 cache" not in dialog.shown
        await dialog.press("down", "enter", "q")
        assert dialog.gave == ()


async def test_other_kinds_of_models_are_distinguished_from_those_that_chat(tmp_path: Path) -> None:
    whisper = replace(QWEN_REPO.variants[3], name="ggml-base", kind="whisper", quantization=None)
    repo = replace(QWEN_REPO, variants=(*QWEN_REPO.variants[:1], whisper))
    async with choosing(tmp_path, hub=ScriptedHub(repos=(repo,))) as dialog:
        assert "whisper" in line_of("ggml-base", dialog.shown)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("offer", [OFFER, VISION_OFFER], ids=["quantizations", "gated"])
async def test_it_looks_as_drawn(
    offer: Offer, size: tuple[int, int], svg_snapshot: SvgSnapshot, tmp_path: Path
) -> None:
    async with choosing(tmp_path, offer, size=size) as dialog:
        await dialog.stage.settle()
        svg_snapshot(dialog.app)


def test_one_name_in_two_folders_is_two_rows() -> None:
    files = (HubFile(path="Q4_K_M/m.gguf", size=4), HubFile(path="Q8_0/m.gguf", size=8))
    model = HubModel(repo="o/n")
    repo = HubRepo(model=model, revision="1" * 40, variants=variants_of(files))
    rows = rows_of(Offer(repo="o/n"), repo, ModelFits(None))
    assert len({row.id for row in rows}) == 2
