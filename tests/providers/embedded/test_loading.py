"""How a model is loaded, on the real engine: pictures, adapters, drafts, caches, windows."""

import base64
import io
from collections.abc import Mapping
from pathlib import Path

import pytest
from PIL import Image

from ollm_tui.config.engine_settings import EngineSettings, ModelEngineSettings
from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.protocol.blocks import ImageContent, TextContent
from ollm_tui.protocol.errors import ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.provider_events import ErrorEvent, Finish, Rerouted
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.providers.embedded.provider import EmbeddedProvider
from ollm_tui.providers.embedded.settings import EmbeddedSettings
from ollm_tui.sections.reading import read_section
from tests.providers.answers import answer, end_of, text_of
from tests.support.engine import MODEL, SETTINGS, ask, embedded, needs_engine
from tests.support.seeing_gguf import NOTHING, WORDS, write_lora, write_seeing
from tests.support.tiny_gguf import HELLO

pytestmark = [pytest.mark.engine, needs_engine]
SEEING = "seeing"


@pytest.fixture(scope="module")
def seeing_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model that names the colour of a picture."""
    folder = tmp_path_factory.mktemp("seeing")
    write_seeing(folder / f"{SEEING}.gguf", folder / "mmproj-F16.gguf")
    write_lora(folder / "red.gguf")
    return folder


def provider(folder: Path, options: Mapping[str, object], name: str = SEEING) -> EmbeddedProvider:
    own = read_section(ModelEngineSettings, options)
    usual = EngineSettings(threads=1)
    settings = EmbeddedSettings(engine=usual, models={name: own}, load_timeout_s=60)
    return EmbeddedProvider(FolderLibrary([folder]), settings)


def picture(colour: str) -> Request:
    file = io.BytesIO()
    Image.new("RGB", (40, 24), colour).save(file, "PNG")
    image = ImageContent(data=base64.b64encode(file.getvalue()).decode(), mime_type="image/png")
    message = Message("user", [TextContent("what colour"), image])
    return Request(model=SEEING, messages=[message])


async def test_a_model_with_a_projector_sees_what_is_in_a_picture(seeing_folder: Path) -> None:
    async with provider(seeing_folder, {}) as it:
        for colour, words in zip(("#f00", "#0f0", "#00f"), WORDS, strict=True):
            events = await answer(it, picture(colour))
            assert text_of(events) == words, end_of(events)
        assert text_of(await answer(it, ask("what colour", model=SEEING))) == NOTHING


async def test_an_adapter_changes_what_a_model_says(seeing_folder: Path) -> None:
    async with provider(seeing_folder, {"lora": [seeing_folder / "red.gguf"]}) as it:
        events = await answer(it, ask("what colour", model=SEEING))
    assert text_of(events) == WORDS[0], end_of(events)


async def test_a_draft_model_and_small_caches_leave_the_answer_as_it_is(
    model_folder: Path,
) -> None:
    draft = model_folder / f"{MODEL}.gguf"
    options = {
        "draft_model": draft,
        "draft_tokens": 4,
        "cache_type_k": "q8_0",
        "cache_type_v": "q4_0",
        "flash_attention": True,
    }
    async with provider(model_folder, options, MODEL) as it:
        events = await answer(it, ask("hi"))
    assert text_of(events) == HELLO, end_of(events)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ({"lora": [Path("/none.gguf")]}, ErrorCode.MODEL_NOT_LOADED, "/none.gguf does not exist."),
        (
            {"cache_type_v": "q8_0", "flash_attention": False},
            ErrorCode.BAD_REQUEST,
            "`cache_type_v` q8_0 without flash attention.",
        ),
        ({"draft_tokens": 3}, ErrorCode.BAD_REQUEST, "`draft_tokens`, and no `draft_model`"),
    ],
)
async def test_settings_that_cannot_work_are_refused_before_anything_starts(
    options: dict[str, object], code: ErrorCode, words: str, seeing_folder: Path
) -> None:
    async with provider(seeing_folder, options) as it:
        end = end_of(await answer(it, ask("hi", model=SEEING)))
    assert isinstance(end, ErrorEvent)
    assert (end.error.code, words in end.error.message) == (code, True)


async def test_the_reason_of_the_engine_is_given_for_files_that_it_cannot_load(
    seeing_folder: Path, tmp_path: Path
) -> None:
    for path in seeing_folder.iterdir():
        data = path.read_bytes().replace(b"\3\0\0\0\0\0\0\0mlp", b"\3\0\0\0\0\0\0\0xyz")
        (tmp_path / path.name).write_bytes(data.replace(b"output.weight.lora_b", b"x" * 20))
    async with provider(tmp_path, {}) as it:
        projector = end_of(await answer(it, ask("hi", model=SEEING)))
    (tmp_path / "mmproj-F16.gguf").unlink()
    async with provider(tmp_path, {"lora": [tmp_path / "red.gguf"]}) as it:
        adapter = end_of(await answer(it, ask("hi", model=SEEING)))
    assert isinstance(projector, ErrorEvent)
    assert isinstance(adapter, ErrorEvent)
    assert projector.error.message.endswith("unknown projector type: xyz.")
    assert "LoRA" in adapter.error.message


async def test_layers_for_a_card_that_the_engine_cannot_use_are_refused(
    seeing_folder: Path,
) -> None:
    async with provider(seeing_folder, {"gpu_layers": "all"}) as it:
        end = end_of(await answer(it, ask("hi", model=SEEING)))
    if isinstance(end, Finish):
        pytest.skip("this engine uses a graphics card")
    assert "the engine cannot use a graphics card" in end.error.message


async def test_another_window_is_loaded_at_the_next_prompt_and_reported_once(
    model_folder: Path,
) -> None:
    async with embedded(model_folder, settings=SETTINGS) as (it, supervisor):
        await answer(it, ask("hi"))
        wide = ask("hi", options=GenerationOptions(num_ctx=8192))
        first = await answer(it, wide)
        assert supervisor.engines[0].plan.context == 8192
        second = await answer(it, wide)
    (report,) = [event for event in [*first, *second] if isinstance(event, Rerouted)]
    assert report is first[0]
    assert report.error.message == (
        f"{MODEL} was loaded with a context window of 4,096 tokens, and 8,192 are asked for."
    )
    assert report.instead == "It is loaded again."
    assert text_of(first) == text_of(second) == HELLO


async def test_the_window_of_the_settings_is_loaded(model_folder: Path) -> None:
    settings = EmbeddedSettings(engine=EngineSettings(threads=1), windows={MODEL: 1024})
    async with EmbeddedProvider(FolderLibrary([model_folder]), settings) as it:
        await it.load_model(MODEL)
        (info,) = await it.list_running()
    assert info.context == 1024
