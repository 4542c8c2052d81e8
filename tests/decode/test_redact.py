"""Secrets leave a text by value, in every form that they take on the way."""

import base64
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode import redact as redact_module
from ollm_tui.decode.redact import (
    MARK,
    SecretFinder,
    environment_secrets,
    is_guessable,
    redactor,
    without_private_keys,
)

KEY = "sk-canary/12+34=é x"
CODED = "MIIEvgIBADANBgkqhkiG9w0BAQEFAASC"


@pytest.mark.parametrize("before", ["", "u", "us", "user:"])
def test_a_secret_is_found_in_every_coding(before: str) -> None:
    redact = redactor([KEY])
    for text in (
        KEY,
        quote(KEY, safe=""),
        quote(KEY),
        quote(KEY).lower(),
        quote(quote(KEY)),
        base64.b64encode(f"{before}{KEY}".encode()).decode(),
        base64.urlsafe_b64encode(f"{before}{KEY}!".encode()).decode(),
        f"{(before + KEY)!r}",
    ):
        shown = redact(f"<{text}>")
        assert MARK in shown
        assert "canary" not in shown
        assert "Y2FuYXJ5" not in shown


def test_the_longer_of_two_secrets_goes_whole() -> None:
    assert redactor(["secret-1", "secret-12"])("secret-12!") == f"{MARK}!"
    assert redactor(["hunter", "hunters"])("hunters!") == f"{MARK}!"


@pytest.mark.parametrize("scheme", ["Bearer", "token", "Basic"])
def test_a_key_is_found_without_the_word_that_stands_before_it_in_a_header(scheme: str) -> None:
    redact = redactor([f"{scheme} sk-canary-12"])
    assert redact("Incorrect key: sk-canary-12.") == f"Incorrect key: {MARK}."
    assert redact(f"Got {scheme} sk-canary-12.") == f"Got {MARK}."


def test_short_values_and_no_values_change_nothing() -> None:
    assert redactor(["abc", "", None])("abc") == "abc"


@given(st.text(max_size=40), st.text(st.characters(codec="ascii"), min_size=12, max_size=30))
def test_the_secret_itself_never_stays(text: str, secret: str) -> None:
    assert secret not in redactor([secret])(f"{text}{secret}{text}").replace(MARK, "\0")


def test_variables_are_known_by_their_names() -> None:
    environ = {"OPENAI_API_KEY": "0123456789", "PATH": "/usr/bin:/bin", "GH_TOKEN": "short"}
    assert list(environment_secrets(environ)) == ["0123456789"]


FORMS_KEY = "sk-Planted/Canary+4711_é-xyz"
FORMS: dict[str, Callable[[str], str]] = {
    "plain": lambda key: key,
    "upper case": str.upper,
    "lower case": str.lower,
    "swapped case": str.swapcase,
    "backwards": lambda key: key[::-1],
    "backwards in upper case": lambda key: key[::-1].upper(),
    "url": lambda key: quote(key, safe=""),
    "url in lower case": lambda key: quote(key, safe="").lower(),
    "url twice": lambda key: quote(quote(key, safe=""), safe=""),
    "url three times": lambda key: quote(quote(quote(key, safe=""), safe=""), safe=""),
    "url, every byte": lambda key: "".join(f"%{byte:02X}" for byte in key.encode()),
    "json": lambda key: "".join(f"\\u{ord(letter):04x}" for letter in key),
    "json in json": lambda key: "".join(f"\\\\u{ord(letter):04x}" for letter in key),
    "python": lambda key: ascii(key)[1:-1],
    "bytes": lambda key: repr(key.encode())[2:-1],
    "bytes, every one": lambda key: "".join(f"\\x{byte:02x}" for byte in key.encode()),
    "html": lambda key: "".join(f"&#{ord(letter)};" for letter in key),
    "html, hexadecimal": lambda key: "".join(f"&#x{ord(letter):X};" for letter in key),
    "hexadecimal": lambda key: key.encode().hex(),
    "hexadecimal with colons": lambda key: key.encode().hex(":").upper(),
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 behind one letter": lambda key: base64.b64encode(f"a{key}b".encode()).decode(),
    "base64 behind two letters": lambda key: base64.b64encode(f"ab{key}c".encode()).decode(),
    "base64 for urls": lambda key: base64.urlsafe_b64encode(key.encode()).decode().rstrip("="),
    "base64 in lines": lambda key: base64.encodebytes((key * 3).encode()).decode(),
    "base64 in a url": lambda key: quote(base64.b64encode(key.encode()), safe=""),
    "base64 of it backwards": lambda key: base64.b64encode(key[::-1].encode()).decode(),
    "base64 backwards": lambda key: base64.b64encode(key.encode()).decode()[::-1],
    "over two lines": lambda key: f"{key[:11]}\n{key[11:]}",
    "wrapped and indented": lambda key: f"{key[:11]}\r\n    │ {key[11:]}",
    "wrapped in json": lambda key: f"{key[:11]}\\n{key[11:]}",
    "letters apart": " ".join,
    "in pieces": lambda key: f'"{key[:9]}", "{key[9:]}"',
    "in colours": lambda key: f"{key[:9]}\x1b[1;31m{key[9:]}\x1b[0m",
    "control characters": "\0".join,
    "invisible letters": "\u200b".join,
    "soft hyphens": "\u00ad".join,
    "wide letters": lambda key: "".join(
        chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in key
    ),
    "bearer": lambda key: f"Bearer {key}",
    "basic": lambda key: f"Basic {base64.b64encode(f'me:{key}'.encode()).decode()}",
    "in a url": lambda key: f"https://me:{quote(key, safe='')}@host/v1?key={quote(key)}",
}


def letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isascii() and letter.isalnum())


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_a_key_stays(form: str) -> None:
    written = FORMS[form](FORMS_KEY)
    shown = redactor([FORMS_KEY])(f"before <{written}> behind")
    assert MARK in shown
    assert shown.startswith("before ")
    assert shown.endswith(" behind")
    data = FORMS_KEY.encode()
    coded = (base64.b64encode(bytes(n) + data).decode()[4:-4] for n in range(3))
    whole = {letters(text) for text in (FORMS_KEY, data.hex(), *coded)}
    pieces = {text[at : at + 8] for text in whole for at in range(len(text) - 7)}
    rest = letters(shown)
    assert {piece for piece in pieces if piece in rest or piece[::-1] in rest} == set()
    assert "canary" not in shown.casefold()
    assert "yranac" not in shown.casefold()


@pytest.mark.parametrize("length", range(9, len(FORMS_KEY)))
def test_a_key_that_a_cut_has_left_in_part_goes_too(length: int) -> None:
    redact = redactor([FORMS_KEY])
    assert redact(f"HTTP 401: bad key {FORMS_KEY[:length]} …").startswith(
        f"HTTP 401: bad key {MARK}"
    )
    assert "sk-Planted"[:9] not in redact(f"bad {FORMS_KEY[:length]}")


def test_a_key_in_two_forms_beside_another_one_leaves_only_marks() -> None:
    other = "hf_0815OtherPlanted"
    text = f"{FORMS_KEY.upper()}{other}, {other[::-1]}"
    assert redactor([FORMS_KEY, other])(text) == f"{MARK}, {MARK}"


@pytest.mark.parametrize("word", ["ollama", "none", "EMPTY", "lm-studio", "not-needed", "secret"])
def test_a_word_in_place_of_a_key_is_found_as_it_is_written_only(word: str) -> None:
    assert is_guessable(word)
    redact = redactor([word])
    assert redact(f"key {word}.") == f"key {MARK}."
    assert redact(f"key {word.swapcase()}.") == f"key {word.swapcase()}."
    assert redact(f"{word[::-1]} {' '.join(word)}") == f"{word[::-1]} {' '.join(word)}"


def test_ordinary_text_stays_as_it_is() -> None:
    text = "The skeleton of 4711 canaries: %20 \\n &amp; \x1b[0m «ok» " * 50
    assert redactor([FORMS_KEY, "another-key-0815"])(text) == text


@pytest.mark.parametrize(
    "text", ["%25" * 20_000, "\\" * 60_000, "&#" * 30_000, "\x1b[" * 30_000, "sk-Planted" * 6_000]
)
def test_the_work_grows_with_the_text_alone(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    finder = SecretFinder([FORMS_KEY])
    compared = 0
    plain = redact_module._only_letters

    def counted(part: str) -> bytes:
        nonlocal compared
        compared += len(part)
        return plain(part)

    monkeypatch.setattr(redact_module, "_only_letters", counted)
    finder.redact(text[: len(text) // 4])
    quarter, compared = compared, 0
    finder.redact(text)
    assert compared <= 4 * quarter + 100
    assert compared <= 5 * len(text)


def test_letters_are_looked_at_one_by_one_only_where_they_are_not_ascii(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[str] = []
    only_letters = redact_module._only_letters

    def counted(text: str) -> bytes:
        looked.append(text)
        return only_letters(text)

    redact = redactor([FORMS_KEY])
    monkeypatch.setattr(redact_module, "_only_letters", counted)
    plain = "All of it is plain text. " * 400
    assert redact(f"{plain}{FORMS_KEY}é{plain}") == f"{plain}{MARK}é{plain}"
    assert len(looked) < 20


def test_a_file_is_searched_for_whole_secrets() -> None:
    finder = SecretFinder([KEY])
    assert finder.is_in(f"key = {KEY}".encode())
    assert finder.is_in(base64.b64encode(KEY.encode()))
    assert not finder.is_in(KEY[:-4].encode())
    assert not finder.is_in(b"\xff\xfe")
    assert not SecretFinder([]).is_in(KEY.encode())


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"a\n-----BEGIN PRIVATE KEY-----\n{CODED}\n-----END PRIVATE KEY-----\nb", f"a\n{MARK}\nb"),
        (f"a\n-----BEGIN RSA PRIVATE KEY-----\n{CODED}\nand all that follows", f"a\n{MARK}"),
        ("no key: -----BEGIN CERTIFICATE-----", "no key: -----BEGIN CERTIFICATE-----"),
    ],
)
def test_private_keys_are_replaced(text: str, left: str) -> None:
    assert without_private_keys(text) == left
