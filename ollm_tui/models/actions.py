"""What can be done with one model: the table that pools, commands, keys and menus read.

It imports nothing of ours, so that parsing a command line stays quick.
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from ollm_tui.dataclass import dataclass, field

ModelAction: TypeAlias = Literal[
    "show", "delete", "copy", "load", "unload", "keep", "create", "quantize", "push"
]
"""`keep` is to load a model for a chosen time."""


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """How the screens offer an action: its keys, and its line in the menu."""

    name: str
    """The name of its key on the models screen: `models.load`."""
    keys: str
    title: str
    label: str
    """The word for a line of keys, where space is short."""
    when: str = "if the server can"
    details_name: str = ""
    """The name of its key in the details of a model; empty where there is none."""
    order: int = 0
    """The menu has entries with a higher one later."""
    line_order: int = 0
    """The same for the line of keys on the models screen."""
    is_in_details_line: bool = True
    """Whether the line of keys in the details has it, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionInfo:
    """What is known of one action."""

    methods: tuple[str, ...]
    """Methods of an adapter; it needs one of them. A pool calls the first one on each member."""
    ability: str
    """What an adapter without them cannot do, for `<label> cannot <ability>.`"""
    refused_ability: str = ""
    """The same for the user who asked for the action, if it has other words."""
    doing: str = ""
    """The sentence while it runs; `{name}` is the model."""
    done: str = ""
    """The sentence for its end, with `{name}`, and `{place}` or `{copy}`."""
    result: Mapping[str, bool] = field(default_factory=dict)
    """What `--json` has for its end, beside the model."""
    command: str = ""
    """The subcommand of `ollm models`; empty for an option of another one."""
    aliases: tuple[str, ...] = ()
    help: str = ""
    values: tuple[tuple[str, str, str], ...] = ()
    """What follows the name of the model: attribute, name in the help, and meaning."""
    chat_help: str = ""
    """The help of the slash command named `command`; empty if there is none, or one with more."""
    chat_value: str = ""
    """What may follow the name of the model there."""
    is_top_level: bool = True
    """Whether it is a command of its own too, because `ollama` has it as such."""
    menu: MenuEntry | None = None
    stops_for: str = ""
    """What an answer of the model is stopped for; empty where it can go on."""

    def has_happened(self, *, is_loaded: bool) -> bool:
        """Whether the action leads to the state that a model is in."""
        return self.result.get("loaded") is is_loaded


ACTIONS: Final[Mapping[ModelAction, ActionInfo]] = {
    "show": ActionInfo(
        methods=("show_model", "list_models"),
        ability="describe models",
        command="show",
        help="show a model's details and the settings in effect for it",
        menu=MenuEntry("details", "f4", "Show details", "details", when=""),
    ),
    "delete": ActionInfo(
        methods=("delete_model",),
        ability="delete models",
        doing="Deleting {name}…",
        done="Deleted {name} from {place}.",
        result={"deleted": True},
        command="rm",
        help="delete a model (asks first)",
        menu=MenuEntry(
            "delete", "f8", "Delete…", "delete", details_name="delete", order=2, line_order=1
        ),
        stops_for="delete the model",
    ),
    "copy": ActionInfo(
        methods=("copy_model",),
        ability="copy models",
        doing="Copying {name}…",
        done="Copied {name} to {copy}.",
        command="cp",
        help="copy a model to a new name",
        values=(("copy", "COPY", "the new name"),),
        menu=MenuEntry(
            "copy",
            "f9",
            "Copy as…",
            "copy",
            details_name="copy_model",
            order=1,
            line_order=2,
            is_in_details_line=False,
        ),
    ),
    "load": ActionInfo(
        methods=("load_model",),
        ability="load models",
        doing="Loading {name}…",
        done="Loaded {name}.",
        result={"loaded": True},
        command="load",
        help="load a model into memory",
        chat_help="Load a model into memory, for a time such as 30m.",
        chat_value="TIME",
        is_top_level=False,
        menu=MenuEntry("load", "f6", "Load", "load", details_name="load"),
    ),
    "unload": ActionInfo(
        methods=("unload_model",),
        ability="unload models",
        doing="Unloading {name}…",
        done="Unloaded {name}.",
        result={"loaded": False},
        command="unload",
        aliases=("stop",),
        help="unload a model from memory",
        chat_help="Unload a model from memory.",
        menu=MenuEntry("unload", "f7", "Unload", "unload", details_name="unload"),
        stops_for="unload the model",
    ),
    "create": ActionInfo(
        methods=("create_model",),
        ability="create models",
        done="Created {name}.",
        result={"created": True},
        command="create",
        help="create a model from another one of its server, or from a GGUF file",
    ),
    "quantize": ActionInfo(
        methods=("quantize_model",),
        ability="quantize models",
        done="Quantized {name} as {copy}.",
        command="quantize",
        help="make a smaller copy of a model with full weights",
        values=(
            ("level", "LEVEL", "the quantization: q4_K_M, q8_0 or another one of the server"),
            ("copy", "COPY", "the new name"),
        ),
        is_top_level=False,
    ),
    "push": ActionInfo(
        methods=("push_model",),
        ability="push models",
        done="Pushed {name}.",
        result={"pushed": True},
        command="push",
        help="upload a model to the registry of its server, where others can see it",
    ),
    "keep": ActionInfo(
        methods=("load_model_for",),
        ability="keep models loaded for a time",
        refused_ability="be told how long to keep a model",
    ),
}
MODEL_ACTIONS: Final = tuple(ACTIONS)
