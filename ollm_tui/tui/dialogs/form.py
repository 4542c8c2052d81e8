"""Fields asked one after another, each in a dialog of its own: a line, or one of a few."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name, spelled_line
from ollm_tui.protocol.forms import FieldValue, FormField, FormValues
from ollm_tui.tui.dialogs.questions import ChoiceDialog, ChoiceRow, LineEntry

if TYPE_CHECKING:
    from textual.screen import Screen

Ask = Callable[["Screen[Any]"], Awaitable[Any]]
"""Opens a dialog and returns its answer."""
_LEAVE_OUT: Final = "leave it out"
_MAX_NAMED: Final = 20


@dataclass(frozen=True, slots=True)
class ScreenForms:
    """Asks for fields on the screen."""

    open: Ask

    async def ask(self, title: str, fields: Sequence[FormField]) -> FormValues | None:
        """Return what the user entered, without what was left out; None if they cancelled."""
        values: dict[str, FieldValue] = {}
        for number, one in enumerate(fields, 1):
            place = f" · {number} of {len(fields)}" if len(fields) > 1 else ""
            step = _choose if one.kind in {"choice", "boolean"} else _enter
            given, value = await step(self.open, f"{title}{place}", one)
            if not given:
                return None
            if value is not None:
                values[one.name] = value
        return values


async def _enter(ask: Ask, title: str, one: FormField) -> tuple[bool, FieldValue | None]:
    draft, problem = one.written(one.default), ""
    while True:
        dialog = LineEntry(
            title, draft, _about(one), placeholder=clean_name(one.shown), problem=problem
        )
        typed = await ask(dialog)
        if typed is None:
            return False, None
        try:
            return True, one.value_of(typed)
        except ValueError as error:
            draft, problem = typed, str(error)


async def _choose(ask: Ask, title: str, one: FormField) -> tuple[bool, FieldValue | None]:
    if one.kind == "boolean":
        choices: list[tuple[FieldValue | None, str]] = [(True, "yes"), (False, "no")]
    else:
        choices = [(option.value, clean_name(option.shown)) for option in one.options]
    choices.sort(key=lambda choice: choice[0] != one.default)  # the default first
    if not one.is_required:
        choices.append((None, _LEAVE_OUT))
    rows = [ChoiceRow(str(number), words) for number, (_value, words) in enumerate(choices)]
    chosen = await ask(ChoiceDialog(title, rows, _about(one)))
    return (False, None) if chosen is None else (True, choices[int(chosen)][0])


def _about(one: FormField) -> str:
    name = clean_name(one.shown)
    words = [f"{name}: {spelled_line(one.about)}" if one.about else name]
    if one.kind == "choices":
        named = ", ".join(clean_name(option.shown) for option in one.options[:_MAX_NAMED])
        words.append(f"Any of {named}; commas between.")
    if one.kind in {"choice", "boolean"}:
        words.append("Enter chooses, Esc cancels.")
    elif one.is_required:
        words.append("Enter goes on, Esc cancels.")
    else:
        words.append("May be empty. Enter goes on, Esc cancels.")
    return " · ".join(words)
