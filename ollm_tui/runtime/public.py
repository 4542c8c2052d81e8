"""The runtime as programs see it: few methods, whose names and meanings are versioned.

`ollm -p` takes the same way: `first_model`, `new_client`, `ChatClient.chat`.
"""

import os
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio.to_thread

from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.prompt import ChatOptions
from ollm_tui.config.checks import PROVIDER_NAME
from ollm_tui.config.flags import Flags
from ollm_tui.config.load import LoadedConfig, load_config
from ollm_tui.config.named import named_by
from ollm_tui.config.origin import ConfigProblem
from ollm_tui.config.paths import default_paths
from ollm_tui.protocol.blocks import Content
from ollm_tui.protocol.chat_events import ChatEvent, ErrorEvent, Finish, StructuredAnswer
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.ports import Approver, ProviderAdapter, Tool
from ollm_tui.protocol.request import Response
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.protocol.tools import ToolEffect
from ollm_tui.providers.registry import ProviderRegistry
from ollm_tui.providers.router import Router
from ollm_tui.runtime import compose
from ollm_tui.runtime.tools.served import ReadFirst, ToolServers
from ollm_tui.tools import define
from ollm_tui.tools.define import ToolFunction

_PARAMETERS: Mapping[str, str] = {
    "--model": "model",
    "--provider": "provider",
    "--host": "host",
    "--api-key": "api_key",
    "--profile": "profile",
    "--config": "config_file",
}
"""What options of the command line are called in `open_runtime`."""


class Runtime:
    """Providers, tools and chats, running; `open_runtime` gives one."""

    def __init__(self, composed: compose.Runtime, *, has_approver: bool = False) -> None:
        self._composed = composed
        self._has_approver = has_approver
        self._servers = ToolServers(composed.mcp)
        self._server_problems: tuple[str, ...] = ()
        self._added_tools: list[str] = []

    @property
    def providers(self) -> ProviderRegistry:
        """The providers, by name."""
        return self._composed.registry

    @property
    def router(self) -> Router:
        """Finds the provider that has a model."""
        return self._composed.router

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences about settings, plugins and MCP servers that could not be used."""
        return (*self._composed.problems, *self._server_problems)

    async def ask(
        self,
        prompt: Content | Message,
        options: ChatOptions | None = None,
        *,
        model: str | None = None,
        signal: AbortSignal | None = None,
    ) -> Response:
        """Ask one question in a chat of its own, and wait for the whole answer.

        `response.metadata["model"]` tells which model answered. With `options.schema`,
        `response.value` is the answer as JSON.

        Raises:
            AIError: there is no such model, or the answer failed; BAD_REQUEST when `model` and
                `options` name different models, or there is no such tool.
        """
        client, options = await self._chat_for(model, options)
        structured: StructuredAnswer | None = None
        async with client.chat(prompt, options, signal) as events:
            async for event in events:
                if isinstance(event, ErrorEvent):
                    raise event.error
                if isinstance(event, StructuredAnswer):
                    structured = event
                if isinstance(event, Finish):
                    response = self._response(client, event, options)
                    return replace(response, value=structured.value if structured else None)
        raise AIError(ErrorCode.STREAM_INCOMPLETE, "The answer has no end.")

    @asynccontextmanager
    async def chat(
        self,
        prompt: Content | Message,
        options: ChatOptions | None = None,
        *,
        model: str | None = None,
        signal: AbortSignal | None = None,
    ) -> AsyncIterator[AsyncIterator[ChatEvent]]:
        """Ask one question in a chat of its own, and stream what comes.

        Raises:
            AIError: on entering, when there is no model, or as `ask` for BAD_REQUEST. Everything
                later is the closing `ErrorEvent`.
        """
        client, options = await self._chat_for(model, options)
        async with client.chat(prompt, options, signal) as events:
            yield events

    async def start_chat(
        self, model: str | None = None, *, tools: Sequence[str] | None = None
    ) -> ChatClient:
        """Begin a chat that keeps its history; it is not saved.

        Without a model, the one that the settings name is used, or the one used last. Without
        `tools`, the chat offers those of `add_tool`; with an `approver`, those that the settings
        switch on too. MCP servers start with the first chat that offers their tools, such as
        `time__*`, and only tools of which the user has read all are offered.

        Raises:
            AIError: there is no model; BAD_REQUEST for an empty name, or there is no such tool.
        """
        if model is not None:
            _require_name(model)
        self._require_tools(tools)
        if model is None:
            model = str((await self._composed.first_model()).required())
        client = self._composed.new_client(model, saved=False)
        if tools is None:
            # The settings were written for the app, where every call needs approval.
            of_settings = client.conversation.tools if self._has_approver else ()
            tools = (*of_settings, *self._added_tools)
        client.conversation.tools = await self._with_served(tools)
        return client

    async def _with_served(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return tools by name, those of MCP servers after the servers have started."""
        of_servers = self._servers.named(names)
        served = await self._servers.offered(of_servers)
        unread = (f"{name} is not offered. {sentence}" for name, sentence in served.unread)
        known = (*self._server_problems, *served.problems, *unread)
        self._server_problems = tuple(dict.fromkeys(known))
        own = (name for name in names if name not in of_servers)
        return tuple(dict.fromkeys((*own, *served.names)))

    async def models(self) -> Mapping[str, ModelInfo]:
        """Ask all providers for their models; give them by address, such as `ollama://tiny`."""
        catalog = self._composed.catalog
        return {
            catalog.shown_address(ModelRef(listing.provider, info.name)): info
            for listing in await catalog.refresh(within_s=compose.NAMED_TIMEOUT_S)
            for info in listing.models
        }

    def add_tool(self, tool: Tool | ToolFunction, *, effect: ToolEffect | None = None) -> None:
        """Add a tool, and offer it in every chat that begins from now on.

        A function becomes a tool as by `@tool(effect=...)`. A tool that only reads runs without a
        question. Every other one asks the `approver` of `open_runtime`, and is refused if there is
        none.

        Raises:
            TypeError: a function without an `effect`, or whose signature cannot be a schema.
            ValueError: the name is taken, or cannot be the name of a tool.
        """
        if not isinstance(tool, Tool):
            if effect is None:
                raise TypeError("a function needs an effect: read, write, run or network")
            tool = define.tool(effect=effect)(tool)
        self._composed.tools.register(tool)
        self._added_tools.append(tool.schema.name)

    def add_provider(self, adapter: ProviderAdapter, *, priority: int = 0) -> None:
        """Add a provider; it is initialized before its first use, and disposed of at the end.

        Raises:
            AIError: CONFLICT when there is a provider of that name but for its case; BAD_REQUEST
                for a name that cannot be in an address.
        """
        name: object = adapter.name
        if not isinstance(name, str) or PROVIDER_NAME.fullmatch(name) is None:
            raise AIError(
                ErrorCode.BAD_REQUEST,
                f"{name!r} cannot name a provider.",
                hint="Use letters, digits, `.`, `_` and `-`.",
            )
        known = (*self.providers.list(), *self._composed.config.aliases)
        taken = next((one for one in known if one.casefold() == name.casefold()), None)
        if taken is not None:
            raise AIError(
                ErrorCode.CONFLICT,
                f"There is a provider named {taken!r} already.",
                hint="Give yours another name.",
            )
        self._composed.lifecycle.add(adapter)
        self.providers.register(adapter, priority=priority)

    async def _chat_for(
        self, model: str | None, options: ChatOptions | None
    ) -> tuple[ChatClient, ChatOptions | None]:
        wanted = options.model if options else None
        if model is not None and wanted is not None and model != wanted:
            raise AIError(
                ErrorCode.BAD_REQUEST,
                f"`model` names {model!r}, and `options.model` names {wanted!r}.",
                hint="Name the model in one of them.",
            )
        model = wanted if model is None else model
        if options is None or options.tools is None:
            return await self.start_chat(model), options
        client = await self.start_chat(model, tools=options.tools)
        return client, replace(options, tools=client.conversation.tools)

    def _require_tools(self, names: Sequence[str] | None) -> None:
        if not names:
            return
        known = [tool.schema.name for tool in self._composed.tools.list()]
        if self._composed.mcp is not None:
            known += self._composed.mcp.groups
        names = (names,) if isinstance(names, str) else names
        of_servers = self._servers.named(names)
        if of_servers and not self._has_approver:
            raise AIError(
                ErrorCode.BAD_REQUEST,
                f"{of_servers[0]} needs an approver: it does more than read.",
                hint="Give `open_runtime` an `approver`.",
            )
        for name in names:
            if name not in (*known, *of_servers):
                raise AIError(
                    ErrorCode.BAD_REQUEST,
                    f"There is no tool named {name!r}.",
                    hint=f"Available: {', '.join(known)}.",
                )

    def _response(self, client: ChatClient, end: Finish, options: ChatOptions | None) -> Response:
        newest = client.conversation.messages[-1]
        answer = newest if newest.role == "assistant" else None
        model = (options.model if options else None) or client.conversation.model or ""
        ref = ModelRef.parse(model)
        return Response(
            content=answer.content if answer else (),
            finish_reason=end.reason,
            usage=end.usage,
            tool_calls=answer.tool_calls if answer else (),
            metadata={"model": self.providers.shown_address(ref) if ref else model},
        )


def _require_name(model: str) -> None:
    if not model.strip():
        raise AIError(
            ErrorCode.BAD_REQUEST,
            "The name of the model is empty.",
            hint="Give its name or address, or leave `model` out.",
        )


@asynccontextmanager
async def open_runtime(  # noqa: PLR0913 -- the options of the command line, all by name
    *,
    model: str | None = None,
    provider: str | None = None,
    host: str | None = None,
    api_key: str | None = None,
    profile: str | None = None,
    config_file: str | Path | None = None,
    approver: Approver | None = None,
) -> AsyncIterator[Runtime]:
    """Open a runtime with the settings that `ollm` has; leaving the block closes everything.

    `model`, `provider`, `host`, `api_key` and `profile` stand for the options of the command line.
    Your saved chats are left alone.

    Raises:
        AIError: BAD_REQUEST for an argument that cannot be used, such as a profile whose schema is
            not one; the runtime could not be opened.
    """
    flags = Flags(
        model=model,
        provider=provider,
        host=host,
        api_key=api_key,
        profile=profile,
        config_path=None if config_file is None else Path(config_file),
    )
    opener = await anyio.to_thread.run_sync(_load, flags)
    async with opener() as composed:
        if approver is not None:
            composed.ask_before_tools(ReadFirst(approver))
        if profile is not None:
            await composed.profiles.check()
        yield Runtime(composed, has_approver=approver is not None)


def _load(flags: Flags) -> Callable[[], AbstractAsyncContextManager[compose.Runtime]]:
    paths = default_paths()
    if flags.model is not None:
        _require_name(flags.model)
    loaded = load_config(paths, os.environ, flags)
    problem = next(_problems_of_arguments(loaded, flags), None)
    if problem is not None:
        raise AIError(ErrorCode.BAD_REQUEST, _for_programs(problem), hint=problem.advice)
    return partial(compose.open_runtime, loaded.without_saving(), paths)


def _problems_of_arguments(loaded: LoadedConfig, flags: Flags) -> Iterator[ConfigProblem]:
    """Yield what is wrong with what the program named; the settings are the user's business."""
    closed = (settings.problem for settings in loaded.config.providers.values())
    for problem in (*loaded.problems, *closed, *loaded.waiting, named_by(loaded).problem):
        if problem is None or problem.severity != "error":
            continue
        # A file that the program names counts as an argument where it cannot be read at all.
        is_file = flags.config_path is not None and not problem.path
        if problem.origin.kind == "flag" or (is_file and problem.origin.kind == "file"):
            yield problem


def _for_programs(problem: ConfigProblem) -> str:
    """Return a problem in the words of a program: its parameters in place of options."""
    message = problem.message
    for option, parameter in _PARAMETERS.items():
        message = re.sub(rf"(?<!\S){option}(?=[\s:,.])", f"`{parameter}`", message)
    parameter = _PARAMETERS.get(problem.origin.name, "config_file")
    return message if f"`{parameter}`" in message else f"`{parameter}`: {message}"
