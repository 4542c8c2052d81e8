"""Ask whether a tool call may run: all of what will run is shown, and no is the default.

States: waiting until nobody types -> armed -> giving a reason -> closed. Only `y` and `a` typed
while armed allow anything; every other way out is a no.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import anyio
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from ollm_tui.decode.clean import clean_name
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.tools import ToolCall, ToolEffect
from ollm_tui.tui.arming import Arming
from ollm_tui.tui.modals.dialog import Dialog
from ollm_tui.tui.widgets.reading import Passage, Reading

if TYPE_CHECKING:
    from textual.timer import Timer

DecisionKind: TypeAlias = Literal["once", "session", "no"]

_EFFECTS: Final[Mapping[ToolEffect, str]] = MappingProxyType(
    {
        "read": "It only reads.",
        "write": "It can change files.",
        "run": "It can run programs.",
        "network": "It can use the network.",
    }
)
_WAITING: Final = "Waiting for you to stop typing…"
_REASON: Final = "Enter says no with this reason · Esc says no without one"
_LATER_S: Final = 0.005
_SCROLLS: Final[Mapping[str, int]] = MappingProxyType(
    {"up": -1, "down": 1, "pageup": -10, "pagedown": 10, "home": -1_000_000, "end": 1_000_000}
)
"""Rows that a key goes."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the person said."""

    kind: DecisionKind
    reason: str | None = None


class ApproveTool(Dialog[Decision]):
    """Built from the very call that will run."""

    AUTO_FOCUS = ""  # keys are for the dialog itself
    DEFAULT_CSS = """
    ApproveTool {
        & > Vertical { height: auto; max-height: 96%; }
        .title { color: $text-warning; margin-bottom: 0; }
        #effect { color: $text-muted; margin-bottom: 1; }
        #reason { display: none; margin: 1 0 0 0; }
        &.-reason #reason { display: block; }
    }
    """

    def __init__(
        self, call: ToolCall, effect: ToolEffect, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._tool = clean_name(call.name)
        self._can_do = _EFFECTS[effect]
        self._passages = passages_of(call)
        self._clock = clock
        self._arming = Arming()
        self._decided = anyio.Event()
        self._decision = Decision("no")
        self._looks_again: Timer | None = None

    async def decision(self) -> Decision:
        """Wait for the answer."""
        await self._decided.wait()
        return self._decision

    def withdraw(self) -> None:
        """Close it as no, if it is still open: what would have run was stopped."""
        self._decide(Decision("no"))

    # Laying out

    def compose(self) -> ComposeResult:
        """Lay out the call."""
        with Vertical():
            yield Static(Content(f"Run {self._tool}?"), classes="title")
            yield Static(Content(self._can_do), id="effect")
            yield Reading(self._passages)
            yield Input(placeholder="Why not", id="reason", compact=True, disabled=True)
            yield Static(Content(_WAITING), id="about")

    def on_mount(self) -> None:
        """Begin to count once it is drawn."""
        if self._decided.is_set():
            self._leave()
        else:
            self.call_after_refresh(self._shown)

    def _shown(self) -> None:
        self._arming.shown(self._clock())
        self._say_when_armed()

    def on_unmount(self) -> None:
        """Whatever took it away, what was not allowed is refused."""
        self._decided.set()

    def _say_when_armed(self) -> None:
        now = self._clock()
        if self._arming.is_armed(now):
            self._say_what_counts()
        else:
            self._say(Content(_WAITING))
            if self._looks_again is not None:
                self._looks_again.stop()
            wait = self._arming.waits_for(now) + _LATER_S
            self._looks_again = self.set_timer(wait, self._say_when_armed)

    def _say_what_counts(self) -> None:
        if self.has_class("-reason"):
            return
        first, last, total = self.query_one(Reading).shown_share
        rows = f"Rows {first}-{last} of {total} · ↑ ↓ scroll\n" if last - first + 1 < total else ""
        self._say(
            Content.assemble(
                rows,
                ("y", "bold $text-accent"),
                " once · ",
                ("a", "bold $text-accent"),
                f" {self._tool} for this chat · ",
                ("n", "bold $text-accent"),
                " or Esc no · ",
                ("N", "bold $text-accent"),
                " no, and why",
            )
        )

    def _say(self, text: Content) -> None:
        self.query_one("#about", Static).update(text)

    # Keys

    def on_key(self, event: events.Key) -> None:
        """Answer, scroll, or wait again for a pause."""
        if self.has_class("-reason"):
            if event.key in {"escape", "ctrl+c"}:
                event.stop()
                self._decide(Decision("no"))
            return
        event.stop()
        event.prevent_default()
        if event.key in {"escape", "ctrl+c"}:
            self._decide(Decision("no"))
        elif not self._arming.is_armed(event.time):
            self._wait_again(event.time)
        elif event.key in _SCROLLS:
            self.query_one(Reading).scroll_relative(y=_SCROLLS[event.key], animate=False)
            self.call_after_refresh(self._say_what_counts)
        else:
            self._answer(event)

    def on_paste(self, event: events.Paste) -> None:
        """Nothing that is pasted answers, nor what comes right after it."""
        if not self.has_class("-reason"):
            event.stop()
            self._wait_again(event.time)

    def _wait_again(self, now: float) -> None:
        self._arming.typed(now)
        self._say_when_armed()

    def _answer(self, event: events.Key) -> None:
        match event.character:
            case "y":
                self._decide(Decision("once"))
            case "a":
                self._decide(Decision("session"))
            case "n":
                self._decide(Decision("no"))
            case "N":
                self._ask_for_reason()
            case _:
                self._wait_again(event.time)

    def _ask_for_reason(self) -> None:
        self.add_class("-reason")
        self._say(Content(_REASON))
        field = self.query_one("#reason", Input)
        field.disabled = False
        self.set_focus(field)

    @on(Input.Submitted, "#reason")
    def _refuse(self, event: Input.Submitted) -> None:
        self._decide(Decision("no", event.value.strip() or None))

    def _decide(self, decision: Decision) -> None:
        """Close with an answer; the first one counts."""
        if not self._decided.is_set():
            self._decision = decision
            self._decided.set()
            if self.is_attached:
                self._leave()

    def _leave(self) -> None:
        if self.app.screen is self:
            self.dismiss(self._decision)


def passages_of(call: ToolCall) -> list[Passage]:
    """Give every argument in full: a text as it is, anything else as JSON under its kind."""
    if call.args is None:
        return [Passage("what the model wrote", call.raw_args)]
    if not call.args:
        return [Passage("It is called without arguments.", "")]
    return [_passage(name, value) for name, value in call.args.items()]


def _passage(name: str, value: JsonValue) -> Passage:
    if isinstance(value, str):
        return Passage(name if value else f"{name} · empty", value)
    return Passage(f"{name} · {_kind(value)}", json.dumps(value, ensure_ascii=False, indent=2))


def _kind(value: JsonValue) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "yes or no"
        case int() | float():
            return "number"
        case list():
            return "list"
        case _:
            return "object"
