"""The command line as types, and the prompt: typed, piped, or both."""

import argparse
import os
import re
import stat
import sys
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, NoReturn

from ollm_tui import __version__
from ollm_tui.cli.chats.arguments import ChatOptions, add_chats, chat_options
from ollm_tui.cli.mcp.arguments import McpOptions, add_mcp, mcp_options
from ollm_tui.cli.media.arguments import MediaOptions, add_media, media_options
from ollm_tui.cli.models_arguments import (
    ModelOptions,
    add_command,
    add_models,
    model_options,
    typed_fields,
)
from ollm_tui.cli.output import UsageError
from ollm_tui.config.flags import Flags
from ollm_tui.dataclass import dataclass, field
from ollm_tui.lazy import lazy_re

_INVALID_CHOICE = lazy_re(r"argument (.+?): invalid choice: '(.*?)' \(choose from (.*)\)$")
_SUBCOMMANDS = frozenset({"COMMAND", "ACTION"})
_EQUIVALENTS = {
    "chat": "run",
    "copy": "cp",
    "delete": "rm",
    "download": "pull",
    "find": "models search",
    "export": "chats export",
    "get": "pull",
    "help": "--help",
    "history": "chats list",
    "import": "chats import",
    "info": "show",
    "install": "pull",
    "load": "models load",
    "remove": "rm",
    "search": "models search",
    "settings": "config show",
    "start": "run",
    "version": "--version",
}
"""Commands that other programs have, and what does the same here."""
SHELLS = ("bash", "zsh", "fish")
EXIT_CODES = (
    (0, "done"),
    (1, "error"),
    (2, "wrong usage"),
    (3, "needs approval"),
    (4, "answer does not match the schema"),
    (5, "limit of turns with tools"),
    (130, "stopped"),
)
_EPILOG = (
    "without a command: open the chat; with a prompt or piped text: answer and exit\n"
    f"exit codes: {', '.join(f'{code} {text}' for code, text in EXIT_CODES)}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The parsed command line."""

    flags: Flags
    command: str | None = None
    action: str | None = None
    prompt: str | None = None
    images: tuple[str, ...] = ()
    attached: tuple[str, ...] = ()
    """What is attached as what it is: pictures, sound, videos, PDF files and text."""
    schema: str | None = None
    """The file of the JSON Schema that answers must match."""
    as_json: bool = False
    name: str = ""
    """The model that an action is about."""
    copy: str = ""
    """The new name."""
    source: str = ""
    """What a new model is made of."""
    level: str = ""
    """A quantization."""
    template: Path | None = None
    yes: bool = False
    wheel: Path | None = None
    place: str = "settings"
    shell: str = ""
    """The shell that a completion script is for."""
    models: ModelOptions = field(default_factory=ModelOptions)
    media: MediaOptions = field(default_factory=MediaOptions)
    chats: ChatOptions = field(default_factory=ChatOptions)
    mcp: McpOptions = field(default_factory=McpOptions)


_HOW_KEYS = "It is asked for, or piped in: ollm keys set NAME < FILE"


class _Parser(argparse.ArgumentParser):
    """Raises instead of exiting, with a suggestion of the nearest valid word."""

    _is_intermixing = False
    _given: Sequence[str] = ()

    def __init__(self, *, typed: Collection[str] | None = None, **options: Any) -> None:
        """`typed` holds the words that may be commands; None for a parser with all of them."""
        super().__init__(**options)
        self._typed = typed

    def add_subparsers(self, **options: Any) -> "argparse._SubParsersAction[Any]":
        """Add commands; of those that were not typed only names and help are kept.

        With the options that all share, parsers for all 74 would take an eighth of `ollm -p`.
        """
        makes: Any = self._command  # called as a class would be
        return super().add_subparsers(parser_class=makes, **options)

    def _command(self, *, names: Sequence[str], **options: Any) -> "_Parser | _UnusedParser":
        if self._typed is None or any(name in self._typed for name in names):
            return _Parser(typed=self._typed, **options)
        return _UnusedParser()

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Let options stand before, between and behind the words of a prompt or a filter."""
        self._given = sys.argv[1:] if args is None else args
        if self._is_intermixing or all(action.nargs != "*" for action in self._actions):
            return super().parse_known_args(args, namespace)
        self._is_intermixing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_intermixing = False

    def error(self, message: str) -> NoReturn:
        if [*self._given[:2]] == ["keys", "set"] and message.startswith("unrecognized"):
            why = "a key on a command line stays in the history of the shell"
            raise UsageError(f"`ollm keys set` takes a name alone: {why}.", _HOW_KEYS)
        wrong = _INVALID_CHOICE.match(message)
        if wrong is None:
            raise UsageError(f"{message[:1].upper()}{message[1:]}.", f"See {self.prog} --help.")
        # Loaded only for a mistake.
        from difflib import get_close_matches

        typed, known = wrong.group(2), re.findall(r"[\w-]+", wrong.group(3))
        if wrong.group(1) in _SUBCOMMANDS and (option := self._unknown_option(before=typed)):
            # What follows a misspelled option is its value, not a command.
            similar = get_close_matches(option, self._option_string_actions, n=1)
            hint = f"Did you mean {similar[0]}?" if similar else f"See {self.prog} --help."
            raise UsageError(f"Unrecognized arguments: {option}.", hint)
        near = get_close_matches(typed, known, n=1)
        if wrong.group(1) == "COMMAND" and typed in _EQUIVALENTS:
            near = [_EQUIVALENTS[typed]]
        hint = f"Did you mean {near[0]!r}?" if near else f"Available: {', '.join(known)}."
        if wrong.group(1) == "COMMAND" and not near:
            hint += ' To ask something: ollm -p "..."'
        if wrong.group(1) not in _SUBCOMMANDS:
            raise UsageError(f"{wrong.group(1)} does not take {typed!r}.", hint)
        raise UsageError(f"{self.prog} has no command {typed!r}.", hint)

    def _unknown_option(self, before: str) -> str | None:
        """Return the first long option that this parser does not have, up to a word."""
        given = takewhile(lambda word: word not in {before, "--"}, self._given)
        options = (word.partition("=")[0] for word in given if word.startswith("--"))
        return next((one for one in options if one not in self._option_string_actions), None)


class _UnusedParser:
    """The parser of a command that was not typed: takes its options, and keeps none."""

    def __getattr__(self, name: str) -> Callable[..., "_UnusedParser"]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_values, **_named: self


def build_parser(typed: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Make the parser of these words, or of all: the reference page is made from that."""
    shared = _shared_options()
    parser = _Parser(
        prog="ollm",
        description="Chat with language models on your own machines and servers.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[shared],
        allow_abbrev=False,
        typed=typed,
    )
    parser.add_argument(
        "-V", "--version", action="version", version=f"ollm {__version__}", help="show the version"
    )
    _add_prompt_options(parser)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    _add_run(commands, shared)
    _add_config(commands, shared)
    _add_keys(commands, shared)
    add_models(commands, shared)
    add_chats(commands, shared)
    add_mcp(commands, shared)
    add_media(commands, shared)
    about = "check models, servers and settings, and show how to fix problems"
    add_command(commands, "doctor", about, shared)
    _add_shell_help(commands)
    return parser


def _add_prompt_options(parser: argparse.ArgumentParser) -> None:
    add = partial(parser.add_argument, default=argparse.SUPPRESS)
    about = "answer this and exit; piped text is added to it"
    add("-p", "--prompt", metavar="TEXT", help=about)
    about = "attach a picture to the prompt (PNG, JPEG, WebP or GIF); may be repeated"
    add("--image", dest="images", metavar="FILE", action="append", help=about)
    about = "attach a picture, sound, video, PDF or text file; may be repeated"
    add("--attach", dest="attached", metavar="FILE", action="append", help=about)
    about = "file with a JSON Schema that the answer must match; only such JSON is printed"
    add("--schema", metavar="FILE", help=about)


def _add_run(commands: "argparse._SubParsersAction[_Parser]", shared: "_Parser") -> None:
    run = add_command(commands, "run", "chat with a model, or answer a prompt and exit", shared)
    run.add_argument("name", metavar="NAME", help="a model's name, or provider://name")
    about = "answer this and exit; without it, and without piped text, the chat opens"
    run.add_argument("words", metavar="PROMPT", nargs="*", help=about)
    _add_prompt_options(run)


def _add_shell_help(commands: "argparse._SubParsersAction[_Parser]") -> None:
    about = "print a script that completes commands and options in a shell"
    completion = add_command(commands, "completion", about)
    about = f"{', '.join(SHELLS[:-1])} or {SHELLS[-1]}"
    completion.add_argument("shell", metavar="SHELL", choices=SHELLS, help=about)
    add_command(commands, "man", "print the manual page; to read it: ollm man | man -l -")


def _shared_options() -> _Parser:
    # Options may stand before or after a command: without a default the later one wins.
    shared = _Parser(add_help=False, argument_default=argparse.SUPPRESS)
    add = shared.add_argument
    add("--model", metavar="NAME", help="a model's name, or provider://name")
    add("--provider", metavar="NAME", help="use only this provider")
    about = "address of the server: Ollama, or the provider named with --provider"
    add("--host", metavar="URL", help=about)
    add("--api-key", metavar="KEY", help="API key of the provider; visible in the process list")
    add("--system", metavar="TEXT", help="system prompt")
    about = "profile of the settings to use: a preset of model, system prompt, options, tools and "
    about += "thinking"
    add("--profile", metavar="NAME", help=about)
    about = "tools the model may call: names separated by commas, all or none"
    add("--tools", metavar="NAMES", help=about)
    about = "what tools may do without asking, with -p: a tool's name, 'shell:git log *', or "
    about += "'time__*' for all tools of an MCP server"
    add("--allow", metavar="WHAT", action="append", help=about)
    about = "maximum number of requests for one prompt, with tools"
    add("--max-turns", metavar="N", type=int, help=about)
    add("-c", "--continue", dest="goes_on", action="store_true", help="continue the last chat")
    add("--chat", metavar="ID", help="continue the chat with this id, or a unique part of it")
    about = "keep nothing: no saved chat, no search, no prompt history"
    add("--private", action="store_true", help=about)
    add("--theme", metavar="NAME", help="colour theme of the chat")
    about = "chat in lines for a screen reader; OLLM_SCREEN_READER=1 does the same"
    add("--screen-reader", dest="screen_reader", action="store_true", help=about)
    add("--config", dest="config_path", metavar="FILE", type=Path, help="settings file to use")
    about = "output JSON; for a prompt, one event per line"
    add("--json", dest="as_json", action="store_true", help=about)
    return shared


def _add_config(commands: "argparse._SubParsersAction[_Parser]", shared: "_Parser") -> None:
    config = add_command(commands, "config", "show and check the settings")
    actions = config.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, about in (
        ("show", "show every setting, its value and where it comes from"),
        ("path", "print the path of the settings file or of another place"),
        ("schema", "print the JSON Schema of the settings file"),
        ("check", "check the settings for problems"),
    ):
        action = add_command(actions, name, about, shared)
        if name == "path":
            places = ("settings", "models", "families", "themes", "data", "state")
            about = "settings (default), models, families, themes, data or state"
            action.add_argument(
                "--of", dest="place", metavar="PLACE", choices=places, default=places[0], help=about
            )


def _add_keys(commands: "argparse._SubParsersAction[_Parser]", shared: "_Parser") -> None:
    keys = add_command(commands, "keys", "store the API keys of providers, and the hub's token")
    actions = keys.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, about in (
        ("list", "list the stored keys and where each is kept; never the keys themselves"),
        ("set", "store a key; it is asked for, or read from standard input"),
        ("rm", "remove a key"),
    ):
        action = add_command(actions, name, about, shared)
        if name != "list":
            about = "a provider, such as openai, or `hub` for the token of Hugging Face"
            action.add_argument("name", metavar="NAME", help=about)


def parse(argv: Sequence[str]) -> Arguments:
    """Read a command line.

    Raises:
        UsageError: it makes no sense.
        SystemExit: help or the version was printed.
    """
    values = vars(build_parser(argv).parse_args(argv))
    if values["command"] == "run":
        _read_run(values)
    for kind in ("images", "attached"):
        values[kind] = tuple(values.get(kind, ()))
    if (names := values.get("tools")) is not None:
        listed = tuple(name for name in re.split(r"[,\s]+", names) if name)
        values["tools"] = () if listed == ("none",) else listed
    values["allow"] = tuple(values.get("allow") or ())
    flags, models = Flags(**typed_fields(Flags, values)), model_options(values)
    media, chats = media_options(values), chat_options(values)
    own = typed_fields(Arguments, values)
    return Arguments(
        **own, flags=flags, models=models, media=media, chats=chats, mcp=mcp_options(values)
    )


def _read_run(values: dict[str, Any]) -> None:
    """Turn `run NAME PROMPT` into what `--model NAME -p PROMPT` gives."""
    name, words = values.pop("name"), values.pop("words")
    if values.get("model", name) != name:
        raise UsageError("`run` takes the model as NAME; leave --model out.")
    if words and "prompt" in values:
        raise UsageError("The prompt was given twice: as PROMPT and with -p.")
    values.update(command=None, model=name)
    if words:
        values["prompt"] = " ".join(words)


MAX_PROMPT_BYTES = 16_000_000


def read_prompt(typed: str | None) -> str | None:
    """Return the prompt; None when nothing was typed and nothing is piped.

    Raises:
        UsageError: the prompt is empty or too large.
    """
    piped = piped_text()
    if typed == "-":
        typed = None
        if piped is None:
            piped = _read_all()
    elif typed is None and not (piped or "").strip():
        return None
    prompt = "\n\n".join(part for part in (typed, (piped or "").strip("\n")) if part)
    if not prompt.strip():
        raise UsageError("The prompt is empty.")
    return prompt


def piped_text() -> str | None:
    """Return what a pipe or file holds; a terminal and `/dev/null` hold nothing."""
    try:
        kind = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError, AttributeError):  # closed, or none at all
        return None
    if stat.S_ISFIFO(kind) or stat.S_ISREG(kind) or stat.S_ISSOCK(kind):
        return _read_all()
    return None


def _read_all() -> str:
    content = sys.stdin.buffer.read(MAX_PROMPT_BYTES + 1)
    if len(content) > MAX_PROMPT_BYTES:
        raise UsageError(f"The piped text is over {MAX_PROMPT_BYTES // 1_000_000} MB.")
    return content.decode("utf-8-sig", errors="replace")
