"""Commands that listen and speak."""

from collections.abc import Sequence

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Completion, command


@command("dictate", aliases=("listen",), usage="[FILE]", task="transcription")
async def dictate(host: CommandHost, argument: str) -> None:
    """Write down what you say, or a recording, in the input."""
    host.voice.dictate(argument)


def _switches(_host: CommandHost, _argument: str) -> Sequence[Completion]:
    return (
        Completion("on", "Read every answer aloud while it arrives"),
        Completion("off", "Read no more answers"),
        Completion("stop", "Stop reading this one"),
    )


@command(
    "speak",
    aliases=("read",),
    usage="[on | off | stop]",
    complete=_switches,
    task="speech",
)
async def speak(host: CommandHost, argument: str) -> None:
    """Read the last answer aloud, or every answer."""
    match argument.lower():
        case "":
            _read_last(host)
        case "on":
            await host.voice.read_answers(True)
        case "off":
            await host.voice.read_answers(False)
            host.say("Answers are not read aloud.")
        case "stop":
            host.voice.stop()
        case _:
            host.say("/speak reads the last answer aloud, /speak on every answer.", "error")


def _read_last(host: CommandHost) -> None:
    answer = host.conversation().last_answer()
    if answer is None:
        host.say("There is no answer to read aloud.")
    else:
        host.voice.read(answer)
