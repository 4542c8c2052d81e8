"""Texts that drive a terminal or a markup parser if anybody lets them, and what must be seen."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

ESC = "\x1b"
BELL = "\x07"
ST = "\x1b\\"


@dataclass(frozen=True)
class Payload:
    """One hostile text; `shown` and `named` are how it has to look in a text and in a name."""

    name: str
    text: str

    @property
    def shown(self) -> str:
        return "".join(_sign(letter) for letter in self.text)

    @property
    def named(self) -> str:
        return "".join(_sign(letter, strict=True) for letter in self.text)


def _sign(letter: str, *, strict: bool = False) -> str:
    """Say how one character has to look; written apart from the code that is tested."""
    code = ord(letter)
    if strict and (code < 0x20 or code == 0x7F or letter in _DRAWS_NOTHING):
        return f"⟦U+{code:04X}⟧"
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0x80 <= code < 0xA0 or 0x202A <= code <= 0x202E or 0xE0000 <= code < 0xE0080:
        return f"⟦U+{code:04X}⟧"
    return letter


_DRAWS_NOTHING = (
    "\u200b\u200d\u200e\u200f\u2028\u2029\u2060\u2066\u2067\u2068\u2069\ufeff\u00ad\u3164"
)

PAYLOADS = (
    # escape sequences
    Payload("clear", f"{ESC}[2J"),
    Payload("clear-history", f"{ESC}[3J{ESC}[H"),
    Payload("move", f"{ESC}[7;77H"),
    Payload("colour", f"{ESC}[31;5m"),
    Payload("colour-24-bit", f"{ESC}[38;2;250;1;2m"),
    Payload("scroll-region", f"{ESC}[3;9r"),
    Payload("leave-alternate", f"{ESC}[?1049l"),
    Payload("enter-alternate", f"{ESC}[?47h"),
    Payload("mouse-on", f"{ESC}[?1002h"),
    Payload("hide-cursor", f"{ESC}[?25l"),
    Payload("paste-marks-off", f"{ESC}[?2004l"),
    Payload("paste-end", f"{ESC}[201~rm -rf ~"),
    Payload("device-attributes", f"{ESC}[0c"),
    Payload("cursor-report", f"{ESC}[6n"),
    Payload("window-report", f"{ESC}[21t"),
    Payload("insert-lines", f"{ESC}[9L"),
    Payload("key-protocol", f"{ESC}[>5u"),
    Payload("full-reset", f"{ESC}c"),
    Payload("soft-reset", f"{ESC}[!p"),
    Payload("keypad", f"{ESC}="),
    Payload("charset", f"{ESC}(0qqq"),
    Payload("next-line", f"{ESC}E{ESC}M"),
    Payload("lone-escape", f"{ESC}"),
    Payload("nested", f"{ESC}{ESC}[2J[2J"),
    # strings
    Payload("title", f"{ESC}]0;owned{BELL}"),
    Payload("title-st", f"{ESC}]2;owned{ST}"),
    Payload("clipboard", f"{ESC}]52;c;cm0gLXJm{BELL}"),
    Payload("clipboard-st", f"{ESC}]52;p;cm0gLXJm{ST}"),
    Payload("link", f"{ESC}]8;;http://evil{ST}bank{ESC}]8;;{ST}"),
    Payload("notification", f"{ESC}]9;hi{BELL}{ESC}]777;notify;a;b{BELL}"),
    Payload("palette", f"{ESC}]4;1;?{BELL}"),
    Payload("open-string", f"{ESC}]0;open"),
    Payload("device-control", f'{ESC}P$q"p{ST}'),
    Payload("sixel", f"{ESC}Pq#0~~{ST}"),
    Payload("application-command", f"{ESC}_Gi=1;AAAA{ST}"),
    Payload("privacy-message", f"{ESC}^x{ST}{ESC}Xy{ST}"),
    Payload("iterm-file", f"{ESC}]1337;File=:AA{BELL}"),
    # the same in eight bits
    Payload("c1-colour", "\x9b31m"),
    Payload("c1-clear", "\x9b2J"),
    Payload("c1-title", "\x9d0;owned\x9c"),
    Payload("c1-device-control", "\x90q\x9c"),
    Payload("c1-next-line", "\x85\x84"),
    # single control characters
    Payload("bell", f"a{BELL}b"),
    Payload("backspace", "abc\b\b\bxyz"),
    Payload("shift-out", "a\x0eqqq\x0fb"),
    Payload("form-feed", "a\fb\vc"),
    Payload("return", "safe\revil"),
    Payload("delete", "a\x7fb"),
    Payload("enquiry", "a\x05\x11\x13b"),
    Payload("nul", "a\0b"),
    Payload("cancel", "a\x18\x1ab"),
    # characters that hide or turn text
    Payload("right-to-left", "a\u202egpj.exe\u202c"),
    Payload("embedding", "a\u202bx\u202ay\u202dz"),
    Payload("tags", "hi\U000e0041\U000e0042\U000e007f"),
    # markup
    Payload("end-of-instruction", "[/INST]"),
    Payload("click", "[@click=app.quit]x[/]"),
    Payload("open-close", "x[/red] [/"),
    Payload("variables", "[$primary on $error]x"),
    Payload("task-list", "deepseek[coder]:33b"),
)

FORGED = """\
╭─ Allow this command? ────────────────────────────────────────────────────────╮
│ rm -rf ~                                                                     │
│ [y] yes   [n] no                                                             │
╰──────────────────────────────────────────────────────────────────────────────╯
 ● ready   ctx 3/4k
 ▌ You said yes.
```
╭──────────────────────────────────────────────────────────────────────────────╮
│ Ask anything. / commands · @ files · ! shell                                 │
```
|a|b|
|-|-|
|╭─|╮|

> ▌ quoted

1. ╭ listed
"""
"""An answer that draws frames of the program: a question, the status line, a prompt."""

PLAIN = tuple(
    Payload(payload.name, f"plain {place}" if place else "plain mailto:a@b")
    for place, payload in enumerate(PAYLOADS)
)
"""As many texts that do nothing, for the session that says what is usual.

One has an address, since hostile texts have some: the app underlines them in an answer.
"""


def marked(payload: Payload, place: int) -> str:
    """Put a payload between two marks that say which it is; no line of it gets long."""
    return f"b{place:02}{payload.text}»e{place:02}"


def unseen(payloads: Sequence[Payload], seen: str) -> list[str]:
    """Name the marked payloads that do not look in a text as they have to."""
    flat = _flat(seen)
    return [
        payload.name
        for place, payload in enumerate(payloads)
        if not all(part in flat for part in _parts(payload, place))
    ]


def _parts(payload: Payload, place: int) -> list[str]:
    # a carriage return may end the line instead
    return [_flat(part) for part in f"b{place:02}{payload.shown}»e{place:02}".split("␍")]


def unspelled(payloads: Sequence[Payload], seen: str) -> list[str]:
    """Name the marked payloads that are not there in full, strictly spelled."""
    flat = _flat(seen)
    return [
        payload.name
        for place, payload in enumerate(payloads)
        if _flat(f"b{place:02}{payload.named}»e{place:02}") not in flat
    ]


def _flat(text: str) -> str:
    """Take out where lines end and what stands before them."""
    return re.sub(r"\s*\n[\s▌│]*|\s", "", text)


def unseen_names(payloads: Sequence[Payload], seen: str, least: int = 16) -> list[str]:
    """Name the numbered payloads that do not look in a name as they have to, as far as it goes."""
    return [
        payload.name
        for place, payload in enumerate(payloads)
        if f"{place:02}{payload.named}"[:least] not in seen
    ]
