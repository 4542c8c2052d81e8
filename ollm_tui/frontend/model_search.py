"""What the model search lists: the registry at once, then the results of the hub."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.counted import size_text
from ollm_tui.frontend.download_news import MAX_LENGTH
from ollm_tui.library.address import (
    Address,
    HubAddress,
    InvalidAddress,
    PlainName,
    format_address,
    parse_address,
)
from ollm_tui.library.downloads.job import LocalFiles, Origin, ProviderPull, StarterPackage, UrlFile
from ollm_tui.library.fit import Fit
from ollm_tui.library.fitting import EntryFit, SizeFit, suggestion_key
from ollm_tui.library.registry.entry import PURPOSES, RegistryEntry
from ollm_tui.library.starter import STARTER
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef

if TYPE_CHECKING:
    from ollm_tui.library.registry.catalogue import ModelRegistry
    from ollm_tui.runtime.download_targets import DownloadTarget

CONTEXTS: Final = (4_096, 8_192, 16_384, 32_768, 65_536, 131_072, 262_144)
CACHES: Final = ("f16", "q8_0", "q4_0")
"""The types of the KV cache."""
MAX_RESULTS: Final = 60
"""Rows that are listed; a longer text finds the others."""
_PURPOSES_SHOWN: Final = 3
EACH: Final = 3
"""Models of a group while the text is empty."""


@dataclass(frozen=True, slots=True)
class ModelFits(EntryFit):
    """A fit check whose context window and cache type the user changes."""

    def with_context(self, steps: int) -> "ModelFits":
        """Return a check for a larger or a smaller context window."""
        index = CONTEXTS.index(self.context) if self.context in CONTEXTS else 1
        return replace(self, context=CONTEXTS[max(0, min(len(CONTEXTS) - 1, index + steps))])

    def with_next_cache(self) -> "ModelFits":
        """Return a check for the next cache type."""
        index = CACHES.index(self.kv_type) if self.kv_type in CACHES else -1
        return replace(self, kv_type=CACHES[(index + 1) % len(CACHES)])


@dataclass(frozen=True, slots=True)
class EntryRow:
    """A model of the registry."""

    entry: RegistryEntry
    best: SizeFit | None = None
    """The recommended quantization, if a size is known."""

    @property
    def id(self) -> str:
        """The id of the option."""
        return f"entry/{self.entry.id}"

    @property
    def fit(self) -> Fit | None:
        """The verdict on the recommended quantization."""
        return self.best.fit if self.best is not None else None


@dataclass(frozen=True, slots=True)
class RepositoryRow:
    """A repository that was named, or something in it."""

    address: HubAddress
    hub: str

    @property
    def id(self) -> str:
        """The id of the option."""
        return f"repository/{self.address.repo}"


@dataclass(frozen=True, slots=True)
class OriginRow:
    """Something that can be downloaded as it was typed: by a server, from a URL, from a file."""

    origin: Origin
    title: str
    about: str

    @property
    def id(self) -> str:
        """The id of the option."""
        return f"origin/{self.about}/{self.title}"


FindRow: TypeAlias = EntryRow | RepositoryRow | OriginRow


@dataclass(frozen=True, slots=True)
class Group:
    """Rows below one heading; an empty one is not shown."""

    heading: str
    rows: tuple[FindRow, ...]


def purposes_text(entry: RegistryEntry, most: int = _PURPOSES_SHOWN) -> str:
    """Name what a model is good for, the best first."""
    ranked = sorted(entry.purposes, key=lambda name: (-entry.skills.get(name, 0), name))
    return ", ".join(clean_line(name[:MAX_LENGTH]) for name in ranked[:most])


def stars(rating: int | None) -> str:
    """Return the user's own rating as stars."""
    return "★" * rating if rating else ""


def _starter() -> OriginRow:
    name = STARTER.file_name.removesuffix(".gguf")
    about = f"the starter model, {size_text(STARTER.size_bytes)}, from its package"
    return OriginRow(StarterPackage(), name, about)


class ModelSearch:
    """The state of the search: the text, the filters and the results."""

    def __init__(self, registry: "ModelRegistry", hub: str) -> None:
        self._registry = registry
        self._hub = hub
        self.text = ""
        self.purpose: str | None = None
        self.fits = ModelFits()
        self.targets: Sequence[DownloadTarget] = ()
        self.hub_error: AIError | None = None
        """Why the list has no results of the hub."""
        self.is_asking = False
        self.knows_installed = False
        """Whether the registry knows which models are installed."""
        self._hub_results: Sequence[RegistryEntry] = ()

    # Changing it

    def type(self, text: str) -> None:
        """Set the text and discard the results of the hub."""
        self.text = text
        self._hub_results = ()
        self.hub_error = None
        self.is_asking = False

    def next_purpose(self) -> None:
        """Filter by the next purpose; after the last one by none."""
        choices = (None, *PURPOSES)
        self.purpose = choices[(choices.index(self.purpose) + 1) % len(choices)]

    @property
    def _address(self) -> Address:
        return parse_address(self.text, endpoint=self._hub)

    @property
    def refusal(self) -> str:
        """Why the address that was typed cannot be downloaded; empty if it can."""
        address = self._address
        return address.reason if isinstance(address, InvalidAddress) and self.text.strip() else ""

    @property
    def hub_words(self) -> str:
        """What to search the hub for; empty to not search it."""
        address = self._address
        if isinstance(address, HubAddress):
            return address.repo
        if not isinstance(address, PlainName):
            return ""
        ref = ModelRef.parse(address.name)
        name = ref.model if ref is not None else address.name
        return name if " " in name else name.partition(":")[0]

    async def ask_hub(self) -> None:
        """Search the hub for the text; on an error the list keeps what is known."""
        self.is_asking, self.hub_error = True, None
        try:
            self._hub_results = await self._registry.search_hub(self.hub_words)
        except AIError as error:
            self.hub_error = error
        finally:
            self.is_asking = False

    # Listing

    def groups(self) -> list[Group]:
        """Return the rows to list now."""
        if not self.text.strip():
            return self._suggestions()
        named = tuple(self._named())
        results = tuple(EntryRow(entry, self.fits.best_of(entry)) for entry in self._entries())
        return [group for group in (Group("", named), Group("", results)) if group.rows]

    @property
    def first_marked(self) -> str | None:
        """The id of the row to mark first: a known model before what was typed."""
        is_name = any(sign in self.text for sign in ":/")
        entries = [] if is_name or not self.text.strip() else self._entries()
        return EntryRow(entries[0]).id if entries else None

    def _suggestions(self) -> list[Group]:
        entries = self._registry.search("", purpose=self.purpose, limit=500)
        rows = [EntryRow(entry, self.fits.best_of(entry)) for entry in entries]
        if self.purpose is not None:
            return best_by_purpose(rows, (self.purpose,), each=MAX_RESULTS)
        has_none = self.knows_installed and not any(entry.installed for entry in entries)
        first = [Group("to start with", (_starter(),))] if has_none else []
        return [*first, *best_by_purpose(rows, tuple(PURPOSES), each=EACH)]

    def _entries(self) -> list[RegistryEntry]:
        """Return the matching models: the results of the hub, then what else is known."""
        words = self.hub_words
        if not words:
            return []
        known = self._registry.search(words, purpose=self.purpose)
        matches = {entry.id: entry for entry in (*self._hub_results, *known)}
        kept = [e for e in matches.values() if self.purpose is None or self.purpose in e.purposes]
        return kept[:MAX_RESULTS]

    def _named(self) -> list[FindRow]:
        """Return rows for what the text names literally."""
        address = self._address
        match address:
            case UrlFile() | LocalFiles():
                is_local = isinstance(address, LocalFiles)
                about = "copy it to the library" if is_local else "download the file to the library"
                return [OriginRow(address, format_address(address), about)]
            case HubAddress():
                return [RepositoryRow(address, self._hub), *self._pulls()]
            case PlainName():
                return list(self._pulls())
            case InvalidAddress():
                return []

    def _pulls(self) -> list[OriginRow]:
        """Return a row for each server that may have a model of that name."""
        name = self.text.strip()
        servers = [target for target in self.targets if target.provider is not None]
        if (ref := ModelRef.parse(name)) is not None:
            servers = [target for target in servers if target.provider == ref.provider]
            name = ref.model
        if not name or len(name.split()) > 1:
            return []
        return [
            OriginRow(
                ProviderPull(provider=target.provider or "", model=name),
                name,
                f"pull it on {target.label}",
            )
            for target in servers
        ]


def best_by_purpose(rows: Sequence[EntryRow], purposes: Sequence[str], *, each: int) -> list[Group]:
    """Return the best models that fit this machine, each once, by the first purpose it serves."""
    left = [row for row in rows if row.entry.sources and _fits(row)]
    groups = []
    for purpose in purposes:
        mine = [row for row in left if _serves(row, purpose)]
        mine = sorted(mine, key=lambda row: suggestion_key(row.entry, row.best, purpose))[:each]
        left = [row for row in left if row not in mine]
        groups.append(Group(purpose, tuple(mine)))
    return [group for group in groups if group.rows]


def _fits(row: EntryRow) -> bool:
    return row.fit is None or row.fit.verdict != "no"


def _serves(row: EntryRow, purpose: str) -> bool:
    """Return whether a model serves a purpose; an embedder serves no other."""
    purposes = row.entry.purposes
    is_embedder = "embedding" in purposes and "chat" not in purposes
    return purpose in purposes and (purpose == "embedding" or not is_embedder)
