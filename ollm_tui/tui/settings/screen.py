"""The settings screen: every setting with its value and where that comes from."""

from functools import partial
from typing import ClassVar, Final

from anyio import to_thread
from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Input, OptionList, Static

from ollm_tui.commands import COMMANDS
from ollm_tui.config.origin import ConfigProblem
from ollm_tui.config.schema import AppConfig
from ollm_tui.config.setting_fields import SettingField, table_names
from ollm_tui.config.settings_file import SettingsFile, SettingValue
from ollm_tui.decode.clean import clean_line
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.tui.dialogs import (
    MAX_FILTER_LENGTH,
    ChoiceDialog,
    ChoiceRow,
    Dialogs,
    Help,
    LeftOnce,
    fill_list,
    move_highlight,
)
from ollm_tui.tui.keys import Keymap
from ollm_tui.tui.settings.edit_dialog import EditSetting, NameEntry
from ollm_tui.tui.settings.keys_dialog import EditKeys
from ollm_tui.tui.settings.live import LiveSettings
from ollm_tui.tui.settings.rows import ADD, about, matching, options
from ollm_tui.tui.theming import ThemeCatalog, ThemePicker
from ollm_tui.tui.widgets import FLASH_S, ChatHeader, HintLine, KeyLine, TextField

_HINTS: Final = ("edit", "reset", "next_section", "back", "help")


class SettingsScreen(LeftOnce[None]):
    """Lists the settings of the schema; each is edited by its kind."""

    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [*Keymap().bindings("settings")]
    DEFAULT_CSS = """
    SettingsScreen {
        & > Input, & > Input:focus {
            height: 1; border: none; background: $panel; padding: 0 1; margin: 0 1;
        }
        OptionList, OptionList:focus {
            border: none; background: transparent; padding: 0 1; height: 1fr; margin: 1 0 0 0;
            scrollbar-size-vertical: 1;
            & > .option-list--option-disabled { color: $text-muted; }
            & > .option-list--option-highlighted {
                background: $block-cursor-background; color: $block-cursor-foreground;
                text-style: $block-cursor-text-style;
            }
        }
        &:nocolor OptionList > .option-list--option-highlighted { text-style: bold underline; }
        #about { height: 3; padding: 0 2; margin: 1 0 0 0; }
        &.-low > OptionList, &.-low #about { margin: 0; }
    }
    """
    listed = getters.query_one(OptionList)
    hints = getters.query_one(HintLine)

    def __init__(
        self, file: SettingsFile, keymap: Keymap, themes: ThemeCatalog, live: LiveSettings
    ) -> None:
        super().__init__()
        self.VERTICAL_BREAKPOINTS = [(0, "-low"), (20, "-high")]
        self.keymap = keymap
        self._file = file
        self._themes = themes
        self._live = live
        self._values: list[SettingValue] = []
        self._added: dict[str, tuple[str, ...]] = {}
        self._tables = table_names(AppConfig)
        self._dialogs = Dialogs(self)

    def compose(self) -> ComposeResult:
        """Lay out the filter, the list, and the lines about the marked setting."""
        yield ChatHeader("Settings")
        yield TextField(placeholder="Search", max_length=MAX_FILTER_LENGTH, compact=True)
        yield OptionList(compact=True, markup=False)
        yield Static("", id="about", markup=False)
        yield HintLine()
        yield KeyLine()

    def on_mount(self) -> None:
        """Name the keys and read the file."""
        ids = (f"settings.{name}" for name in _HINTS)
        self.query_one(KeyLine).show(self.keymap.hints_of(*ids))
        self.query_one(ChatHeader).show_model(*self._live.model)
        self._load()

    @work(exclusive=True, group="load")
    async def _load(self) -> None:
        await self._reload()

    async def _reload(self, mark: str | None = None) -> None:
        loaded = await to_thread.run_sync(self._file.reload)
        self._values = await to_thread.run_sync(self._file.values, self._added)
        if problems := [one for one in loaded.problems if one.origin.kind == "file"]:
            self.hints.stand(clean_line(_in_line(problems[0])))
        else:
            self.hints.stand("")
        self._show(mark)

    # The list

    def on_resize(self) -> None:
        """Write the rows for the new width."""
        self.call_after_refresh(self._show)

    @on(Input.Changed)
    def _narrow(self) -> None:
        self._show()

    def _show(self, mark: str | None = None) -> None:
        if not self.query(OptionList):
            return
        query, width = self.query_one(Input).value, max(20, self.listed.size.width - 3)
        shown = matching(self._values, query)
        rows = options(shown, self._tables, width, adds=not query.strip() and bool(shown))
        fill_list(self.listed, [*rows], mark or self._marked_id)
        self._show_about()

    @property
    def _marked_id(self) -> str | None:
        option = self.listed.highlighted_option
        return option.id if option else None

    @property
    def _marked(self) -> SettingValue | None:
        marked = self._marked_id
        return next((one for one in self._values if one.field.key == marked), None)

    @on(OptionList.OptionHighlighted)
    def _show_about(self) -> None:
        marked, text = self._marked, Content("")
        if marked is not None:
            text = about(marked, acts_at_once=self._live.acts_at_once(marked.field.path))
        elif (row := self._marked_id or "").startswith(ADD):
            text = Content(self._tables[row.removeprefix(ADD)])
        elif self._values and not self.listed.option_count:
            text = Content("No setting matches. Clear the search to see all.")
        self.query_one("#about", Static).update(text)

    def action_move(self, steps: int) -> None:
        """Move the mark by rows."""
        move_highlight(self.listed, steps)

    def action_section(self, direction: int) -> None:
        """Mark the first setting of the next or the previous section."""
        rows = self.listed.options
        firsts = [
            index + 1 for index, row in enumerate(rows) if row.disabled and index + 1 < len(rows)
        ]
        at = self.listed.highlighted or 0
        after = [index for index in firsts if index > at]
        before = [index for index in firsts if index < at]
        if wanted := after[:1] if direction > 0 else before[-1:]:
            self.listed.highlighted = wanted[0]

    def action_back(self) -> None:
        """Clear the search, or return to the chat."""
        if self.query_one(Input).value:
            self.query_one(Input).value = ""
        else:
            self.dismiss(None)

    def action_help(self) -> None:
        """Show all keys."""
        self.app.push_screen(Help(self.keymap, COMMANDS, "settings"))

    # Changing

    @on(OptionList.OptionSelected)
    def action_edit(self) -> None:
        """Change the marked setting."""
        row = self._marked_id or ""
        if row.startswith(ADD):
            self._add(row.removeprefix(ADD))
        elif (marked := self._marked) is not None:
            self._edit(marked)

    @work(exclusive=True, group="edit")
    async def _add(self, table: str) -> None:
        name = await self._dialogs.ask(NameEntry(table, self._tables[table]))
        if name is None:
            return
        self._added[table] = (*self._added.get(table, ()), name)
        await self._reload()
        first = next((one for one in self._values if one.field.path[:2] == (table, name)), None)
        self._show(first.field.key if first else None)
        self.hints.flash("It is written with its first setting.", FLASH_S)

    @work(exclusive=True, group="edit")
    async def _edit(self, value: SettingValue) -> None:
        draft, problem = value.draft, ""
        while (text := await self._ask(value, draft, problem)) is not None:
            write = partial(self._file.set, value.field, text, self._live.check)
            try:
                warning = await to_thread.run_sync(write)
            except AIError as error:
                draft, problem = text, _sentence(error)
                if error.code is ErrorCode.BAD_REQUEST and _is_typed(value.field):
                    continue
                await self._reload(value.field.key)
                self.hints.flash(f"! {clean_line(problem)}", 2 * FLASH_S)
                return
            await self._written(value, "Saved")
            if warning:
                self.hints.stand(f"! {clean_line(warning)}")
            return

    async def _ask(self, value: SettingValue, draft: str, problem: str) -> str | None:
        field = value.field
        if field.path == ("keymap",):
            await self._dialogs.ask(EditKeys(self._file, self.keymap, self._live))
            await self._reload(field.key)
            return None
        if field.path == ("theme",):
            return await self._dialogs.ask(ThemePicker(self._themes))
        if field.kind == "switch":
            return "false" if draft == "true" else "true"
        if field.kind == "choice":
            rows = [ChoiceRow(choice, choice) for choice in field.choices]
            about_it = f"{field.description} Enter choose · Esc close"
            return await self._dialogs.ask(ChoiceDialog(field.key, rows, about_it))
        return await self._dialogs.ask(EditSetting(field, draft, problem))

    @work(exclusive=True, group="edit")
    async def action_reset(self) -> None:
        """Remove the marked setting from the file."""
        if (value := self._marked) is None:
            return
        if not value.in_file:
            self.hints.flash("The file does not set it.", FLASH_S)
            return
        try:
            await to_thread.run_sync(self._file.reset, value.field)
        except AIError as error:
            await self._reload(value.field.key)
            self.hints.flash(f"! {clean_line(_sentence(error))}", 2 * FLASH_S)
            return
        await self._written(value, "Reset")

    async def _written(self, value: SettingValue, done: str) -> None:
        await self._reload(value.field.key)
        self._live.apply(value.field.path, self._file.loaded)
        self.hints.flash(f"{done} {clean_line(value.field.key)}", FLASH_S)


def _is_typed(field: SettingField) -> bool:
    """Whether it is edited as text, so that the text can be corrected."""
    return field.kind not in ("switch", "choice") and field.path != ("theme",)


def _in_line(problem: ConfigProblem) -> str:
    line = f" in line {problem.origin.line}" if problem.origin.line else ""
    return f"! The file{line}: {problem.message} {problem.advice or ''}"


def _sentence(error: AIError) -> str:
    return f"{error.message} {error.hint or ''}".strip()
