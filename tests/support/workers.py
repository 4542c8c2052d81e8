"""What the processes that run the tests side by side have in common, and tell each other."""

import gc
import os
import random
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

_PARTS_OF_CHECK: Final = frozenset({"architecture", "docs"})
"""The folders of tests that `make check` runs."""
_CASES: Final = pytest.StashKey[defaultdict[tuple[Path, str], "count[int]"]]()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Have all of them find the tests in one order: that of a set hangs on a seed of its own."""
    os.environ.setdefault("PYTHONHASHSEED", str(random.randrange(2**32)))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, Any, Any]:
    """Keep the collected tests and their modules out of every garbage collection.

    Looking through them takes half a second, and each test that starts the app would cause it.
    """
    gc.disable()
    if worker := getattr(session.config, "workerinput", None):
        _import_from(session.config, int(worker["workerid"][2:]) / worker["workercount"])
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000)
        gc.enable()


def _import_from(config: pytest.Config, share: float) -> None:
    """Import the test files, each process from another one on: one compiles for all."""
    files = sorted(file for folder in config.args for file in Path(folder).rglob("test_*.py"))
    first = int(share * len(files))
    for file in files[first:] + files[:first]:
        # The collection imports it again, and reports what is wrong with it.
        with suppress(Exception, pytest.skip.Exception):
            inside = file.resolve().relative_to(config.rootpath)
            import_module(".".join(inside.with_suffix("").parts))


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    """Leave all but each n-th case of a test marked `one_in(n)` to the slow tests.

    So are the pictures of large screens, and what looks at the code and the guides is marked. Of a
    test marked `slow_one_in(n)`, each n-th case is slow, and the others are long.
    """
    if not _PARTS_OF_CHECK.isdisjoint(item.nodeid.split("/")[1:2]):
        item.add_marker(pytest.mark.structure)
    if "120x40" in item.name:
        item.add_marker(pytest.mark.slow)
    if item.get_closest_marker("long"):
        item.add_marker(pytest.mark.slow)
    for name, left_to in (("one_in", "slow"), ("slow_one_in", "long")):
        marker = item.get_closest_marker(name)
        if marker is None or not isinstance(item, pytest.Function):
            continue
        cases = item.session.stash.setdefault(_CASES, defaultdict(count))
        if next(cases[(item.path, item.originalname)]) % marker.args[0]:
            item.add_marker(left_to)
        if name == "slow_one_in":
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the files of the screens: the longest is among them and would be left alone."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: not item.nodeid.startswith("tests/tui/"))


def pytest_sessionstart(session: pytest.Session) -> None:
    """Have a worker send what comes of each test, in text that can be sent."""
    options = session.config.option
    is_all = options.verbose > 0 or options.durations is not None or options.xmlpath is not None
    for worker in session.config.pluginmanager.get_plugins():
        if hasattr(worker, "sendevent"):
            worker.sendevent = partial(_send, worker.sendevent, is_all=is_all)


def _send(send: Callable[..., None], name: str, *, is_all: bool, **content: Any) -> None:
    """Leave out what the screen shows nothing of: every message wakes the process it goes to."""
    match name, content:
        case "logstart", _ if not is_all:
            return
        case (
            "testreport",
            {"data": {"when": "setup" | "teardown", "outcome": "passed", "sections": []}},
        ) if not is_all:
            return
    send(name, **sendable(content))


def sendable(data: Any) -> Any:
    """Give the same data with text that can be encoded."""
    match data:
        case str():
            return data.encode("utf-8", "backslashreplace").decode("utf-8")
        case dict():
            return {sendable(key): sendable(value) for key, value in data.items()}
        case list():
            return [sendable(value) for value in data]
        case tuple():
            return tuple(sendable(value) for value in data)
    return data
