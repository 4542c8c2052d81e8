"""What other programs have, and how it is told."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ollm_tui.library.model_files import ModelFolder
from ollm_tui.library.other_folders import ExistingFolder, Program
from ollm_tui.runtime import other_models
from ollm_tui.runtime.other_models import OtherFolders, describe_folders, look_for_folders
from tests.support.guarded.fair_clock import wait


def found(program: Program, models: int) -> ExistingFolder:
    return ExistingFolder(program=program, folder=ModelFolder(path=Path("/x")), models=models)


def test_one_folder_is_a_sentence_with_the_setting() -> None:
    assert describe_folders([found("lmstudio", 3)], []).words == (
        "LM Studio's folder holds 3 models: "
        'it is searched with other_folders = ["lmstudio"] below [embedded].'
    )


def test_what_is_listed_already_stays_in_the_setting_and_is_not_offered() -> None:
    others = describe_folders([found("lmstudio", 3), found("huggingface", 1), found("llamacpp", 2)],
                  ["huggingface"])  # fmt: skip
    assert others.setting == 'other_folders = ["huggingface", "lmstudio", "llamacpp"]'
    assert others.words.startswith(
        "LM Studio's folder holds 3 models, llama.cpp's folder holds 2 models: they are searched"
    )
    assert [one.is_listed for one in others.folders] == [False, True, False]


@pytest.mark.parametrize(
    ("there", "listed"),
    [([], []), ([found("lmstudio", 0)], []), ([found("lmstudio", 4)], ["lmstudio"])],
)
def test_where_nothing_can_be_added_nothing_is_offered(
    there: list[ExistingFolder], listed: list[str]
) -> None:
    others = describe_folders(there, listed)
    assert (others.words, others.setting) == ("", "")


async def test_a_disk_that_does_not_answer_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, held: "Held"
) -> None:
    monkeypatch.setattr(other_models, "TIMEOUT_S", 0.01)
    monkeypatch.setattr(other_models, "existing_folders", held.existing_folders)
    assert await look_for_folders([]) == OtherFolders()


class Held:
    """A disk that hangs until the test is over."""

    def __init__(self) -> None:
        self.free = threading.Event()

    def existing_folders(self) -> list[ExistingFolder]:
        wait(self.free, 10)
        return [found("lmstudio", 1)]


@pytest.fixture
def held() -> Iterator[Held]:
    disk = Held()
    yield disk
    disk.free.set()
