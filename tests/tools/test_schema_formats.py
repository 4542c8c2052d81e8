"""The formats of JSON Schema that answers are held to."""

import time

import pytest

from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.tools.arguments import sentences
from ollm_tui.tools.json_schema import SchemaChecker
from ollm_tui.tools.schema_formats import FORMATS

RIGHT = {
    "date": ["2024-02-29", "0001-01-01"],
    "time": ["23:59:59Z", "12:00:00.5+01:00", "23:59:60z"],
    "date-time": ["2024-05-01T10:00:00Z", "2024-05-01t10:00:00.123-08:30"],
    "email": ["joe@example.org", "a.b+c@localhost"],
    "uri": ["https://example.org/a?b=c#d", "urn:isbn:0451450523", "mailto:a@b", "x:%41"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000"],
    "ipv4": ["127.0.0.1", "255.255.255.255"],
    "ipv6": ["::1", "2001:db8::8a2e:370:7334", "::ffff:1.2.3.4"],
    "hostname": ["example.org", "localhost", "a-b.example."],
}
WRONG = {
    "date": ["2023-02-29", "2024-5-1", "20240501", "2024-05-01T", "\u0662024-05-01", ""],
    "time": ["23:59:59", "24:00:00Z", "12:60:00Z", "12:00:61Z", "12:00Z", "12:00:00+24:00"],
    "date-time": ["2024-05-01", "2024-05-01T10:00:00", "2024-13-01T10:00:00Z", "T"],
    "email": ["joe", "@example.org", "joe@", "a b@c.de", "a@b@c"],
    "uri": ["example.org/a", "/a", "https://a b", "x:%4", "x:é", ""],
    "uuid": ["123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400g"],
    "ipv4": ["127.0.0.256", "127.1", "1.2.3.4.5", "01.2.3.4", "::1"],
    "ipv6": ["1.2.3.4", ":::1", "fe80::1%eth0", "12345::"],
    "hostname": ["-a.org", "a..b", "a_b", "a" * 64, ".", "exämple.org", "a." * 127 + "org"],
}


def is_valid(name: str, value: JsonValue) -> bool:
    checker = SchemaChecker({"format": name}, formats=True)
    return not checker.faults(value)


def test_the_common_formats_are_checked() -> None:
    assert RIGHT.keys() == WRONG.keys() == FORMATS.keys()
    wrongly_refused = [
        (n, text) for n, texts in RIGHT.items() for text in texts if not is_valid(n, text)
    ]
    wrongly_taken = [(n, text) for n, texts in WRONG.items() for text in texts if is_valid(n, text)]
    assert wrongly_refused == []
    assert wrongly_taken == []


def test_other_values_and_unknown_formats_pass() -> None:
    others: list[JsonValue] = [1, None, [], {}]
    assert all(is_valid(name, value) for name in FORMATS for value in others)
    assert is_valid("iri-reference", "anything")


def test_formats_are_an_annotation_unless_they_are_asked_for() -> None:
    assert not SchemaChecker({"format": "date"}).faults("soon")


def test_the_sentence_names_the_format() -> None:
    schema: JsonObject = {"properties": {"born": {"type": "string", "format": "date"}}}
    faults = SchemaChecker(schema, formats=True).faults({"born": "in May"})
    assert sentences(faults, "The answer") == ['born must have the format "date", not "in May".']


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_no_text_takes_long(name: str) -> None:
    checker = SchemaChecker({"format": name}, formats=True)
    long = [mark * 500_000 for mark in ("a", "a.", "1", ":", "a@", "%41", "-", "12:")]
    begun = time.thread_time()
    for text in long:
        checker.faults(text)
        checker.faults(f"x:{text}")
    assert time.thread_time() - begun < 2
