"""A program that gets the terminal also gets the keys that were pressed while it started."""

import os
import signal
import subprocess
from typing import Any

import anyio
import pytest

from ollm_tui.frontend.foreground import ForegroundProgram


async def test_ctrl_c_before_it_has_the_terminal_ends_the_program_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    before = signal.getsignal(signal.SIGINT)
    program = ForegroundProgram(["sleep", "60"], os.environ)
    program.start()
    try:
        with anyio.fail_after(30):
            assert await program.wait() == -signal.SIGINT
    finally:
        program.end()
    assert signal.getsignal(signal.SIGINT) == before
