"""What the screen that finds models lists: from the registry at once, then what the hub says."""

from typing import TYPE_CHECKING, Final

from ollm_tui.library.address import (
    Address,
    HubAddress,
    InvalidAddress,
    PlainName,
    format_address,
    parse_address,
)
from ollm_tui.library.downloads.job import LocalFiles, ProviderPull, StarterPackage, UrlFile
from ollm_tui.library.registry.entry import PURPOSES, RegistryEntry
from ollm_tui.library.starter import STARTER
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.downloads.find_rows import (
    EntryRow,
    FindRow,
    Group,
    OriginRow,
    RepositoryRow,
    best_by_purpose,
)
from ollm_tui.tui.figures import size
from ollm_tui.tui.models.fits import ModelFits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ollm_tui.library.registry.catalogue import ModelRegistry
    from ollm_tui.runtime.download_targets import DownloadTarget

MOST: Final = 60
"""Rows that are listed; typing more finds the others."""
EACH: Final = 3
"""Models of a group while nothing is typed."""


def _starter() -> OriginRow:
    """Give the small model that needs no hub, for a machine without any."""
    name = STARTER.file_name.removesuffix(".gguf")
    about = f"the starter model, {size(STARTER.size_bytes)}, from its package"
    return OriginRow(StarterPackage(), name, about)


class ModelSearch:
    """Holds what is typed and what is known of it; draws nothing and waits for nobody."""

    def __init__(self, registry: "ModelRegistry", hub_place: str) -> None:
        self._registry = registry
        self._hub_place = hub_place
        self.text = ""
        self.purpose: str | None = None
        self.fits = ModelFits()
        self.places: Sequence[DownloadTarget] = ()
        self.trouble: AIError | None = None
        """Why the hub's answer is not in the list."""
        self.is_asking = False
        self.knows_installed = False
        """Whether the registry was told which models are here."""
        self._from_hub: Sequence[RegistryEntry] = ()

    # What changes it

    def type(self, text: str) -> None:
        """Take what is typed; what the hub said of something else counts no more."""
        self.text = text
        self._from_hub = ()
        self.trouble = None
        self.is_asking = False

    def next_purpose(self) -> None:
        """Keep to the next purpose; after the last to none."""
        choices = (None, *PURPOSES)
        self.purpose = choices[(choices.index(self.purpose) + 1) % len(choices)]

    @property
    def _meant(self) -> Address:
        return parse_address(self.text, endpoint=self._hub_place)

    @property
    def refusal(self) -> str:
        """Why nothing can be fetched of an address that was typed."""
        meant = self._meant
        return meant.reason if isinstance(meant, InvalidAddress) and self.text.strip() else ""

    @property
    def hub_words(self) -> str:
        """What the hub is to be asked for; empty where it is not to be asked."""
        meant = self._meant
        if isinstance(meant, HubAddress):
            return meant.repo
        if not isinstance(meant, PlainName):
            return ""
        ref = ModelRef.parse(meant.name)
        name = ref.model if ref is not None else meant.name
        return name if " " in name else name.partition(":")[0]

    async def ask_hub(self) -> None:
        """Ask for what is typed now; a hub that cannot be asked leaves what is known."""
        self.is_asking, self.trouble = True, None
        try:
            self._from_hub = await self._registry.search_hub(self.hub_words)
        except AIError as error:
            self.trouble = error
        finally:
            self.is_asking = False

    # What is listed

    def groups(self) -> list[Group]:
        """Give the rows as they stand now."""
        if not self.text.strip():
            return self._suggestions()
        named = tuple(self._named())
        found = tuple(EntryRow(entry, self.fits.best_of(entry)) for entry in self._entries())
        return [group for group in (Group("", named), Group("", found)) if group.rows]

    @property
    def first_wanted(self) -> str | None:
        """Name the row to begin at: words mean a model that is known before one that is not."""
        is_name = any(sign in self.text for sign in ":/")
        entries = [] if is_name or not self.text.strip() else self._entries()
        return EntryRow(entries[0]).id if entries else None

    def _suggestions(self) -> list[Group]:
        entries = self._registry.search("", purpose=self.purpose, limit=500)
        rows = [EntryRow(entry, self.fits.best_of(entry)) for entry in entries]
        if self.purpose is not None:
            return best_by_purpose(rows, (self.purpose,), each=MOST)
        has_none = self.knows_installed and not any(entry.installed for entry in entries)
        first = [Group("to start with", (_starter(),))] if has_none else []
        return [*first, *best_by_purpose(rows, tuple(PURPOSES), each=EACH)]

    def _entries(self) -> list[RegistryEntry]:
        """Give what fits the words: as the hub's answer has it, then what else is known."""
        words = self.hub_words
        if not words:
            return []
        known = self._registry.search(words, purpose=self.purpose)
        found = {entry.id: entry for entry in (*self._from_hub, *known)}
        kept = [e for e in found.values() if self.purpose is None or self.purpose in e.purposes]
        return kept[:MOST]

    def _named(self) -> list[FindRow]:
        """Give what the text names, beside what it finds."""
        meant = self._meant
        match meant:
            case UrlFile():
                return [OriginRow(meant, format_address(meant), "download the file to the library")]
            case LocalFiles():
                return [OriginRow(meant, format_address(meant), "copy it to the library")]
            case HubAddress():
                return [RepositoryRow(meant, self._hub_place), *self._pulls()]
            case PlainName():
                return list(self._pulls())
            case InvalidAddress():
                return []

    def _pulls(self) -> list[OriginRow]:
        """Give a row for each server that may know a model of that name."""
        name = self.text.strip()
        servers = [place for place in self.places if place.provider is not None]
        if (ref := ModelRef.parse(name)) is not None:
            servers = [place for place in servers if place.provider == ref.provider]
            name = ref.model
        if not name or len(name.split()) > 1:
            return []
        return [
            OriginRow(
                ProviderPull(provider=place.provider or "", model=name),
                name,
                f"pull it on {place.label}",
            )
            for place in servers
        ]
