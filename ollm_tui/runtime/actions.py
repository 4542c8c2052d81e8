"""What can be done with one model: the table that the runtime and the command line read.

It imports nothing of ours, so that parsing a command line stays quick.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

ModelAction: TypeAlias = Literal["show", "delete", "copy", "load", "unload", "keep"]
"""`keep` is to load a model for a chosen time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionInfo:
    """What is known of one action."""

    methods: tuple[str, ...]
    """Methods of an adapter; it needs one of them."""
    ability: str
    """What an adapter without them cannot do, for `<label> cannot <ability>.`"""
    done: str = ""
    """The sentence for its end; `{name}` is the model."""
    command: str = ""
    """The subcommand of `ollm models`; empty for an option of another one."""
    aliases: tuple[str, ...] = ()
    help: str = ""


ACTIONS: Final[Mapping[ModelAction, ActionInfo]] = MappingProxyType(
    {
        "show": ActionInfo(
            methods=("show_model", "list_models"),
            ability="describe models",
            command="show",
            help="show a model's details and the settings in effect for it",
        ),
        "delete": ActionInfo(
            methods=("delete_model",),
            ability="delete models",
            done="Deleted {name} from {place}.",
            command="rm",
            help="delete a model (asks first)",
        ),
        "copy": ActionInfo(
            methods=("copy_model",),
            ability="copy models",
            done="Copied {name} to {copy}.",
            command="cp",
            help="copy a model to a new name",
        ),
        "load": ActionInfo(
            methods=("load_model",),
            ability="load models",
            done="Loaded {name}.",
            command="load",
            help="load a model into memory",
        ),
        "unload": ActionInfo(
            methods=("unload_model",),
            ability="unload models",
            done="Unloaded {name}.",
            command="unload",
            aliases=("stop",),
            help="unload a model from memory",
        ),
        "keep": ActionInfo(methods=("load_model_for",), ability="keep models loaded for a time"),
    }
)
MODEL_ACTIONS: Final = tuple(ACTIONS)
