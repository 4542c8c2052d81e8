"""The command about tools: /tools."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from ollm_tui.commands.host import CommandHost, OfferedTool
from ollm_tui.commands.registry import Completion, command
from ollm_tui.decode.clean import clean_line, clean_name

_GIST: Final = 42
"""Characters that are left of 80 columns."""


_WAYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "native": "This model calls tools itself.",
        "react": "This model has no tool calls of its own: it is told in text how to ask.",
    }
)


def _choices(host: CommandHost, argument: str) -> Sequence[Completion]:
    written = argument[: argument.rfind(" ") + 1]
    tools = host.offered_tools()
    on = host.conversation().tools
    words = [] if written else [Completion("on", "all of them"), Completion("off", "none of them")]
    return words + [
        Completion(f"{written}{tool.name}", "on" if tool.name in on else tool.effect)
        for tool in tools
    ]


@command("tools", usage="[on | off | NAME ...]", complete=_choices)
async def choose_tools(host: CommandHost, argument: str) -> None:
    """Show the tools the model may call, or choose which."""
    talk, tools = host.conversation(), host.offered_tools()
    names = [tool.name for tool in tools]
    wanted = argument.replace(",", " ").split()
    unknown = [name for name in wanted if name not in names]
    if not tools:
        host.say("There are no tools here.")
    elif not wanted:
        way = _WAYS.get(host.tool_mode() or "", "")
        host.say("\n".join((*_listing(tools, talk.tools), *([way] if way else ()))))
    elif wanted == ["on"] or wanted == ["off"]:
        talk.tools = tuple(names) if wanted == ["on"] else ()
        host.say(_state(talk.tools))
    elif unknown:
        host.say(
            f"There is no tool {clean_name(unknown[0][:40])}. There are {', '.join(names)}.",
            "error",
        )
    else:
        talk.tools = tuple(name for name in names if name in wanted)
        host.say(_state(talk.tools))


def _state(on: Sequence[str]) -> str:
    if not on:
        return "No tools from the next prompt on."
    return f"The model may call {', '.join(map(clean_name, on))} from the next prompt on."


def _listing(tools: Sequence[OfferedTool], on: Sequence[str]) -> list[str]:
    width = max(len(clean_name(tool.name)) for tool in tools)
    rows = [
        f"{'on ' if tool.name in on else 'off'}  {clean_name(tool.name):<{width}}"
        f"  {tool.effect:<7}  {_gist(tool.description)}".rstrip()
        for tool in tools
    ]
    return ["/tools on, /tools off, or the names of those that shall be on.", *rows]


def _gist(description: str) -> str:
    """Give the first sentence, as far as it fits beside the names: the rest is for the model."""
    sentence = clean_line(description).partition(". ")[0].removesuffix(".")
    return sentence if len(sentence) <= _GIST else f"{sentence[: _GIST - 1].rstrip()}…"
