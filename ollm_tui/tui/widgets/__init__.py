"""Widgets that several features share; what the first frame does not need is imported lazily."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names
from ollm_tui.tui.widgets.chrome import (
    ChatHeader,
    KeyLine,
    Piece,
    cut,
    cut_start,
    fit,
    paint,
    plain,
    spread,
    width_of,
)
from ollm_tui.tui.widgets.hint_line import FLASH_S, HintLine
from ollm_tui.tui.widgets.messages import InputReady, ShownAgain
from ollm_tui.tui.widgets.paste import PasteStore, long_summary, needs_folding
from ollm_tui.tui.widgets.stand_ins import from_editor, has_reserved_characters, to_editor, to_signs
from ollm_tui.tui.widgets.styled_once import StyledOnce
from ollm_tui.tui.widgets.text_field import (
    TextField,
    letters,
    obey_own_binding,
    take_waiting,
    typed_run,
)

if TYPE_CHECKING:
    from ollm_tui.tui.widgets.row_table import GAP, RowTable, order_sign
else:
    __getattr__ = lazy_names(__name__, {"row_table": ("GAP", "RowTable", "order_sign")})

__all__ = [
    "FLASH_S",
    "GAP",
    "ChatHeader",
    "HintLine",
    "InputReady",
    "KeyLine",
    "PasteStore",
    "Piece",
    "RowTable",
    "ShownAgain",
    "StyledOnce",
    "TextField",
    "cut",
    "cut_start",
    "fit",
    "from_editor",
    "has_reserved_characters",
    "letters",
    "long_summary",
    "needs_folding",
    "obey_own_binding",
    "order_sign",
    "paint",
    "plain",
    "spread",
    "take_waiting",
    "to_editor",
    "to_signs",
    "typed_run",
    "width_of",
]
