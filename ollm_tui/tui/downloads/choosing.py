"""What happens with a chosen row of the model search: download it, pick a file of it, rate it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name
from ollm_tui.frontend.model_offers import Offer
from ollm_tui.frontend.model_search import EntryRow, FindRow, ModelSearch, OriginRow, RepositoryRow
from ollm_tui.library.downloads.job import Origin, ProviderPull
from ollm_tui.library.hub.repo import Hub
from ollm_tui.protocol.errors import AIError
from ollm_tui.tui.dialogs import ChoiceDialog, ChoiceRow, DialogOpener
from ollm_tui.tui.downloads.variant_picker import VariantPicker
from ollm_tui.tui.keys import Keymap

if TYPE_CHECKING:
    from ollm_tui.library.registry.catalogue import ModelRegistry
    from ollm_tui.library.registry.entry import RegistryEntry
    from ollm_tui.protocol.model import ModelRef

_NO_RATING: Final = "none"
_RATINGS: Final = {5: "among the best", 4: "good", 3: "acceptable", 2: "weak", 1: "poor"}


@dataclass(slots=True)
class RowChooser:
    """Downloads what a row stands for, after a dialog if it has several files."""

    dialogs: DialogOpener
    hub: Hub
    keymap: Keymap
    download: Callable[[Sequence[Origin]], object]
    chat: "Callable[[ModelRef], object]"
    say: Callable[[str], None]

    def choose(self, row: FindRow, search: ModelSearch) -> None:
        """Download a row, or ask which file of it."""
        match row:
            case OriginRow(origin=origin):
                self.download((origin,))
            case RepositoryRow(address=address):
                offer = Offer(
                    repo=address.repo,
                    revision=address.revision,
                    quantization=address.quantization,
                    path=address.path,
                    targets=tuple(search.targets),
                )
                self._pick(offer, search)
            case EntryRow(entry=entry):
                self._choose_entry(entry, search)

    def _choose_entry(self, entry: "RegistryEntry", search: ModelSearch) -> None:
        repo, ollama = entry.origins.get("huggingface"), entry.origins.get("ollama")
        servers = [target for target in search.targets if target.takes_hub]
        if repo is not None:
            targets = tuple(search.targets)
            self._pick(Offer(repo=repo, entry=entry, targets=targets, ollama=ollama), search)
        elif ollama is not None and servers:
            self.download((ProviderPull(provider=servers[0].provider or "", model=ollama),))
        elif entry.installed:
            self.chat(entry.installed[0])
        elif ollama is not None:
            name = clean_name(ollama)
            self.say(f"Only Ollama has it, as {name}, but Ollama is not running here.")
        else:
            self.say("No source for it is known.")

    def _pick(self, offer: Offer, search: ModelSearch) -> None:
        dialog = VariantPicker(offer, self.hub, search.fits, self.keymap)
        self.dialogs.show(dialog, self._picked)

    def _picked(self, origins: tuple[Origin, ...] | None) -> None:
        if origins:
            self.download(origins)


async def rate(dialogs: DialogOpener, registry: "ModelRegistry", entry: "RegistryEntry") -> str:
    """Ask for the user's own rating of a model and store it; return a sentence, or empty text."""
    answer = await dialogs.ask(_rating_dialog(entry))
    if answer is None:
        return ""
    stars = None if answer == _NO_RATING else int(answer)
    try:
        await registry.rate(entry.id, stars)
    except AIError as error:
        return str(error)
    name = clean_name(entry.name)
    return f"{name} is no longer rated." if stars is None else f"{name} has {stars} of 5 now."


def _rating_dialog(entry: "RegistryEntry") -> ChoiceDialog:
    choices = [ChoiceRow(str(stars), f"{stars} of 5, {word}") for stars, word in _RATINGS.items()]
    if entry.rating is not None:
        choices.append(ChoiceRow(_NO_RATING, f"Remove the rating ({entry.rating} of 5)"))
    about = "Higher-rated models come first. Enter choose · Esc close"
    return ChoiceDialog(f"Rate {entry.name}", choices, about)
