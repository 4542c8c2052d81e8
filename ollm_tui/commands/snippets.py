"""/snippet: texts of one's own, put into the input and looked after."""

from collections.abc import Sequence
from typing import Final

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Completion, command
from ollm_tui.decode.clean import clean_line

_ACTS: Final = {
    "add": "Write a new snippet.",
    "edit": "Change a snippet in your editor.",
    "rm": "Remove a snippet.",
}


def _completions(host: CommandHost, argument: str) -> Sequence[Completion]:
    listed = host.snippets.listed()
    act, space, _ = argument.partition(" ")
    if space and act in {"edit", "rm"}:
        return [Completion(f"{act} {name}", clean_line(line)) for name, line in listed.items()]
    names = [Completion(name, clean_line(line)) for name, line in listed.items()]
    return [*names, *(Completion(act, about, takes_more=True) for act, about in _ACTS.items())]


@command(
    "snippet",
    aliases=("snippets",),
    usage="[NAME [WORDS] | list | add NAME [TEXT] | edit NAME | rm NAME]",
    complete=_completions,
)
async def use_snippet(host: CommandHost, argument: str) -> None:
    """Insert a text of your own."""
    act, _, rest = argument.partition(" ")
    name, _, text = rest.strip().partition(" ")
    if act in {"", "list"}:
        host.say(_listing(host))
    elif act not in _ACTS:
        await host.snippets.insert(act, rest.strip())
    elif not name:
        host.say(f"Which one? /snippet {act} NAME", "error")
    elif act == "add":
        await host.snippets.add(name, text.strip())
    elif act == "edit":
        await host.snippets.edit(name)
    else:
        await host.snippets.remove(name)


def _listing(host: CommandHost) -> str:
    listed = host.snippets.listed()
    if not listed:
        return "No snippets yet. /snippet add NAME writes one."
    lines = [f"{name}: {clean_line(line)}" for name, line in listed.items()]
    return "\n".join([*lines, "/snippet NAME inserts one."])
