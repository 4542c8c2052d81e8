"""Parse each style sheet once for all apps that tests start, and look rules up quickly."""

from collections.abc import Iterator
from typing import Any

import pytest
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet


@pytest.fixture(scope="session", autouse=True)
def parses_style_sheets_once() -> Iterator[None]:
    """Share the rules of equal sheets; a conftest that imports this has it for its tests.

    Rules are read only: Textual itself keeps those of an app until a theme changes their variables.
    """
    parse: Any = Stylesheet._parse_rules
    parsed: dict[tuple[object, ...], list[RuleSet]] = {}

    def parse_once(sheet: Stylesheet, css: str, **given: Any) -> list[RuleSet]:
        key = css, *given.values(), frozenset(sheet._variables.items())
        if key not in parsed:
            parsed[key] = parse(sheet, css, **given)
        return parsed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_once)
        # Each widget that is styled hashes every rule; the same hash, without a call in Python.
        patch.setattr(RuleSet, "__hash__", object.__hash__)
        yield
