"""The models screen: the list, the details, the picker, and what can be done with a model."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.tui.models.commands import ModelCommands
    from ollm_tui.tui.models.messages import unlisted_words
    from ollm_tui.tui.models.operations import ModelOperations
    from ollm_tui.tui.models.picker import ModelPicker
    from ollm_tui.tui.models.screen import ModelsScreen
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "commands": ("ModelCommands",),
            "messages": ("unlisted_words",),
            "operations": ("ModelOperations",),
            "picker": ("ModelPicker",),
            "screen": ("ModelsScreen",),
        },
    )

__all__ = [
    "ModelCommands",
    "ModelOperations",
    "ModelPicker",
    "ModelsScreen",
    "unlisted_words",
]
