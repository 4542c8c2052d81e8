"""`ollm models tool-check`: how well a model calls tools, and in which way it does so best."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ollm_tui.chat.tool_check import TASKS, Attempt, CheckWish
from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.model_runtime import Stopped, find_model, in_stoppable_runtime
from ollm_tui.cli.output import ERROR, OK, Output, UsageError
from ollm_tui.cli.stop import Stop
from ollm_tui.config.regular_file import why_unreadable
from ollm_tui.decode.json_fields import string
from ollm_tui.models.tool_check import WAY_WORDS, ToolCheck, ToolWay, score_words
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject, JsonValue
from ollm_tui.runtime.compose import Runtime

MAX_RUNS = 100


class _Attempts:
    """What came of each attempt, written down while the check goes on."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self.all: list[Attempt] = []

    async def add(self, attempt: Attempt) -> None:
        """Count an attempt, and tell why it failed, unless another did for the same reason."""
        is_told = any(
            (one.way, one.task.name, one.problem)
            == (attempt.way, attempt.task.name, attempt.problem)
            for one in self.all
        )
        self.all.append(attempt)
        if attempt.problem is not None and not is_told:
            way = WAY_WORDS[attempt.way]
            self._output.note(f"{way}, {attempt.task.name}: {attempt.problem}")

    def passed(self, way: ToolWay, task: str) -> str:
        """Return how often one task was done: `2/3`."""
        ends = [one.problem is None for one in self.all if (one.way, one.task.name) == (way, task)]
        return f"{sum(ends)}/{len(ends)}" if ends else "-"


def run_tool_check(arguments: Arguments, output: Output) -> int:
    """Check one model; without a way that works the exit code is 1."""
    runs = arguments.models.runs
    if not 1 <= runs <= MAX_RUNS:
        raise UsageError(f"--runs takes 1 to {MAX_RUNS}.")
    attempts = _Attempts(output)
    wish = CheckWish(report=attempts.add, runs=runs)
    name, check, is_kept = in_stoppable_runtime(
        arguments, output, partial(_check, arguments.name, wish, output)
    )
    if arguments.as_json:
        output.json(_as_json(name, check, attempts.all), indent=2)
    else:
        _write(name, check, attempts, output, is_kept=is_kept)
    return OK if check.way is not None and is_kept else ERROR


async def _check(
    name: str, wish: CheckWish, output: Output, runtime: Runtime, stop: Stop
) -> tuple[str, ToolCheck, bool]:
    model = await find_model(runtime.manager, name)
    address = runtime.catalog.shown_address(model.ref)
    tasks = wish.runs * len(TASKS) * len(wish.ways)
    output.note(f"Checking {address}: {tasks} tasks. This can take minutes.")
    stop.answering = True
    details = (await runtime.manager.show(model.ref)).info.details
    origin = string(details, "template_from") or ""
    asked = replace(wish, signal=stop.signal, template=origin)
    try:
        check = await runtime.check_tools(str(model.ref), asked)
    except AIError as error:
        if error.known_code is ErrorCode.ABORTED and stop.signal.aborted:
            output.note("Stopped. Nothing was kept.")
            raise Stopped(stop.exit_code) from None
        raise
    try:
        await runtime.keep_tool_check(str(model.ref), check)
    except OSError as error:  # what took minutes is shown all the same
        output.error(f"The result cannot be kept: {why_unreadable(error)}.")
        return address, check, False
    return address, check, True


def _write(
    name: str, check: ToolCheck, attempts: _Attempts, output: Output, *, is_kept: bool
) -> None:
    head = ("WAY", "DONE", *(task.name.upper() for task in TASKS))
    output.table(head, [_row(way, check, attempts) for way in check.scores])
    output.line("")
    if check.way is None:
        output.line(f"{name} calls no tools well enough.")
    else:
        used = ": its chats use them" if is_kept else ""
        output.line(f"{name} works best with {WAY_WORDS[check.way]}{used}.")


def _row(way: ToolWay, check: ToolCheck, attempts: _Attempts) -> Sequence[str]:
    score = check.scores[way]
    return (
        WAY_WORDS[way],
        score_words(score),
        *(attempts.passed(way, task.name) for task in TASKS),
    )


def _as_json(name: str, check: ToolCheck, attempts: Sequence[Attempt]) -> JsonObject:
    tasks: dict[str, list[JsonValue]] = {way: [] for way in check.scores}
    for attempt in attempts:
        tasks[attempt.way].append({"task": attempt.task.name, "problem": attempt.problem})
    return {
        "model": name,
        "way": check.way,
        **check.to_json(),
        "attempts": dict(tasks),
    }
