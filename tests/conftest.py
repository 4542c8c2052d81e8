"""Take the machine out of the tests: no real home, no user configuration, one event loop."""

import gc
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["pytester", "tests.support.workers"]

settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("default")

OWN_PREFIXES = ("OLLM_", "OLLAMA_", "VLLM_", "OPENAI_", "ANTHROPIC_", "XDG_", "HF_", "HUGGING_")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(OWN_PREFIXES) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / f".{name.lower()}"))


class _Complaints(logging.Handler):
    """What event loops have to say about tasks and futures that nobody looked after."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(self.format(record))


@pytest.fixture(autouse=True)
def _no_complaints_of_event_loops() -> Iterator[None]:
    """Fail a test whose event loop, in any thread, had an exception that nobody took."""
    complaints = _Complaints()
    logger = logging.getLogger("asyncio")
    logger.addHandler(complaints)
    yield
    gc.collect(0)
    logger.removeHandler(complaints)
    assert complaints.records == []
