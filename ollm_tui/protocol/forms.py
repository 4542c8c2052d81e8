"""What is asked of the user in words: fields with a kind, and the values that were entered."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from ollm_tui.dataclass import dataclass

FieldKind: TypeAlias = Literal["text", "number", "integer", "boolean", "choice", "choices"]
FieldValue: TypeAlias = str | int | float | bool | list[str]
FormValues: TypeAlias = Mapping[str, FieldValue]
_MAX_LENGTH: Final = 10_000
_WORDS: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("y", "yes", "true", "on", "1"), True),
    **dict.fromkeys(("n", "no", "false", "off", "0"), False),
}


@dataclass(frozen=True, slots=True)
class FieldOption:
    """One of the values of a choice."""

    value: str
    title: str = ""

    @property
    def shown(self) -> str:
        """What the user reads."""
        return self.title or self.value


@dataclass(frozen=True, slots=True)
class FormField:
    """One field; every text may be foreign."""

    name: str
    kind: FieldKind = "text"
    title: str = ""
    about: str = ""
    is_required: bool = False
    default: FieldValue | None = None
    options: tuple[FieldOption, ...] = ()
    check: Callable[[FieldValue], str] = lambda _value: ""
    """Returns what is wrong with a value, as a sentence; empty if it may be sent."""

    @property
    def shown(self) -> str:
        """What the user reads as its name."""
        return self.title or self.name

    def written(self, value: FieldValue | None) -> str:
        """Return a value as it is typed."""
        match value:
            case None:
                return ""
            case bool():
                return "yes" if value else "no"
            case list():
                return ", ".join(value)
            case _:
                return str(value)

    def value_of(self, text: str) -> FieldValue | None:
        """Return the value of what was typed; None for nothing.

        Raises:
            ValueError: it is no value of the field, with a sentence.
        """
        text = text.strip()
        if not text:
            if self.is_required:
                raise ValueError("A value is required.")
            return None
        value = self._value(text)
        if problem := self.check(value):
            raise ValueError(problem)
        return value

    def _value(self, text: str) -> FieldValue:
        match self.kind:
            case "boolean":
                if text.casefold() not in _WORDS:
                    raise ValueError("Type yes or no.")
                return _WORDS[text.casefold()]
            case "number" | "integer":
                return self._number(text)
            case "choice":
                return self._chosen(text)
            case "choices":
                listed = [self._chosen(part.strip()) for part in text.split(",") if part.strip()]
                return list(dict.fromkeys(listed))
            case _:
                if len(text) > _MAX_LENGTH:
                    raise ValueError(f"It has more than {_MAX_LENGTH:,} characters.")
                return text

    def _number(self, text: str) -> int | float:
        try:
            if self.kind == "integer":
                return int(text[:40])
            number = float(text[:40])
        except ValueError:
            kind = "a whole number" if self.kind == "integer" else "a number"
            raise ValueError(f"Type {kind}.") from None
        if not math.isfinite(number):
            raise ValueError("Type a number.")
        return number

    def _chosen(self, text: str) -> str:
        for option in self.options:
            if text in {option.value, option.title}:
                return option.value
        folded = text.casefold()
        near = [
            one for one in self.options if folded in {one.value.casefold(), one.shown.casefold()}
        ]
        if len(near) != 1:
            names = ", ".join(one.shown for one in self.options)
            raise ValueError(f"Choose from: {names}.")
        return near[0].value


def shown_values(fields: Sequence[FormField], values: FormValues) -> list[tuple[str, str]]:
    """Return each field that has a value, with the value in words."""
    return [(one.name, one.written(values[one.name])) for one in fields if one.name in values]
