"""The preview beside the list: how the marked chat begins and where it ended."""

from collections.abc import Iterator
from typing import Final

from textual.content import Content
from textual.widgets import Static

from ollm_tui.decode.clean import clean
from ollm_tui.decode.counted import counted, size_text
from ollm_tui.frontend.chat_words import (
    count_of_all,
    shown_model,
    shown_role,
    shown_tags,
    shown_title,
    when,
)
from ollm_tui.store.listing import ChatPreview
from ollm_tui.store.rows import ConversationSummary, StoredMessage

_MAX_LINES: Final = 8
"""Lines of a message."""
_MAX_CHARACTERS: Final = 600


class PreviewPane(Static):
    """Shows the facts of a chat, its first message and its last ones."""

    DEFAULT_CSS = """
    PreviewPane {
        width: 2fr; height: 1fr; padding: 0 2; margin: 0 0 0 1; color: $foreground;
        border-left: solid $foreground 25%; overflow: hidden;
        &:ansi { border-left: solid $border-blurred; }
    }
    """

    def __init__(self) -> None:
        super().__init__("", markup=False)
        self._shown: tuple[ConversationSummary | None, ChatPreview] = (None, ChatPreview())

    def show(self, chat: ConversationSummary | None, preview: ChatPreview, now_ms: int) -> None:
        """Show a chat, or nothing."""
        if (chat, preview) != self._shown:
            self._shown = chat, preview
            self.update(preview_content(chat, preview, now_ms) if chat else Content(""))


def preview_content(chat: ConversationSummary, preview: ChatPreview, now_ms: int) -> Content:
    """Write the preview of a chat."""
    facts = [count_of_all(chat), size_text(chat.size_bytes), shown_model(chat.model)]
    created, changed = when(chat.created_ms, now_ms), when(chat.updated_ms, now_ms)
    lines = [
        Content.styled(shown_title(chat.title), "bold $text-primary"),
        Content.styled(" · ".join(fact for fact in facts if fact), "$text-muted"),
        Content.styled(f"created {created} · changed {changed}", "$text-muted"),
    ]
    if chat.tags:
        lines.append(Content.styled(shown_tags(chat.tags), "$text-accent"))
    for place, stored in enumerate(preview.messages):
        if place == 1 and preview.left_out:
            more = f"… {counted(preview.left_out, 'message')} …"
            lines += [Content(""), Content.styled(more, "$text-muted")]
        lines += ["", *_message_lines(stored)]  # type: ignore[list-item] # joined as they are
    return Content("\n").join(lines)


def _message_lines(stored: StoredMessage) -> Iterator[Content]:
    yield Content.styled(shown_role(stored.message.role), "bold")
    text = stored.message.text.strip()
    kept = clean(text[:_MAX_CHARACTERS]).splitlines()
    lines = [line.rstrip() for line in kept if line.strip()][:_MAX_LINES]
    is_cut = len(text) > _MAX_CHARACTERS or len(kept) > _MAX_LINES
    if not lines:
        yield Content.styled("(no text to show here)", "$text-muted")
    for line in lines:
        yield Content(line)
    if is_cut:
        yield Content.styled("…", "$text-muted")
