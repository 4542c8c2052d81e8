"""`ContextGuard`: whether the next request fits the model's window, counted before it is sent."""

from collections.abc import Mapping
from dataclasses import replace

from ollm_tui.chat.conversation import CountedPrompt
from ollm_tui.dataclass import dataclass
from ollm_tui.protocol.message import Message, Usage
from ollm_tui.protocol.ports import SupportsTokenCount, SupportsWindow
from ollm_tui.protocol.request import Request
from ollm_tui.providers.router import ResolvedModel
from ollm_tui.tokens.bounds import PromptBound
from ollm_tui.tokens.count import TokenCount, TokenCounter
from ollm_tui.tokens.limits import WARN_AT, Verdict, Window, check, choose_window


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextState:
    """The token count of the newest request, and the window it was compared with."""

    counted: TokenCount
    window: Window
    verdict: Verdict
    base: CountedPrompt
    """The newest count of a server, for figures that are wanted before the next one."""
    request: Request
    estimate: int
    is_counted: bool = True
    """Whether the request was counted before it was sent, as well as that can be done."""


class ContextGuard:
    """Counts the requests of one conversation; reported usage corrects its estimates."""

    def __init__(self, counter: TokenCounter, windows: Mapping[str, int]) -> None:
        self._counter = counter
        self._windows = windows
        """Windows that the user set, by model address or name."""
        self._bound = PromptBound()
        self.state: ContextState | None = None

    async def check(self, request: Request, resolved: ResolvedModel) -> Verdict:
        """Count a request and compare it with the window; never fails."""
        provider = None if resolved.is_silent else resolved.provider
        counted = await self._counter.count(request, provider)
        return self._note(request, resolved, counted)

    async def check_fast(
        self, request: Request, resolved: ResolvedModel, base: CountedPrompt | None
    ) -> Verdict:
        """As `check`, but have a server count only what might not fit.

        It counts all the same when it answers: `learn` takes that for the count of this request.
        Until then `base`, an earlier count, is the best there is.
        """
        if resolved.is_silent or not isinstance(resolved.provider, SupportsTokenCount):
            return await self.check(request, resolved)
        most, window = self._bound.most(request), self.window_of(request, resolved)
        if most is None or most >= window.tokens * WARN_AT:
            return await self.check(request, resolved)
        used = min(most, self.used_by(request, str(resolved.ref), base))
        counted = replace(self._counter.estimate(request), tokens=used)
        self._note(request, resolved, counted)
        assert self.state is not None
        earlier = base if base is not None and base.model == self.state.base.model else None
        self.state = replace(self.state, base=earlier or self.state.base, is_counted=False)
        return self.state.verdict

    def _note(self, request: Request, resolved: ResolvedModel, counted: TokenCount) -> Verdict:
        window, estimate = self.window_of(request, resolved), self.estimate(request)
        base = CountedPrompt(model=str(resolved.ref), count=counted, estimate=estimate)
        verdict = check(counted, window)
        self.state = ContextState(
            counted=counted,
            window=window,
            verdict=verdict,
            base=base,
            request=request,
            estimate=estimate,
        )
        return verdict

    async def count(self, request: Request, resolved: ResolvedModel) -> int:
        """Count a request that is not one of the conversation; never fails."""
        provider = None if resolved.is_silent else resolved.provider
        return (await self._counter.count(request, provider)).tokens

    def estimate(self, request: Request) -> int:
        """Estimate a request at once, without what was learned of its model."""
        return self._counter.estimate(request).uncorrected

    def estimate_message(self, model: str, message: Message) -> int:
        """Estimate one message in the same way."""
        return self.estimate(Request(model=model, messages=[message]))

    def used_by(self, request: Request, model: str, base: CountedPrompt | None) -> int:
        """Return the tokens of a request: the newest count, and an estimate of the rest.

        Queries no server, so it returns at once and loads no model.
        """
        if base is None or base.model != model:
            return self._counter.estimate(request).tokens
        return self._counter.recount(request, base.count, base.estimate)

    def window_of(self, request: Request, resolved: ResolvedModel) -> Window:
        """Return the window that the request has to fit into."""
        num_ctx = request.options.num_ctx if isinstance(resolved.provider, SupportsWindow) else None
        return choose_window(
            settings=self._windows.get(str(resolved.ref)) or self._windows.get(resolved.ref.model),
            num_ctx=num_ctx,
            engine=resolved.info.context if resolved.info else None,
            family=resolved.info.assumed_context if resolved.info else None,
        )

    def learn(self, usage: Usage | None) -> None:
        """Correct the estimates by the usage that a server reported for the newest request."""
        state = self.state
        if state is None or usage is None or usage.prompt_tokens is None:
            return
        window = state.window.tokens
        if state.counted.tokens > window >= usage.prompt_tokens:
            return  # the server cut the prompt and reports what it kept of it
        self._counter.learn(state.counted, usage.prompt_tokens)
        self._bound.learn(state.request, usage)
        if not state.is_counted:
            tokens, model = usage.prompt_tokens, state.counted.model
            counted = TokenCount(tokens=tokens, source="engine", model=model, uncorrected=tokens)
            base = replace(state.base, count=counted, estimate=state.estimate)
            self.state = replace(state, counted=counted, base=base)
