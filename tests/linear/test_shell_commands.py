"""`!command` in words."""

import os
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest

from ollm_tui.frontend.consent import Permissions
from ollm_tui.linear.shell_commands import LinearCommands
from ollm_tui.protocol.message import COMMAND
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.shell.command import CommandSettings


class Stage:
    def __init__(self, folder: Path, *answers: str) -> None:
        self.session: Any = MagicMock()
        self.session.client.add = AsyncMock()
        environ = {"PATH": os.environ["PATH"]}
        self.session.runtime.shell = CommandSettings(folder, 20, (), environ)
        self.questions: Any = MagicMock()
        self.questions.key = AsyncMock(side_effect=answers)
        self.said: list[str] = []
        self.commands = LinearCommands(
            self.session, self.questions, Permissions(), self.said.append
        )

    async def run(self, command: str) -> list[str]:
        await self.commands.run(command, AbortSignal())
        return [
            call.args[0].metadata[COMMAND]["text"] for call in self.session.client.add.mock_calls
        ]


async def test_it_is_asked_about_once_read_and_kept(tmp_path: Path) -> None:
    stage = Stage(tmp_path, "session")
    assert await stage.run("echo a\u202eb; exit 2") == ["echo a\u202eb; exit 2"]
    assert stage.said[0].startswith("Command: echo a⟦U+202E⟧b; exit 2\nIn the folder ")
    assert stage.said[1].endswith("b\nExit code 2.")
    await stage.run("true")
    assert stage.said[-1] == "Done. It printed nothing."
    assert stage.questions.key.await_count == 1


@pytest.mark.parametrize("answer", ["no", None])
async def test_without_a_yes_nothing_runs(tmp_path: Path, answer: Any) -> None:
    stage = Stage(tmp_path, answer)
    assert await stage.run("touch made") == []
    assert not (tmp_path / "made").exists()
    assert "not run" in stage.said[-1]
