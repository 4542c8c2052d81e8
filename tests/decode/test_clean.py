"""Foreign text is shown, never obeyed."""

import random
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ollm_tui.decode.clean import (
    Cleaner,
    clean,
    clean_line,
    clean_name,
    spelled_line,
    spelled_out,
)

FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff\U000e0001\U000e0000]"
)


def flag(region: str) -> str:
    return "\U0001f3f4" + "".join(chr(0xE0000 + ord(c)) for c in region) + "\U000e007f"


ENGLAND, SCOTLAND, WALES = flag("gbeng"), flag("gbsct"), flag("gbwls")

UNTOUCHED = [
    "",
    "plain words",
    "two\nlines\tand a tab",
    "مرحبا بالعالم",
    "שלום עולם",
    "שָׁלוֹם",
    "العدد ١٢٣ في النص",
    "mixed עברית and English",
    "\u2067שב\u2069 and \u2066left\u2069 and \u2068first strong\u2069",
    "mark \u200e and \u200f and \u061c",
    "👨\u200d👩\u200d👧\u200d👦",
    "👩🏽\u200d🚀",
    "❤\ufe0f",
    "☎\ufe0e",
    "1\ufe0f⃣",
    "🏳\ufe0f\u200d🌈",
    "🏴\u200d☠\ufe0f",
    "🏴",
    "🇩🇪🇫🇷",
    ENGLAND,
    SCOTLAND,
    WALES,
    ENGLAND + WALES + SCOTLAND,
    "नमस्ते क्\u200dष",
    "خ\u200cم",
    "ไทย",
    "한국어 \u1112\u1161\u11ab",
    "日本語\u3000全角",
    "葛\U000e0100城",
    "Zoe\u0308",
    "a\u00a0b\u202fc",
    "soft\u00adhyphen",
    "zero\u200bwidth",
    "line\u2028separator",
    "∑∫√ ≤ ≥ ∞",
    "␛[2J already shown",
    "⟦U+202E⟧ already shown",
    "\ufeffbom",
    "\ufffd",
    "[red]markup[/red] [/INST] [ ] todo",
    "\\x1b[2J as text",
]

SHOWN = [
    ("\x1b[2J", "␛[2J"),
    ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
    ("\x1b]8;;http://evil\x1b\\text", "␛]8;;http://evil␛\\text"),
    ("\x1bP1$r\x1b\\", "␛P1$r␛\\"),
    ("\x9b31m", "⟦U+009B⟧31m"),
    ("\x9d0;title\x9c", "⟦U+009D⟧0;title⟦U+009C⟧"),
    ("\x85", "⟦U+0085⟧"),
    ("\x00", "␀"),
    ("a\rb", "a␍b"),
    ("a\r\nb", "a␍\nb"),
    ("\x07\x08\x0b\x0c", "␇␈␋␌"),
    ("\x0e\x0f", "␎␏"),
    ("\x1f\x7f", "␟␡"),
    ("\u202egpj.exe", "⟦U+202E⟧gpj.exe"),
    ("\u202dx\u202c", "⟦U+202D⟧x⟦U+202C⟧"),
    ("\u202a\u202b", "⟦U+202A⟧⟦U+202B⟧"),
    ("\ud83d\ude00", "\ufffd\ufffd"),
    ("a\udcffb", "a\ufffdb"),
    ("\U000e0001", "⟦U+E0001⟧"),
    ("hi\U000e0041\U000e0042", "hi⟦U+E0041⟧⟦U+E0042⟧"),
    ("\U000e0067" + ENGLAND, "⟦U+E0067⟧" + ENGLAND),
    (ENGLAND + "\U000e007f", ENGLAND + "⟦U+E007F⟧"),
    (ENGLAND[:-1], "🏴⟦U+E0067⟧⟦U+E0062⟧⟦U+E0065⟧⟦U+E006E⟧⟦U+E0067⟧"),
    (
        flag("ustx"),
        "🏴⟦U+E0075⟧⟦U+E0073⟧⟦U+E0074⟧⟦U+E0078⟧⟦U+E007F⟧",
    ),
    ("\x1b" + SCOTLAND + "\x1b", "␛" + SCOTLAND + "␛"),
]

# Aimed at every door: what a terminal would obey, and what joins to something it would obey.
PAYLOADS = [raw for raw, _ in SHOWN] + [
    "\x1b\x1b[2J[2J",
    "\x1b[?1049l\x1b[?25h",
    "\x1b[6n\x1b[c\x1b[>q",
    "\x1b_Gi=1;AAAA\x1b\\",
    "\x1b^private\x1b\\",
    "\x1bc",
    "\x1b(0lqqk\x1b(B",
    "\x1b]0;owned\x07",
    "\x1b]1337;File=:AA==\x07",
    "\x9b?1000h",
    "\U0001f3f4\U000e0067\x1b\U000e0062",
]

HOSTILE_TEXT = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("\x1b\x9b\x9d\r\n\t\x7f\u202e\u2066[]m;0\U0001f3f4\U000e007f"),
        st.sampled_from(ENGLAND + SCOTLAND + WALES),
        st.integers(0xD800, 0xDFFF).map(chr),
    )
) | st.lists(st.sampled_from([*PAYLOADS, ENGLAND, WALES]), max_size=6).map("".join)


def clean_in_parts(parts: list[str]) -> str:
    cleaner = Cleaner()
    return "".join([*(cleaner.feed(part) for part in parts), cleaner.finish()])


@pytest.mark.parametrize("text", UNTOUCHED)
def test_legitimate_text_is_left_alone(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(("text", "shown"), SHOWN)
def test_a_control_becomes_a_visible_sign(text: str, shown: str) -> None:
    assert clean(text) == shown


@settings(max_examples=1_000)
@given(HOSTILE_TEXT)
def test_no_control_character_survives_and_cleaning_twice_changes_nothing(text: str) -> None:
    cleaned = clean(text)
    assert FORBIDDEN.search(cleaned) is None
    assert clean(cleaned) == cleaned
    for name in ("gbeng", "gbsct", "gbwls"):
        cleaned = cleaned.replace(flag(name), "")
    assert re.search("[\U000e0000-\U000e007f]", cleaned) is None


@pytest.mark.parametrize("payload", [*PAYLOADS, ENGLAND + WALES, ENGLAND[:4] + WALES])
def test_a_payload_cut_anywhere_is_cleaned_like_the_whole(payload: str) -> None:
    whole = clean(payload)
    for cut in range(len(payload) + 1):
        assert clean_in_parts([payload[:cut], payload[cut:]]) == whole
    assert clean_in_parts(list(payload)) == whole


@pytest.mark.slow
@settings(max_examples=500)
@given(st.lists(HOSTILE_TEXT, max_size=5))
def test_cleaning_parts_and_joining_is_cleaning_the_join(parts: list[str]) -> None:
    assert clean_in_parts(parts) == clean("".join(parts))


def test_a_cleaner_holds_back_no_more_than_the_start_of_a_flag() -> None:
    cleaner = Cleaner()
    assert cleaner.feed("text \x1b[31m") == "text ␛[31m"
    assert cleaner.feed("flag " + WALES[:3]) == "flag "
    assert cleaner.feed(WALES[3:] + "!") == WALES + "!"
    assert cleaner.finish() == ""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("one\ntwo\tthree", "one two three"),
        ("one\r\ntwo", "one two"),
        ("a\u2028b\u2029c\x85d\x0be\x0cf", "a b c d e f"),
        ("\x1b]0;t\x07\r", "␛]0;t␇␍"),
        ("👨\u200d👩\u200d👧 שלום", "👨\u200d👩\u200d👧 שלום"),
    ],
)
def test_a_line_of_chrome_stays_one_line(text: str, line: str) -> None:
    assert clean_line(text) == line


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("llama3.2:3b", "llama3.2:3b"),
        ("my file (1).gguf", "my file (1).gguf"),
        ("日本語モデル", "日本語モデル"),
        ("modèle", "modèle"),
        ("photo\u202egpj.exe", "photo⟦U+202E⟧gpj.exe"),
        ("a\u200bb", "a⟦U+200B⟧b"),
        ("a\u200db", "a⟦U+200D⟧b"),
        ("❤\ufe0f", "❤⟦U+FE0F⟧"),
        ("a\u00a0b", "a⟦U+00A0⟧b"),
        ("a\u3164b", "a⟦U+3164⟧b"),
        ("a\U000e0041", "a⟦U+E0041⟧"),
        (ENGLAND[:2], "🏴⟦U+E0067⟧"),
        ("a\nb\tc", "a⟦U+000A⟧b⟦U+0009⟧c"),
        ("\x1b[2J", "⟦U+001B⟧[2J"),
        ("\ud800", "⟦U+D800⟧"),
        ("\u2066x\u2069", "⟦U+2066⟧x⟦U+2069⟧"),
        ("\ue000", "⟦U+E000⟧"),
        ("", ""),
    ],
)
def test_a_name_shows_everything_that_draws_nothing(text: str, name: str) -> None:
    assert clean_name(text) == name


@pytest.mark.parametrize(
    ("first", "last"),
    [
        *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x2069), (0xFEFF, 0xFEFF)),
        *((0xFE00, 0xFE0F), (0xE0000, 0xE01EF)),
    ],
)
def test_a_text_of_lines_hides_nothing_either(first: int, last: int) -> None:
    for code in range(first, last + 1):
        mark = f"⟦U+{code:04X}⟧"
        assert spelled_out(f"a\n{chr(code)}b\t") == f"a\n{mark}b⟦U+0009⟧"
        assert spelled_out(f"a\n{chr(code)}\tb\u3000", "\n\t\u3000") == f"a\n{mark}\tb\u3000"
        assert spelled_line(f"a\r\n{chr(code)}\tb") == f"a {mark} b"


@settings(max_examples=300)
@given(HOSTILE_TEXT)
def test_names_and_lines_are_printable_and_stable(text: str) -> None:
    name, line = clean_name(text), clean_line(text)
    assert name.isprintable()
    assert clean_name(name) == name
    assert "\n" not in line
    assert FORBIDDEN.search(line) is None
    assert clean_line(line) == line
    assert not re.search("[\n\t\x0b\x0c\x85\u2028\u2029]", line)


@pytest.mark.parametrize("kind", ["plain", "hostile", "flags"])
def test_the_cost_grows_with_the_length_only(kind: str) -> None:
    sample = {
        "plain": "An ordinary line of an answer, with ünïcödé and 😀.\n",
        "hostile": "".join(PAYLOADS),
        "flags": "🏴" * 50 + ENGLAND[:4],
    }[kind]
    text = sample * (300_000 // len(sample))

    def cost(times: int) -> float:
        best = 1e9
        for _ in range(3):
            start = time.process_time()
            clean(text * times)
            best = min(best, time.process_time() - start)
        return best

    assert cost(4) <= 12 * max(cost(1), 0.001)


def test_ten_thousand_random_strings_leave_no_control_however_they_are_cut() -> None:
    seed = 20261120
    chance = random.Random(seed)
    likely = "".join(PAYLOADS) + ENGLAND + SCOTLAND + WALES
    for number in range(10_000):
        letters = chance.choices(likely, k=20) + [chr(chance.randrange(0x110000)) for _ in "12345"]
        text = "".join(chance.sample(letters, len(letters)))
        cut = chance.randrange(len(text))
        cleaned = clean(text)
        assert FORBIDDEN.search(cleaned) is None, f"seed {seed}, string {number}"
        assert clean(cleaned) == cleaned, f"seed {seed}, string {number}"
        assert clean_in_parts([text[:cut], text[cut:]]) == cleaned, f"seed {seed}, string {number}"
