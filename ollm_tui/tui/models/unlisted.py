"""A model that was named with its provider, and that the provider's list does not have."""

import difflib
from typing import TYPE_CHECKING

from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.counted import alternatives
from ollm_tui.protocol.model import ModelRef
from ollm_tui.providers.router import same_model

if TYPE_CHECKING:
    from ollm_tui.tui.services import Catalog


def unlisted_words(catalog: "Catalog", ref: ModelRef, key: str) -> tuple[str, str | None] | None:
    """Say that a list has no such model, and what was perhaps meant; None where none says so.

    `key` shows the list. Such a model stays chosen: a service may have more models than it lists.
    """
    listing = next((one for one in catalog.cached() if one.provider == ref.provider), None)
    if listing is None or not listing.models or listing.problem is not None:
        return None
    names = [info.name for info in listing.models]
    if any(same_model(ref.model, name) for name in names):
        return None
    near = difflib.get_close_matches(ref.model, names, n=3, cutoff=0.5)
    shown = (catalog.shown_address(ModelRef(ref.provider, name)) for name in near)
    commands = [f"/model {clean_name(address)}" for address in shown]
    words = f"{clean_name(listing.label)} does not list a model named {clean_name(ref.model)}."
    return words, f"Did you mean {alternatives(commands)}?" if near else f"{key} lists what it has."
