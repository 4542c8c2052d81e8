"""Where a prompt is written: input, completion, history, attachments and paste."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.tui.composer.attaching import Attaching, FileSuggestions
    from ollm_tui.tui.composer.completions import Completions, FileQuery
    from ollm_tui.tui.composer.composer import Composer
    from ollm_tui.tui.composer.pictures import AttachmentLines, DraftPictures
    from ollm_tui.tui.composer.prompt_history import PromptHistory
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "attaching": ("Attaching", "FileSuggestions"),
            "completions": ("Completions", "FileQuery"),
            "composer": ("Composer",),
            "pictures": ("AttachmentLines", "DraftPictures"),
            "prompt_history": ("PromptHistory",),
        },
    )

__all__ = [
    "Attaching",
    "AttachmentLines",
    "Completions",
    "Composer",
    "DraftPictures",
    "FileQuery",
    "FileSuggestions",
    "PromptHistory",
]
