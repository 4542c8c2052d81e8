"""/schema: what it changes and what it says."""

import json
from pathlib import Path

import pytest

from ollm_tui.protocol.json_types import JsonObject
from tests.commands.recording_host import RecordingHost
from tests.commands.test_thinking_and_tools import run

PERSON: JsonObject = {"type": "object", "properties": {"name": {}, "age": {}}}


@pytest.fixture
def host() -> RecordingHost:
    return RecordingHost()


@pytest.mark.parametrize(
    ("schema", "described"),
    [
        (PERSON, "name, age"),
        (PERSON | {"title": "Person\u202e"}, "Person"),
        ({"properties": {f"k{n}": {} for n in range(9)}}, "k0, k1, k2, k3, k4, …"),
        ({"type": "array"}, "array"),
        ({"type": ["array", "null"]}, "array or null"),
        ({"anyOf": [PERSON]}, "without a title"),
        ({}, "any value"),
    ],
)
async def test_a_schema_is_read_and_described(
    schema: JsonObject, described: str, host: RecordingHost, tmp_path: Path
) -> None:
    file = tmp_path / "person.json"
    file.write_text(json.dumps(schema))
    said = await run(host, f"/schema {file}")
    assert said.startswith(f"Answers must match this JSON Schema from now on: {described}")
    assert "\u202e" not in said
    assert host.current.schema == schema
    assert "/schema off ends it." in await run(host, "/schema")
    assert await run(host, "/schema off") == "Answers may have any form from now on."
    assert host.current.schema is None
    assert (await run(host, "/schema")).startswith("Answers may have any form.")


async def test_what_is_wrong_with_a_schema_is_said_on_one_clean_line(
    host: RecordingHost, tmp_path: Path
) -> None:
    file = tmp_path / "person.json"
    file.write_text(json.dumps({"type": "\x1b[2J\n\u202e", "title": "x"}))
    said = await run(host, f"/schema {file}")
    assert host.asked[-1][0] == "error"
    assert "type is not as JSON Schema has it" in said
    assert not {"\x1b", "\u202e", "\n"} & {*said}


async def test_a_file_that_cannot_be_used_changes_nothing(
    host: RecordingHost, tmp_path: Path
) -> None:
    host.current.schema = PERSON
    said = await run(host, f"/schema {tmp_path / 'none.json'}")
    assert host.asked[-1][0] == "error"
    assert "it does not exist" in said
    assert host.current.schema == PERSON


async def test_the_file_of_a_schema_is_known_until_another_one_is_set(
    host: RecordingHost, tmp_path: Path
) -> None:
    file = tmp_path / "person.json"
    file.write_text('{"title": "Person"}')
    await run(host, f"/schema {file}")
    assert host.current.schema_file == str(file)
    assert "response_format  schema\n" in await run(host, "/set")
    host.current.schema = {"title": "Other"}
    assert host.current.schema_file is None
