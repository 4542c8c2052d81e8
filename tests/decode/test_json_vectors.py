"""Texts that are JSON, are not, or may be either: RFC 8259 in a table, for everything we parse."""

from itertools import product

from ollm_tui.decode.json_guard import BadJson, parse_json
from ollm_tui.decode.lines import NDJSONDecoder
from ollm_tui.decode.tool_calls import parse_arguments

BLANKS = ("", " ", "\t", "\r\n", "\n \n")
NUMBERS = [
    *("0", "-0", "1", "-1", "10", "123456789", "0.5", "-0.5", "1.25", "0.0", "1e5", "1E5", "1e+5"),
    *("1e-5", "0e1", "0E0", "-1.5e-3", "1.0e0", "0.1e10", "20e1", "123.456e78", "-0.0", "1e-400"),
]
STRINGS = [
    *('""', '"a"', r'"\""', r'"\\"', r'"\/"', '"/"', r'"\b\f\n\r\t"', r'"\u0041"', r'"\u00e9"'),
    *('"é"', '"日本"', '"🧠"', r'"\ud83e\udde0"', r'"\u0000"', r'"\u007f"', '"\x7f"', '"\u2028"'),
    *('"\u2029"', '"\ufffe"', r'"\uFFFF"', r'"\\u0041"', '"a b"', '"\'"', '"[{"', r'"\u0022"'),
]
WORDS = ["true", "false", "null"]
VALUES = [*NUMBERS, *STRINGS, *WORDS, "[]", "{}"]
GOOD = [
    *(f"{blank}{value}{blank}" for blank, value in product(BLANKS[:2], VALUES)),
    *(f"[{value}]" for value in VALUES),
    *(f'{{"a":{value}}}' for value in VALUES),
    *(f"{blank}[{blank}1{blank},{blank}2{blank}]{blank}" for blank in BLANKS),
    *(f'{blank}{{{blank}"a"{blank}:{blank}1{blank}}}{blank}' for blank in BLANKS),
    *("[[[]]]", '{"":0}', '{"a":{"b":[{"c":null}]}}', '{"a":1,"b":2}', "[1,[2,[3]]]", "[null,1]"),
]
BAD_NUMBERS = [
    *("+1", "01", "-01", "00", "1.", "-1.", ".5", "-.5", "1e", "1e+", "1E-", "1.e5", "0x1", "0b1"),
    *("1_000", "1,000", "- 1", "--1", "+-1", "1 2", "1a", "0.1.2", "1e1.5", "1e1e1", "NaN", "nan"),
    *(
        "-NaN",
        "Infinity",
        "-Infinity",
        "inf",
        "-",
        "+",
        ".",
        "e1",
        "1f",
        "1d",
        "1L",
        "\uff11",
        "\u0663",
    ),
    *("0o7", "012", "-012", "0.e1", "1ee2", "1eE2", "1e++2", "2.e+3", "-2.", "9.e+", "0e", "0e+"),
]
BAD_STRINGS = [
    *(
        "'a'",
        '"',
        '"a',
        'a"',
        '"\\"',
        r'"\x41"',
        r'"\a"',
        r'"\u00"',
        r'"\u00g0"',
        r'"\u"',
        r'"\U0"',
    ),
    *(
        '"\n"',
        '"\t"',
        '"\x00"',
        '"\x1f"',
        '"\r"',
        '"\\\n"',
        r'"\0"',
        r'"\e"',
        "`a`",
        "\u201ca\u201d",
        '"a"b',
    ),
    *('""x', r'"\ud800\u"', r'"\u D8"', '"a" "b"', r"\u0022a\u0022", '"\\', r'"\'"', '"\\u12"'),
]
BAD_WORDS = [
    *("True", "FALSE", "None", "nul", "nulll", "tru", "truee", "fals", "undefined", "yes", "a"),
    *("nil", "true false", "truefalse", "null,", "tr ue", "NULL", "void", "//", "#", "/* */", "*"),
]
BAD_SHAPES = [
    *(
        "",
        "[",
        "]",
        "{",
        "}",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[,]",
        "[1,,2]",
        "[1 2]",
        "[1:2]",
        "[[1]",
    ),
    *("[1]]", '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":1,}', '{,"a":1}', '{"a":1,,"b":2}'),
    *('{"a" 1}', '{"a":1 "b":2}', "{a:1}", "{'a':1}", "{1:2}", "{null:1}", "{[1]:2}", '{"a":1]'),
    *('["a":1]', "[1}", '{"a"}', '{"a","b"}', '{"a":1:2}', "{:1}", '{"a"::1}', "{}{}", "[][]"),
    *("{}1", "1{}", "[] x", "x []", "[1] //", "// [1]", "[1 /* a */]", "{/**/}", "[1]#", "(1)"),
    *(
        "[1];",
        ";[1]",
        '{"a":1};',
        "<a/>",
        "[\x0b1]",
        "[\x0c1]",
        "[\u00a01]",
        "\u2060[]",
        "\ufeff[]",
    ),
    *("\ufeff{}", "[1]\x00", "\x00", "[\\1]", "\\[1]", "{\\}", '["a\n"]', '{"\n":1}', '{"a\t":1}'),
    *(
        '{"a":1}}',
        "[[]",
        "[[[]]",
        '{"a":[}',
        '{"a":{]',
        '[{"a":1]',
        '[{"a"}]',
        "[1]2",
        '[""',
        '["',
    ),
]
BAD = [
    *(f"{text}" for text in BAD_SHAPES),
    *(shape.format(text) for text in BAD_NUMBERS for shape in ("{}", "[{}]")),
    *(shape.format(text) for text in (*BAD_STRINGS, *BAD_WORDS) for shape in ("{}", "[{}]")),
]
EITHER = [
    *("[" * 500 + "]" * 500, "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000, "9" * 400),
    *("9" * 5_000, "-" + "9" * 5_000, "1e400", "-1e400", "1e-999999", "1." + "0" * 9_000),
    *(
        r'"\ud800"',
        r'"\udc00"',
        r'"\ud800\ud800"',
        r'"\ude00\ud83d"',
        '{"a":1,"a":2}',
        '{"":1,"":2}',
    ),
    *(r'{"a":1,"\u0061":2}', "0" * 5_000, '["\ud800"]', '"' + "\\" * 10_001 + '"'),
]


def is_read(text: str) -> bool:
    try:
        parse_json(text)
    except BadJson:
        return False
    return True


def test_there_are_as_many_as_the_suites_have() -> None:
    assert len({*GOOD, *BAD, *EITHER}) >= 318


def test_what_is_json_is_read_and_what_is_not_is_refused() -> None:
    refused = [text for text in GOOD if not is_read(text)]
    taken = [text for text in BAD if is_read(text)]
    assert refused == []
    assert taken == []


def test_nothing_raises_anything_else() -> None:
    for text in (*GOOD, *BAD, *EITHER):
        is_read(text)
        parse_arguments(text)
        decoder = NDJSONDecoder()
        list(decoder.feed(f"{text}\n".encode("utf-8", "replace")))


def test_arguments_with_a_key_twice_are_damaged() -> None:
    for text in ('{"a":1,"a":2}', r'{"a":1,"\u0061":2}', '{"b":{"a":1,"a":1}}'):
        assert parse_arguments(text) is None
