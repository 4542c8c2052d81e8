"""The command line as types."""

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

from ollm_tui import __version__
from ollm_tui.cli.models_arguments import ModelOptions, add_models, model_options
from ollm_tui.cli.output import UsageError
from ollm_tui.cli.registry_arguments import RegistryOptions, registry_options
from ollm_tui.config.flags import Flags

_INVALID_CHOICE = re.compile(r"argument (.+?): invalid choice: '(.*?)' \(choose from (.*)\)$")
_SUBCOMMANDS = frozenset({"COMMAND", "ACTION"})
EXIT_CODES = (
    (0, "done"),
    (1, "error"),
    (2, "wrong usage"),
    (3, "needs approval"),
    (130, "stopped"),
)
_EPILOG = (
    "without a command: open the chat; with a prompt or piped text: answer and exit\n"
    f"exit codes: {', '.join(f'{code} {text}' for code, text in EXIT_CODES)}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What was typed."""

    flags: Flags
    command: str | None = None
    action: str | None = None
    prompt: str | None = None
    images: tuple[str, ...] = ()
    as_json: bool = False
    name: str = ""
    """The model that an action is about."""
    copy: str = ""
    """The second name that it is to have."""
    yes: bool = False
    wheel: Path | None = None
    place: str = "settings"
    registry: RegistryOptions = field(default_factory=RegistryOptions)
    models: ModelOptions = field(default_factory=ModelOptions)


class _Parser(argparse.ArgumentParser):
    """Raises instead of exiting, with sentences that name what was probably meant."""

    def error(self, message: str) -> NoReturn:
        wrong = _INVALID_CHOICE.match(message)
        if wrong is None:
            raise UsageError(f"{message[:1].upper()}{message[1:]}.", f"See {self.prog} --help.")
        typed, known = wrong.group(2), re.findall(r"[\w-]+", wrong.group(3))
        near = get_close_matches(typed, known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(known)}."
        if wrong.group(1) == "COMMAND" and not near:
            hint += ' To ask something: ollm -p "..."'
        if wrong.group(1) not in _SUBCOMMANDS:
            raise UsageError(f"{wrong.group(1)} does not take {typed!r}.", hint)
        raise UsageError(f"{self.prog} has no command {typed!r}.", hint)


def build_parser() -> argparse.ArgumentParser:
    """Make the parser; the reference page is made from it too."""
    shared = _shared_options()
    parser = _Parser(
        prog="ollm",
        description="Chat with language models on your own machines and servers.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[shared],
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"ollm {__version__}")
    parser.add_argument(
        "-p", "--prompt", metavar="TEXT", help="answer this and exit; piped text is added to it"
    )
    parser.add_argument(
        "--image",
        metavar="FILE",
        action="append",
        default=[],
        help="a picture that goes with the prompt (PNG, JPEG, WebP or GIF); may be repeated",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    _add_config(commands, shared)
    add_models(commands, shared)
    text = "what was found, what it can do, and what to do about what is missing"
    commands.add_parser("doctor", help=text, description=text, parents=[shared], allow_abbrev=False)
    return parser


def _shared_options() -> _Parser:
    # Options may stand before or after a command: without a default the later one wins.
    shared = _Parser(add_help=False, argument_default=argparse.SUPPRESS)
    shared.add_argument("--model", metavar="NAME", help="a model's name, or provider://name")
    shared.add_argument("--provider", metavar="NAME", help="the provider to ask, and no other")
    shared.add_argument("--host", metavar="URL", help="address of that provider (default: local)")
    shared.add_argument(
        "--api-key", metavar="KEY", help="key of that provider; the process list shows it"
    )
    shared.add_argument("--system", metavar="TEXT", help="what the model is told first")
    shared.add_argument(
        "--tools", metavar="NAMES", help="tools the model may call: names with commas, or all"
    )
    shared.add_argument(
        "-c", "--continue", dest="goes_on", action="store_true", help="go on with the last chat"
    )
    shared.add_argument("--theme", metavar="NAME", help="colour theme of the chat")
    shared.add_argument("--config", metavar="FILE", type=Path, help="settings file to use")
    shared.add_argument(
        "--json", action="store_true", help="write JSON: for a prompt one event a line"
    )
    return shared


def _add_config(commands: "argparse._SubParsersAction[_Parser]", shared: "_Parser") -> None:
    config = commands.add_parser(
        "config", help=(text := "show and check the settings"), description=text, allow_abbrev=False
    )
    actions = config.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, text in (
        ("show", "every setting, its value and where it came from"),
        ("path", "where the settings file is, or another place"),
        ("schema", "the JSON schema of the settings file"),
        ("check", "what is wrong with the settings"),
    ):
        action = actions.add_parser(
            name, help=text, description=text, parents=[shared], allow_abbrev=False
        )
        if name == "path":
            places = ("settings", "models", "themes", "state")
            about = "settings (if nothing is said), models, themes or state"
            action.add_argument(
                "--of", metavar="PLACE", choices=places, default=places[0], help=about
            )


def parse(argv: Sequence[str]) -> Arguments:
    """Read a command line.

    Raises:
        UsageError: it makes no sense.
        SystemExit: help or version was asked for and printed.
    """
    typed = build_parser().parse_args(argv)
    said = vars(typed)
    return Arguments(
        flags=Flags(
            model=said.get("model"),
            provider=said.get("provider"),
            host=said.get("host"),
            api_key=said.get("api_key"),
            system=said.get("system"),
            theme=said.get("theme"),
            config_path=said.get("config"),
            tools=_names(said.get("tools")),
            goes_on=said.get("goes_on", False),
        ),
        command=said.get("command"),
        action=said.get("action"),
        prompt=said.get("prompt"),
        images=tuple(said.get("image", ())),
        as_json=said.get("json", False),
        name=said.get("name", ""),
        copy=said.get("copy", ""),
        yes=said.get("yes", False),
        wheel=said.get("wheel"),
        place=said.get("of", "settings"),
        registry=registry_options(said),
        models=model_options(said),
    )


def _names(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    return tuple(name for name in re.split(r"[,\s]+", text) if name)
