"""Chat clients with all that a conversation needs, and the branches of saved chats."""

import json
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, get_args

from ollm_tui.chat.answer_schema import load_schema
from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.conversation import Conversation, Preset, template_of
from ollm_tui.chat.model_support import ToolMode, ToolModes, VisionSupport
from ollm_tui.chat.parts import ChatLimits, ChatParts, KnowledgeOf
from ollm_tui.chat.thinking import ModelThinking
from ollm_tui.config.load import LoadedConfig
from ollm_tui.config.origin import ConfigProblem, KeyPath, dotted, nearest
from ollm_tui.config.plugins import Plugin, load_plugins, plugin_names
from ollm_tui.config.regular_file import is_folder
from ollm_tui.config.schema import AppConfig
from ollm_tui.decode.clean import clean_name
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.ports import Tool
from ollm_tui.protocol.request import THINKING_LEVELS
from ollm_tui.protocol.tools import ToolEffect, ToolSchema
from ollm_tui.providers.router import Router
from ollm_tui.runtime.measure import ContextFigures, ContextRoom, measure, room_of
from ollm_tui.runtime.private import without_keys
from ollm_tui.store.branches import Branch, ChatNews
from ollm_tui.store.conversations import ConversationStore
from ollm_tui.store.journal import ConversationJournal
from ollm_tui.store.rows import StoredConversation
from ollm_tui.tokens.count import TokenCounter
from ollm_tui.tokens.encodings import Encodings
from ollm_tui.tools.builtin import builtin_tools
from ollm_tui.tools.builtin.calculator import calculate
from ollm_tui.tools.builtin.clock import clock_tool
from ollm_tui.tools.builtin.guard import FileGuard
from ollm_tui.tools.define import EVERY_TOOL, FunctionTool, is_tool_name
from ollm_tui.tools.runner import ReadOnly, ToolRegistry, ToolRunner

if TYPE_CHECKING:
    from ollm_tui.models.thinking import ThinkingSupport
    from ollm_tui.protocol.ports import Approver
    from ollm_tui.runtime.exact_prompt import ExactPrompt
    from ollm_tui.runtime.templates import Templates

OpenBranch = Callable[[str, str | None], Awaitable[ChatClient]]
ReadSchema: TypeAlias = tuple[JsonObject | None, AIError | None]
"""The JSON Schema of a profile, or why it cannot be used; neither without one."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """The public facts of a tool that a model may call."""

    name: str
    effect: ToolEffect
    description: str


def tool_modes(
    config: AppConfig, learned: Mapping[str, str], remember: Callable[[str, ToolMode], None]
) -> ToolModes:
    """Return how models are given their tools, as the settings say and as was learned before."""
    return ToolModes(
        chosen={name: model.tool_mode for name, model in config.models.items() if model.tool_mode},
        learned={name: "react" for name, mode in learned.items() if mode == "react"},
        remember=remember,
    )


class ChatFactory:
    """Makes the clients of new and saved conversations."""

    def __init__(
        self,
        config: AppConfig,
        router: Router,
        store: ConversationStore | None,
        *,
        guard: FileGuard,
        modes: ToolModes,
        schema: ReadSchema = (None, None),
    ) -> None:
        self._config = config
        self._schema = schema
        self._router = router
        self.store = store
        self.approver: Approver = ReadOnly()
        """Asked before a tool runs; an interactive front end replaces it."""
        self._guard = guard
        self.knowledge: KnowledgeOf | None = None
        """What families say of models, for new clients."""
        self._redact = without_keys(config)
        tools, self.problems = _tools(config, guard)
        """Sentences about what the settings name and new chats lack: tools, a JSON Schema."""
        self.tools = ToolRegistry(tools)
        if schema[1] is not None:
            self.problems = (*self.problems, schema[1].message)
        self._modes = modes
        self._vision = VisionSupport()
        self.thinking = ModelThinking()
        """How models think; the runtime replaces it by one that knows their families."""
        self._encodings = Encodings()
        self._counter = TokenCounter(self._encodings)
        self._windows = {name: m.context for name, m in config.models.items() if m.context}

    def offered(self) -> tuple[OfferedTool, ...]:
        """Return all tools; which of them a chat offers is the conversation's business."""
        return tuple(
            OfferedTool(tool.schema.name, tool.effect, tool.schema.description or "")
            for tool in self.tools.list()
        )

    def new(self, model: str | None, *, saved: bool = True) -> ChatClient:
        """Begin a conversation with what the settings say."""
        conversation = Conversation(model=model)
        self.preset(self._config).apply_to(conversation)
        return self._client(conversation, None, saved=saved)

    def preset(self, config: AppConfig) -> Preset:
        """Return what settings say of a chat, with the tools that exist.

        Blocks for settings other than those of the program, to read the schema of their profile.
        """
        wanted, profile = config.tools.enabled, config.profiles.get(config.profile or "")
        known = tuple(tool.schema.name for tool in self.tools.list())
        schema, problem = self._schema if config is self._config else chosen_schema(config)
        return Preset(
            profile=config.profile if profile else None,
            model=profile.model if profile else None,
            schema=schema,
            schema_file=_schema_file(config),
            schema_problem=problem,
            system_prompt=config.system_prompt or None,
            system_prompt_format=config.system_prompt_format,
            options=config.options.to_options(),
            should_think=THINKING_LEVELS[config.thinking] if config.thinking else None,
            tools=known
            if EVERY_TOOL in wanted
            else tuple(name for name in wanted if name in known),
            missing_tools=tuple(name for name in wanted if name not in {*known, EVERY_TOOL}),
        )

    async def open(
        self, chat_id: str, leaf_id: str | None = None, *, message_id: str | None = None
    ) -> ChatClient:
        """Continue a saved conversation, where it was continued last or at one of its ends.

        With a `message_id` it is a branch with that message: see `position_of`.

        Raises:
            AIError: it cannot be read.
        """
        if self.store is None:
            raise AIError(ErrorCode.BAD_REQUEST, "Chats are not saved here.")
        stored = await self.store.load(chat_id, leaf_id, message_id=message_id)
        settings = stored.settings
        conversation = Conversation(
            own_title=stored.title if stored.state.is_renamed else None,
            profile=settings.profile,
            model=settings.model,
            system_prompt=settings.system_prompt,
            system_template=template_of(settings.system_prompt, settings.system_prompt_format),
            options=settings.options,
            should_think=settings.should_think,
            tools=settings.tools,
            messages=[message.message for message in stored.messages],
        )
        return self._client(conversation, stored)

    async def last(self) -> ChatClient:
        """Continue the conversation that was written last.

        Raises:
            AIError: there is none, or it cannot be read.
        """
        latest = await self.store.latest() if self.store is not None else None
        if latest is None:
            raise AIError(ErrorCode.BAD_REQUEST, "There is no saved chat to continue.")
        return await self.open(latest.id)

    def tool_mode(self, model: str, info: ModelInfo | None) -> ToolMode | None:
        """Return how a model is given its tools; None for a name without its provider."""
        ref = ModelRef.parse(model)
        return self._modes.mode_of(ref, info) if ref else None

    async def reads_only_text(self, model: str) -> bool:
        """Return whether a model is known not to see pictures; `AIError` if it is not found."""
        return await self._vision.is_text_only(await self._router.resolve(model))

    async def thinking_of(self, model: str) -> "ThinkingSupport | None":
        """Return how a model thinks, None if that is not known; `AIError` if it is not found."""
        ref = ModelRef.parse(model)
        named = await (self._router.at(ref) if ref else self._router.resolve(model))
        return await self.thinking.of(await self._router.informed(named))

    async def measure(self, conversation: Conversation) -> ContextFigures:
        """Count what a conversation takes of its model's window; raises as `measure.measure`."""
        return await measure(conversation, self._parts())

    async def exact_prompt(
        self, templates: "Templates", conversation: Conversation, text: str = ""
    ) -> "ExactPrompt":
        """Return the prompt that a model gets; raises as `exact_prompt.exact_prompt`."""
        # Needed only where a prompt is looked at.
        from ollm_tui.runtime.exact_prompt import exact_prompt

        return await exact_prompt(conversation, self._parts(), templates, text)

    def room(self, conversation: Conversation) -> ContextRoom | None:
        """Return the context in use without sending a request; None without a model."""
        return room_of(conversation, self._parts())

    def _client(
        self, conversation: Conversation, stored: StoredConversation | None, *, saved: bool = True
    ) -> ChatClient:
        store = self.store if saved else None
        journal = store.journal(conversation, stored) if store is not None else None
        return ChatClient(self._parts(), conversation, journal=journal)

    def _parts(self) -> ChatParts:
        chat = self._config.chat
        return ChatParts(
            router=self._router,
            tools=ToolRunner(self.tools, self.approver, without_keys=self._guard.cleaned),
            modes=self._modes,
            limits=ChatLimits(
                max_turns=chat.max_turns,
                calls_per_turn=chat.calls_per_turn,
                prompt_s=chat.prompt_timeout_s,
            ),
            vision=self._vision,
            thinking=self.thinking,
            encodings=self._encodings,
            counter=self._counter,
            windows=self._windows,
            redact=self._redact,
            render=self._router.render,
            knowledge=self.knowledge,
        )


class ChatBranches:
    """Lists and opens the branches of an open chat, and returns what other programs added.

    It renames the chat too, which is the same on all branches. Every method raises `AIError` if the
    chat cannot be read or written.
    """

    def __init__(self, store: ConversationStore | None, open_branch: OpenBranch) -> None:
        self._store = store
        self._open = open_branch

    async def listed(self, client: ChatClient) -> tuple[Branch, ...]:
        """Return all branches, the one that was continued last first; none for an unsaved chat."""
        journal = _journal_of(client)
        if self._store is None or journal is None or not journal.path:
            return ()
        return await self._store.branches(journal)

    async def news(self, client: ChatClient) -> ChatNews | None:
        """Return what other programs changed since the last call; None for no change."""
        journal = _journal_of(client)
        if self._store is None or journal is None:
            return None
        return await self._store.news(journal)

    async def open(self, client: ChatClient, branch: Branch) -> ChatClient:
        """Continue another branch of the same chat."""
        journal = _journal_of(client)
        return await self._open(journal.conversation_id if journal else "", branch.leaf_id)

    async def rename(self, client: ChatClient, title: str) -> None:
        """Set the title of the chat; that of an unsaved chat is kept while it is open."""
        journal = _journal_of(client)
        if self._store is not None and journal is not None:
            await self._store.rename(journal.conversation_id, title, watch=journal.watch)
        client.conversation.own_title = title


def _journal_of(client: ChatClient) -> ConversationJournal | None:
    journal = client.saving.journal
    return journal if isinstance(journal, ConversationJournal) else None


def position_of(client: ChatClient, message_id: str) -> int | None:
    """Return the position of a saved message in an open chat; None if it is not there."""
    journal = _journal_of(client)
    path = journal.path if journal else ()
    return path.index(message_id) if message_id in path else None


def chat_id_of(client: ChatClient) -> str | None:
    """Return the id under which a conversation is saved; None when it is not, or not yet."""
    journal = _journal_of(client)
    return journal.conversation_id if journal and client.conversation.messages else None


def _tools(config: AppConfig, guard: FileGuard) -> tuple[Sequence[FunctionTool], tuple[str, ...]]:
    """Return the tools, without those for files where their folder is not there."""
    # A circle of links, or a folder that is gone by now, counts as a missing one below.
    with suppress(OSError, RuntimeError):
        root = config.tools.root or Path.cwd()
        if is_folder(root):
            return builtin_tools(root, guard), ()
    without_files = (clock_tool(), calculate)
    if config.tools.root is not None:  # the settings say it, with the place
        return without_files, ()
    problem = "The folder in which ollm was started is gone, so the tools for files are off."
    return without_files, (problem,)


def plugin_tools() -> tuple[list[Tool], list[str]]:
    """Import the tools of installed packages; return the usable ones, and the problems of the rest.

    They are offered to a model only where they are switched on, as any tool.
    """
    if not plugin_names("tools"):
        return [], []
    built_in = builtin_tools(Path("/"))  # their folder is no matter
    names = [tool.schema.name for tool in built_in]
    known = ToolRegistry(built_in)

    def use(plugin: Plugin, tool: Tool) -> None:
        _check_tool(plugin, tool)
        known.register(tool)

    problems = load_plugins("tools", Tool, use, names)  # type: ignore[type-abstract]
    return [tool for tool in known.list() if tool.schema.name not in names], problems


def _check_tool(plugin: Plugin, tool: Tool) -> None:
    schema: object = tool.schema
    timeout_s: object = tool.timeout_s
    if not isinstance(schema, ToolSchema):
        raise plugin.problem(f"provides {plugin.name!r}, whose schema is not a ToolSchema")
    if schema.name != plugin.name:
        raise plugin.problem(f"names its tool {schema.name!r}, but its entry point {plugin.name!r}")
    if not is_tool_name(plugin.name) or plugin.name.casefold() == EVERY_TOOL:
        raise plugin.problem(
            f"provides {plugin.name!r}, which cannot name a tool: use 1 to 64 letters, digits, "
            f"_ and -, no digit first, and not {EVERY_TOOL!r}"
        )
    if tool.effect not in get_args(ToolEffect):
        raise plugin.problem(f"provides {plugin.name!r}, which does not say what it may do")
    is_time = isinstance(timeout_s, int | float) and 0 < timeout_s < math.inf
    if not is_time or not isinstance(schema.description, str | None):
        raise plugin.problem(f"provides {plugin.name!r}, whose timeout or description is unusable")
    json.dumps(schema.parameters)  # raises now for what could be sent to no server


def unknown_tools(loaded: LoadedConfig) -> Iterator[ConfigProblem]:
    """Yield a problem for each enabled tool that does not exist."""
    config, chosen = loaded.config, ("tools", "enabled")
    named: dict[KeyPath, Sequence[str]] = {chosen: config.tools.enabled}
    for name, profile in config.profiles.items():
        path: KeyPath = ("profiles", name, "tools")
        if loaded.origin_of(dotted(path)) != loaded.origin_of(dotted(chosen)):
            named[path] = profile.tools or ()
    if not {name for names in named.values() for name in names} - {EVERY_TOOL}:
        return
    built_in = builtin_tools(Path("/"))  # their folder is no matter
    known = [*(tool.schema.name for tool in built_in), *plugin_names("tools"), EVERY_TOOL]
    for path, names in named.items():
        for name in dict.fromkeys(names):
            if name not in known:
                yield ConfigProblem(
                    f"There is no tool named {clean_name(name[:80])!r}.",
                    loaded.origin_of(dotted(path)),
                    path,
                    find_hint=partial(_nearest_tool, name, known[:-1]),
                )


def _nearest_tool(name: str, known: Sequence[str]) -> str:
    near = nearest(name, known)
    return f"Did you mean {near}?" if near else f"Available: {', '.join(known)}."


def chosen_schema(config: AppConfig) -> ReadSchema:
    """Read the JSON Schema of the chosen profile; blocks."""
    file = _schema_file(config)
    try:
        return (load_schema(file) if file else None), None
    except AIError as error:
        error.hint = f"Correct the file, or change `schema` of the profile {config.profile}."
        return None, error


def _schema_file(config: AppConfig) -> str | None:
    profile = config.profiles.get(config.profile or "")
    return str(profile.schema_file) if profile and profile.schema_file else None
