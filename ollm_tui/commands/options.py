"""How the model answers: sampling options as the user writes them, and /think."""

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ollm_tui.chat.answer_schema import read_schema, schema_file
from ollm_tui.commands.host import CommandHost, OptionRefused
from ollm_tui.commands.registry import Completion, command
from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.keep_alive import parse_keep_alive
from ollm_tui.protocol.request import (
    THINKING_LEVELS,
    GenerationOptions,
    OptionForm,
    ShouldThink,
    thinking_level,
    thinking_mode,
)

if TYPE_CHECKING:
    from ollm_tui.models.thinking import ThinkingSupport

OptionValue: TypeAlias = float | int | str | tuple[str, ...] | None
CLEARED: Final = frozenset({"none", "default", "reset"})
_SHOWN_TEXT: Final = 40


def _number(text: str, low: float, high: float, read: Callable[[str], float] = float) -> float:
    value = read(text)
    if not (low <= value <= high and abs(value) < math.inf):
        raise ValueError(text)
    return value


def _stops(text: str) -> tuple[str, ...]:
    stops = tuple(part for part in shlex.split(text) if part)
    if not stops:
        raise ValueError(text)
    return stops


def _json_only(text: str) -> str:
    if text.casefold() != "json":
        raise ValueError(text)
    return "json"


_OPTIONS: Final = {option.name: option for option in fields(GenerationOptions) if option.metadata}
OPTION_FORMS: Final[Mapping[str, OptionForm]] = {
    name: option.metadata["form"] for name, option in _OPTIONS.items()
}
"""What `/set` changes, in the order of the fields of `GenerationOptions`."""
_READERS: Final[Mapping[str, Callable[[str], OptionValue]]] = {
    "stop": _stops,
    "response_format": _json_only,
    "keep_alive": parse_keep_alive,
}
"""How values are read that are no plain numbers; what they do not take is a ValueError."""
_ALSO: Final = {"num_predict": "max_tokens", "format": "response_format"}


def option_name(text: str) -> str:
    """Return the name of the option.

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
    """Return the options with one changed, and a sentence about it; `none` restores the default.

    Raises:
        OptionRefused: there is no such option, it does not take this value, or a JSON Schema is in
            its place.
    """
    known = option_name(name)
    value = _read(known, value_text.strip())
    if known == "response_format" and isinstance(options.response_format, Mapping):
        raise OptionRefused("Answers match a JSON Schema. /schema off ends that first.")
    changed: dict[str, Any] = {known: value}  # the type of each field is what its form reads
    now = "reset to the model's default" if value is None else f"now {show_value(value)}"
    return replace(options, **changed), f"{known} is {now}."


def _read(name: str, text: str) -> OptionValue:
    if text.casefold() in CLEARED:
        return None
    form, read = OPTION_FORMS[name], _READERS.get(name)
    try:
        if read is not None:
            return read(text)
        is_whole = _OPTIONS[name].type == int | None
        return _number(text, form.low, form.high, int if is_whole else float)
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
        return f"{value:g}" if float(f"{value:g}") == value else str(value)
    return "schema" if isinstance(value, Mapping) else str(value)


_MEANINGS: Final[Mapping[str, str]] = {
    "off": "no thinking",
    "on": "thinking",
    "low": "low effort",
    "medium": "medium effort",
    "high": "high effort",
    "first": "thinking before the answer",
    "last": "thinking after the answer",
    "deep": "long thinking before the answer",
}


def _choices(host: CommandHost, _argument: str) -> Sequence[Completion]:
    now = host.conversation().should_think
    words = [
        Completion(name, _MEANINGS.get(name, name) + ("; in use" if wanted == now else ""))
        for name, wanted in THINKING_LEVELS.items()
    ]
    return [*words, Completion("none", "model default")]


@command("think", usage="[off | on | first | last | deep | low | medium | high]", complete=_choices)
async def think(host: CommandHost, argument: str) -> None:
    """Show or change how much the model thinks."""
    name, conversation = argument.casefold(), host.conversation()
    if not name:
        host.say(_state(conversation.should_think, await host.thinking()))
    elif name in CLEARED:
        conversation.should_think = None
        host.say("Thinking from the next answer: model default.")
    elif name in THINKING_LEVELS:
        if (why_not := await _why_not(host, name)) is not None:
            host.say(why_not, "error")
            return
        conversation.should_think = THINKING_LEVELS[name]
        host.say(f"Thinking from the next answer: {name}.")
    else:
        shown = clean_name(argument[:40])
        host.say(
            f"/think does not take {shown}. It takes {', '.join(THINKING_LEVELS)} or none.", "error"
        )


async def _why_not(host: CommandHost, name: str) -> str | None:
    """Return why the model in use cannot think so; None if it can, or if that is not known."""
    # Everything that is drawn first is there without it.
    from ollm_tui.models.thinking import check_choice

    model = await host.thinking()
    error = check_choice(name, THINKING_LEVELS[name], model) if model is not None else None
    return f"{error.message} {error.hint or ''}".strip() if error is not None else None


def _state(wanted: ShouldThink | None, model: "ThinkingSupport | None") -> str:
    now = thinking_level(wanted) or thinking_mode(wanted) or "model default"
    if model is None:
        takes = f"What this model takes is not known; /think takes {', '.join(THINKING_LEVELS)}."
    elif not model.thinks:
        takes = "This model does not think."
    else:
        always = "" if "off" in model.allowed else "always thinks, and "
        takes = (
            f"This model {always}takes {', '.join(model.choices())}; /think none goes back to its"
            " default."
        )
    return f"Thinking: {now}{_effect(wanted, model)}. {takes}"


def _effect(wanted: ShouldThink | None, model: "ThinkingSupport | None") -> str:
    """Return what to add to a choice that the model does not have, such as one of the settings."""
    # Everything that is drawn first is there without it.
    from ollm_tui.models.thinking import resolve_thinking

    if wanted is None or model is None:
        return ""
    try:
        resolve_thinking(wanted, model)
    except AIError:
        return ", which has no effect on this model"
    return ""


_SHOWN_KEYS: Final = 5


def _schema_words(host: CommandHost, _argument: str) -> Sequence[Completion]:
    is_on = host.conversation().schema is not None
    return [Completion("off", "answers in any form")] if is_on else []


@command("schema", usage="[FILE | off]", complete=_schema_words)
async def schema(host: CommandHost, argument: str) -> None:
    """Have answers match the JSON Schema in a file."""
    conversation = host.conversation()
    if not argument:
        known = conversation.schema
        if known is None:
            host.say("Answers may have any form. /schema FILE has them match a JSON Schema.")
        else:
            host.say(
                f"Answers must match a JSON Schema: {described_schema(known)}. /schema off ends it."
            )
    elif argument.casefold() in {*CLEARED, "off"}:
        conversation.schema = None
        host.say("Answers may have any form from now on.")
    else:
        wanted = await read_schema(argument)
        conversation.use_schema(wanted, schema_file(argument))
        host.say(f"Answers must match this JSON Schema from now on: {described_schema(wanted)}.")


def described_schema(schema: Mapping[str, object]) -> str:
    """Return the title of a schema, or what it holds."""
    title, keys = schema.get("title"), schema.get("properties")
    if isinstance(title, str) and title.strip():
        return clean_line(title[:_SHOWN_TEXT])
    if isinstance(keys, Mapping) and keys:
        shown = [clean_name(key[:_SHOWN_TEXT]) for key in list(keys)[:_SHOWN_KEYS]]
        return ", ".join((*shown, "…") if len(keys) > _SHOWN_KEYS else shown)
    kind = schema.get("type", "without a title" if schema else "any value")
    words = " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind)
    return clean_name(words[:_SHOWN_TEXT])
