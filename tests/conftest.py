"""Take the machine out of the tests: no real home, no user configuration, one event loop."""

import gc
import logging
import os
import re
import signal
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.guarded import fair_clock
from tests.support.guarded import sitecustomize as guard
from tests.support.isolation import enter_own_network, own_environment

pytest_plugins = ["pytester", "tests.support.workers"]

settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("default")

# The workers of a run side by side are children of the process that enters the network.
if "PYTEST_XDIST_WORKER" not in os.environ:
    enter_own_network()
guard.install()
fair_clock.install()

# Scripts start what runs in their background with these ignored. The programs of the tests would
# inherit that, but not a handler; the run itself goes on ignoring them.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda _number, _frame: None)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def numbers_of_folders() -> defaultdict[str, "count[int]"]:
    return defaultdict(count)


@pytest.fixture
def tmp_path(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    numbers_of_folders: defaultdict[str, "count[int]"],
) -> Path:
    """A folder named as pytest names it, which looks at those of all earlier tests to number it."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    while True:
        path = tmp_path_factory.getbasetemp() / f"{name}{next(numbers_of_folders[name])}"
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
            return path


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    kept = own_environment(os.environ, home)
    for name in set(os.environ) - set(kept):
        monkeypatch.delenv(name)
    for name, value in kept.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(autouse=True)
def _no_other_machine() -> Iterator[None]:
    """Fail a test that tried to reach another machine."""
    guard.beyond.clear()
    yield
    assert guard.beyond == []


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
