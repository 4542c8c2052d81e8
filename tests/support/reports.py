"""Reports of tests as one process tells them to another, whatever text the tests were about."""

from collections.abc import Generator
from typing import Any

import pytest


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
