import json
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.leaked_calls import LeakedCall, LeakedCallDetector, LeakedPiece
from ollm_tui.decode.think_pieces import TextPiece
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.tools import ToolSchema
from tests.support.cuts import cut_wholes, one_by_one, ways_to_cut
from tests.support.strategies import JSON_OBJECTS

WEATHER = ToolSchema(
    name="weather",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    },
)
NOW = ToolSchema(name="now")
PARIS = LeakedCall("weather", {"city": "Paris"})
JSON_CALL = '{"name": "weather", "arguments": {"city": "Paris"}}'
ELEMENTS = "<function=weather>\n<parameter=city>\nParis\n</parameter>\n</function>"
INVOKE = '<invoke name="weather">\n<parameter name="city">Paris</parameter>\n</invoke>'
FRAGMENTS = st.lists(
    st.sampled_from(
        [
            *("<tool_call>", "</tool_call>", "<function=weather>", "</function>", "[TOOL_CALLS]"),
            *("<|python_tag|>", "[TOOL_REQUEST]", "[END_TOOL_REQUEST]", "```json\n", "```", "`"),
            *(JSON_CALL, '{"name": "weather"', '{"name": "', "{", "}", "[", "]", '"', "\\"),
            *("<parameter=city>", "</parameter>", "Paris", " ", "\n", "<tool", "_call>", "é🧠"),
            *(f"<tool_call>{JSON_CALL}</tool_call>", '{"name": "now", "args": {}}', "now[ARGS]{}"),
        ]
    ),
    max_size=12,
).map("".join)


def fits(name: str, args: JsonObject) -> bool:
    return name != "weather" or isinstance(args.get("city"), str)


def run(
    chunks: Iterable[str],
    offered: Iterable[ToolSchema] = (WEATHER, NOW),
    *,
    complete: bool = True,
) -> list[LeakedPiece]:
    """Feed the chunks and join neighbouring text."""
    detector = LeakedCallDetector(offered, fits)
    found: list[LeakedPiece] = []
    pieces = [piece for chunk in chunks for piece in detector.feed(chunk)]
    for piece in pieces + detector.finish(complete=complete):
        if found and isinstance(piece, TextPiece) and isinstance(found[-1], TextPiece):
            found[-1] = TextPiece(found[-1].text + piece.text)
        else:
            found.append(piece)
    return found


def seen(text: str) -> list[LeakedPiece]:
    """Read a text under every fixed way of cutting."""
    results = [run(chunks) for chunks in ways_to_cut(text)]
    assert all(result == results[0] for result in results)
    return results[0]


@pytest.mark.parametrize(
    "text",
    [
        JSON_CALL,
        f"\n {JSON_CALL} \n",
        f"```json\n{JSON_CALL}\n```\n",
        f"```\n{JSON_CALL}\n```",
        f"[{JSON_CALL}]",
        '{"name": "weather", "parameters": {"city": "Paris"}}',
        '{"tool": "weather", "args": {"city": "Paris"}}',
        '{"arguments": {"city": "Paris"}, "name": "weather"}',
        '{"name": "weather", "arguments": "{\\"city\\": \\"Paris\\"}"}',
        '{"type": "function", "function": {"name": "weather", "arguments": {"city": "Paris"}}}',
        '{"id": "c1", "function": {"name": "weather", "arguments": {"city": "Paris"}}}',
        f"<tool_call>\n{JSON_CALL}\n</tool_call>",
        f"<tool_call>{JSON_CALL}",
        f"<tools>{JSON_CALL}</tools>",
        f"<function_call>{JSON_CALL}</function_call>",
        f"<|tool_call|>[{JSON_CALL}]",
        f"<|python_tag|>{JSON_CALL}<|eom_id|>",
        f"[TOOL_REQUEST]{JSON_CALL}[END_TOOL_REQUEST]",
        f"[TOOL_CALLS] [{JSON_CALL}]",
        '[TOOL_CALLS]weather[ARGS]{"city": "Paris"}',
        '<function=weather>{"city": "Paris"}</function>',
        ELEMENTS,
        f"<tool_call>\n{ELEMENTS}\n</tool_call>",
        INVOKE,
        f"<function_calls>\n{INVOKE}\n</function_calls>",
    ],
)
def test_an_answer_that_is_a_call_becomes_one(text: str) -> None:
    assert seen(text) == [PARIS]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "{",
        "[",
        "[TOOL",
        "<tool_ca",
        "<tool_call>",
        "<function=",
        "Plain < words [1] {2}",
        f"Like so: {JSON_CALL}",
        f"{JSON_CALL} is what I would call.",
        f"```json\n{JSON_CALL}\n```\nwould do.",
        f"```python\n{JSON_CALL}\n```",
        '{"name": "Bob", "arguments": {}}',
        '{"name": "other", "arguments": {}}',
        '{"name": "weather", "arguments": {"town": "Paris"}}',
        '{"name": "weather", "arguments": {"city": "Paris"}',
        '{"name": "weather", "arguments": {"city": "Paris", "city": "Rome"}}',
        '{"name": "weather", "description": "It rains.", "parameters": {"city": "a"}}',
        '{"name": "weather", "arguments": ["Paris"]}',
        '{"name": "now"}',
        '{"name": 1, "arguments": {}}',
        '{"name": "now", "arguments": {}, "args": {}}',
        f'[{JSON_CALL}, {{"name": "other", "arguments": {{}}}}]',
        f"[{JSON_CALL}, 1]",
        "[]",
        "[1, 2]",
        '{"title": "weather"}',
        "<tool_call>words</tool_call>",
        '<tool_call>{"name": "weather", "arguments": {"city": "Par</tool_call>',
        f"<tool_call>{JSON_CALL} and so on</tool_call>",
        '<tool_call>{"name": "weather", "arguments": {"city": 7}}</tool_call>',
        "<tool_call>\n<tool_call>\n",
        "<function=other>{}</function>",
        "<function=weather><parameter=city>Paris</function>",
        "<function=weather>Paris</function>",
        '<function=weather>{"city": "Paris"</function>',
        "<function=weather><parameter=city>a</parameter><parameter=city>b</parameter></function>",
        "<tool_call><function=weather>{}</function>words</tool_call>",
        "Use `<tool_call>{}</tool_call>` or\n```\n<tool_call>" + JSON_CALL + "</tool_call>\n```\n",
        f"Write `<tool_call>{JSON_CALL}</tool_call>`.",
        '[TOOL_CALLS]weather[ARGS]{"city"',
        "[TOOL_CALLS]weather[ARGS][]",
    ],
)
def test_what_is_no_call_comes_out_as_it_was_written(text: str) -> None:
    assert seen(text) == ([TextPiece(text)] if text else [])


def test_calls_stand_between_texts_without_the_white_space_around_them() -> None:
    tag = f"<tool_call>{JSON_CALL}</tool_call>"
    assert seen(f"I look.\n{tag}\n\n{tag}\n") == [TextPiece("I look.\n"), PARIS, PARIS]
    assert seen(f"{tag}\nDone. ") == [PARIS, TextPiece("\nDone. ")]
    assert seen(f"{tag}\n```x```") == [PARIS, TextPiece("\n```x```")]
    assert seen(f"```x```{tag}") == [TextPiece("```x```"), PARIS]
    assert seen(f"{JSON_CALL}\n{JSON_CALL}") == [PARIS, PARIS]


def test_an_end_mark_inside_an_argument_is_part_of_it() -> None:
    call = LeakedCall("weather", {"city": "</tool_call>``` \\"})
    written = json.dumps({"name": "weather", "arguments": call.args})
    assert seen(f"<tool_call>{written}</tool_call>") == [call]
    assert seen(f"```json\n{written}\n```") == [call]


def test_an_element_gets_the_type_its_schema_asks_for() -> None:
    text = (
        "<function=weather><parameter=city>7</parameter>\n<parameter=days>7</parameter>"
        "<parameter=other>7</parameter></function>"
    )
    assert seen(text) == [LeakedCall("weather", {"city": "7", "days": 7, "other": "7"})]
    odd = "<function=weather><parameter=city>7</parameter><parameter=days>a</parameter></function>"
    assert seen(odd) == [LeakedCall("weather", {"city": "7", "days": "a"})]


@pytest.mark.parametrize("text", ["<tool_call>{}</tool_call>", "<function=now></function>"])
def test_a_tag_without_name_is_text_and_a_call_without_arguments_is_a_call(text: str) -> None:
    assert seen(text) == ([TextPiece(text)] if "{}" in text else [LeakedCall("now", {})])
    for written in ('{"name": "now"}', '{"name": "now", "arguments": null}'):
        assert seen(f"<tool_call>{written}</tool_call>") == [LeakedCall("now", {})]


@pytest.mark.parametrize("text", [JSON_CALL, f"```\n{JSON_CALL}\n```", f"<tool_call>{JSON_CALL}"])
def test_what_a_cut_answer_leaves_unfinished_is_text(text: str) -> None:
    assert run([text], complete=False) == [TextPiece(text)]


def test_a_finished_tag_of_a_cut_answer_is_a_call() -> None:
    assert run([f"<tool_call>{JSON_CALL}</tool_call>"], complete=False) == [PARIS]


def test_without_tools_nothing_is_held_back() -> None:
    detector = LeakedCallDetector([], fits)
    assert detector.feed(JSON_CALL[:9]) == [TextPiece(JSON_CALL[:9])]
    assert detector.feed("") == []
    assert detector.finish() == []


def test_text_is_given_out_as_soon_as_it_can_be_no_call() -> None:
    detector = LeakedCallDetector([WEATHER], fits)
    assert detector.feed('{"na') == []
    assert detector.feed('me": "we') == []
    assert detector.feed("b") == [TextPiece('{"name": "web')]
    assert detector.feed(" <tool_call") == [TextPiece(" ")]
    assert detector.feed('>{"title') == [TextPiece("<tool_call>"), TextPiece('{"title')]
    assert detector.feed("<tool_call>" + JSON_CALL) == []
    assert detector.feed(" or") == [TextPiece(f"<tool_call>{JSON_CALL} "), TextPiece("or")]


@given(case=cut_wholes(FRAGMENTS))
def test_chunk_borders_never_change_what_is_found(case: tuple[str, list[str]]) -> None:
    whole, chunks = case
    expected = run([whole])
    assert run(chunks) == expected
    assert run(one_by_one(whole)) == expected


@given(text=FRAGMENTS)
def test_all_text_comes_out_if_nothing_fits(text: str) -> None:
    detector = LeakedCallDetector([WEATHER, NOW], lambda _name, _args: False)
    pieces = [piece for letter in text for piece in detector.feed(letter)] + detector.finish()
    assert "".join(piece.text for piece in pieces if isinstance(piece, TextPiece)) == text


@given(args=JSON_OBJECTS, kept=st.integers(min_value=0))
def test_a_damaged_call_never_runs(args: JsonObject, kept: int) -> None:
    written = json.dumps({"name": "now", "arguments": args})
    damaged = written[: kept % len(written)]
    assert all(isinstance(piece, TextPiece) for piece in run([damaged]))
    tagged = f"<tool_call>{damaged}</tool_call>"
    assert run([tagged]) == [TextPiece(tagged)]


@given(text=st.text(alphabet="ab {}\"'é\n", min_size=1))
def test_prose_is_never_held(text: str) -> None:
    detector = LeakedCallDetector([WEATHER], fits)
    assert detector.feed("a" + text) == [TextPiece("a" + text)]
