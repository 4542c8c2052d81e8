"""The command about tools: /tools."""

import difflib
from collections.abc import Mapping, Sequence
from typing import Final

from ollm_tui.commands.host import CommandHost, OfferedTool
from ollm_tui.commands.registry import Completion, command
from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.protocol.tools import ToolEffect, group_of, includes

_GIST: Final = 42
"""Characters that are left of 80 columns."""


_SWITCHES: Final[Mapping[str, bool]] = {"on": True, "all": True, "off": False, "none": False}

_WAYS: Final[Mapping[str, str]] = {
    "native": "This model calls tools natively.",
    "react": "This model has no native tool calls; tools are described to it in text.",
}
_ACTS: Final[Mapping[ToolEffect, str]] = {
    "read": "reads",
    "write": "writes",
    "run": "runs programs",
    "network": "uses the network",
}
_SWITCHING: Final = "To switch one on, name it in the settings (tools.enabled) or with --tools."


def _choices(host: CommandHost, argument: str) -> Sequence[Completion]:
    written, on = argument[: argument.rfind(" ") + 1], host.conversation().tools
    switches = [
        Completion(_begun(argument, "on", "all"), "all of them"),
        Completion(_begun(argument, "off", "none"), "none of them"),
    ]
    return ([] if written else switches) + [
        Completion(f"{written}{tool.name}", "on" if includes(on, tool.name) else tool.effect)
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
    groups = _with_groups(names)
    names += [name for name in groups if name not in names]
    exact = {name.casefold(): name for name in names}  # no two differ in case only
    words = argument.replace(",", " ").split()
    wanted = [exact.get(word.casefold(), word) for word in words]
    unknown = [name for name in wanted if name not in names]
    switch = _SWITCHES.get(argument.strip().casefold())
    if not tools:
        host.say("No tools are available.")
    elif not wanted:
        way = _WAYS.get(host.tool_mode() or "", "")
        rows = (*_listing(tools, conversation.tools), way, _switched_off(host.tools_off()))
        host.say("\n".join(filter(None, rows)))
    elif switch is not None:
        conversation.tools = groups if switch else ()
        host.say(_state(conversation.tools))
    elif unknown and (off := _switched_off(host.tools_off(), unknown[0])):
        host.say(off, "error")
    elif unknown:
        host.say(_no_such_tool(unknown[0], names), "error")
    else:
        conversation.tools = tuple(name for name in names if name in wanted)
        host.say(_state(conversation.tools))


def _switched_off(off: Sequence[OfferedTool], name: str | None = None) -> str:
    """Return a sentence on the tools that the settings do not name, or on one; empty for none."""
    if name is not None:
        known = [tool.name for tool in off if tool.name == name.casefold()]
        return f"{known[0]} is off. {_SWITCHING}" if known else ""
    listed = ", ".join(f"{tool.name} ({_ACTS[tool.effect]})" for tool in off)
    return f"Further tools are off: {listed}. {_SWITCHING}" if off else ""


def _with_groups(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names with one for each server in place of its tools."""
    return tuple(dict.fromkeys(group_of(name) or name for name in names))


def _no_such_tool(word: str, names: Sequence[str]) -> str:
    if word.casefold() in _SWITCHES:
        return f"Write /tools {word} alone, or only the names of tools."
    near = difflib.get_close_matches(word[:64].casefold(), names, n=1)
    meant = f" Did you mean {clean_name(near[0])}?" if near else ""
    return (
        f'No tool "{clean_name(word[:40])}".{meant} Available: {", ".join(map(clean_name, names))}.'
    )


def _state(on: Sequence[str]) -> str:
    if not on:
        return "Tools are off from the next prompt."
    return f"From the next prompt, the model may call {', '.join(map(clean_name, on))}."


def _listing(tools: Sequence[OfferedTool], on: Sequence[str]) -> list[str]:
    width = max(len(clean_name(tool.name)) for tool in tools)
    rows = [
        f"{'on ' if includes(on, tool.name) else 'off'}  {clean_name(tool.name):<{width}}"
        f"  {tool.effect:<7}  {_gist(tool.description)}".rstrip()
        for tool in tools
    ]
    return ["/tools on, /tools off or /tools NAME ... changes this.", *rows]


def _gist(description: str) -> str:
    """Return the first sentence, as far as it fits beside the names: the rest is for the model."""
    sentence = clean_line(description).partition(". ")[0].removesuffix(".")
    return sentence if len(sentence) <= _GIST else f"{sentence[: _GIST - 1].rstrip()}…"
