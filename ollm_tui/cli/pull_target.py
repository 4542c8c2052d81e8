"""What a person wants fetched: of a hub, an address, this machine, or by a provider's server."""

from typing import TypeAlias

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.model_runtime import named
from ollm_tui.cli.output import UsageError
from ollm_tui.library.address import HubAddress, InvalidAddress, PlainName, parse_address
from ollm_tui.library.downloads.job import LocalFiles, StarterPackage, UrlFile
from ollm_tui.protocol.model import ModelRef
from ollm_tui.runtime.compose import Runtime

STARTER = "starter"
Meant: TypeAlias = HubAddress | UrlFile | LocalFiles | StarterPackage | str
"""A text is for a provider: a name, or `provider://name`."""


def meant(arguments: Arguments, runtime: Runtime) -> Meant:
    """Tell what is meant; a provider or host that is named takes the name as it is.

    Raises:
        UsageError: nothing is.
    """
    text = named(arguments.name)
    ref = ModelRef.parse(text)
    is_provider = ref is not None and runtime.registry.resolve(ref.provider) is not None
    flags = arguments.flags
    if is_provider or flags.provider is not None or flags.host is not None:
        return text
    if text == STARTER:
        return StarterPackage(wheel=arguments.wheel)
    address = parse_address(text, endpoint=str(runtime.config.hub.endpoint))
    match address:
        case PlainName():
            return text
        case InvalidAddress() if "/" in text:
            raise UsageError(address.reason, "See `ollm models pull --help`.")
        case InvalidAddress():
            return text
        case _:
            return address
