"""The command about reasoning: /think."""

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
        "off": (False, "answer without reasoning"),
        "on": (True, "reason as the model likes"),
        "low": (ThinkingConfig(mode="last", effort="low"), "reason a little, then answer"),
        "medium": (ThinkingConfig(mode="last", effort="medium"), "reason, then answer"),
        "high": (ThinkingConfig(mode="last", effort="high"), "reason much, then answer"),
    }
)
_NOT_THERE: Final = frozenset({"first", "last", "deep"})


def _choices(host: CommandHost, _argument: str) -> Sequence[Completion]:
    now = host.conversation().should_think
    words = [
        Completion(name, f"{what}; in use" if wanted == now else what)
        for name, (wanted, what) in _CHOICES.items()
    ]
    return [*words, Completion("none", "leave it to the model")]


@command("think", usage="[off | on | low | medium | high]", complete=_choices)
async def think(host: CommandHost, argument: str) -> None:
    """Show or change how much the model reasons."""
    name = argument.casefold()
    if not name:
        host.say(_state(host.conversation().should_think))
    elif name in CLEARED:
        host.conversation().should_think = None
        host.say("The model reasons as it likes from the next answer on.")
    elif name in _CHOICES:
        wanted, what = _CHOICES[name]
        host.conversation().should_think = wanted
        host.say(f"From the next answer on the model shall {what}.")
    elif name in _NOT_THERE:
        host.say(
            f"/think {name} is not implemented: no server is told when to reason. "
            "Use on, off, low, medium or high.",
            "error",
        )
    else:
        shown = clean_name(argument[:40])
        host.say(f"/think does not take {shown}. It takes {', '.join(_CHOICES)} or none.", "error")


def _state(wanted: ShouldThink | None) -> str:
    for known, what in _CHOICES.values():
        if wanted == known and type(wanted) is type(known):
            return f"The model shall {what}. /think off answers without reasoning."
    if wanted is None:
        return "The model reasons as it likes. /think off, low, medium or high changes that."
    return f"The model shall reason in the mode {thinking_mode(wanted)}."
