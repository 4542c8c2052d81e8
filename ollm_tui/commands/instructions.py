"""/skills: instructions from files, which a chat gets only when it is told to."""

from collections.abc import Sequence

from ollm_tui.commands.files import InstructionEntry
from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Completion, command
from ollm_tui.decode.counted import counted

_OFF = ("off", "none", "remove", "rm")
_ON = ("add", "use", "on")
"""Words that may stand in front of a name."""


def _completions(host: CommandHost, argument: str) -> Sequence[Completion]:
    entries = host.instructions.known()
    act, space, _ = argument.partition(" ")
    if space and act in _OFF:
        return [Completion(f"off {one.name}", one.about) for one in entries if one.is_used]
    unused = [Completion(one.name, one.about) for one in entries if not one.is_used]
    is_any_used = any(one.is_used for one in entries)
    off = Completion("off", "Take one or all of them out.", takes_more=True)
    return [*unused, *([off] if is_any_used else [])]


@command(
    "skills",
    aliases=("skill", "instructions"),
    usage="[NAME | off [NAME]]",
    complete=_completions,
)
async def use_instructions(host: CommandHost, argument: str) -> None:
    """Add AGENTS.md or a skill to this chat."""
    act, _, rest = argument.partition(" ")
    if not argument:
        host.say(_listing(await host.instructions.listed()))
    elif act.casefold() in _OFF:
        removed = host.instructions.remove(rest.strip() or None)
        names = ", ".join(removed)
        host.say(
            f"Removed from the system prompt: {names}."
            if removed
            else "This chat has no such instructions.",
            "info" if removed else "warning",
        )
    else:
        name = rest.strip() if act.casefold() in _ON else ""
        entry = await host.instructions.add(name or argument)
        host.say(
            f"{entry.name} is in the system prompt of this chat: about "
            f"{counted(entry.tokens, 'token')}, sent with every prompt. /skills off takes it out."
        )


def _listing(entries: Sequence[InstructionEntry]) -> str:
    if not entries:
        return (
            "There are no instructions here. AGENTS.md in this folder, or a skill in "
            ".agents/skills/NAME/SKILL.md or in the skills folder beside the settings, is listed."
        )
    lines = [
        f"{'●' if one.is_used else '○'} {one.name}: {one.about} ({counted(one.tokens, 'token')})"
        for one in entries
    ]
    return "\n".join([*lines, "/skills NAME adds one to this chat, /skills off NAME takes it out."])
