"""The calls that models of each family write into their text are read, in every piece."""

import json

import pytest

from ollm_tui.decode.leaked_calls import LeakedCall, LeakedCallDetector, LeakedPiece
from ollm_tui.decode.leaked_forms import TOOL_TAGS, ToolTag
from ollm_tui.decode.think_pieces import TextPiece
from ollm_tui.models.family_files import FamilyLibrary
from ollm_tui.models.known_models import KnownModels
from ollm_tui.protocol.tools import ToolSchema
from tests.support.cuts import ways_to_cut

WEATHER = ToolSchema(
    name="weather", parameters={"type": "object", "properties": {"city": {"type": "string"}}}
)
NOW = ToolSchema(name="now")
PARIS, CLOCK = LeakedCall("weather", {"city": "Paris"}), LeakedCall("now", {})
BARE = '{"name": "weather", "arguments": {"city": "Paris"}}'
ELEMENTS = "<function=weather>\n<parameter=city>\nParis\n</parameter>\n</function>"
INVOKE = '<invoke name="weather">\n<parameter name="city">Paris</parameter>\n</invoke>'
ARGS = '{"city": "Paris"}'
DEEPSEEK = "<｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n"  # noqa: RUF001
DSML = "｜DSML｜"  # noqa: RUF001
PAIRS = "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>"
WRITTEN = {
    "qwen3:8b": f"<tool_call>\n{BARE}\n</tool_call>",
    "qwen3-coder:30b": f"<tool_call>\n{ELEMENTS}\n</tool_call>",
    "qwen3.5:27b": f"{ELEMENTS}",
    "hermes3:8b": f"<tool_call>{BARE}</tool_call>",
    "llama3.1:8b": f"<|python_tag|>{BARE}<|eom_id|>",
    "mistral-small3.2": f"[TOOL_CALLS]weather[ARGS]{ARGS}</s>",
    "devstral": f"[TOOL_CALLS] [{BARE}]",
    "magistral:24b": f"[TOOL_CALLS] [{BARE}]",
    "mixtral:8x22b": f"[TOOL_CALLS] [{BARE}]",
    "granite3.3:8b": f"<|tool_call|>[{BARE}]",
    "granite4:micro": f"<tool_call>\n{BARE}\n</tool_call>",
    "phi4-mini:3.8b": f"<|tool_call|>[{BARE}]<|/tool_call|>",
    "nvidia/NVIDIA-Nemotron-Nano-9B-v2": f"<TOOLCALL>[{BARE}]</TOOLCALL>",
    "nemotron-3-nano:30b": f"<tool_call>\n{ELEMENTS}\n</tool_call>",
    "command-r7b": '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "weather", '
    f'"parameters": {ARGS}}}\n]<|END_ACTION|>',
    "MiniMaxAI/MiniMax-M2": f"<minimax:tool_call>\n{INVOKE}\n</minimax:tool_call>",
    "ByteDance-Seed/Seed-OSS-36B-Instruct": f"<seed:tool_call>\n{ELEMENTS}\n</seed:tool_call>",
    "tencent/Hunyuan-7B-Instruct": f"<tool_calls>\n[{BARE}]\n</tool_calls>",
    "baidu/ERNIE-4.5-21B-A3B-Thinking": f"<tool_call>\n{BARE}\n</tool_call>",
    "internlm/internlm3-8b-instruct": '<|action_start|><|plugin|>\n{"name": "weather", '
    f'"parameters": {ARGS}}}<|action_end|>',
    "firefunction-v2": f" functools[{BARE}]",
    "functionary-small-v3.1": f"<function=weather>{ARGS}</function>",
    "functionary-small-v3.2": f">>>weather\n{ARGS}",
    "LiquidAI/LFM2-1.2B": '<|tool_call_start|>[weather(city="Paris")]<|tool_call_end|>',
    "LiquidAI/LFM2.5-1.2B-Instruct": "<|tool_call_start|>[weather(city='Paris')]<|tool_call_end|>",
    "allenai/Olmo-3-7B-Instruct": '<function_calls>weather(city="Paris")</function_calls>',
    "llama4:scout": '[weather(city="Paris")]',
    "meta-llama/Llama-4-Maverick-17B-128E-Instruct": (
        "<|python_start|>[weather(city='Paris')]<|python_end|>"
    ),
    "gemma4:31b": '<|tool_call>call:weather{city:<|"|>Paris<|"|>}<tool_call|>',
    "google/gemma-4-E4B-it": '<|tool_call>call:weather{city:<|"|>Paris<|"|>}',
    "functiongemma": (
        "<start_function_call>call:weather{city:<escape>Paris<escape>}<end_function_call>"
    ),
    "deepseek-v3.2": f'<{DSML}function_calls>\n<{DSML}invoke name="weather">\n'
    f'<{DSML}parameter name="city" string="true">Paris</{DSML}parameter>\n'
    f"</{DSML}invoke>\n</{DSML}function_calls>",
    "zai-org/GLM-4.5V": PAIRS,
    "zai-org/GLM-4.5": f"\n{PAIRS}",
    "glm-4.6": PAIRS,
    "zai-org/GLM-4.7-Flash": PAIRS.replace("\n", ""),
    "zai-org/GLM-5": PAIRS,
    "kimi-k2:1t-cloud": "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0"
    f"<|tool_call_argument_begin|>{ARGS}<|tool_call_end|><|tool_calls_section_end|>",
    "deepseek-v3.1:671b": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather"  # noqa: RUF001
    f"<｜tool▁sep｜>{ARGS}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",  # noqa: RUF001
    "deepseek-r1:671b": f"<｜tool▁calls▁begin｜>{DEEPSEEK}{ARGS}"  # noqa: RUF001
    "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",  # noqa: RUF001
}


def all_pieces(chunks: list[str], tags: tuple[ToolTag, ...]) -> list[LeakedPiece]:
    offered = {WEATHER.name, NOW.name}
    detector = LeakedCallDetector([WEATHER, NOW], lambda name, _: name in offered, tags)
    return [piece for chunk in chunks for piece in detector.feed(chunk)] + detector.finish()


def read(chunks: list[str], tags: tuple[ToolTag, ...]) -> list[LeakedPiece]:
    pieces = all_pieces(chunks, tags)
    return [one for one in pieces if not isinstance(one, TextPiece) or one.text.strip()]


@pytest.fixture(scope="module")
def known() -> KnownModels:
    return KnownModels()


def test_each_family_reads_what_its_models_write(known: KnownModels) -> None:
    wrong = []
    for name, text in WRITTEN.items():
        tags = known.of([name]).tool_tags
        assert tags, name
        found = [read(list(chunks), tags) for chunks in ways_to_cut(text)]
        wrong += [(name, one) for one in found if one != [PARIS]][:1]
    assert wrong == []


def test_every_form_in_a_family_file_has_a_sample(known: KnownModels) -> None:
    parts = [
        part for one in FamilyLibrary().all() for part in (one.family, *one.family.version.values())
    ]
    declared = {form.tag() for part in parts for form in part.tool_calls or ()}
    tried = {tag for name in WRITTEN for tag in known.of([name]).tool_tags}
    assert declared == tried


def test_the_forms_of_one_family_are_text_of_another(known: KnownModels) -> None:
    usual = {tag.start for tag in TOOL_TAGS}
    for name, text in WRITTEN.items():
        tags = known.of([name]).tool_tags
        if not usual.intersection(tag.start for tag in tags):
            assert read([text], ()) != [PARIS], name
            assert read([text], tags) == [PARIS]


def test_an_id_between_name_and_arguments_is_read(known: KnownModels) -> None:
    mistral = known.of(["mistral-small3.2"]).tool_tags
    calls = (
        f"[TOOL_CALLS]weather[CALL_ID]a1B2c3D4e[ARGS]{ARGS}"
        "[TOOL_CALLS]now[CALL_ID]f5G6h7I8j[ARGS]{}"
    )
    for chunks in ways_to_cut(calls):
        assert read(list(chunks), mistral) == [PARIS, CLOCK]
    for text in ("[TOOL_CALLS]weather[CALL_ID]a1", f"[TOOL_CALLS]weather[CALL_ID]{ARGS}"):
        assert read([text], mistral) == [TextPiece(text)]


def test_several_calls_in_one_section_are_all_read(known: KnownModels) -> None:
    kimi = known.of(["kimi-k2"]).tool_tags
    calls = "".join(
        f"<|tool_call_begin|>functions.{name}:{number}<|tool_call_argument_begin|>{args}"
        "<|tool_call_end|>\n"
        for number, (name, args) in enumerate([("weather", ARGS), ("now", "{}")])
    )
    section = f"I look.\n<|tool_calls_section_begin|>{calls}<|tool_calls_section_end|>"
    expected = [TextPiece("I look.\n"), PARIS, CLOCK]
    for chunks in ways_to_cut(section):
        assert [one for one in read(list(chunks), kimi) if isinstance(one, LeakedCall)] == [
            PARIS,
            CLOCK,
        ]
    assert read([section], kimi) == expected


@pytest.mark.parametrize(
    "body",
    [
        f"<|tool_call_begin|>weather<|tool_call_argument_begin|>{ARGS[:-1]}<|tool_call_end|>",
        f"<|tool_call_begin|>weather:0 {ARGS}<|tool_call_end|>",
        "<|tool_call_begin|>weather:0<|tool_call_argument_begin|>"
        '{"city": "a", "city": "b"}<|tool_call_end|>',
        f"words {ARGS}",
        "",
    ],
)
def test_a_section_that_is_no_call_stays_text(known: KnownModels, body: str) -> None:
    kimi = known.of(["kimi-k2"]).tool_tags
    text = f"<|tool_calls_section_begin|>{body}<|tool_calls_section_end|>"
    for chunks in ways_to_cut(text):
        pieces = all_pieces(list(chunks), kimi)
        assert "".join(one.text for one in pieces if isinstance(one, TextPiece)) == text


def test_pairs_get_the_types_of_the_schema_and_may_be_none(known: KnownModels) -> None:
    glm = known.of(["glm-4.6"]).tool_tags
    plan = ToolSchema(name="plan", parameters={"properties": {"days": {"type": "array"}}})
    detector = LeakedCallDetector([plan, NOW], lambda *_call: True, glm)
    pair = "<arg_key>{}</arg_key><arg_value>{}</arg_value>"
    whole = f"{pair.format('days', '[1, 2]')}\n{pair.format('why', '7')}"
    text = f"<tool_call>plan\n{whole}</tool_call>\n<tool_call>now</tool_call>"
    pieces = [*detector.feed(text), *detector.finish()]
    assert pieces == [LeakedCall("plan", {"days": [1, 2], "why": "7"}), CLOCK]


@pytest.mark.parametrize(
    "body",
    [
        "weather is nice",
        "weather\n<arg_key>city</arg_key>Paris",
        "weather\n<arg_key>city<arg_value>Paris</arg_value>",
        "weather\n<arg_key>city</arg_key><arg_value>Paris",
        "weather<arg_key>city</arg_key><arg_value>a</arg_value> and so on",
        "weather<arg_key>a</arg_key><arg_value>a</arg_value><arg_key>a</arg_key>"
        "<arg_value>b</arg_value>",
        "other\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n",
    ],
)
def test_pairs_that_are_no_call_stay_text(known: KnownModels, body: str) -> None:
    glm, text = known.of(["glm-4.6"]).tool_tags, f"<tool_call>{body}</tool_call>"
    for chunks in ways_to_cut(text):
        pieces = all_pieces(list(chunks), glm)
        assert "".join(one.text for one in pieces if isinstance(one, TextPiece)) == text


def test_a_name_that_looks_numbered_stays_as_it_is_offered() -> None:
    numbered = ToolSchema(name="now:1")
    tag = ToolTag("<t>", ("</t>",), name_end="=")
    detector = LeakedCallDetector([numbered], lambda *_call: True, (tag,))
    pieces = [*detector.feed("<t>now:1={}</t>"), *detector.finish()]
    assert pieces == [LeakedCall("now:1", {})]


def test_many_calls_of_a_section_take_time_in_proportion(known: KnownModels) -> None:
    (tag,) = known.of(["kimi-k2"]).tool_tags
    one = f"{tag.call_start}weather{tag.name_end}{json.dumps(PARIS.args)}{tag.call_end}"
    pieces = read([f"{tag.start}{one * 2000}{tag.ends[0]}"], (tag,))
    assert pieces == [PARIS] * 2000
