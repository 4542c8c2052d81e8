"""Ask about a request of an MCP server, as about a tool: all is shown, and no is the default."""

import time
from collections.abc import Callable

from textual.content import Content

from ollm_tui.frontend.server_requests import RequestAnswer, RequestQuestion
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.tui.dialogs.approve_tool import ApproveTool
from ollm_tui.tui.dialogs.armed import named_keys


class ApproveRequest(ApproveTool):
    """Tells a refusal from a question that was closed, since servers are told so, too."""

    takes_reason = False

    def __init__(
        self,
        question: RequestQuestion,
        *,
        clock: Callable[[], float] = time.monotonic,
        answered_at: float | None = None,
    ) -> None:
        """Ask a question; `answered_at` is when the last dialog was answered."""
        call = ToolCall(id="", name="", args={})
        super().__init__(
            call, "network", clock=clock, answered_at=answered_at, preview=question.preview
        )
        self._title, self._question = question.title, question
        self._is_closed = False

    def keys(self) -> Content:
        """Return the keys that answer."""
        yes = [("y", self._question.yes)] if self.is_read else []
        return named_keys(*yes, ("n", self._question.no), ("Esc", "close"))

    def refuse(self) -> None:
        """Close it without an answer."""
        self._is_closed = self._is_closed or not self._decided.is_set()
        super().refuse()

    @property
    def given(self) -> RequestAnswer:
        """The answer, once there is one."""
        if self._decision.kind != "no":
            return "yes"
        return "closed" if self._is_closed else "no"
