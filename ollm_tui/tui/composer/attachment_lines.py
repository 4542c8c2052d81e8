"""The lines above the input that say which pictures go with what is being written."""

from typing import TYPE_CHECKING, Final

from textual.content import Content
from textual.widgets import Static

from ollm_tui.tui.figures import picture_figures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ollm_tui.attachments.attachment import AttachedImage

MOST_LINES: Final = 3


def attachment_line(number: int, picture: "AttachedImage") -> str:
    """Write one picture: `Image #1 · cat.png · png · 640 x 480 · 94 kB`."""
    parts = (f"Image #{number}", picture.name, picture_figures(picture.content))
    return " · ".join(part for part in parts if part)


class AttachmentLines(Static):
    """Takes no room while nothing is attached."""

    DEFAULT_CSS = """
    AttachmentLines {
        display: none;
        height: auto;
        padding: 0 3;
        color: $text-accent;
        text-overflow: ellipsis;
        text-wrap: nowrap;
        &.-shown { display: block; }
        &:ansi { color: ansi_default; }
    }
    """

    def __init__(self) -> None:
        super().__init__("", markup=False)

    def show(self, pictures: "Sequence[tuple[int, AttachedImage]]") -> None:
        """Name the pictures; of many the first ones and how many more there are."""
        lines = [attachment_line(number, picture) for number, picture in pictures]
        if len(lines) > MOST_LINES:
            lines[MOST_LINES - 1 :] = [f"and {len(lines) - MOST_LINES + 1} more pictures"]
        self.set_class(bool(lines), "-shown")
        self.update(Content("\n".join(lines)))
