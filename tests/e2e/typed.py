"""What terminals send for keys, pastes and the mouse, and what the program should take it for."""

from collections.abc import Iterator, Sequence
from pathlib import Path

Typed = tuple[bytes, Sequence[str]]


def _keys(form: str, codes: str, keys: str) -> Iterator[Typed]:
    for code, key in zip(codes.split(), keys.split(), strict=True):
        yield form.format(code).encode(), [key]


LEGACY: Sequence[Typed] = [
    *_keys("\x1b[{}", "A B C D H F Z", "up down right left home end shift+tab"),
    *_keys("\x1bO{}", "A B C D P Q R S", "up down right left f1 f2 f3 f4"),
    *_keys("\x1b[{}~", "15 17 18 19 20 21 23 24", "f5 f6 f7 f8 f9 f10 f11 f12"),
    *_keys("\x1b[{}~", "3 5 6", "delete pageup pagedown"),
    *_keys("\x1b[1;{}", "2A 3B 5C 5H", "shift+up alt+down ctrl+right ctrl+home"),
    *((b"\x1bb", ["ctrl+left"]), (b"\x1b\r", ["alt+enter"]), (b"\x1b\x7f", ["ctrl+w"])),
    ("aé日ü".encode(), list("aé日ü")),
    (b"\x1b[200~pasted [B\r\nOP\x1b[201~", ["paste 'pasted [B\\nOP'"]),
]
BY_MOUSE: Sequence[Typed] = [
    (b"\x1b[<0;10;5M", ["MouseDown 9 4"]),
    (b"\x1b[<0;10;5m", ["MouseUp 9 4"]),
    (b"\x1b[<64;10;5M", ["MouseScrollUp 9 4"]),
]
BY_KITTY: Sequence[Typed] = [
    *_keys("\x1b[{}u", "97;5 13;2 98;3 99", "ctrl+a shift+enter alt+b c"),
    (b"\x1b[57;6u", ["ctrl+shift+9"]),
    (b"\x1b[27;5;106~", ["ctrl+j"]),
]
"""By its protocol, and by that of xterm."""
FOCUS: Sequence[Typed] = [(b"\x1b[I", ["AppFocus"]), (b"z\x1b[O", ["z", "AppBlur"])]


def lines_of(notes: Path, first: int = 0) -> list[str]:
    """Give what was noted, from one line on."""
    return notes.read_text().splitlines()[first:]
