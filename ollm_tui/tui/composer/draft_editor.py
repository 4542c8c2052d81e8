"""An editor for drafts: long pastes are one unit, control characters are drawn as signs."""

from typing import ClassVar, Final

from rich.text import Text
from textual.actions import SkipAction
from textual.content import Content
from textual.document._document import EditResult, Location
from textual.widgets import TextArea
from textual.widgets.text_area import Selection

from ollm_tui.lazy import lazy_re
from ollm_tui.tui.composer.pictures import DraftPictures
from ollm_tui.tui.widgets import (
    PasteStore,
    from_editor,
    has_reserved_characters,
    to_editor,
    to_signs,
)

_PLACEHOLDER: Final = lazy_re(r"\{\{[^{}\n]{1,60}\}\}")
_BLOCK_BEGIN: Final = lazy_re(r'\s*(?:/(?:set )?system +)?"""')


class DraftEditor(TextArea, inherit_bindings=False):
    """Holds a text with parts folded to tokens; a token is never split."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"draft-editor--paste"}
    DEFAULT_CSS = """
    DraftEditor {
        & .draft-editor--paste { color: $text-accent; text-style: bold; }
        &:ansi .draft-editor--paste { color: ansi_default; text-style: bold; }
        & .text-area--placeholder { color: $foreground-muted; }
        &:nocolor .text-area--selection { text-style: reverse; }
        &:ansi .text-area--placeholder { color: ansi_default; text-style: dim; }
    }
    """

    def __init__(self, placeholder: str = "") -> None:
        self._pastes = PasteStore()
        self.pictures = DraftPictures()
        """The pictures of the draft's tokens."""
        super().__init__(placeholder=Content(placeholder), highlight_cursor_line=False)
        self.cursor_blink = False

    @property
    def draft(self) -> str:
        """The text with pastes folded."""
        return from_editor(self.text)

    @draft.setter
    def draft(self, draft: str) -> None:
        self.load_draft(draft)
        self.move_cursor(self.document.end)

    @property
    def value(self) -> str:
        """The text with pastes unfolded."""
        return self._whole(self.text)

    def insert_pasted(self, text: str) -> None:
        """Insert a text as if it had been pasted: folded if it is long."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        result = self._replace_via_keyboard(to_editor(self._pastes.fold(text)), *self.selection)
        if result is not None:
            self.move_cursor(result.end_location)

    def folded(self, text: str) -> str:
        """Return a text as a paste of it would be inserted: a long one as its token.

        So is one that holds what looks like the token of another.
        """
        return self._pastes.fold(text, always=self._pastes.unfold(text) != text)

    def swap(self, text: str, other: str) -> bool:
        """Replace the last occurrence of a text; False if there is none."""
        held = to_editor(text)
        start = self.text.rfind(held)
        if start < 0:
            return False
        first, last = (location_of(self.text, index) for index in (start, start + len(held)))
        was_behind = self.cursor_location == last
        result = self.replace(to_editor(other), first, last)
        if was_behind:
            self.move_cursor(result.end_location)
        return True

    def load_draft(self, draft: str) -> None:
        """Replace everything, the undo history too; the pictures of its tokens come back."""
        self.pictures.revive(draft)
        if has_reserved_characters(draft):
            draft = self._pastes.fold(draft, always=True)
        self.load_text(to_editor(draft))

    @property
    def selected_value(self) -> str:
        """The selection with pastes unfolded, or an empty text."""
        return self._whole(self.selected_text)

    def _whole(self, held: str) -> str:
        return self._pastes.unfold(from_editor(held))

    def action_copy(self) -> None:
        """Copy the selection, pastes unfolded."""
        if self.selection.is_empty:
            raise SkipAction
        self.app.copy_to_clipboard(self.selected_value)

    def action_cut(self) -> None:
        """Cut the selection or the line, pastes unfolded."""
        is_line, delete = self.selection.is_empty, self._delete_via_keyboard
        result = self._delete_cursor_line() if is_line else delete(*self.selection)
        if result is not None:
            self.app.copy_to_clipboard(self._whole(result.replaced_text))

    def action_paste(self) -> None:
        """Paste what was cut or copied here."""
        self.insert_pasted(self.app.clipboard)

    # Folded pastes and pictures: one unit for the cursor and for every deletion

    def _paste_spans(self, row: int) -> list[tuple[int, int]]:
        line = self.document.get_line(row)
        return self._pastes.spans(line) if "[" in line else []

    def _token_spans(self, row: int) -> list[tuple[int, int]]:
        line = self.document.get_line(row)
        return [*self._paste_spans(row), *self.pictures.spans(line)] if "[" in line else []

    def _paste_at_cursor(self) -> tuple[Location, Location] | None:
        row, column = self.cursor_location
        spans = (((row, start), (row, end)) for start, end in self._paste_spans(row))
        return next((span for span in spans if span[0][1] <= column <= span[1][1]), None)

    def action_expand_paste(self) -> None:
        """Replace a token by its whole text."""
        if span := self._paste_at_cursor():
            text = self._pastes.unfold(self.get_text_range(*span))
            if not has_reserved_characters(text):
                self.replace(to_editor(text), *span)

    # Placeholders of snippets

    def action_next_placeholder(self, *, from_start: bool = False) -> None:
        """Select the next placeholder, going round."""
        text, behind = self.text, (0, 0) if from_start else self.selection.end
        places = [
            Selection(location_of(text, match.start()), location_of(text, match.end()))
            for match in _PLACEHOLDER.finditer(text)
        ]
        if places:
            later = (place for place in places if place.start >= behind)
            self.selection = next(later, places[0])

    def clamp_visitable(self, location: Location) -> Location:
        """Keep the cursor out of the inside of a token."""
        row, column = super().clamp_visitable(location)
        for start, end in self._token_spans(row):
            if start < column < end:
                return row, start if column - start < end - column else end
        return row, column

    def get_cursor_left_location(self) -> Location:
        """Move over a token as over one letter."""
        row, column = self.cursor_location
        before = {end: start for start, end in self._token_spans(row)}
        return (row, before[column]) if column in before else super().get_cursor_left_location()

    def get_cursor_right_location(self) -> Location:
        """Move over a token as over one letter."""
        row, column = self.cursor_location
        after = dict(self._token_spans(row))
        return (row, after[column]) if column in after else super().get_cursor_right_location()

    def get_cursor_word_left_location(self) -> Location:
        """Move over a token as over one word."""
        return self._widened(super().get_cursor_word_left_location(), 0)

    def get_cursor_word_right_location(self) -> Location:
        """Move over a token as over one word."""
        return self._widened(super().get_cursor_word_right_location(), 1)

    def delete(
        self, start: Location, end: Location, *, maintain_selection_offset: bool = True
    ) -> EditResult:
        """Delete a range, extended to whole tokens."""
        top, bottom = sorted((start, end))
        top, bottom = self._widened(top, 0), self._widened(bottom, 1)
        return super().delete(top, bottom, maintain_selection_offset=maintain_selection_offset)

    def _widened(self, location: Location, side: int) -> Location:
        row, column = location
        if row >= self.document.line_count:
            return location
        for span in self._token_spans(row):
            if span[0] < column < span[1]:
                return row, span[side]
        return location

    def get_line(self, line_index: int) -> Text:
        """Draw control characters as signs, and tokens in their own style."""
        line = Text(to_signs(self.document.get_line(line_index)), end="", no_wrap=True)
        for start, end in self._token_spans(line_index):
            line.stylize(self.get_component_rich_style("draft-editor--paste"), start, end)
        return line

    def find_matching_bracket(self, bracket: str, search_from: Location) -> Location | None:
        """Match no brackets: a prompt is no program, and the search may scan all of it."""
        return None


def location_of(text: str, index: int) -> Location:
    """Return row and column of an index in a text."""
    return text.count("\n", 0, index), index - text.rfind("\n", 0, index) - 1


def is_open_block(text: str) -> bool:
    """Whether a text is a block in three quotes that has not ended yet."""
    begin = _BLOCK_BEGIN.match(text)
    return begin is not None and '"""' not in text[begin.end() :]
