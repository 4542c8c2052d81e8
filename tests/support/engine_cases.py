"""Engines under one contract: how each is planned, and jobs for it, short and long."""

import sys
from collections.abc import Sequence
from pathlib import Path

from ollm_tui.providers.embedded.worker import WorkerPlan

FAKE_ENGINE = Path(__file__).with_name("fake_engine.py")


class FakePlan(WorkerPlan):
    """Loads the engine of the tests."""

    @property
    def command(self) -> Sequence[str]:
        """The program."""
        return (sys.executable, "-P", str(FAKE_ENGINE))


def fake_plan(folder: Path, content: str = "model", *, engine: str = "fake") -> WorkerPlan:
    """Return a plan for the engine of the tests, whose model is a file with this content."""
    file = folder / "fake.model"
    file.write_text(content, encoding="utf-8")
    return FakePlan(
        name="fake",
        engine=engine,
        module="",
        install_hint="Install it with: nothing.",
        path=file,
    )
