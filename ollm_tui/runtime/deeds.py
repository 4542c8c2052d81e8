"""What can be done with a model, and why something cannot; asks nobody."""

from ollm_tui.protocol.model import ModelInfo
from ollm_tui.protocol.ports import (
    ProviderAdapter,
    SupportsCopy,
    SupportsDelete,
    SupportsList,
    SupportsLoad,
    SupportsLoadFor,
    SupportsShow,
    SupportsUnload,
)
from ollm_tui.providers.base import UnusableProvider
from ollm_tui.providers.catalog import Listing
from ollm_tui.providers.operations import cannot
from ollm_tui.runtime.details import ModelAction

_NEEDS: tuple[tuple[ModelAction, tuple[type, ...], str], ...] = (
    ("show", (SupportsShow, SupportsList), "describe models"),
    ("delete", (SupportsDelete,), "delete models"),
    ("copy", (SupportsCopy,), "copy models"),
    ("load", (SupportsLoad,), "load models"),
    ("unload", (SupportsUnload,), "unload models"),
    ("keep", (SupportsLoadFor,), "keep models loaded for a time"),
)


def reasons(
    adapter: ProviderAdapter, place: str, listing: Listing | None, info: ModelInfo | None
) -> dict[ModelAction, str | None]:
    """Tell for each deed why it cannot be done; None where it can, as far as is known here.

    `listing` is the newest list of the provider, however old; `info` what it says of the model.
    """
    down = _down(place, listing)
    found: dict[ModelAction, str | None] = {}
    for deed, ports, words in _NEEDS:
        is_usable = not isinstance(adapter, UnusableProvider)
        able = is_usable and any(isinstance(adapter, port) for port in ports)
        lacking = None if able else cannot(adapter, words).message
        found[deed] = lacking or down or (_hindered(deed, adapter, info) if info else None)
    return found


def _down(place: str, listing: Listing | None) -> str | None:
    if listing is None:
        return None
    if listing.problem is not None:
        return listing.problem.message
    return f"{place} does not answer." if listing.absent else None


def _hindered(deed: ModelAction, adapter: ProviderAdapter, info: ModelInfo) -> str | None:
    """Say what about the model itself stands in the way."""
    kept, problem = info.details.get("why_kept"), info.details.get("problem")
    if deed == "delete" and isinstance(kept, str):
        return kept
    if deed == "load" and isinstance(problem, str):
        return f"{info.name} cannot be used: {problem}."
    if deed == "load" and info.loaded is True and not isinstance(adapter, SupportsLoadFor):
        return f"{info.name} is already loaded."
    if deed == "unload" and info.loaded is False:
        return f"{info.name} is not loaded."
    return None
