"""A command that the user ran, as a message: the model reads its output with the next prompt."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean
from ollm_tui.lazy import lazy_re
from ollm_tui.protocol.message import COMMAND, Message
from ollm_tui.protocol.tools import ToolOutcome
from ollm_tui.shell.command import CommandResult

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonObject, JsonValue

_FENCES: Final = lazy_re("`{3,}")


@dataclass(frozen=True, slots=True)
class ShownCommand:
    """A command as a chat shows it."""

    command: str
    outcome: ToolOutcome
    seconds: float | None
    output: str


def outcome_of(result: CommandResult) -> ToolOutcome:
    """Return how a command ended, as tools do."""
    if result.end != "exited":
        return "stopped"
    return "done" if result.code == 0 else "failed"


def command_message(result: CommandResult, folder: Path) -> Message:
    """Return a command, with what it printed and how it ended, as a message of the user.

    The metadata says where in the text the output is, so that a saved chat shows it as it was.
    """
    beginning = f"I ran a command in {clean(str(folder))}:\n\n{_fenced(result.command, 'sh')}\n\n"
    output = clean(result.output).strip("\n")
    if output:
        beginning += "It printed:\n\n"
        block = _fenced(output, "text")
        start = len(beginning) + block.index("\n") + 1
        span: list[JsonValue] = [start, start + len(output)]
    else:
        block, span = "It printed nothing.", [0, 0]
    end = f"\n\n{result.words}" if result.words else ""
    marks: JsonObject = {
        "text": result.command,
        "outcome": outcome_of(result),
        "seconds": round(result.seconds, 3),
        "output": span,
    }
    return Message("user", f"{beginning}{block}{end}", metadata={COMMAND: marks})


def command_of(message: Message) -> ShownCommand | None:
    """Return the command of a message, or None if it is no such message or was changed."""
    match message.metadata.get(COMMAND):
        case {
            "text": str(command),
            "outcome": ("done" | "failed" | "stopped") as outcome,
            "output": [int(start), int(end)],
            **more,
        }:
            seconds = more.get("seconds")
            took = float(seconds) if isinstance(seconds, int | float) else None
            text = message.text
            ends = text[end:].rpartition("\n\n")[2] if outcome != "done" else ""
            output = "\n".join(part for part in (text[max(0, start) : max(0, end)], ends) if part)
            return ShownCommand(command, outcome, took, output)
    return None


def shown_output(result: CommandResult) -> str:
    """Return the output with how the command ended, as the block of a running chat shows it."""
    return "\n".join(part for part in (result.output.strip("\n"), result.words) if part)


def _fenced(text: str, language: str) -> str:
    fence = "`" * (max(map(len, _FENCES.findall(text)), default=2) + 1)
    return f"{fence}{language}\n{text}\n{fence}"
