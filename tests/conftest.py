"""Take the machine out of the tests: no real home, no user configuration, one event loop."""

import gc
import logging
import os
import re
import shutil
import signal
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.forked import Forks
from tests.support.guarded import fair_clock
from tests.support.guarded import sitecustomize as guard
from tests.support.isolation import (
    enter_own_network,
    guarded_path,
    own_environment,
    path_without,
)

pytest_plugins = ["pytester", "tests.support.workers"]

full = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
settings.register_profile("full", full)
settings.register_profile("usual", full, max_examples=40)
settings.load_profile("usual")

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


@pytest.fixture(scope="session")
def empty_homes() -> list[Path]:
    return []


@pytest.fixture
def own_home(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    empty_homes: list[Path],
) -> Iterator[Path]:
    """A home in the folder of the test; if it has none, one that earlier tests left empty."""
    if "tmp_path" in request.fixturenames:
        home: Path = request.getfixturevalue("tmp_path") / "home"
        home.mkdir()
        yield home
    else:
        home = empty_homes.pop() if empty_homes else tmp_path_factory.mktemp("home")
        yield home
        if not any(home.iterdir()):
            empty_homes.append(home)


@pytest.fixture(scope="session", autouse=True)
def _clean_environment_of_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        _clean(monkeypatch, tmp_path_factory.mktemp("home"))
        if shutil.which("espeak-ng"):  # it would be one model more
            links = tmp_path_factory.mktemp("programs")
            monkeypatch.setenv("PATH", path_without("espeak-ng", os.environ["PATH"], links))
        yield


@pytest.fixture(autouse=True)
def _clean_environment(
    _clean_environment_of_all: None, monkeypatch: pytest.MonkeyPatch, own_home: Path
) -> None:
    _clean(monkeypatch, own_home)


def _clean(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Change what has to be changed: nearly all of it is right for all tests."""
    given = dict(os.environ)
    kept = own_environment(given, home)
    for name in given.keys() - kept:
        monkeypatch.delenv(name)
    for name, value in kept.items():
        if given.get(name) != value:
            monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forks]:
    """The program, to be run without importing all of it anew."""
    home = own_environment(os.environ, tmp_path_factory.mktemp("home"))
    with closing(Forks({**home, "PYTHONPATH": guarded_path()})) as copied:
        yield copied


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
