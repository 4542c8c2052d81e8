"""How a person likes a model: asked on the screen that finds models, kept by the registry."""

from typing import TYPE_CHECKING, Final

from ollm_tui.decode.clean import clean_name
from ollm_tui.protocol.errors import AIError
from ollm_tui.tui.dialogs.choice import ChoiceRow, Choose

if TYPE_CHECKING:
    from textual.app import App

    from ollm_tui.library.registry.catalogue import ModelRegistry
    from ollm_tui.library.registry.entry import RegistryEntry

_NONE: Final = "none"
_WORDS: Final = {5: "among the best", 4: "good", 3: "acceptable", 2: "weak", 1: "poor"}


async def rate(app: "App[None]", registry: "ModelRegistry", entry: "RegistryEntry") -> str:
    """Ask for the stars and keep them; give what is to be said, nothing when nothing was chosen."""
    answer = await app.push_screen_wait(_question(entry))
    if answer is None:
        return ""
    stars = None if answer == _NONE else int(answer)
    try:
        await registry.rate(entry.id, stars)
    except AIError as error:
        return f"{error.message} {error.hint or ''}".strip()
    name = clean_name(entry.name)
    return f"{name} is no longer rated." if stars is None else f"{name} has {stars} of 5 now."


def _question(entry: "RegistryEntry") -> Choose:
    choices = [ChoiceRow(str(stars), f"{stars} of 5, {word}") for stars, word in _WORDS.items()]
    if entry.rating is not None:
        choices.append(ChoiceRow(_NONE, f"Remove the rating ({entry.rating} of 5)"))
    about = "Higher-rated models come first. Enter choose · Esc close"
    return Choose(f"Rate {entry.name}", choices, about)
