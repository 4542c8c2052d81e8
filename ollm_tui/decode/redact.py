"""Take secrets out of a text by their values, however they were encoded on the way."""

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import quote

MARK: Final = "«key»"
SHORTEST: Final = 4
"""Shorter values are no secrets, and would be found everywhere."""
_SECRET_NAME: Final = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTHORIZATION|BEARER", re.IGNORECASE
)
_SHORTEST_VARIABLE: Final = 8


def redactor(secrets: Iterable[str | None]) -> Callable[[str], str]:
    """Make a function that puts a mark in the place of each secret, plain, URL- or base64-coded."""
    given = [secret for secret in secrets if secret]
    known = {s for s in (*given, *map(_behind_scheme, given)) if len(s) >= SHORTEST}
    if not known:
        return str
    # The longest first: a secret may begin with another one.
    ordered = sorted(known, key=len, reverse=True)
    found = re.compile("|".join(form for secret in ordered for form in _forms(secret)))
    return lambda text: found.sub(MARK, text)


def environment_secrets(environ: Mapping[str, str]) -> Iterator[str]:
    """Give the values of variables whose names say that they are secret."""
    for name, value in environ.items():
        if len(value) >= _SHORTEST_VARIABLE and _SECRET_NAME.search(name):
            yield value


def _behind_scheme(secret: str) -> str:
    """Give the key of a header like `Bearer KEY`: servers repeat it without the word before it."""
    word, _, key = secret.strip().rpartition(" ")
    return key if word.isalpha() and len(key) >= 2 * SHORTEST else ""


def _forms(secret: str) -> Iterator[str]:
    """Give patterns for everything that a secret may look like."""
    yield "".join(map(_letter, secret))
    yield re.escape(repr(secret)[1:-1])
    data = secret.encode("utf-8", "replace")
    if len(data) >= 2 * SHORTEST:
        yield from map(re.escape, _base64_forms(data))


def _letter(letter: str) -> str:
    """Match a letter as it is or URL-coded, also twice; programs differ in what they leave."""
    once = quote(letter, safe="", errors="replace")
    if once == letter:
        return re.escape(letter)
    ways = [re.escape(letter), f"(?i:{once})", f"(?i:{quote(once, safe='')})"]
    return f"(?:{'|'.join([*ways, '[+]'] if letter == ' ' else ways)})"


def _base64_forms(data: bytes) -> Iterator[str]:
    """Give what base64 makes of it behind anything: letters shared with neighbours left out."""
    for before in range(3):
        coded = base64.b64encode(bytes(before) + data).decode().rstrip("=")
        start = -(-before * 8 // 6)
        end = (before + len(data)) * 8 // 6
        yield coded[start:end]
        yield coded[start:end].replace("+", "-").replace("/", "_")
