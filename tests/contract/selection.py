"""Which adapters a test of the contract runs over, in the usual run and among the slow tests.

The kinds run always. A backend's adapter shares most of its code with that of its kind: in the
usual run it meets some cases of a table, among the slow tests all of them.
"""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import pytest

from tests.support.fakes import FAKES, REMOTES

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet


def remotes(often: Collection[str] = ()) -> "list[ParameterSet]":
    """Give every adapter; a backend's that is not among `often` is slow."""
    return [
        pytest.param(name, marks=() if name in FAKES or name in often else pytest.mark.slow)
        for name in REMOTES
    ]


def remotes_with(
    table: Iterable[str], often: Collection[str] = (), kinds: Collection[str] = FAKES
) -> "list[ParameterSet]":
    """Give every adapter with every case; what is neither one of `kinds` nor `often` is slow."""
    return [
        pytest.param(
            name,
            case,
            marks=() if name in kinds or case in often else pytest.mark.slow,
            id=f"{name}-{case}",
        )
        for case in table
        for name in REMOTES
    ]
