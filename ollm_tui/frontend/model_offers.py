"""The files of a repository to choose from, and what is downloaded for each choice; pure."""

from collections.abc import Sequence
from dataclasses import replace

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line
from ollm_tui.frontend.download_news import MAX_LENGTH
from ollm_tui.library.downloads.job import HubFiles, Origin, ProviderPull
from ollm_tui.library.fit import Fit
from ollm_tui.library.fitting import USUAL_QUANTIZATION, EntryFit, window_of
from ollm_tui.library.hub.repo import HubModel, HubRepo, Variant
from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.runtime.download_targets import DownloadTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A repository to choose from, and what the registry knows of it until it is loaded."""

    repo: str
    revision: str = "main"
    quantization: str | None = None
    """The one that was named."""
    path: str | None = None
    """The file that was named; a part of a split model means all of it."""
    entry: RegistryEntry | None = None
    targets: tuple[DownloadTarget, ...] = ()
    ollama: str | None = None
    """The model's name in Ollama's own library."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantRow:
    """One quantization."""

    quantization: str | None
    size: int | None
    variant: Variant | None = None
    """None while only the registry knows of it."""
    fit: Fit | None = None
    is_best: bool = False

    @property
    def id(self) -> str:
        """What identifies the row."""
        # two files in different folders may have the same name
        return self.variant.files[0].path if self.variant is not None else self.quantization or ""

    def has(self, path: str) -> bool:
        """Return whether a file of the repository belongs to it."""
        return self.variant is not None and any(file.path == path for file in self.variant.files)

    @property
    def label(self) -> str:
        """Its name in the list."""
        return self.quantization or (self.variant.name if self.variant is not None else "?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What to download, and where to."""

    row: VariantRow
    target: DownloadTarget
    projector: Variant | None = None
    """The image encoder to download with it."""
    pull_name: str | None = None
    """The name that a server pulls it by; None for the repository's files."""


def rows_of(offer: Offer, repo: HubRepo | None, fits: EntryFit) -> list[VariantRow]:
    """Return the rows, the best quality first, with the recommended one marked."""
    if repo is None:
        sizes = offer.entry.sizes if offer.entry is not None else {}
        listed = [VariantRow(quantization=name, size=amount) for name, amount in sizes.items()]
        listed.sort(key=lambda row: -(row.size or 0))
    else:
        listed = [
            VariantRow(quantization=one.quantization, size=one.size, variant=one)
            for one in repo.variants
            if one.kind not in ("projector", "part")
        ]
    model = repo.model if repo is not None else None
    entry = offer.entry
    family = (model.architecture if model else None) or (entry.family if entry else None)
    return _with_fits(listed, fits, parameters_of(offer, model), trained_of(offer, model), family)


def _with_fits(
    rows: Sequence[VariantRow],
    fits: EntryFit,
    parameter_count: int | None,
    trained: int | None,
    family: str | None,
) -> list[VariantRow]:
    usable = [index for index, row in enumerate(rows) if _is_model(row)]
    best = fits.best(
        [(rows[index].quantization, rows[index].size) for index in usable],
        parameter_count,
        trained,
        family,
    )
    return [
        replace(
            row,
            fit=fits.of_size(row.size, parameter_count, trained, family)
            if row.size and _is_model(row)
            else None,
            is_best=best is not None and index == usable[best],
        )
        for index, row in enumerate(rows)
    ]


def _is_model(row: VariantRow) -> bool:
    return row.variant is None or (row.variant.kind == "model" and row.variant.problem is None)


def parameters_of(offer: Offer, model: HubModel | None) -> int | None:
    """Return how many parameters a model has; None if that is not known."""
    known = offer.entry.parameters if offer.entry else None
    return (model.parameters if model else None) or known


def trained_of(offer: Offer, model: HubModel | None) -> int | None:
    """Return the window that a model was trained with; None if that is not known."""
    return (model.context if model else None) or (window_of(offer.entry) if offer.entry else None)


def first_marked(rows: Sequence[VariantRow], offer: Offer, marked: str | None = None) -> str | None:
    """Return the id of the row to mark: the named one, else the recommended or the usual one.

    `marked` is the quantization that was marked before the list was loaded.
    """
    name = marked or offer.quantization
    named = [row for row in rows if name and (row.quantization or "").lower() == name.lower()]
    if offer.path is not None and marked is None:
        named = [row for row in rows if row.has(offer.path)]
    best = [row for row in rows if row.is_best]
    usual = [row for row in rows if row.quantization == USUAL_QUANTIZATION]
    return next((row.id for row in (*named, *best, *usual)), None)


def remark_on(row: VariantRow) -> str:
    """Say what is special about a row."""
    variant = row.variant
    if variant is not None and variant.problem:
        return clean_line(variant.problem[:MAX_LENGTH])
    words = ["recommended"] if row.is_best else []
    if variant is not None and variant.kind != "model":
        words.append("not for chats" if variant.kind == "other" else variant.kind)
    if variant is not None and len(variant.files) > 1:
        words.append(f"{len(variant.files)} parts")
    return ", ".join(words)


def is_too_large(chosen: Chosen) -> bool:
    """Return whether it is known not to fit on the disk."""
    needed, free = chosen.row.size, chosen.target.free
    return needed is not None and free is not None and needed > free


def origins_of(offer: Offer, repo: HubRepo | None, chosen: Chosen) -> tuple[Origin, ...]:
    """Return what to put into the queue; empty until the files are known."""
    if chosen.target.provider is not None and chosen.pull_name is not None:
        return (ProviderPull(provider=chosen.target.provider, model=chosen.pull_name),)
    variants = (chosen.row.variant, chosen.projector)
    if repo is None or chosen.row.variant is None:
        return ()
    return tuple(_files(repo, variant) for variant in variants if variant is not None)


def _files(repo: HubRepo, variant: Variant) -> HubFiles:
    return HubFiles(
        repo=repo.model.repo,
        revision=repo.revision,
        name=variant.name,
        files=variant.files,
        licence=repo.model.licence,
        kind=variant.kind,
    )


def pull_name(offer: Offer, target: DownloadTarget, row: VariantRow | None) -> str | None:
    """Return the name by which a server pulls a row, or None if it cannot."""
    if target.provider is None or not target.takes_hub:
        return None
    quantization = row.quantization if row is not None else None
    return f"hf.co/{offer.repo}:{quantization}" if quantization else f"hf.co/{offer.repo}"
