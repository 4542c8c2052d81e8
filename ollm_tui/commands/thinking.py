"""The command about thinking: /think."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.options import CLEARED
from ollm_tui.commands.registry import Completion, command
from ollm_tui.decode.clean import clean_name
from ollm_tui.protocol.thinking import ShouldThink, ThinkingConfig, thinking_mode

_CHOICES: Final[Mapping[str, tuple[ShouldThink, str]]] = MappingProxyType(
    {
        "off": (False, "no thinking"),
        "on": (True, "thinking"),
        "low": (ThinkingConfig(mode="last", effort="low"), "low effort"),
        "medium": (ThinkingConfig(mode="last", effort="medium"), "medium effort"),
        "high": (ThinkingConfig(mode="last", effort="high"), "high effort"),
    }
)
_NOT_THERE: Final = frozenset({"first", "last", "deep"})


def _choices(host: CommandHost, _argument: str) -> Sequence[Completion]:
    now = host.conversation().should_think
    words = [
        Completion(name, f"{what}; in use" if wanted == now else what)
        for name, (wanted, what) in _CHOICES.items()
    ]
    return [*words, Completion("none", "model default")]


@command("think", usage="[off | on | low | medium | high]", complete=_choices)
async def think(host: CommandHost, argument: str) -> None:
    """Show or change how much the model thinks."""
    name = argument.casefold()
    if not name:
        host.say(_state(host.conversation().should_think))
    elif name in CLEARED:
        host.conversation().should_think = None
        host.say("Thinking from the next answer: model default.")
    elif name in _CHOICES:
        host.conversation().should_think = _CHOICES[name][0]
        host.say(f"Thinking from the next answer: {name}.")
    elif name in _NOT_THERE:
        host.say(
            f"/think {name} is not implemented: no server is told when to think. "
            "Use on, off, low, medium or high.",
            "error",
        )
    else:
        shown = clean_name(argument[:40])
        host.say(f"/think does not take {shown}. It takes {', '.join(_CHOICES)} or none.", "error")


def _state(wanted: ShouldThink | None) -> str:
    for name, (known, _) in _CHOICES.items():
        if wanted == known and type(wanted) is type(known):
            return f"Thinking: {name}. /think off, low, medium, high or none changes it."
    if wanted is None:
        return "Thinking: model default. /think off, low, medium or high changes it."
    return f"Thinking: {thinking_mode(wanted)}."
