"""`edit_notes`: a model keeps something for later chats, after a question with the difference."""

from collections.abc import Callable
from typing import Final, Literal

from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.tools import CallPreview, ToolEffect, ToolOutput, ToolSchema
from ollm_tui.tools.define import ToolFailure
from ollm_tui.tools.memory.notes import LastingNotes, Notes, with_added, with_replaced
from ollm_tui.tools.prepared import CallScope
from ollm_tui.tools.writing.diffs import Diff, diff_of

TIMEOUT_S: Final = 10.0
_AFTER_READING: Final = "In this turn the model has read text from outside, which may be behind it."
_SCHEMA: Final = ToolSchema(
    name="edit_notes",
    description="Add, replace or remove one of the notes that the user keeps for all chats. "
    "A note is one sentence. Only for what the user wants to be remembered.",
    parameters={
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["add", "replace", "remove"]},
            "number": {
                "type": "integer",
                "minimum": 1,
                "description": "Which note is replaced or removed.",
            },
            "text": {"type": "string", "description": "The note, for add and replace."},
        },
        "required": ["action"],
        "additionalProperties": False,
    },
)


class EditNotes:
    """Changes the notes, each time by one."""

    schema = _SCHEMA
    effect: ToolEffect = "write"
    timeout_s = TIMEOUT_S

    def __init__(
        self, notes: LastingNotes, redact: Callable[[str], str] = lambda text: text
    ) -> None:
        """Change these notes, which never hold what `redact` removes."""
        self._notes = notes
        self._redact = redact

    async def prepare(self, args: JsonObject, scope: CallScope) -> "PreparedNotes":
        """Decide what the notes would be.

        Raises:
            ToolFailure: they cannot be so.
        """
        if self._notes.is_private:
            raise ToolFailure(
                "This chat is private: nothing of it is kept, so notes stay as they are."
            )
        text, number = str(args.get("text", "")), args.get("number", 0)
        assert isinstance(number, int)  # the schema says so
        try:
            before = await self._notes.read()
            match args["action"]:
                case "add":
                    after = with_added(before, text)
                case "replace":
                    after = with_replaced(before, number, text)
                case _:
                    after = with_replaced(before, number, None)
        except AIError as error:
            raise ToolFailure(error.message) from None
        if text and self._redact(text) != text:
            raise ToolFailure("A note cannot hold a key.")
        if after == before:
            raise ToolFailure("The notes are like that already.")
        return PreparedNotes(
            self._notes, before, after, has_untrusted_input=scope.has_untrusted_input
        )

    async def run(self, args: JsonObject) -> ToolOutput:
        """Refuse: what is not prepared was not shown."""
        del args
        return ToolOutput("Not run: the change was not prepared.", is_error=True)


@dataclass(frozen=True, slots=True)
class PreparedNotes:
    """A change of the notes that is made exactly as it was shown."""

    notes: LastingNotes
    before: Notes
    after: Notes
    has_untrusted_input: bool
    schema: ToolSchema = _SCHEMA
    effect: Literal["write"] = "write"
    timeout_s: float = TIMEOUT_S

    @property
    def preview(self) -> CallPreview:
        """The difference."""
        does = "Change the notes that you keep for all chats."
        return CallPreview(
            summary=f"{does} {_AFTER_READING}" if self.has_untrusted_input else does,
            parts=(("exactly this is changed", self._diff.text),),
            is_diff=True,
            has_untrusted_input=self.has_untrusted_input,
        )

    @property
    def _diff(self) -> Diff:
        old, new = ("".join(f"{one}\n" for one in notes) for notes in (self.before, self.after))
        return diff_of("notes", old, new)

    async def run(self, args: JsonObject) -> ToolOutput:
        """Write the notes; what the question showed counts, not the arguments."""
        del args
        try:
            await self.notes.change(self.before, self.after)
        except AIError as error:
            raise ToolFailure(error.message) from None
        rows = [f"{at}. {one}" for at, one in enumerate(self.after, 1)]
        text = "\n".join(["The notes are now:", *rows] if rows else ["There are no notes now."])
        return ToolOutput(text, display=self._diff.text)
