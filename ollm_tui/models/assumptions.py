"""`Assumptions`: what families say that models can do and hold, for long lists of names.

Each name is searched for once, and each variant of a family resolved once: a list of 2,000 models
takes a tenth of a second the first time, and a hundredth of that afterwards.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from ollm_tui.models.family_files import FamilyLibrary, FamilyMatch
from ollm_tui.protocol.model import ModelCapability, ModelInfo

if TYPE_CHECKING:
    from pathlib import Path

Names: TypeAlias = tuple[str, ...]
"""What a model goes by, the best first."""
Assumed: TypeAlias = tuple[ModelCapability | None, int | None]
"""Abilities and window."""
_NOTHING: Final[Assumed] = (None, None)
MAX_KEPT: Final = 20_000
"""Models whose assumptions are kept."""


class Assumptions:
    """Finds what families say of the abilities of models; blocks, and may run in any thread."""

    def __init__(self, library: FamilyLibrary) -> None:
        self._library = library
        self._lock = threading.Lock()
        self._state: object = None
        """That of the library, when the newest of these was found."""
        self._by_names: dict[Names, Assumed] = {}
        self._by_variant: dict[tuple[Path, str | None], Assumed] = {}

    def added_to(
        self, models: Sequence[ModelInfo], names_of: Callable[[str, ModelInfo], Names]
    ) -> list[ModelInfo]:
        """Return models with what each can do by its family; `names_of` returns what it goes by."""
        assumed = self.of([names_of(info.name, info) for info in models])
        return [
            replace(info, assumed=capability, assumed_context=window)
            for info, (capability, window) in zip(models, assumed, strict=True)
        ]

    def of(self, models: Sequence[Names]) -> list[Assumed]:
        """Return what each model can do and hold by its family; nothing without a family."""
        with self._lock:
            self._forget_what_is_old()
            new = [names for names in dict.fromkeys(models) if names not in self._by_names]
            for names, match in zip(new, self._library.match_each(new), strict=True):
                self._by_names[names] = _NOTHING if match is None else self._of_match(match)
            return [self._by_names[names] for names in models]

    def _forget_what_is_old(self) -> None:
        state = self._library.state
        if state != self._state:
            self._by_variant.clear()
        if state != self._state or len(self._by_names) > MAX_KEPT:
            self._by_names.clear()
        self._state = state

    def _of_match(self, match: FamilyMatch) -> Assumed:
        # Loaded only with a family.
        from ollm_tui.models.family_resolution import know_model, variant_of

        variant = variant_of(match.file, [match.name], [])
        key = (match.file.file.path, variant)
        if key not in self._by_variant:
            known = know_model(self._library, [match.name])
            self._by_variant[key] = known.capability, known.context
        return self._by_variant[key]
