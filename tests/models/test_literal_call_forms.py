"""Calls in Python's syntax, in Gemma's and in DeepSeek's elements: read whole, or left as text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.leaked_calls import LeakedCall, LeakedCallDetector, LeakedPiece
from ollm_tui.decode.leaked_forms import ToolTag
from ollm_tui.decode.think_pieces import TextPiece
from ollm_tui.models.known_models import KnownModels
from ollm_tui.protocol.tools import ToolSchema
from tests.support.cuts import cut_wholes, ways_to_cut

TOOLS = (ToolSchema(name="f"), ToolSchema(name="get-weather"))
LFM, GEMMA, FUNCTIONGEMMA = "LiquidAI/LFM2-1.2B", "gemma4:31b", "functiongemma"
LLAMA, OLMO, DEEPSEEK = "llama4:scout", "allenai/Olmo-3-7B-Instruct", "deepseek-v3.2"
FUNCTIONARY = "functionary-small-v3.2"
DSML = "｜DSML｜"  # noqa: RUF001


@pytest.fixture(scope="module")
def known() -> KnownModels:
    return KnownModels()


def pieces_of(chunks: list[str], tags: tuple[ToolTag, ...]) -> list[LeakedPiece]:
    """Read the chunks, and join neighbouring texts."""
    detector = LeakedCallDetector(TOOLS, lambda _name, _args: True, tags)
    joined: list[LeakedPiece] = []
    for piece in [*(one for chunk in chunks for one in detector.feed(chunk)), *detector.finish()]:
        if joined and isinstance(piece, TextPiece) and isinstance(joined[-1], TextPiece):
            joined[-1] = TextPiece(joined[-1].text + piece.text)
        else:
            joined.append(piece)
    return joined


def f(**args: object) -> LeakedCall:
    return LeakedCall("f", args)  # type: ignore[arg-type]


def in_python(body: str) -> str:
    return f"<|tool_call_start|>{body}<|tool_call_end|>"


def in_gemma(body: str) -> str:
    return f"<|tool_call>{body}<tool_call|>"


def in_elements(body: str) -> str:
    return f"<{DSML}function_calls>\n{body}\n</{DSML}function_calls>"


CALLS = [
    (LFM, in_python("[f()]"), [f()]),
    (LFM, in_python("[f(a=1, b=-2.5, c=.5, d=1_000, e=007, g=1e3)]"),
     [f(a=1, b=-2.5, c=0.5, d=1000, e=7, g=1000.0)]),
    (LFM, in_python("[f(a=True, b=None, c=false, d=null)]"), [f(a=True, b=None, c=False, d=None)]),
    (LFM, in_python("[f(a=[1, 'x'], b={'k': (1, 2,)}, c={})]"),
     [f(a=[1, "x"], b={"k": [1, 2]}, c={})]),
    (LFM, in_python(r"""[f(a="it's", b='say "x"', c='\n\x41é\'', d="a\qb")]"""),
     [f(a="it's", b='say "x"', c="\nAé'", d=r"a\qb")]),
    (LFM, in_python("[f(a='two\nlines', from=1)]"), [f(a="two\nlines", **{"from": 1})]),
    (LFM, in_python("[f(a=1), get-weather(city='Paris')]"),
     [f(a=1), LeakedCall("get-weather", {"city": "Paris"})]),
    (LFM, in_python("f(a=1)"), [f(a=1)]),
    (LFM, in_python('[{"name": "f", "arguments": {"a": 1}}]'), [f(a=1)]),
    (LLAMA, "[f(a=']'), f(b=\"[\")]", [f(a="]"), f(b="[")]),
    (LLAMA, " [ f ( a = 1 ) ] ", [f(a=1)]),
    (OLMO, "<function_calls>\nf(a=1)\nf(b='x(y')\n</function_calls>", [f(a=1), f(b="x(y")]),
    (GEMMA, in_gemma('call:f{a:<|"|>x, {y}: z<|"|>,b:2,c:true,d:null,e:plain words}'),
     [f(a="x, {y}: z", b=2, c=True, d=None, e="plain words")]),
    (GEMMA, in_gemma('call:f{a:{b:[1,<|"|>x<|"|>]},<|"|>k<|"|>:<|"|><|"|>}'),
     [f(a={"b": [1, "x"]}, k="")]),
    (GEMMA, in_gemma("call:f{}") + in_gemma("call:f{a:-1.5}"), [f(), f(a=-1.5)]),
    (GEMMA, "Wait.<|tool_call>call:f{a:1}", [TextPiece("Wait."), f(a=1)]),
    (FUNCTIONGEMMA, "<start_function_call>call:f{a:<escape>x<escape>}<end_function_call>",
     [f(a="x")]),
    (DEEPSEEK, in_elements(f'<{DSML}invoke name="f">\n<{DSML}parameter name="a" string="true">7'
     f'</{DSML}parameter>\n<{DSML}parameter name="b" string="false">[1, 2]</{DSML}parameter>\n'
     f'</{DSML}invoke>\n<{DSML}invoke name="f">\n</{DSML}invoke>'), [f(a="7", b=[1, 2]), f()]),
    (FUNCTIONARY, '>>>f\n{"a": ">>>f\\n{}"}\n>>>f\n{}', [f(a=">>>f\n{}"), f()]),
    ("mistral-small3.2", '[TOOL_CALLS]f[ARGS]{"a": 1}[TOOL_CALLS]f[ARGS]{}', [f(a=1), f()]),
]  # fmt: skip


@pytest.mark.parametrize(("model", "text", "expected"), CALLS)
def test_a_call_is_read_however_it_is_cut(
    known: KnownModels, model: str, text: str, expected: list[LeakedPiece]
) -> None:
    tags = known.of([model]).tool_tags
    for chunks in ways_to_cut(text):
        assert pieces_of(list(chunks), tags) == expected


TEXTS = [
    *((LFM, in_python(body)) for body in (
        "f", "[]", "[f]", "[f(]", "[f(1)]", "[f(a)]", "[f(a=b)]", "[f(a=g())]", "[f(a=1]",
        "[f(a=1))]",
        "[f(a=1, a=2)]", "[f(a=1 b=2)]", "[f(a='x)]", "[f(a=1+1)]", "[f(a=0x10)]", "[f(a=f'x')]",
        "[f(a=[1)]", "[f(a={b=1})]", "[f(a=1e999)]", "[f(a=-inf)]", "[f(**{})]", "[f(*a)]",
        "__import__('os').system('x')", "[f(a=1)] and so on", "[f(a='\\U00110000')]",
    )),
    (LLAMA, "[f(a=1)] would do."),
    (LLAMA, "I would write [f(a=1)]."),
    (LLAMA, "[g(a=1)]"),
    (LLAMA, "[f(a=1)"),
    (LLAMA, "[1, 2, 3]"),
    (LLAMA, "[f]: a link"),
    *((GEMMA, in_gemma(body)) for body in (
        "f{a:1}", "call:f", "call:f{", "call:f{a:1", 'call:f{a:<|"|>x}', "call:f{a:1}}",
        "call:f{a}",
        "call:f{a:1,a:2}", "call:f{a:[1}", "call:{a:1}", "call:f{a:1} words",
    )),
    (DEEPSEEK, in_elements('<invoke name="f"> words </invoke>')),
    (DEEPSEEK, in_elements(
        f'<{DSML}invoke name="f"><parameter name="a">1</parameter></{DSML}invoke>'
    )),
    (DEEPSEEK, in_elements("words")),
    (FUNCTIONARY, ">>>allways\nHello."),
    (FUNCTIONARY, "f\n{} words"),
    (FUNCTIONARY, "f\nis a function"),
    (FUNCTIONARY, "alls\nHello."),
    (FUNCTIONARY, ">>>f\n{} words"),
    (FUNCTIONARY, ">>> f\nprint(1)"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "text"), TEXTS)
def test_what_only_looks_like_a_call_stays_text(known: KnownModels, model: str, text: str) -> None:
    tags = known.of([model]).tool_tags
    for chunks in ways_to_cut(text):
        assert pieces_of(list(chunks), tags) == [TextPiece(text)]


@pytest.mark.parametrize(
    ("model", "text", "name"),
    [
        (LFM, in_python("[other(a=1)]"), "other"),
        (GEMMA, in_gemma("call:other{a:1}"), "other"),
        (DEEPSEEK, in_elements(f'<{DSML}invoke name="other"></{DSML}invoke>'), "other"),
        ("nvidia/NVIDIA-Nemotron-Nano-9B-v2",
         '<TOOLCALL>[{"name": "other", "arguments": {}}]</TOOLCALL>', "other"),
        ("kimi-k2", "<|tool_calls_section_begin|><|tool_call_begin|>functions.other:0"
         "<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>", "other"),
    ],
)  # fmt: skip
def test_a_call_of_no_offered_tool_in_a_familys_own_tags_is_a_call(
    known: KnownModels, model: str, text: str, name: str
) -> None:
    """The tool round then tells the model that no such tool exists."""
    tags = known.of([model]).tool_tags
    for chunks in ways_to_cut(text):
        assert [
            one.name for one in pieces_of(list(chunks), tags) if isinstance(one, LeakedCall)
        ] == [name]
    in_code = f"```\n{text}\n```"
    assert pieces_of([in_code], tags) == [TextPiece(in_code)]


MAX_ITEMS = 1_000_000
HOSTILE = {
    "open brackets": (LFM, "<|tool_call_start|>[f(a=" + "[" * MAX_ITEMS),
    "closed brackets": (
        LFM,
        in_python("[f(a=" + "[" * (MAX_ITEMS // 2) + "]" * (MAX_ITEMS // 2) + ")]"),
    ),
    "open quotes": (LFM, "<|tool_call_start|>[f(a=" + "'" * MAX_ITEMS),
    "one long text": (LFM, in_python("[f(a='" + "\\'" * (MAX_ITEMS // 2) + "')]")),
    "one long number": (LFM, in_python(f"[f(a={'9' * MAX_ITEMS})]")),
    "zeros": (LFM, in_python(f"[f(a={'0' * MAX_ITEMS}x)]")),
    "many calls": (LFM, "<|tool_call_start|>[" + "f(a=1)," * (MAX_ITEMS // 7)),
    "lists without tags": (LLAMA, "[f(" * (MAX_ITEMS // 3)),
    "almost lists": (LLAMA, "[f (" * (MAX_ITEMS // 4)),
    "open objects": (GEMMA, "<|tool_call>call:f" + "{a:" * (MAX_ITEMS // 3)),
    "open bare texts": (GEMMA, in_gemma("call:f{a:" + '<|"|>' * (MAX_ITEMS // 5))),
    "one bare word": (GEMMA, in_gemma("call:f{a:" + "x " * (MAX_ITEMS // 2) + "}")),
    "bare tags": (GEMMA, "<|tool_call>call:f{" * (MAX_ITEMS // 19)),
    "elements": (
        DEEPSEEK,
        f"<{DSML}function_calls>" + f'<{DSML}invoke name="f">' * (MAX_ITEMS // 24),
    ),
    "recipients": (FUNCTIONARY, ">>>f\n{" * (MAX_ITEMS // 6)),
}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_megabyte_of_anything_takes_no_longer_than_a_moment(
    known: KnownModels, kind: str
) -> None:
    model, text = HOSTILE[kind]
    tags = known.of([model]).tool_tags
    begun = time.process_time()
    pieces = pieces_of([text[at : at + 4096] for at in range(0, len(text), 4096)], tags)
    assert time.process_time() - begun < 10  # a tenth of it, on a machine with nothing else to do
    read = "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))
    assert read == text or any(isinstance(piece, LeakedCall) for piece in pieces)


FRAGMENTS = st.lists(
    st.sampled_from(
        [
            *("<|tool_call_start|>", "<|tool_call_end|>", "[", "]", "f", "(", ")", "a=", "1", ","),
            *(
                "'x'",
                '"',
                "'",
                "\\",
                "{",
                "}",
                ":",
                "call:",
                '<|"|>',
                "<|tool_call>",
                "<tool_call|>",
            ),
            *("[f(a=1)]", "call:f{a:1}", " ", "\n", "```", "`", "words", "other"),
        ]
    ),
    max_size=12,
).map("".join)


@pytest.mark.parametrize("model", [LFM, LLAMA, GEMMA])
@given(case=cut_wholes(FRAGMENTS))
def test_cuts_never_change_what_is_read(
    known: KnownModels, model: str, case: tuple[str, list[str]]
) -> None:
    whole, chunks = case
    tags = known.of([model]).tool_tags
    assert pieces_of(chunks, tags) == pieces_of([whole], tags)


@pytest.mark.parametrize("start", [">>>", ""])
def test_the_name_of_the_user_among_the_recipients_is_not_shown(
    known: KnownModels, start: str
) -> None:
    tags = known.of([FUNCTIONARY]).tool_tags
    for text, expected in (
        ("all\nHello.\n", [TextPiece("Hello.\n")]),
        ("all\nI look.>>>f\n{}", [TextPiece("I look."), f()]),
        ('f\n{"a": 1}', [f(a=1)]),
        ("f\n{}\n>>>f\n{}", [f(), f()]),
    ):
        for chunks in ways_to_cut(start + text):
            pieces = pieces_of(list(chunks), tags)
            shown = [one for one in pieces if not isinstance(one, TextPiece) or one.text.strip()]
            assert shown == expected, chunks
