"""Where a prompt is written: an editor that grows, sends on Enter and loses nothing."""

import time
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message

from ollm_tui.dataclass import dataclass
from ollm_tui.frontend.prompt_history import PromptHistory
from ollm_tui.tui.composer.completions import FileQuery, Menu, file_query, open_menu
from ollm_tui.tui.composer.draft_editor import DraftEditor, is_open_block, location_of
from ollm_tui.tui.keys import COMPOSER
from ollm_tui.tui.widgets import from_editor, letters, obey_own_binding, to_editor, typed_run

if TYPE_CHECKING:
    from collections.abc import Callable

    # the commands are loaded after the first frame
    from ollm_tui.attachments.attachment import AttachedFile
    from ollm_tui.commands.parse import Suggestions
    from ollm_tui.commands.registry import Completion

MAX_ROWS: Final = 8
PASTE_GUARD_S: Final = 0.05
"""How long after a paste, and after each key within that time, Enter sends nothing."""


class Composer(DraftEditor, inherit_bindings=False):
    """The prompt editor; its keys take effect in the order of typing, between the letters."""

    BINDINGS: ClassVar[list[BindingType]] = [key.binding for key in COMPOSER]
    DEFAULT_CSS = """
    Composer {
        height: auto; border: round $border-blurred; padding: 0 1; background: transparent;
        scrollbar-size-vertical: 1;
        &:focus { border: round $border; background: transparent; }
    }
    """

    @dataclass
    class Submitted(Message):
        """A prompt or a command was sent; the composer is empty again."""

        text: str
        """The text with pastes unfolded, every character as it was typed or pasted."""

    @dataclass
    class PathsPasted(Message):
        """Pasted text that may be paths of files; call `end_reading` for it."""

        text: str

    @dataclass
    class FileWanted(Message):
        """The name of a file is being written; call `offer` for it."""

        query: FileQuery

    @dataclass
    class FileNamed(Message):
        """A file was chosen by its name in the draft; call `end_reading` for it."""

        text: str
        name: str

    @dataclass
    class PicturesChanged(Message):
        """The pictures of the draft have changed."""

        pictures: "list[tuple[int, AttachedFile]]"

    @dataclass
    class MenuChanged(Message):
        """The suggestions changed, or another of them is chosen."""

        menu: Menu | None

    def __init__(
        self,
        *,
        placeholder: str = "",
        history: PromptHistory | None = None,
        suggest: "Callable[[str], Suggestions | None]" = lambda _text: None,
    ) -> None:
        self._history = history or PromptHistory()
        self._suggest = suggest
        self._menu: Menu | None = None
        self.guarded_until = 0.0
        """Until then Enter sends nothing: it may belong to a paste or to an older draft."""
        self._key_is_pasted = False
        self._reading = 0
        """Files that are being read; the draft is sent when they are in it."""
        self._sends_once_read = False
        self._query: FileQuery | None = None
        """The file query in progress."""
        self._shown_pictures: list[int] = []
        super().__init__(placeholder=placeholder)

    # What is in it

    @property
    def just_pasted(self) -> bool:
        """Whether a paste ended so recently that a key may still belong to it."""
        return time.monotonic() < self.guarded_until

    @property
    def has_menu(self) -> bool:
        """Whether suggestions are shown."""
        return self._menu is not None

    def stash(self) -> bool:
        """Clear the draft into the history, where Up finds it; False if it was empty."""
        if not self.text and not self.pictures.beside:
            return False
        self._history.add(self.pictures.take_beside(self.draft))
        self.load_draft("")
        return True

    def remember(self, text: str) -> None:
        """Put a text into the history, where Up finds it; it is not saved."""
        self._history.add(self._pastes.fold(text))

    def keep_prompts(self, is_kept: bool) -> None:
        """Keep sent prompts in the history, or forget them with the chat."""
        self._history.keep(is_kept)

    def load_edited(self, text: str, before: str) -> None:
        """Replace the draft `before` by what became of its text in another program.

        Text that came into the input meanwhile stays: in front of it, where it is put.
        """
        now, edited = self.draft, self._pastes.refold(text, before)
        arrived = now.removesuffix(before).removesuffix("\n\n") if now.endswith(before) else now
        self.draft = "\n\n".join(part for part in (arrived, edited) if part)

    def prepend(self, text: str) -> None:
        """Insert a returned text before the draft, with a blank line between."""
        parts = (self._pastes.fold(text), self.draft)
        self.draft = "\n\n".join(part for part in parts if part)

    def insert_dictated(self, text: str) -> None:
        """Insert words at the cursor as one edit, with the spaces they need; replaces nothing."""
        row, column = place = self.cursor_location
        line = self.document.get_line(row)
        before = " " if column and not line[column - 1].isspace() else ""
        after = " " if line[column : column + 1].isalnum() else ""
        words = to_editor(self._pastes.fold(text))
        self.history.checkpoint()
        result = self.replace(f"{before}{words}{after}", place, place)
        self.move_cursor(result.end_location)

    def load_draft(self, draft: str) -> None:
        """Replace everything; suggestions wait for the next edit."""
        super().load_draft(draft)
        self._query, self.guarded_until = None, 0.0
        self._show(None)
        self.look_at_pictures()

    # Keys

    async def _on_key(self, event: events.Key) -> None:
        self._sends_once_read = False
        self._note_time(event)
        if event.is_printable:
            event.stop()
            event.prevent_default()
            if event.character != " " or not self._take_exact():
                self._type(event)
            return
        await obey_own_binding(self, event)
        self._key_is_pasted = False

    def _type(self, first: events.Key) -> None:
        """Insert a letter together with all that are queued: each edit costs the whole text."""
        # A space may take what is suggested.
        run = typed_run(self, first, lambda key: key.character != " " or self._menu is None)
        for key in run[1:]:
            self._note_time(key)
        self._replace_via_keyboard(letters(run), *self.selection)

    def _note_time(self, key: events.Key) -> None:
        self._key_is_pasted = key.time < self.guarded_until
        if self._key_is_pasted:
            self.guarded_until = key.time + PASTE_GUARD_S

    async def _on_paste(self, event: events.Paste) -> None:
        # loaded with the first paste
        from ollm_tui.attachments.paths import may_be_files

        event.stop()
        event.prevent_default()
        self.guarded_until = event.time + PASTE_GUARD_S
        self.insert_pasted(event.text)
        if may_be_files(event.text):
            self._reading += 1
            self.post_message(self.PathsPasted(event.text))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave a key to others while it would do nothing here."""
        match action:
            case "dismiss":
                return self._menu is not None
            case "complete":
                return self._menu is not None or "{{" in self.text
            case "expand_paste":
                return self._paste_at_cursor() is not None
            case _:
                return super().check_action(action, parameters)

    def action_submit(self) -> None:
        """Take the chosen suggestion, or send."""
        if self._key_is_pasted:
            self.action_newline()
        elif self._query is not None:
            self._sends_once_read = True
        elif not self._take_chosen() and not self._continue_line():
            self._submit()

    def action_newline(self) -> None:
        """Begin a new line."""
        self._replace_via_keyboard("\n", *self.selection)

    def _continue_line(self) -> bool:
        row, column = self.cursor_location
        is_block = is_open_block(self.text)
        if not (is_block or self.document.get_line(row)[:column].endswith("\\")):
            return False
        self._replace_via_keyboard("\n", (row, column - (not is_block)), (row, column))
        return True

    def _submit(self) -> None:
        text = self.value
        if self._reading:
            self._sends_once_read = True
            return
        if not text.strip():
            return
        self._history.add(self.draft, self.pictures.without(text))
        self.load_draft("")
        self.post_message(self.Submitted(text))

    # Files that are read while you type on

    def look_at_pictures(self) -> None:
        """Post `PicturesChanged` if the pictures of the draft have changed."""
        pictures = self.pictures.attached(self.draft) if self.pictures else []
        numbers = [number for number, _ in pictures]
        if numbers != self._shown_pictures:
            self._shown_pictures = numbers
            self.post_message(self.PicturesChanged(pictures))

    def end_reading(self, text: str, words: str) -> None:
        """Replace the text that named a file, if it is still there; empty `words` leave it."""
        self._reading -= 1
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if words.strip():
            self.swap(text, words)
        if self._sends_once_read and not self._reading:
            self._sends_once_read = False
            self._submit()

    # History

    def action_cursor_up(self, select: bool = False) -> None:
        """Go up: in the suggestions, in the text, then into the history."""
        if self._menu is not None:
            self._show(self._menu.moved(-1))
        elif select or self._visual_row() > 0:
            super().action_cursor_up(select)
        else:
            self._recall(self._history.previous(self.draft), to_end=False)

    def action_cursor_down(self, select: bool = False) -> None:
        """Go down: in the suggestions, in the text, then back through the history."""
        if self._menu is not None:
            self._show(self._menu.moved(1))
        elif select or self._visual_row() < self.wrapped_document.height - 1:
            super().action_cursor_down(select)
        else:
            self._recall(self._history.next(self.draft), to_end=True)

    def _visual_row(self) -> int:
        return self.wrapped_document.location_to_offset(self.cursor_location).y

    def _recall(self, draft: str | None, *, to_end: bool) -> None:
        if draft is None:
            self.move_cursor(self.document.end if to_end else (0, 0))
            return
        self.load_draft(draft)
        # So that the same key goes on through the history, also over prompts of many lines.
        first_line_end = (0, len(self.document.get_line(0)))
        self.move_cursor(self.document.end if to_end else first_line_end)

    # Suggestions

    def update_suggestion(self) -> None:
        """Look for suggestions, and at the pictures, after every edit."""
        self.look_at_pictures()
        self._show(open_menu(self._suggest(self.draft)) if self.text[:1] == "/" else None)
        self._query = self._file_query()
        if self._query is not None:
            self.post_message(self.FileWanted(self._query))

    def _file_query(self) -> FileQuery | None:
        text = self.text
        if "@" not in text and text[:1] != "/":
            return None
        row, column = self.cursor_location
        above = sum(len(self.document.get_line(line)) + 1 for line in range(row))
        return file_query(from_editor(text), above + column)

    def offer(self, query: FileQuery, suggestions: "Suggestions | None") -> None:
        """Show suggestions for a query, unless something else was written meanwhile."""
        if query != self._query:
            return
        self._query = None
        if suggestions is not None or query.is_mention:
            self._show(open_menu(suggestions))
        if self._sends_once_read:
            self._sends_once_read = False
            self.action_submit()

    def _show(self, menu: Menu | None) -> None:
        if menu != self._menu:
            self._menu = menu
            self.post_message(self.MenuChanged(menu))

    def action_dismiss(self) -> None:
        """Close the suggestions until the next edit."""
        self._show(None)

    def action_complete(self) -> None:
        """Insert the suggestion that is chosen, or go to the next placeholder."""
        if self._menu is not None:
            self.take(self._menu.index or 0, go_on=True)
        else:
            self.action_next_placeholder()

    def take(self, index: int, *, go_on: bool = False) -> None:
        """Insert a suggestion; `go_on` adds a space if an argument must follow."""
        if self._menu is None:
            return
        item = self._menu.items[index]
        if self._menu.suggestions.is_mention:
            self._take_file(self._menu.suggestions.start, item)
            return
        kept = self.draft[: self._menu.suggestions.start]
        more = " " if go_on and item.takes_more and not item.value.endswith("/") else ""
        self.replace(
            to_editor(f"{kept}{item.value}{more}"),
            (0, 0),
            self.document.end,
            maintain_selection_offset=False,
        )
        if not more:
            self._show(None)

    def _take_file(self, start: int, item: "Completion") -> None:
        """Complete a file name; a file is read at once, a folder lists its files."""
        held = to_editor(name := item.value)
        first = location_of(self.text, start)
        result = self.replace(held, first, self.cursor_location, maintain_selection_offset=False)
        self.move_cursor(result.end_location)
        if item.takes_more:
            return
        self._query = None
        self._show(None)
        self._reading += 1
        self.post_message(self.FileNamed(f"@{name}", name))

    def _take_exact(self) -> bool:
        """Read the suggested file whose whole name is written; False if there is none."""
        suggestions = self._menu.suggestions if self._menu is not None else None
        if suggestions is None or not suggestions.is_mention:
            return False
        names = ["" if item.takes_more else item.value for item in suggestions.items]
        if not suggestions.query or suggestions.query not in names:
            return False
        self.take(names.index(suggestions.query))
        return True

    def _take_chosen(self) -> bool:
        menu = self._menu
        if menu is None or menu.chosen is None:
            return False
        if menu.chosen.value == menu.suggestions.query and not menu.suggestions.is_mention:
            return False
        self.take(menu.index or 0)
        return True

    # Drawing

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Grow with the text, up to a third of the screen."""
        most = max(1, min(MAX_ROWS, viewport.height // 3))
        return min(most, max(1, super().get_content_height(container, viewport, width)))
