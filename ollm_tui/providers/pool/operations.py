"""What a pool can do beside chatting, each operation spread over its members."""

import inspect
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial

import anyio

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.protocol.ports import (
    RemembersListError,
    ReportProgress,
)
from ollm_tui.protocol.request import PromptText, Request
from ollm_tui.providers.ollama.watched_pull import Give, WatchedPull
from ollm_tui.providers.operations import pulling
from ollm_tui.providers.pool.media import PoolMedia, Send, call_of
from ollm_tui.providers.pool.members import merged
from ollm_tui.providers.pool.selection import MemberSelection
from ollm_tui.tasks import task_group

GRACE_S = 0.5
"""How long a listing waits for the other members once one has replied."""


class PoolOperations(PoolMedia):
    """Every operation; `PoolProvider` offers those that all of its members support.

    What changes a model, such as `delete_model`, is made by `on_each_holder`.
    """

    loads_with_window = True

    async def list_models(self) -> Sequence[ModelInfo]:
        """Return every model of every member.

        Raises:
            AIError: No member replied.
        """
        return await PoolListing(self._selection, call_of("list_models"), keep=True).run()

    async def list_running(self) -> Sequence[ModelInfo]:
        """Return the loaded models of every member.

        Raises:
            AIError: No member replied.
        """
        return await PoolListing(self._selection, call_of("list_running"), keep=False).run()

    # The members' own names for these arguments may differ, so they are passed by place.

    async def show_model(self, name: str) -> ModelInfo:
        """Return what the first member that replies knows about a model."""
        send = call_of("show_model", name)
        info: ModelInfo = await self._selection.first_reply(name, send, takes_turn=False)
        return info

    async def count_tokens(self, request: Request) -> int:
        """Return the token count of the first member that replies."""
        send = call_of("count_tokens", request)
        count: int = await self._selection.first_reply(request.model, send, takes_turn=False)
        return count

    async def prompt_text(self, request: Request) -> PromptText:
        """Return the prompt of the first member that replies."""
        send = call_of("prompt_text", request)
        text: PromptText = await self._selection.first_reply(request.model, send, takes_turn=False)
        return text

    async def count_text_tokens(self, model: str, text: str) -> int:
        """Return the token count of the first member that replies."""
        send = call_of("count_text_tokens", model, text)
        count: int = await self._selection.first_reply(model, send, takes_turn=False)
        return count

    async def server_version(self) -> str | None:
        """Return the version of the first member that replies; others may run another one.

        Raises:
            AIError: No member replied.
        """
        selection, errors = self._selection, list[AIError]()
        for member in selection.health.order(range(len(selection.members))):
            try:
                with selection.attempt(member, takes_turn=False) as adapter:
                    version: str | None = await call_of("server_version")(adapter)
                    return version
            except AIError as error:
                errors.append(error)
        raise selection.no_reply(errors)

    async def push_model(self, name: str, report: ReportProgress) -> None:
        """Have the first member that has a model upload it; once is enough."""
        send = call_of("push_model", name, report)
        await self._selection.first_reply(name, send, takes_turn=False)

    def pull_model(self, name: str) -> WatchedPull:
        """Download a model to every member, one after another."""
        return WatchedPull(partial(self._pull_to_all, name))

    async def initialize(self) -> None:
        """Initialize every member."""
        await self._at_once(call_of("initialize"))

    async def dispose(self) -> None:
        """Close the connections of every member."""
        await self._at_once(call_of("dispose"))

    async def _at_once(self, send: Send) -> None:
        async with task_group() as group:
            for member in self._selection.members:
                group.start_soon(send, member.adapter)

    async def _pull_to_all(self, name: str, give: Give) -> None:
        selection, failure = self._selection, None
        for member in selection.health.order(range(len(selection.members))):
            try:
                with selection.attempt(member) as adapter:
                    async with pulling(adapter, name) as steps:
                        async for progress in steps:
                            await give(progress)
            except AIError as error:
                failure = failure or error
        if failure is not None:
            raise failure


def on_each_holder(selection: MemberSelection, method: str) -> Callable[..., Awaitable[None]]:
    """Return an operation that changes a model on every member that has it.

    It takes what the method of its members takes, the model first.
    """

    async def operation(*arguments: object, **named: object) -> None:
        if arguments:
            model = arguments[0]
        else:
            of_member = inspect.signature(getattr(selection.members[0].adapter, method))
            model = named[next(iter(of_member.parameters))]
        await selection.each_holder(str(model), call_of(method, *arguments, **named))

    return operation


class PoolListing:
    """One listing of the models of all members, which does not wait for slow ones."""

    def __init__(self, selection: MemberSelection, send: Send, *, keep: bool) -> None:
        self._selection = selection
        self._send = send
        self._keep = keep
        """Whether the replies say which member has which models."""
        self._replies: dict[int, Sequence[ModelInfo]] = {}
        self._errors: list[AIError] = []

    async def run(self) -> list[ModelInfo]:
        """Ask the members that seem to be up, and the others only if none of those replies.

        Raises:
            AIError: No member replied.
        """
        everyone = range(len(self._selection.members))
        preferred = self._selection.health.worth_asking(everyone)
        await self._round(preferred)
        if not self._replies:
            await self._round([m for m in everyone if m not in preferred])
        if not self._replies:
            raise self._selection.no_reply(self._errors)
        return merged(self._known(member, preferred) for member in everyone)

    def _known(self, member: int, preferred: Collection[int]) -> Sequence[ModelInfo]:
        """Return a member's models, or its previous ones if it is up but slow."""
        if member in self._replies:
            return self._replies[member]
        is_slow = member in preferred and self._selection.health.state(member) == "alive"
        if self._keep and is_slow:
            return self._selection.models.of(member) or ()
        return ()

    async def _round(self, members: Collection[int]) -> None:
        async with task_group() as group:
            for member in members:
                group.start_soon(self._ask_one, member, group.cancel_scope)

    async def _ask_one(self, member: int, scope: anyio.CancelScope) -> None:
        try:
            with self._selection.attempt(member, takes_turn=False) as adapter:
                models = await self._send(adapter)
                if self._keep and isinstance(adapter, RemembersListError) and adapter.last_error:
                    raise adapter.last_error
        except AIError as error:
            self._errors.append(error)
            return
        self._replies[member] = models
        if self._keep:
            self._selection.models.fill(member, models)
        scope.deadline = min(scope.deadline, anyio.current_time() + GRACE_S)
