"""What the processes that run the tests side by side have in common, and tell each other."""

import gc
import os
import random
from collections.abc import Generator
from typing import Any

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Have all of them find the tests in one order: that of a set hangs on a seed of its own."""
    os.environ.setdefault("PYTHONHASHSEED", str(random.randrange(2**32)))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Keep the collected tests and their modules out of every garbage collection.

    Looking through them takes half a second, and each test that starts the app would cause it.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000)
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """Write halves of surrogate pairs as escapes: nothing else can be sent as they are."""
    return sendable((yield))


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
