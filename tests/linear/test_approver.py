"""Whether a tool may run, asked in words: for the call, the chat, or the folder."""

from pathlib import Path

import pytest

from ollm_tui.frontend.grants import FolderGrants
from ollm_tui.linear.approver import LinearApprover
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.tools import CallPreview, ToolCall, ToolEffect
from tests.linear.test_questions import Answered, Typist
from tests.support.tools import ScriptedTool

CALL = ToolCall(id="c1", name="shell", args={"command": "git log"})


class Prepared(ScriptedTool):
    """A call of a command whose words are known, or that permissions cannot cover."""

    def __init__(self, argv: tuple[str, ...] | None) -> None:
        super().__init__("shell", effect="run")
        self.effect: ToolEffect = "run"
        self.argv = argv

    @property
    def preview(self) -> CallPreview:
        return CallPreview(
            "It is contained.", (("command", "git log"),), is_command=True, argv=self.argv
        )

    async def run(self, args: JsonObject):  # type: ignore[no-untyped-def]
        raise NotImplementedError


def approver(folder: Path | None, answer: str | None) -> tuple[LinearApprover, Typist]:
    typist = Typist(answer)
    made = LinearApprover(Answered(typist), typist.say)
    if folder is not None:
        made.permissions.folder = FolderGrants(folder / "permissions.json", folder)
    return made, typist


async def test_a_permission_for_the_folder_is_kept_for_other_chats(tmp_path: Path) -> None:
    made, typist = approver(tmp_path, "folder")
    tool = Prepared(("git", "log"))
    assert (await made.approve(CALL, tool)).allowed
    assert "A in this folder for 30 days" in " ".join(typist.heard)
    assert typist.heard[-1] == (
        "Allowed, and this command runs without asking in this folder for 30 days."
    )
    made.permissions.forget()
    other, silent = approver(tmp_path, None)
    assert (await other.approve(CALL, tool)).allowed
    assert silent.heard == ["Tool shell, git log. Allowed before."]
    [grant] = await other.permissions.listed()
    assert (grant.words, grant.until is not None) == (("git", "log"), True)
    assert not other.permissions.allows("shell", "run", Prepared(("git", "log", "-p")).preview)


async def test_invisible_characters_of_arguments_are_spelled_out() -> None:
    heard = ""
    for call in (
        ToolCall(id="c1", name="look", args={"path": "a\u202eb", "many": ["c\u200bd"]}),
        ToolCall(id="c2", name="look", args=None, raw_args="e\u2066f"),
    ):
        made, typist = approver(None, "once")
        await made.approve(call, ScriptedTool("look"))
        heard += "\n".join(typist.heard)
    assert all(hidden not in heard for hidden in "\u202e\u200b\u2066")
    assert all(f"U+{code}" in heard for code in ("202E", "200B", "2066"))


async def test_where_nothing_can_be_kept_it_is_not_offered(tmp_path: Path) -> None:
    for folder, argv in ((None, ("git", "log")), (tmp_path, None)):
        made, typist = approver(folder, None)
        assert not (await made.approve(CALL, Prepared(argv))).allowed
        assert "A in this folder" not in " ".join(typist.heard)


async def test_a_file_that_cannot_be_written_allows_it_for_the_chat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, typist = approver(tmp_path, "folder")

    def full(*_values: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(FolderGrants, "add", full)
    assert (await made.approve(CALL, Prepared(("git", "log")))).allowed
    assert typist.heard[-1].endswith("runs without asking in this chat: it cannot be kept.")
    assert made.permissions.allows("shell", "run", Prepared(("git", "log")).preview)
