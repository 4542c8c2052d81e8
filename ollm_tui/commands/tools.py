"""The command about tools: /tools."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Final

from ollm_tui.commands.host import CommandHost, OfferedTool
from ollm_tui.commands.registry import Completion, command
from ollm_tui.decode.clean import clean_line, clean_name

_GIST: Final = 42
"""Characters that are left of 80 columns."""


_SWITCHES: Final[Mapping[str, bool]] = {"on": True, "all": True, "off": False, "none": False}
_MOST_MISSING: Final = 5

_WAYS: Final[Mapping[str, str]] = {
    "native": "This model calls tools natively.",
    "react": "This model has no native tool calls; tools are described to it in text.",
}


def _choices(host: CommandHost, argument: str) -> Sequence[Completion]:
    written, on = argument[: argument.rfind(" ") + 1], host.conversation().tools
    switches = [
        Completion(_begun(argument, "on", "all"), "all of them"),
        Completion(_begun(argument, "off", "none"), "none of them"),
    ]
    return ([] if written else switches) + [
        Completion(f"{written}{tool.name}", "on" if tool.name in on else tool.effect)
        for tool in host.offered_tools()
    ]


def _begun(argument: str, *words: str) -> str:
    """Return the typed word alone where several mean the same: Enter must not replace it."""
    start = argument.strip().casefold()
    return next((word for word in words if start and word.startswith(start)), words[0])


@command("tools", usage="[on | off | NAME ...]", complete=_choices)
async def choose_tools(host: CommandHost, argument: str) -> None:
    """Show the tools the model may call, or choose which."""
    conversation, tools = host.conversation(), host.offered_tools()
    names = [tool.name for tool in tools]
    exact = {name.casefold(): name for name in names}  # no two differ in case only
    words = argument.replace(",", " ").split()
    wanted = [exact.get(word.casefold(), word) for word in words]
    unknown = [name for name in wanted if name not in names]
    switch = _SWITCHES.get(argument.strip().casefold())
    if not tools:
        host.say("No tools are available.")
    elif not wanted:
        way = _WAYS.get(host.tool_mode() or "", "")
        host.say("\n".join(filter(None, (*_listing(tools, conversation.tools), way))))
    elif switch is not None:
        conversation.tools = tuple(names) if switch else ()
        host.say(_state(conversation.tools))
    elif unknown:
        host.say(_no_such_tool(unknown[0], names), "error")
    else:
        conversation.tools = tuple(name for name in names if name in wanted)
        host.say(_state(conversation.tools))


def _no_such_tool(word: str, names: Sequence[str]) -> str:
    if word.casefold() in _SWITCHES:
        return f"Write /tools {word} alone, or only the names of tools."
    near = difflib.get_close_matches(word[:64].casefold(), names, n=1)
    meant = f" Did you mean {clean_name(near[0])}?" if near else ""
    return (
        f'No tool "{clean_name(word[:40])}".{meant} Available: {", ".join(map(clean_name, names))}.'
    )


def missing_tools(on: Sequence[str], tools: Sequence[OfferedTool]) -> str | None:
    """Return a sentence about tools of a saved chat that no longer exist, or None."""
    known = {tool.name for tool in tools}
    missing = [clean_name(name[:64]) for name in on if name not in known]
    if not missing:
        return None
    more = "" if len(missing) <= _MOST_MISSING else f" and {len(missing) - _MOST_MISSING} more"
    listed = ", ".join(missing[:_MOST_MISSING]) + more
    return f"This chat had tools that are no longer available: {listed}."


def _state(on: Sequence[str]) -> str:
    if not on:
        return "Tools are off from the next prompt."
    return f"From the next prompt, the model may call {', '.join(map(clean_name, on))}."


def _listing(tools: Sequence[OfferedTool], on: Sequence[str]) -> list[str]:
    width = max(len(clean_name(tool.name)) for tool in tools)
    rows = [
        f"{'on ' if tool.name in on else 'off'}  {clean_name(tool.name):<{width}}"
        f"  {tool.effect:<7}  {_gist(tool.description)}".rstrip()
        for tool in tools
    ]
    return ["/tools on, /tools off or /tools NAME ... changes this.", *rows]


def _gist(description: str) -> str:
    """Return the first sentence, as far as it fits beside the names: the rest is for the model."""
    sentence = clean_line(description).partition(". ")[0].removesuffix(".")
    return sentence if len(sentence) <= _GIST else f"{sentence[: _GIST - 1].rstrip()}…"
