"""The models screen: the list, the details, the picker, and what can be done with a model."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.tui.models.commands import ModelCommands
    from ollm_tui.tui.models.messages import unlisted_words
    from ollm_tui.tui.models.operations import ModelOperations
    from ollm_tui.tui.models.picker import PickModel
    from ollm_tui.tui.models.screen import ModelsScreen
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "commands": ("ModelCommands",),
            "messages": ("unlisted_words",),
            "operations": ("ModelOperations",),
            "picker": ("PickModel",),
            "screen": ("ModelsScreen",),
        },
    )

__all__ = [
    "ModelCommands",
    "ModelOperations",
    "ModelsScreen",
    "PickModel",
    "unlisted_words",
]
