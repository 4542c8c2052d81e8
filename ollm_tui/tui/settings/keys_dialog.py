"""The key editor: every key by its scope, and a new one by pressing it."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import ClassVar, Final

from anyio import to_thread
from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from ollm_tui.config.settings_file import SettingsFile
from ollm_tui.decode.clean import clean_line
from ollm_tui.protocol.errors import AIError
from ollm_tui.tui.dialogs import Dialog, FilterList
from ollm_tui.tui.keys import EDITING, SCREENS, Key, Keymap, display_key, with_overrides
from ollm_tui.tui.settings.live import LiveSettings

RESET_ALL: Final = "reset all"
_HEADS: Final[Mapping[str, str]] = {
    "composer": "In the input",
    "dictation": "While dictating",
    "chat": "In the chat",
    "find": "While searching in the chat",
    "cursor": "While browsing messages",
    "caret": "While selecting text",
    **SCREENS,
}
_OFTEN_TAKEN: Final[Mapping[str, str]] = {
    "ctrl+a": "GNU Screen",
    "ctrl+b": "tmux",
    "ctrl+q": "the flow control of some terminals",
    "ctrl+s": "the flow control of some terminals",
    "f10": "the menu of some terminals",
    "f11": "the full screen of most terminals",
    "f12": "some desktops",
}
_SAME_AS: Final[Mapping[str, str]] = {
    "tab": "Ctrl+I",
    "enter": "Ctrl+M",
    "backspace": "Ctrl+H",
}


class EditKeys(FilterList[None]):
    """Lists the keys; each change is written at once, unless it takes the key of another."""

    HEADING = "Keys"
    PLACEHOLDER = "Search by action, key or id"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r", "reset", "Reset", show=False, priority=True),
    ]

    def __init__(self, file: SettingsFile, keymap: Keymap, live: LiveSettings) -> None:
        super().__init__()
        self._file = file
        self._keymap = keymap
        self._live = live

    def show_rows(self, mark: str | None = None) -> None:
        """List the keys that match."""
        rows = [*self._rows()]
        self.fill(rows, mark=mark)
        self.say(
            "Enter change · Ctrl+R reset · Esc close"
            if rows
            else "No key matches. Clear the search to see all."
        )

    @property
    def _keys(self) -> list[Key]:
        chosen = self._file.loaded.config.keymap
        now = with_overrides(chosen)
        editing = (_with(key, now.chosen) for key in EDITING)
        return sorted((*now.keys, *editing), key=lambda key: list(_HEADS).index(key.scope))

    def _rows(self) -> Iterator[Option]:
        words, scope, chosen = self.query_text.lower().split(), "", self._file.loaded.config.keymap
        for key in self._keys:
            shown = f"{key.shown} {key.keys} {key.description} {key.id}".lower()
            if not all(word in shown for word in words):
                continue
            if key.scope != scope:
                scope = key.scope
                yield Option(Content.styled(_HEADS[scope], "bold $text-primary"), disabled=True)
            yield Option(_row(key, self.row_width, is_own=key.id in chosen), id=key.id)
        if chosen and not words:
            yield Option(Content.styled("All keys", "bold $text-primary"), disabled=True)
            yield Option("  Reset all keys to the defaults", id=RESET_ALL)

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        if event.option_id == RESET_ALL:
            self._write(dict.fromkeys(self._file.loaded.config.keymap), "Reset all keys.")
        elif (key := self._key(event.option_id)) is not None:
            self._change(key)

    def _key(self, key_id: str | None) -> Key | None:
        return next((key for key in self._keys if key.id == key_id), None)

    @work(exclusive=True, group="key")
    async def _change(self, key: Key) -> None:
        chosen = self._file.loaded.config.keymap
        pressed = await self.app.push_screen_wait(PressKey(key, chosen))
        if pressed is not None:
            self._write({key.id: pressed}, f"{key.description}: {display_key(pressed)}")

    def action_reset(self) -> None:
        """Give the marked action its default key."""
        key = self._key(self.marked)
        if key is None or key.id not in self._file.loaded.config.keymap:
            self.say("This is its default key.")
        else:
            self._write({key.id: None}, f"{key.description}: the default key.")

    @work(exclusive=True, group="write")
    async def _write(self, changes: Mapping[str, str | None], done: str) -> None:
        marked = self.marked
        try:
            await to_thread.run_sync(partial(_bind, self._file, changes))
        except AIError as error:
            done = f"! {clean_line(error.message)} {error.hint or ''}"
        await to_thread.run_sync(self._file.reload)
        self._live.apply(("keymap",), self._file.loaded)
        self.show_rows(marked)
        self.say(done)


def _bind(file: SettingsFile, changes: Mapping[str, str | None]) -> None:
    for key_id, keys in changes.items():
        file.bind(key_id, keys)
        if len(changes) > 1:
            file.reload()


def _with(key: Key, chosen: Mapping[str, str]) -> Key:
    keys = chosen.get(key.id, key.keys)
    return Key(key.id, keys, key.action, key.description, key.label, key.when)


def _row(key: Key, width: int, *, is_own: bool) -> Content:
    own = " yours" if is_own else ""
    key_width = min(24, width // 3)
    room = max(4, width - key_width - len(own) - 4)
    return Content.assemble(
        "  ",
        (Content(key.shown).truncate(key_width, ellipsis=True, pad=True).plain, "$text-accent"),
        "  ",
        Content(key.description).truncate(room, ellipsis=True, pad=True),
        (own, "$text-success"),
    )


class PressKey(Dialog[str | None]):
    """Returns the key that is pressed, unless another action has it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "dismiss(None)", "Cancel", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    PressKey > Vertical { width: 64; height: auto; }
    """

    def __init__(self, key: Key, chosen: Mapping[str, str]) -> None:
        super().__init__()
        self._key = key
        self._chosen = chosen
        self._pressed: str | None = None

    def compose(self) -> ComposeResult:
        """Lay out the question."""
        with Vertical():
            yield Static(Content(self._key.description), classes="title")
            yield Static(Content(f"Now: {self._key.shown}. Press the new key."), id="what")
            yield Static(Content(_CLOSE), id="about")

    def on_key(self, event: events.Key) -> None:
        """Take a key: the same twice, or Enter after it, saves it."""
        event.stop()
        event.prevent_default()
        name = event.key
        if self._pressed is not None and name in ("enter", self._pressed):
            self.dismiss(self._pressed)
            return
        problem = self._problem(name)
        self._pressed = name if problem is None else None
        self.query_one("#what", Static).update(Content(problem or _accepted(name)))
        self.query_one("#about", Static).update(Content(_SAVE if problem is None else _CLOSE))

    def _problem(self, name: str) -> str | None:
        """Return why an action cannot have a key."""
        refused = with_overrides({**self._chosen, self._key.id: name}).refused
        before = with_overrides(self._chosen).refused
        new = [one for one in refused if one not in before]
        if new and (owner := new[0].owner) is not None:
            return f"{display_key(name)} has an action already: {owner.description}."
        return clean_line(str(new[0])).removeprefix("[keymap] ") if new else None


_CLOSE: Final = (
    "If nothing happens when you press a key, your terminal or desktop keeps it. Esc cancel"
)
_SAVE: Final = "Enter save · another key to change it · Esc cancel"


def _accepted(name: str) -> str:
    shown = display_key(name)
    if name in _OFTEN_TAKEN:
        return f"{shown}. It may not always arrive: {_OFTEN_TAKEN[name]} uses it."
    if name in _SAME_AS:
        return f"{shown}. Most terminals send the same for {_SAME_AS[name]}."
    if any(part in name.split("+") for part in ("super", "hyper", "meta")):
        return f"{shown}. Only terminals with the kitty keyboard protocol send it."
    return f"{shown}."
