"""The rows of the choice of a quantization, and the lines about the chosen one; pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from textual.content import Content

from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.decode.counted import size_text
from ollm_tui.library.downloads.job import HubFiles, Origin, ProviderPull
from ollm_tui.library.fit import Fit, fit_short, fit_words
from ollm_tui.library.fitting import USUAL_QUANTIZATION, EntryFit, window_of
from ollm_tui.library.hub.repo import HubModel, HubRepo, Variant
from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.runtime.download_targets import DownloadTarget
from ollm_tui.tui.downloads.dock_rows import LONGEST
from ollm_tui.tui.downloads.find_rows import LOOKS
from ollm_tui.tui.figures import parameters, popularity, window
from ollm_tui.tui.widgets import cut, fit

CONTEXTS: Final = (4_096, 8_192, 16_384, 32_768, 65_536, 131_072, 262_144)
CACHES: Final = ("f16", "q8_0", "q4_0")
"""The types of the KV cache."""


@dataclass(frozen=True, slots=True)
class ModelFits(EntryFit):
    """A fit check whose context window and cache type a person changes."""

    def with_context(self, steps: int) -> "ModelFits":
        """Return a check for a larger or a smaller context window."""
        index = CONTEXTS.index(self.context) if self.context in CONTEXTS else 1
        return replace(self, context=CONTEXTS[max(0, min(len(CONTEXTS) - 1, index + steps))])

    def with_next_cache(self) -> "ModelFits":
        """Return a check for the next cache type."""
        index = CACHES.index(self.kv_type) if self.kv_type in CACHES else -1
        return replace(self, kv_type=CACHES[(index + 1) % len(CACHES)])


_QUANT_CELLS: Final = 12
_LICENCE: Final = 40


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


def rows_of(offer: Offer, repo: HubRepo | None, fits: ModelFits) -> list[VariantRow]:
    """Return the rows, the best quality first, with the recommended one marked."""
    if repo is None:
        sizes = offer.entry.sizes if offer.entry is not None else {}
        listed = [VariantRow(quantization=name, size=amount) for name, amount in sizes.items()]
        listed.sort(key=lambda row: -(row.size or 0))
    else:
        listed = [
            VariantRow(quantization=one.quantization, size=one.size, variant=one)
            for one in repo.variants
            if one.kind != "projector"
        ]
    model = repo.model if repo is not None else None
    entry = offer.entry
    family = (model.architecture if model else None) or (entry.family if entry else None)
    return _with_fits(listed, fits, _parameters(offer, model), _trained(offer, model), family)


def _with_fits(
    rows: Sequence[VariantRow],
    fits: ModelFits,
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


def _parameters(offer: Offer, model: HubModel | None) -> int | None:
    known = offer.entry.parameters if offer.entry else None
    return (model.parameters if model else None) or known


def _trained(offer: Offer, model: HubModel | None) -> int | None:
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


def row_content(row: VariantRow, width: int) -> Content:
    """Return one row of `width` cells."""
    label = fit(clean_name(row.label[:LONGEST]), max(_QUANT_CELLS, width - 48))
    amount = (size_text(row.size) if row.size else "").rjust(8)
    verdict = fit_short(row.fit) if row.fit else ""
    look = LOOKS[row.fit.verdict] if row.fit else "$text-muted"
    return Content.assemble(
        ("▸ " if row.is_best else "  ", "$text-success"),
        (label, "bold" if row.is_best else ""),
        (f"  {amount}", "$text-muted"),
        (f"  {verdict:<9}", look),
        (f"  {cut(_remark(row), 24)}", "$text-success" if row.is_best else "$text-muted"),
    )


def _remark(row: VariantRow) -> str:
    variant = row.variant
    if variant is not None and variant.problem:
        return clean_line(variant.problem[:LONGEST])
    words = ["recommended"] if row.is_best else []
    if variant is not None and variant.kind != "model":
        words.append("not for chats" if variant.kind == "other" else variant.kind)
    if variant is not None and len(variant.files) > 1:
        words.append(f"{len(variant.files)} parts")
    return ", ".join(words)


def heading_lines(offer: Offer, repo: HubRepo | None, hub_place: str) -> list[str]:
    """Return the facts about a repository, and whether terms must be accepted first."""
    model = repo.model if repo is not None else None
    entry = offer.entry
    licence = (model.licence if model else None) or (entry.licence if entry else None)
    downloads = model.downloads if model else entry.downloads if entry else None
    likes = model.likes if model else entry.likes if entry else None
    many, trained = _parameters(offer, model), _trained(offer, model)
    none = "licence unknown" if model else ""
    facts = (
        f"{parameters(many)} parameters" if many else "",
        f"{window(trained)} context" if trained else "",
        f"licence {cut(clean_line(licence[:LONGEST]), _LICENCE)}" if licence else none,
        popularity(downloads, "download", " a month"),
        popularity(likes, "like"),
    )
    lines = [" · ".join(filter(None, facts))]
    if model is not None and model.gated:
        page = f"{clean_line(hub_place[:LONGEST])}/{clean_name(offer.repo[:LONGEST])}"
        lines.append(f"Accept its terms at {page}, then set HF_TOKEN to download it.")
    return lines


def fit_line(row: VariantRow | None, fits: ModelFits) -> str:
    """Return the verdict on a row with its figures."""
    context, cache = f"{window(fits.context)} context", f"{fits.kv_type} cache"
    if row is None:
        return ""
    if row.fit is None:
        return f"For {context}, {cache}"
    model, overhead = (
        f"model {size_text(row.fit.weights)}",
        f"overhead {size_text(row.fit.overhead)}",
    )
    verdict = fit_words(row.fit)
    if row.fit.machine.idle_gpus:
        verdict += " · the engine cannot use the graphics card"
    if not row.fit.context:
        return f"{verdict}\n{model}, {overhead}"
    made_of = f"{model}, cache {size_text(row.fit.cache)}, {overhead}"
    return f"{verdict}\n{window(row.fit.context)} context, {cache}: {made_of}"


def target_line(chosen: Chosen) -> str:
    """Return the target and its free space."""
    target = chosen.target
    if target.provider is not None:
        name = clean_name((chosen.pull_name or "")[:LONGEST])
        return f"To {clean_name(target.label)}, which pulls {name}"
    free = f" · {size_text(target.free)} free" if target.free is not None else ""
    return f"To {clean_name(str(target.folder))}{free}"


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
