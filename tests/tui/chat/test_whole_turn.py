"""A whole turn with the real engine: two files and a search at once, a change refused, then made.

The model reads two files and searches at the same time, asks before it writes, is refused, tries
another change, which is allowed, and the person takes that back.
"""

import json
from pathlib import Path

import pytest

from ollm_tui.config.flags import Flags
from ollm_tui.protocol.json_types import JsonObject
from tests.support.engine import needs_engine
from tests.support.tiny_gguf import END_TOOL, TEMPLATE, TOOL, write_scripted
from tests.tui.chat.test_acting import question
from tests.tui.screens import staged_for_real

AFTER_USER = "{%- elif tools and 'tool' in last %}{{- '<|say:call|>' }}"
AFTER_TOOL = "{%- if messages[-1].role == 'tool' %}{{- '<|say:after|>' }}"
STEPS = TEMPLATE.replace(
    AFTER_USER, "{%- elif tools and 'notes' in last %}{{- '<|say:look|>' }}"
).replace(
    AFTER_TOOL,
    "{%- if messages[-1].role == 'tool' and 'Not run' in last %}{{- '<|say:recover|>' }}"
    "{%- elif messages[-1].role == 'tool' and 'needle' in last %}{{- '<|say:edit|>' }}"
    "{%- elif messages[-1].role == 'tool' %}{{- '<|say:after|>' }}",
)


def said(*calls: tuple[str, JsonObject]) -> str:
    return "\n".join(
        f"{TOOL}\n{json.dumps({'name': name, 'arguments': args})}\n{END_TOOL}"
        for name, args in calls
    )


def change(new_text: str) -> tuple[str, JsonObject]:
    return "edit_file", {"path": "notes.md", "old_text": "two", "new_text": new_text}


SAYS = {
    "<|say:look|>": said(
        ("read_file", {"path": "notes.md"}),
        ("read_file", {"path": "other.md"}),
        ("search_files", {"pattern": "needle"}),
    ),
    "<|say:edit|>": said(change("TWO")),
    "<|say:recover|>": said(change("2")),
}
NOTES = "one\ntwo\nthree\n"


@pytest.mark.engine
@needs_engine
async def test_it_reads_in_parallel_asks_is_refused_recovers_writes_and_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert TEMPLATE not in (STEPS, STEPS.replace("look", "call"))
    root, models = tmp_path / "work", tmp_path / "data" / "models"
    root.mkdir()
    models.mkdir(parents=True)
    file = root / "notes.md"
    file.write_text(NOTES)
    (root / "other.md").write_text("some other text\n")
    (root / "hay.md").write_text("hay\na needle in it\n")
    write_scripted(models / "writer.gguf", STEPS, after=SAYS)
    monkeypatch.chdir(root)
    flags = Flags(model="embedded://writer", tools=("read_file", "search_files", "edit_file"))
    environ = {"OLLAMA_HOST": "http://127.0.0.1:9"}
    async with staged_for_real(tmp_path, environ, flags, size=(100, 40)) as stage:
        stage.controller.cycle_permissions()  # what only reads runs without a question
        await stage.send("Change my notes, please.")
        await question(stage, "+TWO")
        messages = stage.controller.session.client.conversation.messages
        assert [call.name for call in messages[1].tool_calls] == [
            "read_file",
            "read_file",
            "search_files",
        ]
        results = [message.text for message in messages[2:5]]
        assert results[:2] == [NOTES, "some other text\n"]
        assert "hay.md" in results[2]
        await stage.pilot.press("N", *"digits", "enter")
        await stage.until("denied")

        await question(stage, "+2")
        assert file.read_text() == NOTES
        assert messages[6].text == "Not run: it was not allowed. digits"
        await stage.pilot.press("y")
        await stage.until("✓", "-two", "+2", "it is sunny there.")
        assert file.read_text() == "one\n2\nthree\n"

        await stage.until(test=lambda: not stage.controller.queue.is_busy)
        await stage.send("/undo")
        await stage.until("notes.md was restored.")
        assert file.read_text() == NOTES
