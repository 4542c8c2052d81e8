"""The pictures of a draft come back with it: from their files, or from beside the draft."""

import json
import os
import stat
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.attachments.attachment import FileBytes, image_of
from ollm_tui.protocol.base64_text import to_base64
from ollm_tui.protocol.blocks import ImageContent, normalize_content
from ollm_tui.tui.composer import NEW, DraftFolder, drafts
from ollm_tui.tui.composer.draft_files import KeptFile, with_files, without_files
from tests.support.picture_bytes import png
from tests.tui.composer.test_drafts import Kept
from tests.tui.screens import Stage, staged, within

A, B = "a" * 16, "b" * 16
PATHS = st.binary(min_size=1, max_size=30).map(lambda raw: Path(os.fsdecode(raw)))


@given(
    st.text(),
    st.lists(
        st.builds(KeptFile, st.integers(1, 999_999), st.booleans(), PATHS, st.text())
        | st.builds(KeptFile, st.integers(1, 99), st.booleans(), st.none(), st.text(), st.just(A)),
        min_size=1,
        max_size=20,
    ),
)
def test_the_list_of_files_is_read_as_it_was_written(text: str, files: list[KeptFile]) -> None:
    assert without_files(with_files(text, files)) == (text, files)


@given(st.text() | st.text().map(lambda text: f"words\0{text}") | st.text(alphabet='\0[]{}":1a'))
def test_any_text_is_a_draft(text: str) -> None:
    kept, files = without_files(text)
    assert text.startswith(kept)
    assert not files or kept != text


@pytest.mark.parametrize(
    "listed",
    [
        [{"number": 1, "own": "../../etc/passwd"}],
        [{"number": 1, "own": "A" * 16}],
        [{"number": "1", "own": A}],
        [{"number": -1, "own": A}, {"number": 1}, {"number": 1, "path": "zz"}],
    ],
)
def test_a_broken_list_names_no_file(listed: list[object]) -> None:
    assert without_files(f"words\0{json.dumps(listed)}") == ("words", [])


def test_files_beside_a_draft_are_private_and_go_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "drafts"
    folder = DraftFolder(place)
    folder.write("c1", "one", {A: to_base64(png()), B: b"bytes"})
    assert (folder.read_own("c1", A), folder.read_own("c1", B)) == (png(), b"bytes")
    assert folder.read_own("c2", A) == b""
    assert {stat.S_IMODE(file.stat().st_mode) for file in place.iterdir()} == {0o600}
    folder.write("c1", "one", {B: b"bytes"})
    assert (folder.read_own("c1", A), folder.read_own("c1", B)) == (b"", b"bytes")
    other = DraftFolder(place)
    other.read("c1")
    other.write("c1", "")
    assert list(place.iterdir()) == []
    monkeypatch.setattr(drafts, "MAX_FILE_BYTES", 7)
    folder.write("c1", "one", {A: b"12345"})
    os.utime(place / f"c1.{A}.file", (1, 1))
    folder.write("c2", "two", {B: b"12345"})
    assert (folder.read_own("c1", A), folder.read_own("c2", B)) == (b"", b"12345")


def test_files_of_a_new_chat_go_to_the_next_program(tmp_path: Path) -> None:
    first, second = DraftFolder(tmp_path), DraftFolder(tmp_path)
    first.write(NEW, "words", {A: b"bytes"})
    first.close()
    assert second.adopt() == "words"
    assert second.read_own(NEW, A) == b"bytes"
    second.write(NEW, "")
    assert list(tmp_path.glob("*.file")) == []
    second.close()


def sent_widths(stage: Stage) -> list[int | None]:
    """The widths of the pictures that would be sent now."""
    composer = stage.chat.composer
    prompt = composer.pictures.take_beside(composer.value)
    blocks = normalize_content(composer.pictures.content(prompt))
    return [block.width for block in blocks if isinstance(block, ImageContent)]


async def come_back(stage: Stage, kept: Kept) -> str:
    await kept.go_to("c1")
    return stage.chat.composer.value


async def test_pictures_come_back_with_the_draft_after_a_crash(
    config: Path, tmp_path: Path
) -> None:
    (tmp_path / "cat.png").write_bytes(png(11))
    (tmp_path / "gone.png").write_bytes(png(12))
    folder = tmp_path / "drafts"
    async with staged(config, drafts_dir=folder) as stage:
        kept, composer = Kept(stage, None), stage.chat.composer
        await kept.go_to("c1")
        attaching = stage.controller.attaching
        for name in ("cat.png", "gone.png"):
            await attaching.add(str(tmp_path / name))
        token = composer.pictures.add(image_of(FileBytes("Pasted.png", png(13))))
        composer.insert(f"see {token} and [Image #9]")
        kept.keeper.look()
        with within(20):
            while not list(folder.glob("c1.md")):
                await anyio.sleep(0.002)
        # What a crash would leave, before the app ends in order.
        left = {file.name: file.read_bytes() for file in folder.iterdir()}
        composer.load_draft("")
        composer.pictures.remove(None)
    assert not list(folder.glob("c1.*"))
    for name, data in left.items():
        (folder / name).write_bytes(data)
    (tmp_path / "gone.png").unlink()
    async with staged(config, drafts_dir=folder) as stage:
        value = await come_back(stage, Kept(stage, None))
        assert value.startswith("see [Image #")
        assert value.endswith("] and [Image #9]")
        assert "without gone.png" in stage.screen_text
        assert sent_widths(stage) == [13, 11]
