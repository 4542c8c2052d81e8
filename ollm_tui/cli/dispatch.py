"""Reads the command line, and hands over to a command or a front end."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ollm_tui.cli.log import logging_to
from ollm_tui.cli.output import Output, UsageError, open_missing_streams
from ollm_tui.config.early import early_settings
from ollm_tui.config.flags import Flags
from ollm_tui.config.paths import NoHomeError, default_paths
from ollm_tui.decode.redact import environment_secrets
from ollm_tui.lazy import import_command, import_name

if TYPE_CHECKING:
    from ollm_tui.cli.arguments import Arguments
    from ollm_tui.frontend.first_frame import FirstFrame

_COMMANDS: Mapping[str, str] = {
    "config": "ollm_tui.cli.config:run_config",
    "keys": "ollm_tui.cli.keys:run_keys",
    "models": "ollm_tui.cli.models:run_models",
    "chats": "ollm_tui.cli.chats.run:run_chats",
    "mcp": "ollm_tui.cli.mcp.run:run_mcp",
    "embed": "ollm_tui.cli.media.embed:run_embed",
    "speak": "ollm_tui.cli.media.sound:run_speak",
    "transcribe": "ollm_tui.cli.media.sound:run_transcribe",
    "draw": "ollm_tui.cli.media.draw:run_draw",
    "video": "ollm_tui.cli.media.video:run_video",
    "music": "ollm_tui.cli.media.sound:run_music",
    "infill": "ollm_tui.cli.media.infill:run_infill",
    "doctor": "ollm_tui.cli.doctor.run:run_doctor",
    "completion": "ollm_tui.cli.completion:run_completion",
    "man": "ollm_tui.cli.man_page:run_man",
}
"""Each loads what it needs: `--help` and `config path` wait for no pydantic, httpx or Textual."""


def run(typed: Sequence[str], first_frame: "FirstFrame | None" = None) -> int:
    """Run one command and return its exit code; `first_frame` may have the terminal."""
    open_missing_streams()
    output = Output()
    # The path of a secret is not secret.
    output.keep_secret(s for s in environment_secrets(os.environ) if not s.startswith(("/", "~")))

    def dispatch() -> int:
        # closed before anything is said of an error
        with nullcontext() if first_frame is None else closing(first_frame):
            return _dispatch(typed, output, first_frame)

    with logging_to(_log_file(), output.redacted):
        return output.guard(dispatch)


def _log_file() -> Path:
    try:
        return default_paths().state_dir / "ollm.log"
    except NoHomeError:
        # Commands that save nothing, such as --help, still run.
        return Path(os.devnull)


def _dispatch(typed: Sequence[str], output: Output, first_frame: "FirstFrame | None") -> int:
    usual = usual_flags(typed)
    if usual is not None and sys.stdin is not None and sys.stdin.isatty():
        return _open_chat(usual, None, output, first_frame)
    arguments: Arguments = import_name("ollm_tui.cli.arguments:parse")(typed)
    output.keep_secret([arguments.flags.api_key])
    if arguments.flags.api_key is not None:
        output.note("--api-key shows the key to everybody who can list processes; use a variable.")
    if arguments.command is None:
        return _chat(arguments, output, first_frame)
    if arguments.prompt is not None:
        raise UsageError(f"`{arguments.command}` does not take a prompt.")
    files = (("--image", arguments.images), ("--attach", arguments.attached))
    for option, given in (*files, ("--schema", arguments.schema)):
        if given not in (None, ()):
            raise UsageError(f"`{arguments.command}` does not take {option}.")
    run: Callable[[Arguments, Output], int] = import_command(_COMMANDS[arguments.command])
    return run(arguments, output)


def usual_flags(typed: Sequence[str]) -> Flags | None:
    """Return the flags of a usual start, without the parser: that would take a tenth of it."""
    match typed:
        case []:
            return Flags()
        case ["-c" | "--continue"]:
            return Flags(goes_on=True)
        case ["--model", str(name)] if name and not name.startswith("-"):
            return Flags(model=name)
        case _:
            return None


def _chat(arguments: "Arguments", output: Output, first_frame: "FirstFrame | None") -> int:
    # Loaded by now: it read the arguments.
    from ollm_tui.cli.arguments import read_prompt

    arguments = _with_chat(arguments, output)
    if (prompt := read_prompt(arguments.prompt)) is not None:
        run: Callable[[str, Arguments, Output], int] = import_command("ollm_tui.cli.run:run_prompt")
        return run(prompt, arguments, output)
    for option, files in (("--image", arguments.images), ("--attach", arguments.attached)):
        if files:
            raise UsageError(f"{option} needs a prompt.", f'Try: ollm -p "..." {option} FILE')
    if arguments.as_json:
        raise UsageError("--json needs a prompt.", 'Try: ollm --json -p "..."')
    if arguments.flags.allow:
        raise UsageError("--allow needs a prompt.", "In the chat, /permissions allows commands.")
    return _open_chat(arguments.flags, arguments.schema, output, first_frame)


def _open_chat(
    flags: Flags, schema: str | None, output: Output, first_frame: "FirstFrame | None"
) -> int:
    # Read once more by what is started: the choice comes before either is loaded.
    early = early_settings(default_paths(), os.environ, flags)
    if early.screen_reader:
        if first_frame is not None:
            first_frame.close()
        return _in_lines(flags, schema, output, reads_thinking=early.show_thinking)
    return _full_screen(flags, schema, output, first_frame)


def _in_lines(flags: Flags, schema: str | None, output: Output, *, reads_thinking: bool) -> int:
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        raise UsageError('The chat needs a terminal; try ollm -p "...".')
    run: Callable[..., int] = import_command("ollm_tui.linear.run:run_linear")
    flags = _with_schema(flags, schema)
    return run(flags, output.keep_secret, output.redacted, reads_thinking=reads_thinking)


def _with_chat(arguments: "Arguments", output: Output) -> "Arguments":
    """Return the arguments with the whole id of the chat that was named, if one was."""
    flags = arguments.flags
    if flags.continued is not None and flags.private:
        raise UsageError("--private keeps nothing, so it cannot continue a saved chat.")
    if flags.chat is None:
        return arguments
    if flags.goes_on:
        raise UsageError("--continue and --chat both choose a chat; leave one out.")
    find: Callable[[str, Output], str] = import_command("ollm_tui.cli.chats.run:find_chat")
    return replace(arguments, flags=replace(flags, chat=find(flags.chat, output)))


def _full_screen(
    flags: Flags, schema: str | None, output: Output, first_frame: "FirstFrame | None"
) -> int:
    # Textual is loaded only for a terminal that can show it.
    from ollm_tui.tui.terminal import check_terminal

    obstacle = check_terminal()
    if obstacle is not None:
        raise UsageError(obstacle)
    from ollm_tui.tui import run_tui

    return run_tui(_with_schema(flags, schema), output.keep_secret, first_frame)


def _with_schema(flags: Flags, named: str | None) -> Flags:
    """Return the flags of the chat with the JSON Schema that was named, if one was."""
    if named is None:
        return flags
    # Loaded only for a schema, with the library that checks it.
    from ollm_tui.chat.answer_schema import load_schema, schema_file
    from ollm_tui.protocol.errors import AIError

    try:
        schema, file = load_schema(named), schema_file(named)
    except AIError as error:
        raise UsageError(error.message, error.hint) from None
    return replace(flags, schema=schema, schema_file=file)
