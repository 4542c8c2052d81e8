"""What the commands that send a single input share: the model, the errors, the settings."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.model_runtime import Stopped, in_runtime
from ollm_tui.cli.output import Output, UsageError
from ollm_tui.config.new_file import NameTaken, NewFile
from ollm_tui.models.tasks import ModelTask
from ollm_tui.protocol.codec import error_to_json
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.providers.router import ResolvedModel
from ollm_tui.runtime.compose import Runtime
from ollm_tui.runtime.media.task_models import model_for_task

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonObject

MediaWork = Callable[[Runtime, ResolvedModel], Awaitable[int]]


class OutputFile(NewFile):
    """The file that a command makes; a name that cannot be used is a wrong usage."""

    def __enter__(self) -> Self:
        """Open the hidden file.

        Raises:
            UsageError: the name is taken, or there can be no file of this name.
        """
        try:
            return super().__enter__()
        except NameTaken as taken:
            raise _taken(taken) from taken
        except AIError as error:
            is_other = error.known_code is ErrorCode.BAD_REQUEST
            raise UsageError(error.message, "Name a file with -o." if is_other else None) from error

    def publish(self) -> None:
        """Give the file its name.

        Raises:
            AIError: it cannot be written.
            UsageError: another file has got the name meanwhile.
        """
        try:
            super().publish()
        except NameTaken as taken:
            raise _taken(taken) from taken


def _taken(taken: NameTaken) -> UsageError:
    return UsageError(taken.message, "Use --force to replace it.")


def run_task(task: ModelTask, arguments: Arguments, output: Output, work: MediaWork) -> int:
    """Run some work with the model for a task; return the exit code, also after a signal."""

    async def with_model(runtime: Runtime) -> int:
        choice = await model_for_task(task, runtime, arguments.flags)
        if choice.reason is not None:
            output.note(f"{runtime.catalog.shown_address(choice.model.ref)} ({choice.reason})")
        return await work(runtime, choice.model)

    try:
        return in_runtime(arguments, output, with_model)
    except Stopped as stopped:
        return stopped.exit_code
    except AIError as error:
        if arguments.as_json:
            output.json({"type": "error", "error": error_to_json(error)})
        raise


def answered_by(model: ResolvedModel) -> "JsonObject":
    """Return who answered, as the last line of `--json` names it."""
    return {"provider": model.ref.provider, "model": model.ref.model}


def output_path(arguments: Arguments) -> Path:
    """Return the file to write.

    Raises:
        UsageError: none was named.
    """
    if arguments.media.output is None:
        raise UsageError("Name the file to write: -o FILE.")
    if str(arguments.media.output) == "-":
        raise UsageError("-o takes the name of a file; nothing is written to standard output.")
    if not arguments.media.output.name:
        raise UsageError(f"{arguments.media.output} is not a file.", "Name a file with -o.")
    return arguments.media.output


def checked_number(name: str, value: float | None, low: float, high: float) -> None:
    """Raise a `UsageError` for a number beyond its limits."""
    if value is not None and not low <= value <= high:
        raise UsageError(f"{name} takes a number from {low:g} to {high:g}.")


def typed_text(words: tuple[str, ...], piped: Callable[[], str | None], example: str) -> str:
    """Return the text of the command line, or for none or `-` what is piped.

    Raises:
        UsageError: there is none.
    """
    text = " ".join(words)
    if text in {"", "-"}:
        text = piped() or ""
    if not text.strip():
        raise UsageError("There is no text.", f"Try: {example}")
    return text.strip()
