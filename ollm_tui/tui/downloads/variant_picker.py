"""Choose what of a repository to download: the quantization, the context and the target."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Resize
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.decode.counted import size_text
from ollm_tui.frontend.model_offers import (
    Chosen,
    Offer,
    VariantRow,
    first_marked,
    is_too_large,
    origins_of,
    pull_name,
    rows_of,
)
from ollm_tui.frontend.model_search import ModelFits
from ollm_tui.library.downloads.job import Origin
from ollm_tui.library.hub.repo import Hub
from ollm_tui.library.hub.variants import projector_of
from ollm_tui.protocol.errors import AIError
from ollm_tui.runtime.download_targets import DownloadTarget
from ollm_tui.tui.dialogs import LOW_SCREEN, Dialog
from ollm_tui.tui.downloads.variant_rows import (
    fit_line,
    heading_lines,
    row_content,
    target_line,
)
from ollm_tui.tui.keys import Keymap

if TYPE_CHECKING:
    from ollm_tui.library.hub.repo import HubRepo

_NOT_NOW: Final[Mapping[str, str]] = {
    "variant.context": "Its context window is not known",
    "variant.cache": "Its context window is not known",
    "variant.place": "There is no other place for it",
    "variant.projector": "It has no image encoder",
}
ROOMY: Final = 32
"""From so many rows on there is room for a long list."""


class VariantPicker(Dialog[tuple[Origin, ...]]):
    """Returns the origins to put into the queue; empty if it was cancelled."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [*Keymap().bindings("variant")]
    DEFAULT_CSS = """
    VariantPicker {
        & > Vertical { width: 92; height: auto; max-height: 96%; }
        OptionList, OptionList:focus { height: auto; max-height: 14; min-height: 1; }
        .title { margin-bottom: 0; }
        #what { color: $text-muted; height: auto; margin-bottom: 1; }
        #problem { color: $text-warning; height: auto; display: none; }
        #problem.-shown { display: block; }
        #fit { height: auto; margin-top: 1; }
        #where { height: auto; }
        &.-low #what { margin-bottom: 0; }
        &.-middle OptionList { max-height: 8; }
        &.-low OptionList { max-height: 4; }
    }
    """

    def __init__(self, offer: Offer, hub: Hub, fits: ModelFits, keymap: Keymap) -> None:
        super().__init__()
        self.VERTICAL_BREAKPOINTS = [(0, "-low"), (LOW_SCREEN, "-middle"), (ROOMY, "-high")]
        self._offer = offer
        self._hub = hub
        self._fits = fits
        self._keymap = keymap
        self._repo: HubRepo | None = None
        self._rows: Sequence[VariantRow] = ()
        self._targets: list[tuple[DownloadTarget, str | None]] = _targets(offer)
        self._target_index = 0
        self._takes_projector = True
        self._has_moved = False

    # Laying out

    def compose(self) -> ComposeResult:
        """Lay out the list and the lines about the marked row."""
        with Vertical():
            yield Static(Content(clean_name(self._offer.repo)), classes="title")
            yield from (Static("", id=name, markup=False) for name in ("what", "problem"))
            yield OptionList(compact=True, markup=False)
            yield from (Static("", id=name, markup=False) for name in ("fit", "where", "about"))

    def on_mount(self) -> None:
        """Show what is known and load the rest."""
        self._show(first_marked(self._listed(), self._offer))
        self._ask()

    @work(exclusive=True)
    async def _ask(self) -> None:
        self._say_problem("Loading the list of files…")
        try:
            self._repo = await self._hub.repo(self._offer.repo, revision=self._offer.revision)
        except AIError as error:
            self._say_problem(str(error))
        else:
            self._say_problem("" if self._listed() else "It contains no model files.")
        marked = self._marked if self._has_moved else None
        quantization = marked.quantization if marked is not None else None
        self._show(first_marked(self._listed(), self._offer, quantization))

    def on_resize(self, _event: Resize) -> None:
        """Write the rows for the new width."""
        self.call_after_refresh(self._show)

    # Showing

    def _listed(self) -> list[VariantRow]:
        return rows_of(self._offer, self._repo, self._fits_there)

    def _show(self, mark: str | None = None) -> None:
        if not self.has_its_parts:
            return
        marked = self._marked
        mark = mark or (marked.id if marked is not None else None)
        self._rows = self._listed()
        listed = self.query_one(OptionList)
        width = max(8, listed.size.width - 2)
        with self.app.batch_update():
            listed.clear_options()
            listed.add_options([Option(row_content(row, width)) for row in self._rows])
            wanted = [index for index, row in enumerate(self._rows) if row.id == mark]
            if self._rows:
                listed.highlighted = wanted[0] if wanted else 0
        self._say()

    @on(OptionList.OptionHighlighted)
    def _say(self) -> None:
        heading = heading_lines(self._offer, self._repo, self._hub.address)
        self._write("#what", "\n".join(heading))
        self._write("#fit", fit_line(self._marked, self._fits_there))
        chosen = self._chosen
        where = [target_line(chosen)] if chosen is not None else []
        if chosen is not None and is_too_large(chosen):
            where.append("There is not enough disk space.")
        if (line := self._projector_line()) is not None:
            where.append(line)
        self._write("#where", "\n".join(where))
        hints = self._keymap.hints_of(*self._useful(chosen), "variant.close")
        self._write("#about", " · ".join(f"{hint.label} {hint.description}" for hint in hints))

    def _useful(self, chosen: Chosen | None) -> list[str]:
        can_fetch = chosen is not None and origins_of(self._offer, self._repo, chosen)
        has_window = any(row.fit is not None and row.fit.context for row in self._rows)
        useful = {
            "variant.choose": bool(can_fetch),
            "variant.context": has_window,
            "variant.cache": has_window,
            "variant.place": len(self._targets) > 1,
            "variant.projector": projector_of(self._repo) is not None,
        }
        return [key for key, is_useful in useful.items() if is_useful]

    def _projector_line(self) -> str | None:
        projector = projector_of(self._repo)
        if projector is None or self._target.provider is not None:
            return None
        amount = f", {size_text(projector.size)}" if projector.size else ""
        taken = "With" if self._takes_projector else "Without"
        return f"{taken} image encoder ({clean_name(projector.name)}{amount})"

    def _say_problem(self, words: str) -> None:
        if self.has_its_parts:
            self.query_one("#problem").set_class(bool(words), "-shown")
            self._write("#problem", clean_line(words).strip())

    def _write(self, selector: str, text: str) -> None:
        if self.has_its_parts:
            self.query_one(selector, Static).update(Content(text))

    # What is chosen

    @property
    def _marked(self) -> VariantRow | None:
        index = self.query_one(OptionList).highlighted if self.has_its_parts else None
        return self._rows[index] if index is not None and index < len(self._rows) else None

    @property
    def _target(self) -> DownloadTarget:
        return self._targets[self._target_index][0]

    @property
    def _fits_there(self) -> ModelFits:
        """The fit check for what will run it: a server, or the built-in engine."""
        return replace(self._fits, by_server=self._target.provider is not None)

    @property
    def _chosen(self) -> Chosen | None:
        target, name = self._targets[self._target_index]
        row = self._marked
        if row is None and name is None:
            return None
        takes = self._takes_projector and target.provider is None
        return Chosen(
            row=row or VariantRow(quantization=None, size=None),
            target=target,
            projector=projector_of(self._repo) if takes else None,
            pull_name=name or pull_name(self._offer, target, row),
        )

    # Keys

    def action_move(self, steps: int) -> None:
        """Mark another quantization."""
        listed = self.query_one(OptionList)
        self._has_moved = True
        if self._rows:
            index = (listed.highlighted or 0) + steps
            listed.highlighted = max(0, min(len(self._rows) - 1, index))

    def action_context(self, steps: int) -> None:
        """Check the fit with a larger or a smaller context window."""
        if self._can("variant.context"):
            self._fits = self._fits.with_context(steps)
            self._show()

    def action_cache(self) -> None:
        """Check the fit with another KV cache type."""
        if self._can("variant.cache"):
            self._fits = self._fits.with_next_cache()
            self._show()

    def _can(self, key_id: str) -> bool:
        """Return whether a key does something now, and show why if it does not."""
        can = key_id in self._useful(self._chosen)
        if not can:
            self.remark(_NOT_NOW[key_id])
        return can

    def action_place(self) -> None:
        """Choose the next target."""
        if self._can("variant.place"):
            self._target_index = (self._target_index + 1) % len(self._targets)
            self._show()

    def action_projector(self) -> None:
        """Include the image encoder, or not."""
        if self._can("variant.projector"):
            self._takes_projector = not self._takes_projector
            self._say()

    @on(OptionList.OptionSelected)
    def action_choose(self) -> None:
        """Close with the origins of the marked row, if it can be downloaded."""
        chosen = self._chosen
        if chosen is None:
            return
        variant = chosen.row.variant
        if chosen.target.provider is None and variant is not None and variant.problem:
            self._say_problem(f"It cannot be downloaded: {variant.problem}")
            return
        origins = origins_of(self._offer, self._repo, chosen)
        if origins:
            self.dismiss(origins)

    def action_close(self) -> None:
        """Cancel."""
        self.dismiss(())


def _targets(offer: Offer) -> list[tuple[DownloadTarget, str | None]]:
    """Return the targets with the name that each pulls by; None is the repository's own."""
    targets: list[tuple[DownloadTarget, str | None]] = []
    for target in offer.targets:
        if target.provider is None or target.takes_hub:
            targets.append((target, None))
        if target.provider is not None and target.takes_hub and offer.ollama is not None:
            targets.append((target, offer.ollama))
    return targets or [(DownloadTarget(label="this machine"), None)]
