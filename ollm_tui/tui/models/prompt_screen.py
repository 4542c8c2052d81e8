"""The exact prompt that a model gets: its text by role, and its tokens."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual import on
from textual.app import ComposeResult

from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.frontend.model_sections import Fact, Role, SheetSection
from ollm_tui.tui.keys import KeyHint, Keymap
from ollm_tui.tui.models.sheet import Sheet
from ollm_tui.tui.models.sheet_screen import SheetScreen
from ollm_tui.tui.transcript import SearchBar
from ollm_tui.tui.widgets import ChatHeader, HintLine, KeyLine

if TYPE_CHECKING:
    from ollm_tui.runtime.exact_prompt import ExactPrompt

_ROLES: Final[Mapping[str, Role]] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
_KEYS: Final = ("details.back", "details.next", "details.copy", "details.find")


class PromptScreen(SheetScreen[None]):
    """Shows one prompt; each piece of it is a section, in the colour of its role."""

    def __init__(
        self,
        prompt: "ExactPrompt",
        provider_name: str,
        *,
        keymap: Keymap | None = None,
        copies: Path | None = None,
    ) -> None:
        """Show `prompt`; `copies` is the folder for copies that are too large for a clipboard."""
        super().__init__([*sections_of(prompt)], keymap=keymap, copies=copies)
        self._model, self._provider_name = prompt.ref.model, provider_name

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield ChatHeader("Exact prompt", self._model, self._provider_name)
        yield Sheet(self._sections)
        yield HintLine()
        yield SearchBar([KeyHint("Enter", "next"), KeyHint("Esc", "close")])
        yield KeyLine()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable what acts on a model."""
        return action != "leave" and super().check_action(action, parameters)

    @on(Sheet.Moved)
    def _name_keys(self) -> None:
        self.query_one(KeyLine).show(self.keymap.hints_of(*_KEYS))

    def on_mount(self) -> None:
        """Focus the sheet and show its keys."""
        super().on_mount()
        self._name_keys()


def sections_of(prompt: "ExactPrompt") -> Iterator[SheetSection]:
    """Yield what is known of the prompt, its pieces, the whole text to copy, and its tokens."""
    size = f"{counted(len(prompt.text), 'character')}"
    if prompt.tokens is not None:
        size = f"{counted(len(prompt.tokens), 'token')}, {size}"
    notes = "\n".join(prompt.notes)
    facts = (Fact(name="model", value=clean_name(prompt.ref.model)), Fact(name="size", value=size))
    yield SheetSection(id="about", title="About", facts=(*facts, Fact(name="source", value=notes)))
    for number, part in enumerate(prompt.parts):
        tokens = "" if part.tokens is None else f" · {counted(part.tokens, 'token')}"
        yield SheetSection(
            id=f"part{number}",
            title=f"{part.role}{tokens}",
            text=part.text,
            words=False,
            role=_ROLES.get(part.role, "frame"),
        )
    if prompt.origin != "messages":
        yield SheetSection(id="text", title="Whole text", text=prompt.text, words=False)
    if prompt.tokens:
        lines = (f"{token.id:>8}  {token.text!r}" for token in prompt.tokens)
        yield SheetSection(id="tokens", title="Tokens", text="\n".join(lines), words=False)
