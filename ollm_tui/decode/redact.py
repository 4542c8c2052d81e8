"""Find secrets in a text by their letters and digits, however they were written on the way.

A value that may be an ordinary word (`ollama`) is found only as it is written and URL-coded.
"""

import base64
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise, repeat
from typing import Final, TypeAlias
from urllib.parse import quote

from ollm_tui.lazy import lazy_re

MARK: Final = "«key»"
MIN_LENGTH: Final = 4
"""Shorter values are not secret, and would be found everywhere."""
MIN_LOOSE_LENGTH: Final = 8
"""Letters and digits of a value that is found in every spelling."""
_MAX_WORD_LENGTH: Final = 16
_SECRET_NAME: Final = lazy_re(
    r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTHORIZATION|BEARER", re.IGNORECASE
)
_MIN_VARIABLE_LENGTH: Final = 8
_OVERLAP: Final = 4096
"""How much of a piece of a file is searched again with the next one."""

_DROPPED: Final = bytes(code for code in range(256) if not chr(code).isalnum() or code > 0x7F)
_LOWER: Final = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"abcdefghijklmnopqrstuvwxyz")
_ESCAPE: Final = lazy_re(
    r"%(?:25)*(?P<url>[0-9A-Fa-f]{2})"
    r"|\\(?:u(?P<unicode>[0-9A-Fa-f]{4})|x(?P<byte>[0-9A-Fa-f]{2})|[abfnrtv0])"
    r"|&\#(?:[xX]0*(?P<hexadecimal>[0-9A-Fa-f]{1,6})|0*(?P<decimal>[0-9]{1,7}));?"
    r"|[\x1b␛]\[[0-?]*[ -/]*[@-~]"
)
_ESCAPING: Final = ("%", "\\", "&#", "\x1b[", "␛[")
"""How escapes begin: most texts have none, and are searched once."""
_SPACE: Final = r"(?: |%20|\+)"
_LABEL: Final = rf"(?:[A-Z0-9]{{1,20}}{_SPACE}){{0,5}}PRIVATE{_SPACE}KEY(?:{_SPACE}BLOCK)?"
_BETWEEN: Final = (
    r"(?:\\++(?:[nrt]|u000[aAdD]|x0[aAdD])?|%0[aAdD]|&\#(?:10|13|x[aAdD]);|<[a-z]{1,8} ?/?>"
    r"|[+/=]++(?![A-Za-z0-9])|[0-9]{1,6}(?![A-Za-z0-9+/=])|[A-Za-z]{1,2}(?=[\"'`])"
    r"|[^A-Za-z0-9+/=])"
)
"""Text that may be between the lines of a key: escapes, comment and quote marks, line numbers."""
_PRIVATE_KEY: Final = lazy_re(
    rf"-{{4,5}}{_SPACE}?BEGIN{_SPACE}{_LABEL}{_SPACE}?-{{4,5}}{_BETWEEN}*+"
    # Possessive: else values and separators could be divided in any number of ways.
    r"(?:[A-Za-z][A-Za-z-]{0,40}+: "
    rf"(?>\"[^\n\"]{{0,200}}\"|[^\n\\\"%]{{0,200}}){_BETWEEN}++){{0,8}}+"
    r"[A-Za-z0-9+/=]{24}"
    r"|PuTTY-User-Key-File-\d: "
    r"|(?i:AGE-SECRET-KEY-1[0-9A-Z]{40})"
    # The same in base64, behind any text.
    r"|(?:UFJJVkFURSBLRVkt|BSSVZBVEUgS0VZL|QUklWQVRFIEtFWS)[0-9A-Za-z+/=_-]{24}"
    # PKCS #1, PKCS #8 and SEC 1 without their first and last lines.
    r"|M(?:II[0-9A-Za-z+/]{3}IBA(?:DANBgkq|AK[BC])|I[GI][0-9A-Za-z+/]{1,3}AgEAM[BH]|HcCAQEEI"
    r"|C4CAQAwBQYDK2V)[0-9A-Za-z+/]{16}"
)
_CODED_SIGNS: Final = (b"UFJJVkFURSBLRVkt", b"BSSVZBVEUgS0VZL", b"QUklWQVRFIEtFWS")
_KEY_SIGNS: Final = (
    *(b"PRIVATE", b"PuTTY-User-Key", b"AGE-SECRET-KEY", b"age-secret-key", b"IBADANBgkq", b"IBAAK"),
    *(b"AgEAM", b"HcCAQEEI", b"C4CAQAwBQYDK2V"),
    *_CODED_SIGNS,
)
_JWK_SIGNS: Final = (b'"kty', b'kty\\"')
_JWK: Final = lazy_re(r'\bd\\*"\s*:\s*\\*"[0-9A-Za-z_-]{42}')
_END_OF_KEY: Final = lazy_re(rf"-{{4,5}}{_SPACE}?END{_SPACE}{_LABEL}{_SPACE}?-{{4,5}}")
_CODED: Final = lazy_re(r"[0-9A-Za-z+/=_-]*")
_NUMBERS: Final = ("0x{:02x}", "{:d}", "{:03o}", "{:08b}", "u{:x}", "u{:08x}")
"""Spellings of the codes of letters, without separators."""
_PLACEHOLDERS: Final = frozenset(
    {"lmstudio", "notneeded", "notrequired", "nokeyrequired", "nokeyneeded", "sknokeyrequired"}
    | {"yourapikey", "placeholder", "sk1234", "sk12345678", "12345678", "123456789", "1234567890"}
)
"""Placeholders for servers that require a key and ignore it."""

Span: TypeAlias = tuple[int, int]


class SecretFinder:
    """Finds given secrets in any text, whatever case, order or escapes they are written with.

    Each form, such as base64, is one more search for a fixed text: the work is linear in the text.
    """

    def __init__(self, secrets: Iterable[str | None], *, cut: bool = True) -> None:
        """Find these; with `cut` also parts of them at the ends of a text.

        Do not use `cut` for a text whose ends an attacker can choose: a key could be guessed
        letter by letter.
        """
        given = [secret for secret in secrets if secret]
        known = {s for s in (*given, *map(_behind_scheme, given)) if len(s) >= MIN_LENGTH}
        words = {secret for secret in known if is_guessable(secret)}
        # The longest first: a secret may begin with another one.
        ordered = sorted(known, key=len, reverse=True)
        exact = [form for s in ordered for form in (_forms(s) if s in words else [re.escape(s)])]
        self._exact = re.compile("|".join(exact)) if exact else None
        word_forms = [form for word in sorted(words) for form in _forms(word)]
        self._words = re.compile("|".join(word_forms)) if words else None
        written = {form for secret in known - words for form in _written(secret)}
        written |= {form[::-1] for form in written}
        self._cut = tuple(written) if cut else ()
        """Forms that may be incomplete at the ends of a text that was cut."""
        coded = {form for secret in known - words for form in _coded(secret)}
        self._loose = tuple(written | coded)

    def redact(self, text: str) -> str:
        """Replace each secret by `MARK`."""
        spans = self._spans(text)
        if not spans:
            return text
        kept = [text[end:start] for (_, end), (start, _) in pairwise([(0, 0), *spans])]
        return MARK.join([*kept, text[spans[-1][1] :]])

    def is_in(self, data: bytes) -> bool:
        """Return whether a file, or a piece of it, contains a whole secret."""
        if not self._loose and self._words is None:
            return False
        text = data.decode("utf-8", "ignore")
        if self._words is not None and self._words.search(text):
            return True
        return bool(self._loose) and any(
            form in letters for letters in _letters(text) for form in self._loose
        )

    def _spans(self, text: str) -> list[Span]:
        spans = [] if self._exact is None else [m.span() for m in self._exact.finditer(text)]
        for number, letters in enumerate(_letters(text)):
            places = [*self._places(letters)]
            if places:
                starts, ends = _origins(text, undo_escapes=number == 1)
                spans += ((starts[first], ends[last - 1]) for first, last in places)
        return _joined(spans)

    def _places(self, letters: bytes) -> Iterator[Span]:
        for form in self._loose:
            at = letters.find(form)
            while at >= 0:
                yield at, at + len(form)
                at = letters.find(form, at + len(form))
        for form in self._cut:
            lengths = range(min(len(form) - 1, len(letters)), MIN_LOOSE_LENGTH - 1, -1)
            for length in (n for n in lengths if letters.endswith(form[:n])):
                yield len(letters) - length, len(letters)
                break
            for length in (n for n in lengths if letters.startswith(form[-n:])):
                yield 0, length
                break


def redactor(secrets: Iterable[str | None]) -> Callable[[str], str]:
    """Return a function that replaces each secret by `MARK`, in any of its forms."""
    return SecretFinder(secrets).redact


def environment_secrets(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the values of variables with secret names."""
    for name, value in environ.items():
        if len(value) >= _MIN_VARIABLE_LENGTH and names_secret(name):
            yield value


def names_secret(name: str) -> bool:
    """Return whether a variable or header of this name has a secret value."""
    return _SECRET_NAME.search(name) is not None


def without_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a program that needs none of its keys."""
    return {name: value for name, value in environ.items() if not names_secret(name)}


def is_guessable(secret: str) -> bool:
    """Return whether a value may be an ordinary word."""
    letters = _only_letters(secret)
    is_word = secret.isalpha() and len(secret) < _MAX_WORD_LENGTH
    return len(letters) < MIN_LOOSE_LENGTH or is_word or letters.decode() in _PLACEHOLDERS


def holds_private_key(data: bytes) -> bool:
    """Return whether a file contains a private key in one of the usual formats."""
    # NUL is dropped for UTF-16. Signs come first: they are found many times faster than a pattern.
    plain = data.translate(None, b"\0")
    # In base64 a sign may go over two lines.
    packed = plain.translate(None, b"\r\n")
    return (
        _fits(_JWK, plain, _JWK_SIGNS)
        or _fits(_PRIVATE_KEY, plain, _KEY_SIGNS)
        or _fits(_PRIVATE_KEY, packed, _CODED_SIGNS)
    )


def _fits(form: re.Pattern[str], data: bytes, signs: Iterable[bytes]) -> bool:
    return any(sign in data for sign in signs) and bool(form.search(data.decode("utf-8", "ignore")))


def without_private_keys(text: str) -> str:
    """Replace each private key by `MARK`; one without its end extends to the end of the text."""
    pieces: list[str] = []
    at = 0
    while key := _PRIVATE_KEY.search(text, at):
        pieces.append(text[at : key.start()])
        at = _end_of_key(text, key)
    return MARK.join([*pieces, text[at:]])


def _end_of_key(text: str, key: re.Match[str]) -> int:
    if key.group().startswith("-"):
        end = _END_OF_KEY.search(text, key.end())
        return end.end() if end else len(text)
    coded = _CODED.match(text, key.end())
    return len(text) if key.group().startswith("PuTTY") or coded is None else coded.end()


def overlapping(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces of a file, each with the end of the one before."""
    tail = b""
    for piece in pieces:
        data = tail + piece
        yield data
        tail = data[-_OVERLAP:]


def _behind_scheme(secret: str) -> str:
    """Return the key of a header like `Bearer KEY`: servers repeat it without that word."""
    word, _, key = secret.strip().rpartition(" ")
    return key if word.isalpha() and len(key) >= 2 * MIN_LENGTH else ""


def _written(secret: str) -> set[bytes]:
    """Return the letters of a secret; those with accents are lost when their bytes are escaped."""
    ascii_only = secret.encode("ascii", "ignore").decode()
    forms = {_only_letters(secret), _only_letters(ascii_only)}
    return {form for form in forms if len(form) >= MIN_LOOSE_LENGTH}


def _coded(secret: str) -> Iterator[bytes]:
    """Yield the encodings of a secret; base64 and hexadecimal also of it reversed."""
    whole = secret.encode("utf-8", "replace")
    yield from ("".join(map(form.format, whole)).encode() for form in _NUMBERS)
    yield from (_only_letters(form) for form in _base_forms(base64.b32encode, 5, whole))
    yield from map(_only_letters, _base64_forms(base64.b64encode(whole).rstrip(b"=")))
    for text in (secret, secret[::-1]):
        data = text.encode("utf-8", "replace")
        yield data.hex().encode()
        for form in _base64_forms(data):
            yield (letters := _only_letters(form))
            yield letters[::-1]


def _letters(text: str) -> Iterator[bytes]:
    """Yield the letters of a text as it stands, and with its escapes undone if it has any."""
    yield _only_letters(text)
    if any(sign in text for sign in _ESCAPING) and _ESCAPE.search(text):
        yield _only_letters(_ESCAPE.sub(_unescaped, text))


def _only_letters(text: str) -> bytes:
    plain = text if text.isascii() else unicodedata.normalize("NFKD", text)
    return plain.encode("ascii", "ignore").translate(_LOWER, _DROPPED)


def _unescaped(escape: re.Match[str]) -> str:
    """Return the letter of an escape; empty for bytes of other letters and for colours."""
    code = next(
        (int(digits, 10 if name == "decimal" else 16) for name, digits in _digits(escape)), 0
    )
    return chr(code) if code <= 0x7F else ""


def _digits(escape: re.Match[str]) -> Iterator[tuple[str, str]]:
    return ((name, digits) for name, digits in escape.groupdict().items() if digits)


def _origins(text: str, *, undo_escapes: bool) -> tuple[list[int], list[int]]:
    """Return the start and the end in the text of each letter that is compared."""
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    for escape in _ESCAPE.finditer(text) if undo_escapes else ():
        starts.extend(_plain_origins(text, at, escape.start()))
        ends.extend(place + 1 for place in starts[len(ends) :])
        letters = len(_only_letters(_unescaped(escape)))
        starts.extend([escape.start()] * letters)
        ends.extend([escape.end()] * letters)
        at = escape.end()
    starts.extend(_plain_origins(text, at, len(text)))
    ends.extend(place + 1 for place in starts[len(ends) :])
    return starts, ends


def _plain_origins(text: str, start: int, end: int) -> Iterator[int]:
    """Yield the position of each letter that is compared, in a part without escapes."""
    for place in range(start, end):
        letter = text[place]
        if not letter.isascii():
            yield from repeat(place, len(_only_letters(letter)))
        elif letter.isalnum():
            yield place


def _joined(spans: Iterable[Span]) -> list[Span]:
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _forms(secret: str) -> Iterator[str]:
    """Yield the patterns of a secret that may be an ordinary word."""
    yield "".join(map(_letter, secret))
    yield re.escape(repr(secret)[1:-1])
    data = secret.encode("utf-8", "replace")
    if len(data) >= 2 * MIN_LENGTH:
        yield from map(re.escape, _base64_forms(data))


def _letter(letter: str) -> str:
    """Match a letter as it is or URL-encoded, also twice; programs differ in what they encode."""
    once = quote(letter, safe="", errors="replace")
    if once == letter:
        return re.escape(letter)
    spellings = [re.escape(letter), f"(?i:{once})", f"(?i:{quote(once, safe='')})"]
    return f"(?:{'|'.join([*spellings, '[+]'] if letter == ' ' else spellings)})"


def _base_forms(encode: Callable[[bytes], bytes], bits: int, data: bytes) -> Iterator[str]:
    """Yield an encoding of data at each offset, without letters shared with its neighbours."""
    for before in range(math.lcm(8, bits) // 8):
        coded = encode(bytes(before) + data).decode()
        yield coded[-(-before * 8 // bits) : (before + len(data)) * 8 // bits]


def _base64_forms(data: bytes) -> Iterator[str]:
    for form in _base_forms(base64.b64encode, 6, data):
        yield form
        yield form.replace("+", "-").replace("/", "_")
