"""What can be done with a model: what is asked first, and why an action is unavailable."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol, TypeAlias

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_line
from ollm_tui.models.actions import MODEL_ACTIONS, ModelAction
from ollm_tui.models.tasks import TASK_WORDS
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.tui.dialogs import ChoiceDialog, ChoiceRow, DialogOpener
from ollm_tui.tui.keys import MODEL_COMMANDS, Keymap
from ollm_tui.tui.models.dialogs import CopyName, DeleteModel
from ollm_tui.tui.models.entry import ModelEntry
from ollm_tui.tui.models.operations import ModelOperations

Refusals: TypeAlias = Mapping[ModelAction, str | None]
"""Why each action is unavailable; None if it is available."""
_KEEP_ALIVE: Final = (
    ChoiceRow("", "For the server's default time"),
    ChoiceRow("5m", "For 5 minutes after its last use"),
    ChoiceRow("30m", "For 30 minutes after its last use"),
    ChoiceRow("2h", "For 2 hours after its last use"),
    ChoiceRow("-1", "Until unloaded"),
)


class Say(Protocol):
    """Shows a sentence until there is another."""

    def __call__(self, words: str, *, is_error: bool = False) -> None:
        """Show `words`; an empty text removes the last sentence."""


@dataclass(slots=True)
class ModelActions:
    """Runs an action on a model after its questions; `ModelOperations` does the work."""

    operations: ModelOperations
    keymap: Keymap
    dialogs: DialogOpener
    say: Say
    chat: Callable[[ModelEntry], None]
    known_refusals: dict[ModelRef, Refusals] = field(default_factory=dict)
    """What `refusals` has asked for."""

    async def refusals(self, ref: ModelRef) -> Refusals:
        """Return why each action on a model is unavailable; asked for once."""
        if ref not in self.known_refusals:
            try:
                reasons = await self.operations.manager.unavailable_reasons(ref)
                self.known_refusals[ref] = dict(reasons)
            except AIError as error:
                return dict.fromkeys(MODEL_ACTIONS, str(error))
        return self.known_refusals[ref]

    async def run(self, action: ModelAction, entry: ModelEntry) -> None:
        """Ask what the action needs and begin it, or show why it is unavailable."""
        refusal = (await self.refusals(entry.ref)).get(action, "Not available for this model.")
        if refusal is not None:
            self.say(refusal, is_error=True)
        elif not self.operations.is_refused(entry.ref) and self.dialogs.can_open:
            await self._run(action, entry)

    async def _run(self, action: ModelAction, entry: ModelEntry) -> None:
        operations, ref = self.operations, entry.ref
        if not await operations.may_stop(ref, action):
            return
        match action:
            case "show":
                await self._show(entry)
            case "load":
                await self._load(entry)
            case "copy":
                if (name := await self.dialogs.ask(CopyName(ref.model))) is not None:
                    operations.run(action, ref, name)
            case "delete":
                await self._delete(entry)
            case _:
                operations.run(action, ref)

    async def _load(self, entry: ModelEntry) -> None:
        if (await self.refusals(entry.ref)).get("keep") is not None:
            self.operations.run("load", entry.ref)
            return
        heading = f"Load {entry.name} and keep it loaded"
        dialog = ChoiceDialog(heading, _KEEP_ALIVE, "Enter load · Esc close")
        keep_alive = await self.dialogs.ask(dialog)
        if keep_alive is not None:
            self.operations.run("load", entry.ref, keep_alive or None)

    async def _delete(self, entry: ModelEntry) -> None:
        operations, ref = self.operations, entry.ref
        other_names = await operations.other_names(ref)
        question = DeleteModel(
            entry.info,
            operations.place(ref) or entry.label,
            is_own=operations.is_own(ref),
            is_loaded=bool(entry.is_loaded),
            other_names=other_names,
        )
        if await self.dialogs.ask(question):
            operations.run("delete", ref)

    async def _show(self, entry: ModelEntry) -> None:
        self.say(f"Asking about {entry.name}…")
        try:
            details = await self.operations.manager.show(entry.ref)
        except AIError as error:
            self.say(str(error), is_error=True)
            return
        self.say("")
        if not self.dialogs.can_open:
            return
        page = self.operations.details_page(details, await self.refusals(entry.ref))
        answer = await self.dialogs.ask(page)
        if answer == "chat":
            self.chat(entry)
        elif answer is not None:
            await self.run(answer, entry)

    async def menu(self, entry: ModelEntry, first: Sequence[ChoiceRow]) -> str | None:
        """List all actions after the rows of `first`; return the id of the chosen row."""
        refusals = await self.refusals(entry.ref)
        rows = [
            ChoiceRow(
                command.key.action,
                command.entry.title,
                self.keymap.key_for(command.key.id),
                clean_line(refusal) if (refusal := refusals.get(command.action)) else None,
            )
            for command in MODEL_COMMANDS.values()
        ]
        listed = [*first, *task_rows(entry), *rows]
        return await self.dialogs.ask(ChoiceDialog(entry.name, listed, "Enter run · Esc close"))


def task_rows(entry: ModelEntry) -> list[ChoiceRow]:
    """Return a row for each task that a model can be made the default for, or is."""
    return [
        ChoiceRow(f"use_for('{task}', False)", f"Stop using for {TASK_WORDS[task]}")
        if task in entry.default_for
        else ChoiceRow(f"use_for('{task}')", f"Use for {TASK_WORDS[task]}")
        for task in TASK_WORDS
        if task in entry.tasks or task in entry.default_for
    ]
