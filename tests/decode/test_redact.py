"""Secrets leave a text by value, in every form that they take on the way."""

import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.decode.redact import MARK, environment_secrets, redactor

KEY = "sk-canary/12+34=é x"


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
