"""The settings as numbered lists: a section, a setting, its value."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from anyio import to_thread

from ollm_tui.config.settings_file import SettingsFile, SettingValue
from ollm_tui.linear.chat import LinearChat
from ollm_tui.linear.narrator import error_line
from ollm_tui.protocol.errors import AIError

_GENERAL: Final = "General"


class SettingsView:
    """Goes from section to setting to value, and writes what is typed."""

    def __init__(self, chat: LinearChat) -> None:
        self._chat = chat
        self._file: SettingsFile = chat.runtime.settings

    async def show(self, words: str) -> None:
        """Let the user choose a setting by its section, or by words in its name or meaning."""
        values = await self._read()
        if words.strip():
            wanted = words.casefold().split()
            shown = [
                one
                for one in values
                if all(w in f"{one.field.key} {one.field.description}".casefold() for w in wanted)
            ]
            await self._choose("Settings that match", shown)
            return
        sections = list(dict.fromkeys(one.field.section for one in values))
        rows = [section or _GENERAL for section in sections]
        chosen = await self._chat.questions.choose("Sections of the settings", rows)
        if chosen is not None:
            inside = [one for one in values if one.field.section == sections[chosen]]
            await self._choose(rows[chosen], inside)

    async def _read(self) -> list[SettingValue]:
        loaded = await to_thread.run_sync(self._file.reload)
        for problem in loaded.problems:
            self._chat.say(str(problem), "warning")
        return await to_thread.run_sync(self._file.values, {})

    async def _choose(self, title: str, values: Sequence[SettingValue]) -> None:
        if not values:
            self._chat.say("No setting matches.")
            return
        rows = [f"{one.field.key}, {_value(one)}, from {one.origin}" for one in values]
        chosen = await self._chat.questions.choose(title, rows)
        if chosen is not None:
            await self._edit(values[chosen])

    async def _edit(self, value: SettingValue) -> None:
        field = value.field
        self._chat.write(f"{field.key}: {field.description}")
        self._chat.write(f"It is {_value(value)}, from {value.origin}.")
        acts = ["Change it"]
        acts += ["Reset it, so that the file does not set it"] if value.in_file else []
        act = await self._chat.questions.choose(field.key, acts)
        try:
            if act == 1:
                await to_thread.run_sync(self._file.reset, field)
                self._chat.say(f"Reset {field.key}.", hint="It acts when ollm starts again.")
            elif act == 0:
                await self._change(value)
        except AIError as error:
            self._chat.write(error_line(error))

    async def _change(self, value: SettingValue) -> None:
        field = value.field
        if field.is_secret:  # what is typed here can be seen, and heard
            self._chat.say("Keys are not typed here.", hint="In a shell: ollm keys set NAME")
            return
        if field.key == "keymap":
            self._chat.say(
                "The keys of the full-screen app do nothing here, so they are not changed here.",
                hint="In a shell: ollm opens it, and /settings there has a list of keys.",
            )
            return
        text: str | None
        choices = ("true", "false") if field.kind == "switch" else field.choices
        if choices:
            chosen = await self._chat.questions.choose(field.key, choices)
            text = None if chosen is None else choices[chosen]
        elif field.kind == "list":
            typed = await self._chat.questions.line(
                "New items, with commas between: ", value.draft.replace("\n", ", ")
            )
            text = None if typed is None else "\n".join(map(str.strip, typed.split(",")))
        else:
            text = await self._chat.questions.line("New value: ", value.draft.replace("\n", " "))
        if text is None:
            self._chat.say("Nothing was changed.")
            return
        warning = await to_thread.run_sync(partial(self._file.set, field, text))
        self._chat.say(f"Saved {field.key}.", hint="It acts when ollm starts again.")
        if warning:
            self._chat.say(warning, "warning")


def _value(value: SettingValue) -> str:
    return {"{}": "none", "[]": "none"}.get(value.shown, value.shown)
