"""Commands about what runs: /continue after the limit of turns, /cancel for tools, /jobs."""

from collections.abc import Sequence
from typing import Final

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Completion, command
from ollm_tui.commands.tool_host import BackgroundJob
from ollm_tui.decode.clean import clean, clean_line
from ollm_tui.decode.counted import counted
from ollm_tui.lazy import lazy_re

MAX_TURNS: Final = 100
MAX_OUTPUT_LENGTH: Final = 4_000
"""Characters of the end of an output that are shown."""
MAX_COMMAND_LENGTH: Final = 200
_HOW: Final = "/continue, /continue N for N turns, /continue wrap or /continue stop."
_NUMBER: Final = lazy_re(r"#?([0-9]{1,6})")


def _ways(_host: CommandHost, _argument: str) -> Sequence[Completion]:
    return [
        Completion("3", "three more turns, or any other number"),
        Completion("wrap", "the model answers now, without tools"),
        Completion("stop", "leave the answer as it is"),
    ]


@command(
    "continue",
    usage="[N | wrap | stop]",
    complete=_ways,
    is_offered=lambda host: host.loop.can_go_on,
)
async def go_on(host: CommandHost, argument: str) -> None:
    """Continue after the limit of turns with tools, or not."""
    word = argument.strip().casefold()
    if not host.loop.can_go_on:
        host.say("The last answer did not end at the limit of turns.")
        return
    number = _NUMBER.fullmatch(word)
    if not word:
        host.loop.go_on()
    elif number is not None and 1 <= int(number[1]) <= MAX_TURNS:
        host.loop.go_on(int(number[1]))
    elif word == "wrap":
        host.loop.wrap_up()
    elif word == "stop":
        host.loop.give_up()
    else:
        host.say(f"Write {_HOW} N is 1 to {MAX_TURNS}.", "error")


def _running(host: CommandHost, _argument: str) -> Sequence[Completion]:
    listed = enumerate(host.work.tools(), 1)
    return [Completion(str(number), tool.words) for number, tool in listed]


@command(
    "cancel",
    usage="[N | all]",
    complete=_running,
    is_offered=lambda host: bool(host.work.tools()),
)
async def cancel(host: CommandHost, argument: str) -> None:
    """Cancel a tool that runs; the others go on."""
    tools, word = host.work.tools(), argument.strip().casefold()
    number = _NUMBER.fullmatch(word)
    if not tools:
        host.say("No tool is running.")
    elif word == "all" or (not word and len(tools) == 1):
        for tool in tools:
            host.work.cancel(tool.id)
    elif number is not None and 1 <= int(number[1]) <= len(tools):
        host.work.cancel(tools[int(number[1]) - 1].id)
    else:
        rows = [f"{place}  {tool.words}" for place, tool in enumerate(tools, 1)]
        host.say("\n".join([*rows, "/cancel N cancels one of them, /cancel all cancels all."]))


def _started(host: CommandHost, _argument: str) -> Sequence[Completion]:
    jobs = host.work.jobs()
    running = [job for job in jobs if job.is_running]
    return [
        *(Completion(str(job.number), _line(job)) for job in jobs),
        *(Completion(f"stop {job.number}", _line(job)) for job in running),
        *([Completion("stop all")] if len(running) > 1 else []),
    ]


@command(
    "jobs",
    usage="[N | stop N | stop all]",
    complete=_started,
    is_offered=lambda host: bool(host.work.jobs()),
)
async def jobs(host: CommandHost, argument: str) -> None:
    """List commands in the background, or stop them."""
    listed = {job.number: job for job in host.work.jobs()}
    word, _, rest = argument.strip().casefold().partition(" ")
    number = _NUMBER.fullmatch(rest.strip() if word == "stop" else word)
    job = listed.get(int(number[1])) if number is not None else None
    if not listed:
        host.say("No command of this chat runs in the background.")
    elif not word:
        rows = [f"{one.number}  {_line(one)}" for one in listed.values()]
        host.say("\n".join([*rows, "/jobs N shows the output of one, /jobs stop N ends it."]))
    elif word == "stop" and rest.strip() == "all":
        running = [one for one in listed.values() if one.is_running]
        for one in running:
            host.work.stop_job(one.number)
        host.say(f"Stopping {counted(len(running), 'command')}.")
    elif job is None:
        host.say("There is no such command; /jobs lists them.", "error")
    elif word == "stop":
        is_stopping = host.work.stop_job(job.number)
        host.say("Stopping it." if is_stopping else "It has ended already.")
    else:
        output = clean(job.output).strip("\n")
        host.say(f"{_line(job)}\n{output[-MAX_OUTPUT_LENGTH:] or 'It printed nothing.'}")


def _line(job: BackgroundJob) -> str:
    minutes, seconds = divmod(round(job.seconds), 60)
    took = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    state = f"runs for {took}" if job.is_running else job.words.rstrip(".")
    return f"{clean_line(job.command[:MAX_COMMAND_LENGTH])} · {state}"
