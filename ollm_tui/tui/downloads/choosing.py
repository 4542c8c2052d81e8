"""From a row that was chosen to what is put into the queue of downloads."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ollm_tui.decode.clean import clean_name
from ollm_tui.library.downloads.job import Origin, ProviderPull
from ollm_tui.library.hub.repo import Hub
from ollm_tui.tui.downloads.find_rows import EntryRow, FindRow, OriginRow, RepositoryRow
from ollm_tui.tui.downloads.model_search import ModelSearch
from ollm_tui.tui.downloads.variant_picker import PickVariant
from ollm_tui.tui.downloads.variant_rows import Offer
from ollm_tui.tui.keys.table import Keymap

if TYPE_CHECKING:
    from textual.screen import Screen

    from ollm_tui.library.registry.entry import RegistryEntry
    from ollm_tui.protocol.model import ModelRef


class ModelChoosing:
    """Asks what of a repository is wanted; `fetch` takes what is, `say` why nothing can be."""

    def __init__(
        self,
        screen: "Screen[ModelRef | None]",
        hub: Hub,
        keymap: Keymap,
        fetch: Callable[[Sequence[Origin]], object],
        say: Callable[[str], None],
    ) -> None:
        self._screen = screen
        self._hub = hub
        self._keymap = keymap
        self._fetch = fetch
        self._say = say

    def choose(self, row: FindRow, search: ModelSearch) -> None:
        """Fetch it, or let the person say what of it."""
        match row:
            case OriginRow(origin=origin):
                self._fetch((origin,))
            case RepositoryRow(wanted=wanted):
                offer = Offer(
                    repo=wanted.repo,
                    revision=wanted.revision,
                    quantization=wanted.quantization,
                    path=wanted.path,
                    places=tuple(search.places),
                )
                self._pick(offer, search)
            case EntryRow(entry=entry):
                self._entry(entry, search)

    def _entry(self, entry: "RegistryEntry", search: ModelSearch) -> None:
        repo, ollama = entry.origins.get("huggingface"), entry.origins.get("ollama")
        servers = [place for place in search.places if place.takes_hub]
        if repo is not None:
            places = tuple(search.places)
            self._pick(Offer(repo=repo, entry=entry, places=places, ollama=ollama), search)
        elif ollama is not None and servers:
            self._fetch((ProviderPull(provider=servers[0].provider or "", model=ollama),))
        elif entry.installed:
            self._screen.dismiss(entry.installed[0])
        elif ollama is not None:
            self._say(
                f"Only Ollama has it, as {clean_name(ollama)}, but Ollama is not running here."
            )
        else:
            self._say("No source for it is known.")

    def _pick(self, offer: Offer, search: ModelSearch) -> None:
        dialog = PickVariant(offer, self._hub, search.fits, self._keymap)
        self._screen.app.push_screen(dialog, self._picked)

    def _picked(self, origins: tuple[Origin, ...] | None) -> None:
        if origins:
            self._fetch(origins)
