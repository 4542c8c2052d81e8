"""Which protocol draws pictures: by setting and environment, and by the terminal's answer."""

import os
from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

PictureProtocol: TypeAlias = Literal["auto", "kitty", "iterm", "sixel", "blocks", "off"]
"""How pictures are drawn; `auto` is half blocks until the terminal says that it can draw sixels."""

_KITTY: Final = frozenset({"xterm-kitty", "xterm-ghostty"})
_ITERM: Final = frozenset({"iterm.app", "wezterm", "mintty"})
"""Values of TERM_PROGRAM, in lower case."""
_BETWEEN: Final = ("screen", "tmux")
"""How TERM begins within a program that does not pass pictures on."""
_WITHOUT: Final = frozenset({"", "dumb", "linux"})
"""Values of TERM where no question about pictures has an answer."""
_TRUE_COLOUR: Final = frozenset({"truecolor", "24bit"})
_SIXEL: Final = 4  # the number of sixel graphics among the attributes of a terminal
_MIN_CELL, _MAX_CELL = (3, 5), (40, 80)


class CellSize(NamedTuple):
    """The pixels of one cell of the screen."""

    width: int
    height: int


USUAL_CELL: Final = CellSize(10, 20)
"""The cell of a VT340, which terminals without a size of their own keep to."""


def protocol_for(setting: str, environ: Mapping[str, str] | None = None) -> PictureProtocol:
    """Return how pictures are shown: by the setting, and for `auto` by the environment.

    `auto` is returned where the terminal is to be asked, when there is a picture. tmux and screen
    pass nothing on, so they are not asked.
    """
    environ = os.environ if environ is None else environ
    if setting != "auto":
        return setting if setting in get_args(PictureProtocol) else "blocks"  # type: ignore[return-value]  # mypy does not narrow text
    term = environ.get("TERM", "")
    is_between = environ.get("TMUX") or environ.get("STY") or term.startswith(_BETWEEN)
    if environ.get("NO_COLOR") or is_between or term in _WITHOUT:
        return "blocks"
    if term in _KITTY and environ.get("COLORTERM") in _TRUE_COLOUR:
        return "kitty"
    is_iterm = environ.get("LC_TERMINAL") == "iTerm2"
    is_iterm |= environ.get("TERM_PROGRAM", "").lower() in _ITERM
    return "iterm" if is_iterm else "auto"


def has_sixel(attributes: Iterable[int]) -> bool:
    """Whether a terminal with these attributes draws sixels."""
    return _SIXEL in attributes


def cell_size(width: int, height: int) -> CellSize | None:
    """Return the size of a cell; None if no terminal has such cells."""
    fits = _MIN_CELL[0] <= width <= _MAX_CELL[0]
    fits &= _MIN_CELL[1] <= height <= _MAX_CELL[1]
    return CellSize(width, height) if fits else None
