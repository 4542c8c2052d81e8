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
    parse_rules: Any = Stylesheet._parse_rules
    parse: Any = Stylesheet.parse
    map_rules: Any = Stylesheet.rules_map.fget  # type: ignore[attr-defined]
    parsed_rules: dict[tuple[object, ...], list[RuleSet]] = {}
    parsed: dict[tuple[object, ...], list[RuleSet]] = {}
    maps: dict[int, tuple[list[RuleSet], Any]] = {}

    def parse_rules_once(sheet: Stylesheet, css: str, **given: Any) -> list[RuleSet]:
        key = css, *given.values(), frozenset(sheet._variables.items())
        if key not in parsed_rules:
            parsed_rules[key] = parse_rules(sheet, css, **given)
        return parsed_rules[key]

    def parse_once(sheet: Stylesheet) -> None:
        invalid = frozenset(sheet._invalid_css)
        key = tuple(sheet.source.items()), frozenset(sheet._variables.items()), invalid
        if key not in parsed:
            parse(sheet)
            parsed[key] = sheet._rules
        sheet._rules, sheet._rules_map, sheet._require_parse = parsed[key], None, False

    def map_once(sheet: Stylesheet) -> Any:
        rules = sheet.rules
        if id(rules) not in maps:
            maps[id(rules)] = rules, map_rules(sheet)
        return maps[id(rules)][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_rules_once)
        patch.setattr(Stylesheet, "parse", parse_once)
        patch.setattr(Stylesheet, "rules_map", property(map_once))
        # Each widget that is styled hashes every rule; the same hash, without a call in Python.
        patch.setattr(RuleSet, "__hash__", object.__hash__)
        yield
