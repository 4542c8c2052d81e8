"""The sampling options as a person writes them: names, forms, and text to value."""

import math
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from ollm_tui.commands.host import OptionRefused
from ollm_tui.decode.clean import clean_name
from ollm_tui.protocol.request import GenerationOptions

OptionValue: TypeAlias = float | int | str | tuple[str, ...] | None
CLEARED: Final = frozenset({"none", "default", "reset"})
_SHOWN_TEXT: Final = 40


@dataclass(frozen=True, slots=True)
class OptionForm:
    """How one option is written."""

    form: str
    """Completes the sentence "It takes ..."."""
    example: str
    read: Callable[[str], OptionValue]
    """Raises ValueError for what it does not take."""


def _number(low: float, high: float = math.inf) -> Callable[[str], float]:
    def read(text: str) -> float:
        value = float(text)
        if not (math.isfinite(value) and low <= value <= high):
            raise ValueError(text)
        return value

    return read


def _whole(low: int, high: int = 2**63 - 1) -> Callable[[str], int]:
    def read(text: str) -> int:
        value = int(text)
        if not low <= value <= high:
            raise ValueError(text)
        return value

    return read


def _stops(text: str) -> tuple[str, ...]:
    return tuple(part for part in shlex.split(text) if part) or _refuse(text)


def _refuse(text: str) -> tuple[str, ...]:
    raise ValueError(text)


def _json_only(text: str) -> str:
    if text.casefold() != "json":
        raise ValueError(text)
    return "json"


def _keep_alive(text: str) -> str | float:
    if re.fullmatch(r"(?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h))+", text):
        return text
    return _number(-1)(text)


OPTION_FORMS: Final[Mapping[str, OptionForm]] = MappingProxyType(
    {
        "temperature": OptionForm("a number from 0 to 10, usually up to 2", "0.2", _number(0, 10)),
        "max_tokens": OptionForm("a whole number from 1", "1024", _whole(1)),
        "top_p": OptionForm("a number from 0 to 1", "0.9", _number(0, 1)),
        "top_k": OptionForm("a whole number from 0", "40", _whole(0)),
        "min_p": OptionForm("a number from 0 to 1", "0.05", _number(0, 1)),
        "repeat_penalty": OptionForm("a number from 0 to 10", "1.1", _number(0, 10)),
        "seed": OptionForm("a whole number", "42", _whole(-(2**63))),
        "stop": OptionForm("one or more texts, quoted where they hold spaces", '"END"', _stops),
        "response_format": OptionForm("the word json", "json", _json_only),
        "num_ctx": OptionForm("a whole number from 1", "8192", _whole(1)),
        "keep_alive": OptionForm("seconds, a time like 5m, or -1 forever", "5m", _keep_alive),
    }
)
_ALSO: Final = MappingProxyType({"num_predict": "max_tokens", "format": "response_format"})


def option_name(text: str) -> str:
    """Give the option that is meant.

    Raises:
        OptionRefused: there is none of this name.
    """
    name = text.casefold().replace("-", "_")
    name = _ALSO.get(name, name)
    if name in OPTION_FORMS:
        return name
    raise OptionRefused(f"There is no option {_shown(text)}. {_nearest(name)}")


def _nearest(name: str) -> str:
    # Costs a few milliseconds of start-up and is only needed after a typing mistake.
    from difflib import get_close_matches

    close = get_close_matches(name[:_SHOWN_TEXT], [*OPTION_FORMS, *_ALSO, "system"], n=1)
    return f"Did you mean {close[0]}?" if close else "/set alone lists them."


def change_option(
    options: GenerationOptions, name: str, value_text: str
) -> tuple[GenerationOptions, str]:
    """Give the options with one changed, and a sentence about it; `none` goes back to the default.

    Raises:
        OptionRefused: there is no such option, or it does not take this value.
    """
    known = option_name(name)
    value = _read(known, value_text.strip())
    changed: dict[str, Any] = {known: value}  # the type of each field is what its form reads
    if value is None:
        return replace(options, **changed), f"{known} is reset to the model's default."
    return replace(options, **changed), f"{known} is now {show_value(value)}."


def _read(name: str, text: str) -> OptionValue:
    if text.casefold() in CLEARED:
        return None
    form = OPTION_FORMS[name]
    try:
        return form.read(text)
    except ValueError:
        raise OptionRefused(
            f"{name} does not take {_shown(text)}. It takes {form.form}, or none: "
            f"/set {name} {form.example}"
        ) from None


def _shown(text: str) -> str:
    return clean_name(text[:_SHOWN_TEXT]) if text.strip() else "an empty value"


def show_value(value: object) -> str:
    """Write a value as `/set` takes it."""
    if isinstance(value, tuple):
        return " ".join(shlex.quote(clean_name(str(part))) for part in value)
    if isinstance(value, str | int):
        return clean_name(str(value))
    if isinstance(value, float):
        return f"{value:g}"
    return "a JSON Schema" if isinstance(value, Mapping) else str(value)
