"""/memory: notes that last over chats."""

from collections.abc import Sequence
from typing import Final

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Completion, command
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.lazy import lazy_re

_ACTS: Final = {
    "add": "Write a note.",
    "edit": "Change a note, by its number.",
    "rm": "Remove a note, by its number.",
}
_SWITCHES: Final = {
    "on": "Give the notes to this chat and to new ones.",
    "off": "Take them out, and give them to no new chat.",
}
_NUMBER: Final = lazy_re(r"[0-9]{1,3}")
_ALL: Final = "/memory add TEXT, /memory edit N TEXT, /memory rm N, /memory on, /memory off."


def _completions(_host: CommandHost, argument: str) -> Sequence[Completion]:
    if " " in argument:
        return []
    acts = [Completion(f"{act} ", about, takes_more=True) for act, about in _ACTS.items()]
    return [*acts, *(Completion(word, about) for word, about in _SWITCHES.items())]


@command(
    "memory",
    usage="[add TEXT | edit N TEXT | rm N | on | off]",
    complete=_completions,
)
async def use_memory(host: CommandHost, argument: str) -> None:
    """Show or change the notes that last over chats."""
    act, _, rest = argument.strip().partition(" ")
    match act.casefold():
        case "" | "list":
            host.say(_listing(host, await host.memory.listed()))
        case "on" | "off" as word if not rest:
            await _switch(host, is_on=word == "on")
        case "add" if rest.strip():
            await host.memory.add(rest)
            host.say(f"Noted.{_where(host)}")
        case "edit" | "rm" as word:
            await _change(host, word, rest.strip())
        case _:
            host.say(f"Write /memory alone, or {_ALL}", "error")


async def _switch(host: CommandHost, *, is_on: bool) -> None:
    notes = await host.memory.listed()
    host.memory.use(is_on=is_on)
    if not is_on:
        host.say("Neither this chat nor a new one gets the notes.")
        return
    if not notes:
        host.say("New chats get the notes. There are none yet: /memory add TEXT writes one.")
        return
    host.say(
        f"{counted(len(notes), 'note')}, about {counted(host.memory.tokens, 'token')}, sent with "
        "every prompt of this chat and of new ones. To keep it so, set memory = true below [chat]."
    )


async def _change(host: CommandHost, act: str, rest: str) -> None:
    number, _, text = rest.partition(" ")
    if _NUMBER.fullmatch(number) is None or (act == "edit") != bool(text.strip()):
        host.say(f"Write {'/memory edit N TEXT' if act == 'edit' else '/memory rm N'}.", "error")
        return
    await host.memory.replace(int(number), text if act == "edit" else None)
    host.say(("Changed." if act == "edit" else "Removed.") + _where(host))


def _where(host: CommandHost) -> str:
    return "" if host.memory.is_used else " This chat does not have the notes: /memory on."


def _listing(host: CommandHost, notes: Sequence[str]) -> str:
    if not notes:
        return "No notes yet. /memory add TEXT writes one."
    state = "in the system prompt of this chat" if host.memory.is_used else "not in this chat"
    head = f"{counted(len(notes), 'note')}, about {counted(host.memory.tokens, 'token')}, {state}:"
    rows = [f"{at}. {clean_name(one)}" for at, one in enumerate(notes, 1)]
    return "\n".join([head, *rows, _ALL])
