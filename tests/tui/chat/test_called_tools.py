"""Tools called by a real engine: each is asked about first, then it does what was shown."""

import json
from pathlib import Path

import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.tui.dialogs.approve_tool import ApproveTool
from tests.support.engine import needs_engine
from tests.support.tiny_gguf import END_TOOL, TEMPLATE, TOOL, write_scripted
from tests.tui.screens import RealStage, staged_for_real

pytestmark = [pytest.mark.engine, needs_engine]

CALLS = TEMPLATE.replace(
    "{%- elif tools and 'tool' in last %}{{- '<|say:call|>' }}",
    "{%- elif tools and 'first' in last %}{{- '<|say:first|>' }}"
    "{%- elif tools and 'then' in last %}{{- '<|say:then|>' }}",
)
FLAGS = Flags(model="embedded://actor", tools=("patch_file", "write_file", "shell", "shell_job"))
READING = Flags(model="embedded://actor", tools=("calculate", "list_directory"))
PATCH = "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"


def said(name: str, arguments: dict[str, object], colon: str = ": ") -> str:
    call = json.dumps({"name": name, "arguments": arguments}, separators=(", ", colon))
    return f"{TOOL}\n{call}\n{END_TOOL}"


def write_model(folder: Path, *calls: str) -> Path:
    """Write a model with a call for `first` and one for `then`; return where it acts."""
    assert CALLS != TEMPLATE
    models, root = folder / "data" / "models", folder / "work"
    models.mkdir(parents=True)
    root.mkdir()
    (root / "notes.md").write_text("one\ntwo\nthree\n")
    after = dict(zip(("<|say:first|>", "<|say:then|>"), calls, strict=False))
    write_scripted(models / "actor.gguf", CALLS, after=after)
    return root


async def allow(stage: RealStage, *shown: str) -> None:
    """Read the question and answer it with yes."""
    await stage.until(*shown, test=lambda: isinstance(stage.app.screen, ApproveTool))
    dialog = stage.app.screen
    assert isinstance(dialog, ApproveTool)
    await stage.until(test=lambda: dialog.may_consent)
    while not dialog._decided.is_set():  # a screen that comes back waits for a pause again
        dialog._arming._armed_at = 0.0
        await stage.pilot.press("y")


@pytest.mark.parametrize(
    ("name", "arguments", "asked", "file", "content"),
    [
        (
            "write_file",
            {"path": "new.md", "content": "first\n"},
            ("Run write_file?", "+first"),
            "new.md",
            "first\n",
        ),
        (
            "patch_file",
            {"path": "notes.md", "patch": PATCH},
            ("Run patch_file?", "-two", "+2"),
            "notes.md",
            "one\n2\nthree\n",
        ),
        (
            "shell",
            {"command": "echo here > made.txt; echo done"},
            ("Run shell?", "echo here > made.txt; echo done", "ontained: it"),
            "made.txt",
            "here\n",
        ),
    ],
)
async def test_what_a_model_wants_done_is_asked_about_and_done(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    arguments: dict[str, object],
    asked: tuple[str, ...],
    file: str,
    content: str,
) -> None:
    root = write_model(tmp_path, said(name, arguments))
    monkeypatch.chdir(root)
    before = (root / "notes.md").read_text()
    environ = {"OLLAMA_HOST": "http://127.0.0.1:9"}
    async with staged_for_real(tmp_path, environ, FLAGS, size=(100, 40)) as stage:
        await stage.send("Do it first, please.")
        await stage.until(*asked)
        assert sorted(path.name for path in root.iterdir()) == ["notes.md"]
        assert (root / "notes.md").read_text() == before
        await allow(stage)
        await stage.until(name, "✓", "it is sunny there.")
        assert (root / file).read_text() == content


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("calculate", {"expression": "6 * 7"}, "42"),
        ("list_directory", {"path": "."}, "notes.md"),
    ],
)
async def test_what_only_reads_is_asked_about_as_well(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    arguments: dict[str, object],
    result: str,
) -> None:
    monkeypatch.chdir(write_model(tmp_path, said(name, arguments)))
    environ = {"OLLAMA_HOST": "http://127.0.0.1:9"}
    async with staged_for_real(tmp_path, environ, READING, size=(100, 40)) as stage:
        await stage.send("Do it first, please.")
        await allow(stage, f"Run {name}?")
        await stage.until(name, "✓", "it is sunny there.")
        assert result in stage.last_result


async def test_a_command_in_the_background_is_followed_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = said("shell", {"command": "echo started; sleep 300", "background": True})
    # written in another way: the vocabulary of the model knows each beginning once
    stop = said("shell_job", {"job": 1, "stop": True}, ":")
    monkeypatch.chdir(write_model(tmp_path, start, stop))
    environ = {"OLLAMA_HOST": "http://127.0.0.1:9"}
    async with staged_for_real(tmp_path, environ, FLAGS, size=(100, 40)) as stage:
        await stage.send("Start it first, please.")
        await allow(stage, "Run shell?", "in the background")
        await stage.until("✓", "it is sunny there.", "jobs 1")
        assert "started" in stage.last_result
        await stage.until(test=lambda: not stage.controller.queue.is_busy)
        await stage.send("And then end it.")  # is not asked about: it can only end what was allowed
        await stage.until("shell_job", test=lambda: "jobs 1" not in stage.screen_text)
        assert stage.controller.session.client.jobs.running == 0
