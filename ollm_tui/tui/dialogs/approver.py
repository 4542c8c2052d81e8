"""Ask the person whether a tool call may run, and remember what they allowed."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import anyio

if TYPE_CHECKING:
    from textual.app import App

    from ollm_tui.protocol.ports import Tool
    from ollm_tui.protocol.tools import Approval, ToolCall, ToolEffect

PermissionMode: TypeAlias = Literal["ask", "reads", "all"]
_MODES: Final[Mapping[PermissionMode, tuple[PermissionMode, str, str]]] = {
    "ask": ("reads", "", "Every tool call needs approval."),
    "reads": ("all", ", auto-approve reads", "Read-only tools run without asking in this chat."),
    "all": ("ask", ", auto-approve all", "All tools run without asking in this chat."),
}
"""For each mode the next one, a suffix for the number of tools, and a sentence."""


class Permissions:
    """The mode of the open chat and the tools that are allowed in it."""

    def __init__(self) -> None:
        self.mode: PermissionMode = "ask"
        self._granted: set[tuple[str, ToolEffect]] = set()

    @property
    def word(self) -> str:
        """The mode as a suffix for the number of tools; empty if every call asks."""
        return _MODES[self.mode][1]

    def forget(self) -> None:
        """Reset for another chat."""
        self.mode = "ask"
        self._granted.clear()

    def cycle(self) -> str:
        """Switch to the next mode and return a sentence about it."""
        self.mode = _MODES[self.mode][0]
        return _MODES[self.mode][2]

    def grant(self, name: str, effect: "ToolEffect") -> None:
        """Allow a tool with this effect until the chat is left."""
        self._granted.add((name, effect))

    def allows(self, name: str, effect: "ToolEffect") -> bool:
        """Return whether a call of this tool runs without asking."""
        if self.mode == "all" or (self.mode == "reads" and effect == "read"):
            return True
        return (name, effect) in self._granted


class ScreenApprover:
    """Asks with one dialog at a time; without a screen the answer is no."""

    def __init__(self) -> None:
        self.permissions = Permissions()
        """What is allowed without asking in the open chat."""
        self._app: App[None] | None = None
        self._asks: Callable[[bool], None] = lambda _is_open: None
        self._lock = anyio.Lock()
        self._answered_at: dict[str, float] = {}
        self._last_answer: float | None = None

    def attach(self, app: "App[None]", asks: Callable[[bool], None] = lambda _: None) -> None:
        """Ask on the screen of an app; `asks` is called with True and False around each dialog."""
        self._app = app
        self._asks = asks

    def answered_at(self, call_id: str) -> float | None:
        """Return when a call was answered and forget it; None if it did not ask."""
        return self._answered_at.pop(call_id, None)

    async def approve(self, call: "ToolCall", tool: "Tool") -> "Approval":
        """Allow what was allowed before, else ask; a cancellation closes the dialog."""
        # imports the protocol, which the first frame does not wait for
        from ollm_tui.protocol.tools import Approval

        allows = partial(self.permissions.allows, call.name, tool.effect)
        if allows():
            return Approval(allowed=True)
        try:
            async with self._lock:
                # an answer given meanwhile may cover this call too
                return Approval(allowed=True) if allows() else await self._ask(call, tool)
        finally:
            self._answered_at[call.id] = time.monotonic()

    async def _ask(self, call: "ToolCall", tool: "Tool") -> "Approval":
        # imports the dialog and the protocol, which the first frame does not wait for
        from ollm_tui.protocol.tools import Approval
        from ollm_tui.tui.dialogs.approve_tool import ApproveTool

        if self._app is None or not self._app.is_running:
            return Approval(allowed=False, reason="There is no screen to ask on.")
        dialog = ApproveTool(call, tool.effect, answered_at=self._last_answer)
        # opened by the app's own task, as this may run in any other
        self._app.call_next(self._app.push_screen, dialog)
        self._asks(True)
        try:
            decision = await dialog.decision()
        finally:
            dialog.refuse()  # a no-op after an answer
        self._last_answer = time.monotonic()
        # not after a cancellation: the stop has been reported already
        self._asks(False)
        if decision.kind == "session":
            self.permissions.grant(call.name, tool.effect)
        return Approval(allowed=decision.kind != "no", reason=decision.reason)
