import pytest

from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.tools import ToolSchema
from ollm_tui.tools.arguments import find_faults
from ollm_tui.tools.json_schema import BadSchema

EDIT: JsonObject = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1, "pattern": "^[a-z/]+$"},
        "mode": {"enum": ["fast", "slow"]},
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"line": {"type": ["integer", "null"]}},
                "required": ["line", "text"],
            },
        },
        "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    },
    "required": ["path"],
    "additionalProperties": False,
}


def faults(args: JsonObject, parameters: JsonObject | None = EDIT) -> list[str]:
    return find_faults(ToolSchema(name="edit", parameters=parameters), args)


def test_arguments_that_fit_have_no_faults() -> None:
    assert faults({"path": "a", "mode": "fast", "edits": [{"line": 1.0, "text": ""}]}) == []


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ({}, 'The arguments object lacks "path".'),
        ({"path": 5}, "path must be string, not 5."),
        ({"path": "a", "mode": "x"}, 'mode must be one of ["fast", "slow"], not "x".'),
        (
            {"path": "a", "file": 1},
            'The arguments object may not hold "file"; it takes path, mode, edits, either.',
        ),
        ({"path": "a", "edits": [{}]}, 'edits[0] lacks "line", "text".'),
        (
            {"path": "a", "edits": [{"line": True, "text": ""}]},
            "edits[0].line must be integer or null, not true.",
        ),
        ({"path": "a", "either": "x"}, 'either cannot be "x".'),
        ({"path": "A"}, 'path breaks the rule pattern: "^[a-z/]+$"; it is "A".'),
    ],
)
def test_a_fault_is_a_sentence_with_the_way_to_it(args: JsonObject, sentence: str) -> None:
    assert faults(args) == [sentence]


def test_only_the_first_faults_are_reported_and_the_rest_counted() -> None:
    message = faults({"path": "a", "edits": [1, 2, 3, 4, 5]})
    assert message[0] == "edits[0] must be object, not 1."
    assert message[3:] == ["And 2 more of the kind."]


def test_a_long_value_is_not_reported_in_full() -> None:
    (message,) = faults({"path": ["x" * 10_000]})
    assert len(message) < 200


def test_many_unknown_names_are_cut_short() -> None:
    (message,) = faults({"path": "a"} | {f"n{number}": 1 for number in range(50)})
    assert '"n0", "n1", "n2", ...;' in message


def test_a_tool_without_parameters_takes_none() -> None:
    assert faults({}, None) == []
    assert faults({"a": 1}, None) == ['The arguments object may not hold "a"; it takes nothing.']


@pytest.mark.parametrize(
    "parameters",
    [
        {"type": "strange"},
        {"type": 5},
        {"properties": {"a": {"$ref": "#/$defs/nowhere"}}},
        {"properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}},
        {"properties": {"a": {"pattern": "("}}},
        {"properties": {"a": {"pattern": "(x+x+)+y"}}},
    ],
    ids=str,
)
def test_a_schema_that_cannot_be_used_says_so(parameters: JsonObject) -> None:
    with pytest.raises(BadSchema, match="schema of edit"):
        faults({"a": "x" * 5000}, parameters)
