"""Commands about one model and the memory it takes: /show /load /unload."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from ollm_tui.commands.host import CommandHost
from ollm_tui.commands.registry import Completion, command

SECTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "info": "summary",
        "license": "licence",
        "licence": "licence",
        "modelfile": "modelfile",
        "parameters": "parameters",
        "settings": "settings",
        "system": "system",
        "template": "template",
        "fit": "fit",
    }
)
"""What may follow `/show`, as Ollama's own prompt has it and more, and the part that is meant."""
_HELP: Final[Mapping[str, str]] = MappingProxyType(
    {
        "info": "general information",
        "license": "its licence",
        "parameters": "its parameters",
        "settings": "effective settings and where they come from",
        "system": "its system prompt",
        "template": "its chat template",
        "modelfile": "its Modelfile",
        "fit": "the memory it needs on this machine",
    }
)


def _shown(host: CommandHost, _argument: str) -> Sequence[Completion]:
    words = [Completion(word, meaning) for word, meaning in _HELP.items()]
    return [*words, *_models(host, "")]


def _models(host: CommandHost, _argument: str) -> Sequence[Completion]:
    return [
        Completion(address, "in use" if is_used else "")
        for address, is_used in host.model_addresses().items()
    ]


@command("show", usage="[MODEL | PART]", complete=_shown)
async def show_model(host: CommandHost, argument: str) -> None:
    """Show what a model is, its settings, template and licence."""
    first, _, rest = argument.partition(" ")
    section = SECTIONS.get(first.casefold())
    if section is not None:
        host.model_deeds.show(rest.strip(), section)
    else:
        host.model_deeds.show(argument, None)


@command("load", usage="[MODEL [TIME]]", complete=_models)
async def load_model(host: CommandHost, argument: str) -> None:
    """Load a model into memory, for a time such as 30m."""
    name, _, time = argument.partition(" ")
    host.model_deeds.load(name, time.strip() or None)


@command("unload", usage="[MODEL]", complete=_models)
async def unload_model(host: CommandHost, argument: str) -> None:
    """Unload a model from memory."""
    host.model_deeds.unload(argument)
