import json

import pytest
from hypothesis import given

from ollm_tui.decode.react_call import first_loose_object, loose_object
from tests.support.strategies import JSON_OBJECTS


@pytest.mark.parametrize("text", ["", "{}x", "{", "[]", "[1,]", "{'a': [,]}", "{'a': tru}"])
def test_what_is_no_whole_object_is_refused(text: str) -> None:
    assert loose_object(text) is None


def test_the_first_object_ends_with_its_bracket_in_either_kind_of_quotes() -> None:
    assert first_loose_object("{'a': \"}'\"} {}") == "{'a': \"}'\"}"
    assert first_loose_object("x{}") is None
    assert first_loose_object("{'}") is None


@given(JSON_OBJECTS.filter(lambda value: "Infinity" not in json.dumps(value)))
def test_proper_json_keeps_its_meaning(value: dict[str, object]) -> None:
    for indent in (None, 1):
        assert loose_object(json.dumps(value, indent=indent)) == value


@given(JSON_OBJECTS.filter(lambda value: "Infinity" not in json.dumps(value)))
def test_what_python_prints_is_read_as_it_was_meant(value: dict[str, object]) -> None:
    printed = repr(value)
    if "\\x" not in printed and "\\U" not in printed:
        assert loose_object(printed) == value
