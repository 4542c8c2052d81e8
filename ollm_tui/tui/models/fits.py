"""Whether models fit this machine, as the screens ask it: for a window and a cache to choose."""

from dataclasses import dataclass, replace
from typing import Final

from ollm_tui.library.entry_fit import EntryFit

CONTEXTS: Final = (4_096, 8_192, 16_384, 32_768, 65_536, 131_072, 262_144)
CACHES: Final = ("f16", "q8_0", "q4_0")
"""How the key/value cache can be kept."""


@dataclass(frozen=True, slots=True)
class ModelFits(EntryFit):
    """The judge whose window and cache a person changes."""

    def with_context(self, steps: int) -> "ModelFits":
        """Go to a larger or a smaller window."""
        place = CONTEXTS.index(self.context) if self.context in CONTEXTS else 1
        return replace(self, context=CONTEXTS[max(0, min(len(CONTEXTS) - 1, place + steps))])

    def with_next_cache(self) -> "ModelFits":
        """Go to the next kind of cache."""
        place = CACHES.index(self.kv_type) if self.kv_type in CACHES else -1
        return replace(self, kv_type=CACHES[(place + 1) % len(CACHES)])
