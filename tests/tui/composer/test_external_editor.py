"""The person's own editor: which one it is, and what becomes of the draft however it ends."""

import stat
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.frontend.editor_command import NoEditorError, editor_command
from ollm_tui.frontend.text_editor import MAX_BYTES
from ollm_tui.tui.composer import ExternalEditor
from ollm_tui.tui.widgets import PasteStore
from tests.tui.screens import Stage, staged

LONG = "\n".join(f"line {number}" for number in range(240))
TOKEN = "[Pasted text #1 · 240 lines]"


def installed(*names: str) -> Callable[[str, Mapping[str, str]], Path | None]:
    return lambda name, _environ: Path("/bin") / name if name in names else None


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"VISUAL": "vim", "EDITOR": "nano"}, ["/bin/vim"]),
        ({"VISUAL": " ", "EDITOR": "nano"}, ["/bin/nano"]),
        ({"EDITOR": "vim -c 'set tw=72'"}, ["/bin/vim", "-c", "set tw=72"]),
        ({"EDITOR": "code"}, ["/bin/code", "--wait"]),
        ({"EDITOR": "code -w -n"}, ["/bin/code", "-w", "-n"]),
        ({"EDITOR": "gvim"}, ["/bin/gvim", "--nofork"]),
        ({}, ["/bin/nano"]),
    ],
)
def test_the_editor_is_the_persons_own(environ: dict[str, str], words: list[str]) -> None:
    find = installed("vim", "nano", "vi", "code", "gvim")
    assert list(editor_command(environ, find).words) == words


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({}, "Set EDITOR"),
        ({"EDITOR": "vim 'x"}, "quotation mark"),
        ({"VISUAL": "nano"}, "VISUAL names nano, which is not installed"),
        ({"EDITOR": "/no/such/editor"}, "not installed"),
        ({"EDITOR": "a\x1b[31mb"}, "⟦U+001B⟧"),
    ],
)
def test_without_an_editor_a_sentence_says_what_to_do(
    environ: dict[str, str], sentence: str
) -> None:
    with pytest.raises(NoEditorError) as refused:
        editor_command(environ, installed())
    assert sentence in str(refused.value)


@given(st.text(), st.text(), st.text(), st.integers(0, 3))
def test_a_text_that_was_not_changed_comes_back_as_the_same_draft(
    before: str, paste: str, after: str, repeats: int
) -> None:
    store = PasteStore()
    draft = before + store.fold(paste, always=True) * repeats + after
    whole = store.unfold(draft)
    assert store.unfold(store.refold(whole, draft)) == whole
    assert store.unfold(store.refold(f"{whole}!", draft)) == f"{whole}!"


Edit = Callable[[Path], int]


class Editors:
    """Stands in for the terminal: each run is one edit of the file, and its exit code."""

    def __init__(self, *edits: Edit) -> None:
        self.edits = list(edits)
        self.files: list[tuple[Path, str, int]] = []

    async def run(self, command: Sequence[str], _environ: Mapping[str, str], _notice: str) -> int:
        path = Path(command[-1])
        mode = stat.S_IMODE(path.stat().st_mode) | stat.S_IMODE(path.parent.stat().st_mode)
        self.files.append((path, path.read_text(), mode))
        return self.edits.pop(0)(path)


def writes(text: str | bytes, code: int = 0) -> Edit:
    def edit(path: Path) -> int:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return code

    return edit


def use(stage: Stage, *edits: Edit) -> Editors:
    editors = Editors(*edits)
    parts = stage.controller.writing.editor
    stage.controller.writing.editor = editor = ExternalEditor(
        parts.composer,
        parts.dialogs,
        parts.say,
        run=editors.run,
        can_run=lambda: True,
        environ={"EDITOR": "/bin/sh"},
    )
    stage.controller._acts = {**stage.controller._acts, "edit_draft": editor.edit_draft}
    return editors


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def left(folder: Path) -> list[Path]:
    return list(folder.glob("ollm-*"))


async def test_the_draft_comes_back_as_typed_and_the_private_file_is_gone(
    config: Path, temporary: Path
) -> None:
    async with staged(config) as stage:
        editors = use(stage, writes(f"one\n{LONG}\n\ttwo é\n"), writes("\ufeffthree\r\nfour\r\n"))
        stage.chat.composer.insert_pasted(LONG)
        await stage.pilot.press("ctrl+g")
        await stage.settle()
        assert stage.chat.composer.draft == f"one\n{TOKEN}\n\ttwo é"
        await stage.pilot.press("ctrl+g")
        await stage.settle()
        assert stage.chat.composer.value == "three\nfour"
        [first, second] = editors.files
        assert first[1] == f"{LONG}\n"
        assert second[1] == f"one\n{LONG}\n\ttwo é\n"
        assert {mode & 0o077 for _path, _text, mode in editors.files} == {0}
        assert left(temporary) == []


async def test_what_cannot_be_used_is_refused_in_words_and_not_lost(
    config: Path, temporary: Path
) -> None:
    def remove(path: Path) -> int:
        path.unlink()
        return 0

    async with staged(config) as stage:
        composer = stage.chat.composer
        use(
            stage,
            writes("x" * (MAX_BYTES + 1)),
            writes(b"\xff\xfe"),
            remove,
            writes("saved, then failed", 1),
            writes("the draft\n", -9),
        )
        composer.insert("the draft")
        for sentence in (
            "longer than 1 MB",
            "not UTF-8",
            "it does not exist",
            "sh ended with exit code 1, so its text was not taken.",
            "sh was ended by SIGKILL. The draft is as it was.",
        ):
            await stage.pilot.press("ctrl+g")
            await stage.settle()
            assert sentence in stage.shown
            assert composer.draft == "the draft"
        kept = left(temporary)
        assert len(kept) == 2  # what no sentence could give back
        assert all(str(folder) in stage.shown for folder in kept)
        await stage.pilot.press("up")
        assert composer.draft == "saved, then failed"


async def test_text_that_comes_into_the_input_meanwhile_stays(config: Path) -> None:
    async with staged(config) as stage:
        composer = stage.chat.composer

        def edit(path: Path) -> int:
            composer.prepend("a prompt that was queued")
            return writes("edited")(path)

        use(stage, edit)
        composer.insert("draft")
        await stage.pilot.press("ctrl+g")
        await stage.settle()
        assert composer.draft == "a prompt that was queued\n\nedited"


async def test_without_a_terminal_to_give_away_it_says_so(config: Path) -> None:
    async with staged(config) as stage:
        await stage.ask("/editor")
        assert "An editor needs a terminal" in stage.shown
