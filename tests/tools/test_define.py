import threading
from collections.abc import Callable
from enum import Enum
from typing import Annotated, Literal, Optional

import pytest

from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.tools import ToolOutput
from ollm_tui.tools.define import read_docstring, tool


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@tool(effect="read", timeout_s=2)
async def paint(
    what: str,
    colour: Colour = Colour.RED,
    size: Literal["small", 3] = "small",
    layers: int = 1,
    gloss: float | None = None,
    tags: list[str] = [],  # noqa: B006 -- a default that is a list is what is tried
    marks: Optional[dict[str, bool]] = None,  # noqa: UP045 -- the old spelling is tried
    anything: object = None,
) -> str:
    """Paint a thing.

    It is only
    pretended.

    More is not said.

    Args:
        what: The thing, such as
            "a house: old".
        colour (Colour): Its colour.
        layers: How many.

    Returns:
        What was done.
    """
    return f"{what!r} {colour!r} {size!r} {layers!r} {gloss!r} {tags!r} {marks!r} {anything!r}"


def test_the_signature_and_the_docstring_become_the_schema() -> None:
    assert paint.schema.name == "paint"
    assert (
        paint.schema.description == "Paint a thing.\n\nIt is only pretended.\n\nMore is not said."
    )
    assert paint.effect == "read"
    assert paint.timeout_s == 2
    assert paint.schema.parameters == {
        "type": "object",
        "properties": {
            "what": {"type": "string", "description": 'The thing, such as "a house: old".'},
            "colour": {
                "type": "string",
                "enum": ["red", "blue"],
                "description": "Its colour.",
                "default": "red",
            },
            "size": {"enum": ["small", 3], "default": "small"},
            "layers": {"type": "integer", "description": "How many.", "default": 1},
            "gloss": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
            "tags": {"type": "array", "items": {"type": "string"}, "default": []},
            "marks": {
                "anyOf": [
                    {"type": "object", "additionalProperties": {"type": "boolean"}},
                    {"type": "null"},
                ],
                "default": None,
            },
            "anything": {"default": None},
        },
        "required": ["what"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("args", "answer"),
    [
        ({"what": "a"}, "'a' <Colour.RED: 'red'> 'small' 1 None [] None None"),
        (
            {"what": "a", "colour": "blue", "size": 3, "layers": 2.0, "gloss": 0.5},
            "'a' <Colour.BLUE: 'blue'> 3 2 0.5 [] None None",
        ),
        (
            {"what": "a", "tags": ["x"], "marks": {"y": True}, "anything": {"z": [1]}},
            "'a' <Colour.RED: 'red'> 'small' 1 None ['x'] {'y': True} {'z': [1]}",
        ),
    ],
)
async def test_json_arguments_become_the_types_that_are_declared(
    args: JsonObject, answer: str
) -> None:
    assert await paint.run(args) == ToolOutput(answer)


def test_a_tool_without_parameters_has_no_schema_of_them() -> None:
    def ping() -> str:
        """Answer."""
        return "pong"

    assert tool(effect="read")(ping).schema.parameters is None


async def test_a_plain_function_runs_in_a_thread_and_an_async_one_does_not() -> None:
    @tool(effect="read")
    def in_thread() -> str:
        """Tell the thread."""
        return str(threading.get_ident())

    @tool(effect="read", name="in-loop")
    async def in_loop() -> ToolOutput:
        """Tell the thread."""
        return ToolOutput(str(threading.get_ident()), display="shown")

    here = str(threading.get_ident())
    assert (await in_thread.run({})).content != here
    assert await in_loop.run({}) == ToolOutput(here, display="shown")
    assert in_loop.schema.name == "in-loop"


def no_type(a) -> str:  # type: ignore[no-untyped-def] # that is what is tried
    """Do."""
    return ""


def positional(a: str, /) -> str:
    """Do."""
    return ""


def starred(*a: str) -> str:
    """Do."""
    return ""


def keywords(**a: str) -> str:
    """Do."""
    return ""


def no_docstring(a: str) -> str:
    return a


def only_arguments(a: str) -> str:
    """Args:
    a: It.
    """
    return a


def unknown_argument(a: str) -> str:
    """Do.

    Args:
        b: Another.
    """
    return a


def bytes_parameter(a: bytes) -> str:
    """Do."""
    return ""


def tuple_parameter(a: tuple[int, ...]) -> str:
    """Do."""
    return ""


def bare_list(a: list) -> str:  # type: ignore[type-arg] # that is what is tried
    """Do."""
    return ""


def annotated(a: Annotated[str, "A text."]) -> str:
    """Do."""
    return ""


def number_keys(a: dict[int, str]) -> str:
    """Do."""
    return ""


def nested_unknown(a: list[set[str]]) -> str:
    """Do."""
    return ""


def wrong_default(a: int = "1") -> str:  # type: ignore[assignment] # that is what is tried
    """Do."""
    return ""


def boolean_for_number(a: int = True) -> str:
    """Do."""
    return ""


def default_outside(a: Literal[1, 2] = True) -> str:  # type: ignore[assignment] # tried
    """Do."""
    return ""


def default_no_json(a: object = object()) -> str:
    """Do."""
    return ""


def returns_number(a: str) -> int:
    """Do."""
    return 1


def returns_undeclared(a: str):  # type: ignore[no-untyped-def] # that is what is tried
    """Do."""
    return a


def unknown_name(a: "Nowhere") -> str:  # type: ignore[name-defined] # noqa: F821 -- tried
    """Do."""
    return ""


def float_choice(a: Literal[b"x"]) -> str:
    """Do."""
    return ""


def generator(a: str) -> str:  # type: ignore[misc] # that is what is tried
    """Do."""
    yield a


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (no_type, "parameter a has no type"),
        (positional, "parameter a cannot be given by name"),
        (starred, "parameter a cannot be given by name"),
        (keywords, "parameter a cannot be given by name"),
        (no_docstring, "needs a docstring"),
        (only_arguments, "needs a docstring"),
        (unknown_argument, "the docstring describes b"),
        (bytes_parameter, "parameter a: bytes cannot be said"),
        (tuple_parameter, "parameter a: tuple"),
        (bare_list, "parameter a: list cannot be said"),
        (annotated, "parameter a: typing.Annotated"),
        (number_keys, "parameter a: dict"),
        (nested_unknown, "parameter a: set"),
        (wrong_default, "parameter a: its default '1' is not of its type"),
        (boolean_for_number, "parameter a: its default True is not of its type"),
        (default_outside, "parameter a: its default True is not of its type"),
        (default_no_json, "cannot be said in JSON"),
        (returns_number, "returns str or ToolOutput"),
        (returns_undeclared, "returns str or ToolOutput"),
        (unknown_name, "an annotation cannot be read here"),
        (float_choice, "parameter a: "),
        (generator, "a generator gives no single answer"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_a_schema_cannot_say_is_refused_where_it_is_defined(
    function: Callable[..., str], reason: str
) -> None:
    with pytest.raises(TypeError, match=f"^tool {function.__name__}: .*{reason}"):
        tool(effect="read")(function)


@pytest.mark.parametrize("timeout_s", [0, -1, float("inf"), float("nan")])
def test_a_time_limit_is_a_number_of_seconds(timeout_s: float) -> None:
    with pytest.raises(TypeError, match="timeout_s"):
        tool(effect="read", timeout_s=timeout_s)


def test_an_effect_is_a_known_one() -> None:
    with pytest.raises(TypeError, match="not an effect"):
        tool(effect="harmless")  # type: ignore[arg-type] # that is what is tried


@pytest.mark.parametrize("name", ["1st", "with space", "a" * 65, "ü"])
def test_a_name_is_one_that_every_backend_takes(name: str) -> None:
    with pytest.raises(TypeError, match="letters, digits"):
        tool(effect="read", name=name)(positional)


async def test_an_answer_that_is_no_text_is_an_error() -> None:
    @tool(effect="read")
    async def wrong() -> str:
        """Do."""
        return 1  # type: ignore[return-value] # that is what is tried

    with pytest.raises(TypeError, match="wrong gave int"):
        await wrong.run({})


def test_a_docstring_without_sections_is_all_description() -> None:
    description = read_docstring("One.\n    Two.\n\n    Three.")
    assert description.text == "One. Two.\n\nThree."
    assert description.arguments == {}
