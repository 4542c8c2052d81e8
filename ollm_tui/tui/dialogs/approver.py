"""Ask the user whether a tool call may run, and remember what they allowed."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio

from ollm_tui.frontend.consent import Permissions

if TYPE_CHECKING:
    from textual.app import App
    from textual.screen import Screen

    from ollm_tui.frontend.server_requests import RequestAnswer, RequestQuestion
    from ollm_tui.protocol.ports import Tool
    from ollm_tui.protocol.tools import Approval, CallPreview, ToolCall
    from ollm_tui.tools.prepared import AsksUser
    from ollm_tui.tui.dialogs.approve_tool import ApproveTool, Decision
    from ollm_tui.tui.dialogs.asked_by_model import ModelQuestionDialog

Answer = TypeVar("Answer")
_COMMAND: Final = "!"
"""What commands of the user are granted as; no tool can have this name."""


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
        from ollm_tui.tools.prepared import AsksUser, preview_of

        if isinstance(tool, AsksUser):
            return await self._ask_user(call, tool)
        preview = preview_of(tool)
        allows = partial(self.permissions.allows, call.name, tool.effect, preview)
        await self.permissions.refresh()
        if allows():
            return Approval(allowed=True)
        try:
            async with self._lock:
                # an answer given meanwhile may cover this call too
                return Approval(allowed=True) if allows() else await self._ask(call, tool, preview)
        finally:
            self._answered_at[call.id] = time.monotonic()

    async def _ask_user(self, call: "ToolCall", tool: "AsksUser") -> "Approval":
        """Put a question of the model to the user; whatever they answer allows nothing."""
        # imports the dialog and the protocol, which the first frame does not wait for
        from ollm_tui.protocol.tools import Approval
        from ollm_tui.tui.dialogs.asked_by_model import ModelQuestionDialog

        try:
            async with self._lock:
                if self._app is None or not self._app.is_running:
                    return Approval(allowed=False, reason="There is no screen to ask on.")
                dialog = ModelQuestionDialog(tool.question, answered_at=self._last_answer)
                tool.take_answer(await self._open(dialog, dialog.typed))
                return Approval(allowed=True)
        finally:
            self._answered_at[call.id] = time.monotonic()

    async def approve_command(self, command: str, folder: str) -> bool:
        """Ask whether a command of the user may run, unless all of this chat may."""
        # imports the dialog, which the first frame does not wait for
        from ollm_tui.tui.dialogs.approve_tool import ApproveCommand

        allows = partial(self.permissions.allows, _COMMAND, "run")
        if allows():
            return True
        async with self._lock:
            if allows():
                return True
            dialog = ApproveCommand(command, folder, answered_at=self._last_answer)
            decision = await self._ask_decision(dialog)
        if decision is not None and decision.kind == "session":
            self.permissions.grant(_COMMAND, "run")
        return decision is not None and decision.kind != "no"

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until no other question is open, and keep it so for the block."""
        async with self._lock:
            # The task of a server knows no app, and what it changes on the screen needs one.
            with self._app._context() if self._app is not None else nullcontext():
                yield

    async def decide(self, question: "RequestQuestion") -> "RequestAnswer":
        """Ask about a request of a server, within a turn; without a screen it counts as closed."""
        # imports the dialog, which the first frame does not wait for
        from ollm_tui.tui.dialogs.approve_request import ApproveRequest

        dialog = ApproveRequest(question, answered_at=self._last_answer)
        return "closed" if await self._ask_decision(dialog) is None else dialog.given

    async def show(self, dialog: "Screen[Any]") -> Any:
        """Open another dialog within a turn and return its answer; a cancellation closes it."""
        if self._app is None or not self._app.is_running:
            return None
        answered, answers = anyio.Event(), []

        def take(answer: object) -> None:
            answers.append(answer)
            answered.set()

        def close() -> None:
            if dialog.is_attached:
                dialog.dismiss(None)

        self._app.call_next(self._app.push_screen, dialog, take)
        with self._asking():
            try:
                await answered.wait()
            finally:
                if not answers:
                    self._app.call_next(close)
        self._last_answer = time.monotonic()
        return answers[0]

    async def _ask(
        self, call: "ToolCall", tool: "Tool", preview: "CallPreview | None"
    ) -> "Approval":
        # imports the dialog and the protocol, which the first frame does not wait for
        from ollm_tui.protocol.tools import Approval
        from ollm_tui.tui.dialogs.approve_tool import ApproveTool

        dialog = ApproveTool(call, tool.effect, answered_at=self._last_answer, preview=preview)
        dialog.keeps = self.permissions.folder is not None
        decision = await self._ask_decision(dialog)
        if decision is None:
            return Approval(allowed=False, reason="There is no screen to ask on.")
        if decision.kind == "session":
            self.permissions.grant(call.name, tool.effect, preview)
        elif decision.kind == "folder":
            await self.permissions.keep(call.name, tool.effect, preview)
        return Approval(allowed=decision.kind != "no", reason=decision.reason)

    async def _ask_decision(self, dialog: "ApproveTool") -> "Decision | None":
        """Open a dialog and wait for the answer; None without a screen."""
        if self._app is None or not self._app.is_running:
            return None
        return await self._open(dialog, dialog.decision)

    async def _open(
        self, dialog: "ApproveTool | ModelQuestionDialog", answer: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        """Open a dialog and wait for its answer."""
        assert self._app is not None
        # opened by the app's own task, as this may run in any other
        self._app.call_next(self._app.push_screen, dialog)
        with self._asking():
            try:
                given = await answer()
            finally:
                dialog.refuse()  # a no-op after an answer
        self._last_answer = time.monotonic()
        return given

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Report a question, and its end: also of one that is cancelled while others run."""
        assert self._app is not None
        self._asks(True)
        is_cancelled = True
        try:
            yield
            is_cancelled = False
        finally:
            if not is_cancelled or self._app.is_running:
                self._asks(False)
