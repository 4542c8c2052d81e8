"""A draft survives `kill -9`."""

import signal
from pathlib import Path

import pytest

from tests.e2e.conftest import Start
from tests.support.pty_session import wait_until

pytestmark = pytest.mark.pty


def test_a_draft_is_back_after_a_kill_and_gone_after_it_was_cleared(
    start: Start, home: Path
) -> None:
    drafts = home / "state" / "ollm" / "drafts"

    def kept() -> list[str]:
        return [file.read_text() for file in drafts.glob("*.md")]

    with start(home) as session:
        session.wait_for("No models found", timeout=20)
        session.write("half a thought")
        assert wait_until(lambda: kept() == ["half a thought"])
        session.signal(signal.SIGKILL)
        session.exit_status()
    with start(home) as session:
        session.wait_for("half a thought", timeout=20)
        session.write(b"\x03")
        assert wait_until(lambda: kept() == [])
