"""The table of backends is whole: what one row names is there."""

from typing import get_args

import pytest

from ollm_tui.config.backends import ADAPTERS, BACKENDS, Backend, BackendName
from ollm_tui.lazy import import_name
from ollm_tui.providers.fingerprint import PATHS, identify

by_name = pytest.mark.parametrize("row", BACKENDS, ids=lambda row: row.name)


def test_every_backend_of_the_settings_has_a_row() -> None:
    rows = {row.name for row in BACKENDS if row.adapters}
    assert rows | {"generic"} == set(get_args(BackendName))


@by_name
def test_what_a_row_names_can_be_imported(row: Backend) -> None:
    assert row.kind in ADAPTERS
    paths = [*row.adapters.values(), ADAPTERS[row.kind]]
    assert all(callable(import_name(path).chat_stream) for path in paths if path)
    assert all(import_name(signature.test)({}) is False for signature in row.signatures)
    assert row.version_at is None or row.version_at[0] in PATHS


def test_signatures_are_tried_in_a_clear_order() -> None:
    orders = [signature.order for row in BACKENDS for signature in row.signatures]
    assert len(orders) == len(set(orders))
    assert identify({}) is None
