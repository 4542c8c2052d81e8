"""What is asked before something is done with a model, and why something cannot be done."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ollm_tui.decode.clean import clean_line
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.runtime.actions import MODEL_ACTIONS, ModelAction
from ollm_tui.tui.dialogs.choice import ChoiceRow, Choose
from ollm_tui.tui.models.copy_dialog import CopyName
from ollm_tui.tui.models.delete_dialog import DeleteModel
from ollm_tui.tui.models.entry import ModelEntry
from ollm_tui.tui.models.operations import ModelOperations

if TYPE_CHECKING:
    from ollm_tui.tui.models.screen import ModelsScreen

Refusals = Mapping[ModelAction, str | None]
"""For each deed why it cannot be done; None where it can."""
KEY_OF: Final[Mapping[ModelAction, str]] = {
    "show": "models.details",
    "load": "models.load",
    "unload": "models.unload",
    "copy": "models.copy",
    "delete": "models.delete",
}
_STAYS: Final = (
    ChoiceRow("", "For the server's default time"),
    ChoiceRow("5m", "For 5 minutes after its last use"),
    ChoiceRow("30m", "For 30 minutes after its last use"),
    ChoiceRow("2h", "For 2 hours after its last use"),
    ChoiceRow("-1", "Until unloaded"),
)


class ModelActions:
    """Asks, and hands what is wanted to `ModelOperations`; belongs to one models screen."""

    def __init__(self, screen: "ModelsScreen", work: ModelOperations) -> None:
        self._screen = screen
        self._work = work
        self._known: dict[ModelRef, Refusals] = {}

    def forget(self) -> None:
        """Ask again what can be done."""
        self._known.clear()

    def known(self, ref: ModelRef) -> Refusals | None:
        """Give what can be done with a model, where that was asked already."""
        return self._known.get(ref)

    async def refusals(self, ref: ModelRef) -> Refusals:
        """Ask what can be done with a model; nobody is asked twice."""
        if ref not in self._known:
            manager = self._work.manager
            if manager is None:
                self._known[ref] = dict.fromkeys(MODEL_ACTIONS, "This program only lists models.")
            else:
                try:
                    self._known[ref] = dict(await manager.unavailable_reasons(ref))
                except AIError as error:
                    return dict.fromkeys(MODEL_ACTIONS, str(error))
        return self._known[ref]

    async def do(self, deed: ModelAction, entry: ModelEntry) -> None:
        """Do something with a model, after what must be asked; or say why it cannot be done."""
        refusal = (await self.refusals(entry.ref)).get(deed, "Not available for this model.")
        if refusal is not None:
            self._screen.say(refusal, is_error=True)
        elif self._work.is_busy_with(entry.ref):
            self._screen.say(f"Another action on {entry.name} is in progress.")
        elif self._screen.is_current:
            await self._ask(deed, entry)

    async def _ask(self, deed: ModelAction, entry: ModelEntry) -> None:
        ask, ref = self._screen.app.push_screen_wait, entry.ref
        match deed:
            case "load" if (await self.refusals(ref)).get("keep") is not None:
                self._work.load(ref, None)
            case "load":
                heading = f"Load {entry.name} and keep it loaded"
                stay = await ask(Choose(heading, _STAYS, "Enter load · Esc close"))
                if stay is not None:
                    self._work.load(ref, stay or None)
            case "unload" if await self._work.may_stop(ref, "drop the model from memory"):
                self._work.unload(ref)
            case "copy":
                name = await ask(CopyName(ref.model))
                if name is not None:
                    self._work.copy(ref, name)
            case "delete":
                await self._delete(entry)
            case "show":
                await self._show(entry)

    async def _delete(self, entry: ModelEntry) -> None:
        if not await self._work.may_stop(entry.ref, "delete the model"):
            return
        other_names = await self._work.other_names(entry.ref)
        if not self._screen.is_current:
            return
        question = DeleteModel(
            entry.info,
            self._work.place(entry.ref) or entry.label,
            is_own=self._work.is_own(entry.ref),
            is_loaded=bool(entry.is_loaded),
            other_names=other_names,
        )
        if await self._screen.app.push_screen_wait(question):
            self._work.delete(entry.ref)

    async def _show(self, entry: ModelEntry) -> None:
        """Show all that is known of a model, and do what is chosen there."""
        manager, screen = self._work.manager, self._screen
        if manager is None:
            return
        screen.say(f"Asking about {entry.name}…")
        try:
            details = await manager.show(entry.ref)
        except AIError as error:
            screen.say(str(error), is_error=True)
            return
        screen.say("")
        if not screen.is_current:
            return
        page = self._work.details_page(details, await self.refusals(entry.ref))
        answer = await screen.app.push_screen_wait(page)
        if answer == "chat":
            screen.chat_with(entry)
        elif answer is not None:
            await self.do(answer, entry)

    async def menu(self, entry: ModelEntry, further: Sequence[ChoiceRow]) -> str | None:
        """List all that can be done with a model, and why the rest cannot; give what is chosen."""
        refusals = await self.refusals(entry.ref)
        keymap = self._screen.keymap
        words = {key.id: key.description for key in keymap.keys}
        deeds = [
            ChoiceRow(
                f"deed('{deed}')",
                words[KEY_OF[deed]],
                keymap.key_for(KEY_OF[deed]),
                clean_line(refusal) if (refusal := refusals.get(deed)) else None,
            )
            for deed in KEY_OF
        ]
        if not self._screen.is_current:
            return None
        page = Choose(entry.name, [*further, *deeds], "Enter run · Esc close")
        return await self._screen.app.push_screen_wait(page)
