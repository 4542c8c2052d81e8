"""Ask whether a tool call may run: the whole call is shown, and no is the default.

States: waiting for a pause in typing -> armed -> entering a reason -> closed. Only `y` and `a`
typed while armed, after every row has been shown, allow the call; anything else denies it.
"""

import json
import time
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

import anyio
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_name
from ollm_tui.frontend.consent import can_grant, granted_words
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.tools import CallPreview, ToolCall, ToolEffect
from ollm_tui.tui.dialogs.armed import WAITING, ArmedDialog, named_keys
from ollm_tui.tui.dialogs.reading import Passage, Reading
from ollm_tui.tui.widgets import TextField

DecisionKind: TypeAlias = Literal["once", "session", "folder", "no"]

_EFFECTS: Final[Mapping[ToolEffect, str]] = {
    "read": "It only reads.",
    "write": "It can change files.",
    "run": "It can run programs.",
    "network": "It can use the network.",
}
_KINDS: Final[Mapping[type, str]] = {
    type(None): "nothing",
    bool: "yes or no",
    int: "number",
    float: "number",
    list: "list",
}
_REASON: Final = "Enter denies with this reason · Esc denies without one"


@dataclass(frozen=True, slots=True)
class Decision:
    """A user's answer."""

    kind: DecisionKind
    reason: str | None = None


_ANSWERS: Final[Mapping[str, Decision]] = {
    "y": Decision("once"),
    "a": Decision("session"),
    "A": Decision("folder"),
    "n": Decision("no"),
}


class ApproveTool(ArmedDialog[Decision]):
    """Returns the decision on a call."""

    DEFAULT_CSS = """
    ApproveTool {
        & > Vertical { height: auto; max-height: 96%; }
        .title { color: $text-warning; margin-bottom: 0; }
        #effect { color: $text-muted; margin-bottom: 1; }
        #reason { display: none; margin: 1 0 0 0; }
        &.-reason #reason { display: block; }
    }
    """

    CONSENTS = frozenset("yaA")
    takes_reason = True
    """Whether a no may have a reason, which the model reads."""
    keeps = False
    """Whether a permission for the folder can be kept."""

    def __init__(
        self,
        call: ToolCall,
        effect: ToolEffect,
        *,
        clock: Callable[[], float] = time.monotonic,
        answered_at: float | None = None,
        preview: CallPreview | None = None,
    ) -> None:
        """Ask about a call; its `preview`, if there is one, says what exactly will be done."""
        super().__init__(clock=clock, answered_at=answered_at)
        self._tool = clean_name(call.name)
        self._title = f"Run {self._tool}?"
        self._granted = clean_name(granted_words(call.name, preview))
        self._may_last = can_grant(preview)
        self._can_do = _EFFECTS[effect] if preview is None else preview.summary
        self._passages = passages_of(call) if preview is None else previewed(preview)
        self._decided = anyio.Event()
        self._decision = Decision("no")

    async def decision(self) -> Decision:
        """Wait for the answer."""
        await self._decided.wait()
        return self._decision

    # Laying out

    def compose(self) -> ComposeResult:
        """Lay out the call."""
        with Vertical():
            yield Static(Content(self._title), classes="title")
            yield Static(Content(self._can_do), id="effect")
            yield Reading(self._passages)
            yield TextField(placeholder="Why not", id="reason", compact=True, disabled=True)
            yield Static(Content(WAITING), id="about")

    def on_mount(self) -> None:
        """Close at once if it was refused before, because the answer was stopped."""
        if self._decided.is_set():
            self.dismiss(self._decision)

    def on_unmount(self) -> None:
        """Deny the call if nothing was decided."""
        self._decided.set()

    # Keys

    def keys(self) -> Content:
        """Return the keys that answer."""
        scopes = {"a": f"{self._granted} for this chat", "A": "in this folder"}
        lasting = [(key, scopes[key]) for key in scopes if key in self._lasting]
        yes = [("y", "once"), *lasting] if self.is_read else []
        reason = [("N", "no, with a reason")] if self.takes_reason else []
        return named_keys(*yes, ("n", "or Esc no"), *reason)

    @property
    def _lasting(self) -> str:
        """The keys that allow further calls, too."""
        if not self._may_last:
            return ""
        return "aA" if self.keeps else "a"

    @property
    def handles_keys(self) -> bool:
        """Whether keys are for the dialog, not for the reason."""
        return not self.has_class("-reason")

    def answer(self, event: events.Key) -> bool:
        """Decide by a letter."""
        decision = _ANSWERS.get(event.character or "")
        if decision is not None and event.character in {"y", "n", *self._lasting}:
            self._decide(decision)
        elif event.character == "N" and self.takes_reason:
            self._ask_for_reason()
        else:
            return False
        return True

    def refuse(self) -> None:
        """Deny the call."""
        self._decide(Decision("no"))

    def _ask_for_reason(self) -> None:
        self.add_class("-reason")
        self.say(Content(_REASON))
        field = self.query_one("#reason", Input)
        field.disabled = False
        self.set_focus(field)

    @on(Input.Submitted, "#reason")
    def _refuse(self, event: Input.Submitted) -> None:
        self._decide(Decision("no", event.value.strip() or None))

    def _decide(self, decision: Decision) -> None:
        """Close with a decision; a no-op after the first one."""
        if not self._decided.is_set():
            self._decision = decision
            self._decided.set()
            if self.is_attached:
                self.dismiss(self._decision)


class ApproveCommand(ApproveTool):
    """Asks whether a command that the user typed may run, as for a tool: no is the default.

    A `!` may be typed by accident, and what was pasted may hold more than was seen of it.
    """

    takes_reason = False

    def __init__(
        self,
        command: str,
        folder: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        answered_at: float | None = None,
    ) -> None:
        call = ToolCall(id="", name="", args={"command": command, "in the folder": folder})
        super().__init__(call, "run", clock=clock, answered_at=answered_at)
        self._title, self._granted = "Run this command?", "all commands"
        self._can_do = "Its output goes into the chat, and to the model with your next message."


def previewed(preview: CallPreview) -> list[Passage]:
    """Return all that a prepared call will do."""
    languages = [preview.language, *([""] * len(preview.parts))]
    return [
        Passage(heading, text, preview.is_diff, language)
        for (heading, text), language in zip(preview.parts, languages, strict=False)
    ]


def passages_of(call: ToolCall) -> list[Passage]:
    """Return every argument in full: text unchanged, other values as JSON with their type."""
    if call.args is None:
        return [Passage("what the model wrote", call.raw_args)]
    if not call.args:
        return [Passage("Called without arguments.", "")]
    return [_passage(name, value) for name, value in call.args.items()]


def _passage(name: str, value: JsonValue) -> Passage:
    if isinstance(value, str):
        return Passage(name if value else f"{name} · empty", value)
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return Passage(f"{name} · {_KINDS.get(type(value), 'object')}", text)
