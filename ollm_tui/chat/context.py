"""`ContextGuard`: whether the next request fits the model's window, counted before it is sent."""

from collections.abc import Mapping
from dataclasses import dataclass

from ollm_tui.protocol.message import Usage
from ollm_tui.protocol.request import Request
from ollm_tui.providers.router import ResolvedModel
from ollm_tui.tokens.count import TokenCount, TokenCounter
from ollm_tui.tokens.limits import Verdict, Window, check, choose_window

LOADS_WITH_WINDOW = frozenset({"local"})
"""Providers whose engine loads a model with the window that a request names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextState:
    """What the newest request was counted as, and against what."""

    counted: TokenCount
    window: Window
    verdict: Verdict


class ContextGuard:
    """Counts requests of one conversation and learns from what servers report."""

    def __init__(self, counter: TokenCounter, windows: Mapping[str, int]) -> None:
        self._counter = counter
        self._windows = windows
        """Windows that a person set, by model address or name."""
        self.state: ContextState | None = None

    async def check(self, request: Request, found: ResolvedModel) -> Verdict:
        """Count a request and hold it against the window; never fails."""
        counted = await self._counter.count(request, found.provider)
        window = self.window_of(request, found)
        self.state = ContextState(counted=counted, window=window, verdict=check(counted, window))
        return self.state.verdict

    def window_of(self, request: Request, found: ResolvedModel) -> Window:
        """Give the window that will hold the request."""
        asked = request.options.num_ctx if found.ref.provider in LOADS_WITH_WINDOW else None
        return choose_window(
            settings=self._windows.get(str(found.ref)) or self._windows.get(found.ref.model),
            num_ctx=asked,
            engine=found.info.context if found.info else None,
        )

    def learn(self, usage: Usage | None) -> None:
        """Take a server's report on the newest request to heart."""
        if self.state is not None and usage is not None:
            self._counter.learn(self.state.counted, usage.prompt_tokens)
