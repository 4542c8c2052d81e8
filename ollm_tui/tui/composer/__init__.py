"""Where a prompt is written: input, completion, history, attachments and paste."""

from typing import TYPE_CHECKING

from ollm_tui.lazy import lazy_names

if TYPE_CHECKING:
    from ollm_tui.tui.composer.attaching import Attachments, FileSuggestions
    from ollm_tui.tui.composer.completions import Completions, FileQuery
    from ollm_tui.tui.composer.composer import Composer
    from ollm_tui.tui.composer.drafts import NEW, DraftFolder, DraftKeeper
    from ollm_tui.tui.composer.external_editor import ExternalEditor
    from ollm_tui.tui.composer.pictures import AttachmentLines, DraftPictures
    from ollm_tui.tui.composer.waiting import QueueDialog, WaitingPrompt, WaitingPrompts
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "attaching": ("Attachments", "FileSuggestions"),
            "completions": ("Completions", "FileQuery"),
            "composer": ("Composer",),
            "drafts": ("NEW", "DraftFolder", "DraftKeeper"),
            "external_editor": ("ExternalEditor",),
            "pictures": ("AttachmentLines", "DraftPictures"),
            "waiting": ("QueueDialog", "WaitingPrompt", "WaitingPrompts"),
        },
    )

__all__ = [
    "NEW",
    "AttachmentLines",
    "Attachments",
    "Completions",
    "Composer",
    "DraftFolder",
    "DraftKeeper",
    "DraftPictures",
    "ExternalEditor",
    "FileQuery",
    "FileSuggestions",
    "QueueDialog",
    "WaitingPrompt",
    "WaitingPrompts",
]
