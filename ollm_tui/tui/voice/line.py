"""The line below the input while the app listens or reads aloud, with a meter of the level."""

from collections import deque
from collections.abc import Callable, Iterable
from typing import ClassVar, Final

from textual.strip import Strip
from textual.widget import Widget

from ollm_tui.decode.clean import clean_name
from ollm_tui.frontend.figures import clock_time
from ollm_tui.tui.widgets import Piece, cut, paint, spread, width_of

METER_CELLS: Final = 12
_BARS: Final = " ▁▂▃▄▅▆▇█"
_MAX_NAME_LENGTH: Final = 40
_MIN_NAME_WIDTH: Final = 8


def meter(levels: Iterable[float]) -> str:
    """Return levels from 0 to 1 as bars, the newest at the right."""
    bars = "".join(_BARS[min(8, max(0, round(level * 8)))] for level in levels)
    return bars.rjust(METER_CELLS)[-METER_CELLS:]


class VoiceLine(Widget):
    """Takes no room while nothing is heard or said."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"voice-line--{look}" for look in ("record", "busy", "meter", "key", "quiet")
    }
    DEFAULT_CSS = """
    VoiceLine {
        display: none; height: 1; color: $foreground;
        &.-shown { display: block; }
        & .voice-line--record { color: $text-error; text-style: bold; }
        & .voice-line--busy { color: $text-accent; }
        & .voice-line--meter { color: $text-accent; }
        & .voice-line--key { color: $text-accent; text-style: bold; }
        & .voice-line--quiet { color: $text-muted; }
        &:ansi .voice-line--quiet { text-style: dim; }
    }
    """

    def __init__(self, key_for: Callable[[str], str]) -> None:
        super().__init__()
        self._key_for = key_for
        self._levels: deque[float] = deque(maxlen=METER_CELLS)
        self._left: list[Piece] = []
        self._right: list[Piece] = []

    def show_busy(self, text: str) -> None:
        """Show what goes on, and the key that cancels it."""
        self._show([Piece("◐ ", "busy"), Piece(text)], (("dictation.cancel", "cancel"),))

    def begin_recording(self, model: str) -> None:
        """Show that the microphone is on, and which model gets the recording."""
        self._levels.clear()
        self._model = clean_name(model)[:_MAX_NAME_LENGTH]
        self.show_level(0.0, 0.0)

    def show_level(self, level: float, seconds: float) -> None:
        """Show how loud it is, and how long the recording."""
        self._levels.append(level)
        bars = meter(self._levels)
        left = [
            Piece("● ", "record"),
            Piece(f"Recording {clock_time(seconds)} "),
            Piece(f" {bars} ", "meter"),
            Piece(f" to {self._model}", "quiet"),
        ]
        self._show(left, (("dictation.insert", "insert"), ("dictation.cancel", "cancel")))

    def show_reading(self) -> None:
        """Show that an answer is read aloud."""
        self._show([Piece("▶ ", "busy"), Piece("Reading aloud")], (("chat.stop", "stop"),))

    def hide(self) -> None:
        """Show nothing."""
        self.remove_class("-shown")

    def _show(self, left: list[Piece], keys: Iterable[tuple[str, str]]) -> None:
        right: list[Piece] = []
        for key_id, word in keys:
            right += [Piece(f"  {self._key_for(key_id)}", "key"), Piece(f" {word}", "quiet")]
        self._left, self._right = left, right
        self.add_class("-shown")
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Paint the line; the keys stay where it is narrow."""
        width = self.size.width
        inner = max(0, width - 2)
        left, room = self._left[:], inner - width_of([*self._left[:-1], *self._right])
        while len(left) > 2 and room < _MIN_NAME_WIDTH:
            left.pop()
            room = inner - width_of([*left[:-1], *self._right])
        left[-1:] = [Piece(cut(piece.text, room), piece.look) for piece in left[-1:]]
        pieces = [Piece(" "), *spread(left, self._right, inner), Piece(" ")]
        return paint(self, "voice-line", pieces, width)
