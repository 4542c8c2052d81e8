"""`ScreenApprover`: asks the person in front of the screen whether a tool call may run."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio

from ollm_tui.tui.dialogs.permissions import Permissions

if TYPE_CHECKING:
    from textual.app import App

    # the vocabulary is loaded after the first frame
    from ollm_tui.protocol.ports import Tool
    from ollm_tui.protocol.tools import Approval, ToolCall


def _unheard(_is_open: bool) -> None:
    """Tell nobody."""


class ScreenApprover:
    """One dialog at a time; without a screen, or when it goes away, the answer is no."""

    def __init__(self) -> None:
        self.permissions = Permissions()
        """What is allowed without asking in the open chat."""
        self._app: App[None] | None = None
        self._asks: Callable[[bool], None] = _unheard
        self._lock = anyio.Lock()
        self._answered_at: dict[str, float] = {}
        self._last_answer: float | None = None

    def attach(self, app: "App[None]", asks: Callable[[bool], None] = _unheard) -> None:
        """Ask on this app's screen from now on; `asks` hears when a question opens and closes."""
        self._app = app
        self._asks = asks

    def answered_at(self, call_id: str) -> float | None:
        """Give when the person answered, once; None when nobody was asked."""
        return self._answered_at.pop(call_id, None)

    async def approve(self, call: "ToolCall", tool: "Tool") -> "Approval":
        """Answer from what was allowed before, else ask; a cancellation closes the dialog."""
        # brings the vocabulary, which the first frame does not wait for
        from ollm_tui.protocol.tools import Approval

        if self.permissions.allows(call.name, tool.effect):
            return Approval(allowed=True)
        try:
            return await self._in_turn(call, tool)
        finally:
            self._answered_at[call.id] = time.monotonic()

    async def _in_turn(self, call: "ToolCall", tool: "Tool") -> "Approval":
        # brings the vocabulary, which the first frame does not wait for
        from ollm_tui.protocol.tools import Approval

        async with self._lock:
            # an answer given meanwhile may cover this call too
            if self.permissions.allows(call.name, tool.effect):
                return Approval(allowed=True)
            return await self._ask(call, tool)

    async def _ask(self, call: "ToolCall", tool: "Tool") -> "Approval":
        # brings the dialog and the vocabulary, which the first frame does not wait for
        from ollm_tui.protocol.tools import Approval
        from ollm_tui.tui.dialogs.approve_tool import ApproveTool

        if self._app is None or not self._app.is_running:
            return Approval(allowed=False, reason="There is no screen to ask on.")
        dialog = ApproveTool(call, tool.effect, answered_at=self._last_answer)
        # opened by the app's own task, so that it may be asked for from any other
        self._app.call_next(self._app.push_screen, dialog)
        self._asks(True)
        try:
            decision = await dialog.decision()
        finally:
            dialog.withdraw()
        self._last_answer = time.monotonic()
        # whoever was stopped while asking has said so already
        self._asks(False)
        if decision.kind == "session":
            self.permissions.grant(call.name, tool.effect)
        return Approval(allowed=decision.kind != "no", reason=decision.reason)
