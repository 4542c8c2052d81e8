"""The rows of the choice of a quantization, and the lines about the chosen one; pure."""

from typing import Final

from textual.content import Content

from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.decode.counted import size_text
from ollm_tui.frontend.download_news import MAX_LENGTH
from ollm_tui.frontend.figures import parameters, popularity, window
from ollm_tui.frontend.model_offers import (
    Chosen,
    Offer,
    VariantRow,
    parameters_of,
    remark_on,
    trained_of,
)
from ollm_tui.frontend.model_search import ModelFits
from ollm_tui.library.fit import fit_short, fit_words
from ollm_tui.library.hub.repo import HubRepo
from ollm_tui.tui.downloads.find_rows import LOOKS
from ollm_tui.tui.widgets import cut, fit

_QUANT_CELLS: Final = 12
_LICENCE: Final = 40


def row_content(row: VariantRow, width: int) -> Content:
    """Return one row of `width` cells."""
    label = fit(clean_name(row.label[:MAX_LENGTH]), max(_QUANT_CELLS, width - 48))
    amount = (size_text(row.size) if row.size else "").rjust(8)
    verdict = fit_short(row.fit) if row.fit else ""
    look = LOOKS[row.fit.verdict] if row.fit else "$text-muted"
    return Content.assemble(
        ("▸ " if row.is_best else "  ", "$text-success"),
        (label, "bold" if row.is_best else ""),
        (f"  {amount}", "$text-muted"),
        (f"  {verdict:<9}", look),
        (f"  {cut(remark_on(row), 24)}", "$text-success" if row.is_best else "$text-muted"),
    )


def heading_lines(offer: Offer, repo: HubRepo | None, hub_place: str) -> list[str]:
    """Return the facts about a repository, and whether terms must be accepted first."""
    model = repo.model if repo is not None else None
    entry = offer.entry
    licence = (model.licence if model else None) or (entry.licence if entry else None)
    downloads = model.downloads if model else entry.downloads if entry else None
    likes = model.likes if model else entry.likes if entry else None
    many, trained = parameters_of(offer, model), trained_of(offer, model)
    none = "licence unknown" if model else ""
    facts = (
        f"{parameters(many)} parameters" if many else "",
        f"{window(trained)} context" if trained else "",
        f"licence {cut(clean_line(licence[:MAX_LENGTH]), _LICENCE)}" if licence else none,
        popularity(downloads, "download", " a month"),
        popularity(likes, "like"),
    )
    lines = [" · ".join(filter(None, facts))]
    if model is not None and model.gated:
        page = f"{clean_line(hub_place[:MAX_LENGTH])}/{clean_name(offer.repo[:MAX_LENGTH])}"
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
        name = clean_name((chosen.pull_name or "")[:MAX_LENGTH])
        return f"To {clean_name(target.label)}, which pulls {name}"
    free = f" · {size_text(target.free)} free" if target.free is not None else ""
    return f"To {clean_name(str(target.folder))}{free}"
