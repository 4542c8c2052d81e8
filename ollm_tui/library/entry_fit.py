"""Whether models that can be had fit this machine, and which of their files to take; pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ollm_tui.library.fit import Fit
from ollm_tui.library.fitting import fit_of, recommend, shape_of_size
from ollm_tui.library.machine import Machine
from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.library.shapes import BYTES_A_PARAMETER, keeps_cache

USUAL_CONTEXT: Final = 8_192
"""Tokens that verdicts are for until somebody says otherwise; an engine takes no more unasked."""
USUAL: Final = "Q4_K_M"
"""The quantization that most repositories have and most people take."""
_SPEECH: Final = "speech"


@dataclass(frozen=True, slots=True)
class SizeFit:
    """A quantization with its size and its verdict; None while the machine is not known."""

    quantization: str
    size: int
    fit: Fit | None
    is_estimate: bool = False
    """Whether the size is a guess from the number of parameters."""


@dataclass(frozen=True, slots=True)
class EntryFit:
    """Judges for one machine, one window and one kind of cache."""

    machine: Machine | None = None
    context: int = USUAL_CONTEXT
    kv_type: str = "f16"
    by_server: bool = False
    """Whether a server will run it, and not the built-in engine."""

    @property
    def _used(self) -> Machine | None:
        if self.machine is None or self.by_server:
            return self.machine
        return self.machine.for_engine

    def of_size(
        self,
        size: int,
        parameters: int | None,
        trained: int | None = None,
        family: str | None = None,
    ) -> Fit | None:
        """Judge a model of which the size is known, and perhaps how many parameters it has."""
        machine = self._used
        if machine is None:
            return None
        shape = shape_of_size(size, parameters=parameters, family=family)
        return fit_of(shape, machine, context=self._context(trained), kv_type=self.kv_type)

    def best(
        self,
        sizes: Sequence[tuple[str | None, int | None]],
        parameters: int | None,
        trained: int | None = None,
        family: str | None = None,
    ) -> int | None:
        """Give the place of the one to take, of (quantization, bytes) each; None if none fits."""
        known = [size for _name, size in sizes if size]
        machine = self._used
        if machine is None or not known:
            return None
        is_known = parameters is not None or not keeps_cache(family)
        guess = shape_of_size(max(known), parameters=parameters, family=family)
        shape = guess if is_known else None
        context = self._context(trained)
        return recommend(sizes, machine, context=context, shape=shape, kv_type=self.kv_type)

    def best_of(self, entry: RegistryEntry) -> SizeFit | None:
        """Give what to take of a model of the registry; where nothing fits, the smallest.

        Without sizes a usual quantization is guessed from the number of parameters.
        """
        sizes = sorted(entry.sizes.items(), key=lambda item: item[1])
        if not sizes and entry.parameters:
            size = int(entry.parameters * BYTES_A_PARAMETER)
            return SizeFit(USUAL, size, self._fit(entry, size), is_estimate=True)
        if not sizes:
            return None
        place = self.best(sizes, entry.parameters, window_of(entry), entry.family)
        name, size = sizes[place or 0]
        return SizeFit(name, size, self._fit(entry, size))

    def _fit(self, entry: RegistryEntry, size: int) -> Fit | None:
        return self.of_size(size, entry.parameters, window_of(entry), entry.family)

    def _context(self, trained: int | None) -> int:
        return self.context if trained is None else min(self.context, trained)


def window_of(entry: RegistryEntry) -> int | None:
    """Give the window that a model was trained with, in tokens: 0 for one that keeps none."""
    # Speech comes in pieces of a fixed length, for which the overhead has room.
    if _SPEECH in entry.purposes and "chat" not in entry.purposes:
        return 0
    return entry.context or None
