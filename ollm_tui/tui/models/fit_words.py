"""Whether a model fits this machine, in words and numbers; pure."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ollm_tui.library.fit import fit_words
from ollm_tui.tui.figures import size
from ollm_tui.tui.models.sheet_lines import Fact

if TYPE_CHECKING:
    from ollm_tui.library.fit import Fit


def fit_facts(fit: "Fit | None") -> Iterator[Fact]:
    """Give the verdict, what it needs and what there is; nothing where nobody has looked."""
    if fit is None:
        return
    about = "about " if fit.is_estimate else ""
    note = "estimated from its size" if fit.is_estimate else ""
    yield Fact(name="verdict", value=fit_words(fit), note=note)
    yield Fact(name="needs", value=f"{about}{size(fit.needed)}")
    yield Fact(name="  weights", value=size(fit.weights))
    cache = f"{fit.context:,} tokens as {fit.kv_type}"
    yield Fact(name="  context", value=size(fit.cache), note=cache)
    yield Fact(name="  working space", value=size(fit.overhead))
    machine = fit.machine
    for gpu in machine.gpus:
        free = "" if gpu.free is None else f"{size(gpu.free)} free"
        yield Fact(name="GPU", value=f"{gpu.name}, {size(gpu.total)}", note=free)
    if machine.ram_total is not None:
        free = "" if machine.ram_free is None else f"{size(machine.ram_free)} free"
        shared = "shared with the graphics" if machine.unified else ""
        note = ", ".join(part for part in (free, shared) if part)
        yield Fact(name="memory", value=size(machine.ram_total), note=note)
