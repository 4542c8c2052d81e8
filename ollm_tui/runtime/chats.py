"""Chat clients with all that a conversation needs."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias
from weakref import WeakValueDictionary

from ollm_tui.chat.answer_schema import load_schema
from ollm_tui.chat.client import ChatClient
from ollm_tui.chat.compaction import CompactionKind
from ollm_tui.chat.conversation import Conversation, Preset, template_of
from ollm_tui.chat.model_support import MediaSupport, ToolMode, ToolModes
from ollm_tui.chat.parts import ChatLimits, ChatParts, KnowledgeOf
from ollm_tui.chat.thinking import ModelThinking
from ollm_tui.config.schema import AppConfig
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.request import THINKING_LEVELS
from ollm_tui.providers.router import Router
from ollm_tui.runtime.choices import ChoicesFile
from ollm_tui.runtime.measure import ContextFigures, ContextRoom, measure, room_of
from ollm_tui.runtime.private import key_redactor
from ollm_tui.runtime.saved.titles import ChatTitles
from ollm_tui.runtime.tools.toolbox import OfferedTool, facts_of, tools_problem
from ollm_tui.shell.command import CommandSettings
from ollm_tui.shell.jobs import BackgroundJobs
from ollm_tui.store.conversations import ConversationStore
from ollm_tui.store.rows import StoredConversation
from ollm_tui.tokens.count import TokenCounter
from ollm_tui.tokens.encodings import Encodings
from ollm_tui.tools.builtin.guard import FileGuard
from ollm_tui.tools.memory.notes import LastingNotes
from ollm_tui.tools.registry import ToolRegistry
from ollm_tui.tools.runner import ReadOnly, ToolRunner
from ollm_tui.tools.writing.journal import ChangeJournal

if TYPE_CHECKING:
    from ollm_tui.chat.tool_check import CheckWish
    from ollm_tui.models.thinking import ThinkingSupport
    from ollm_tui.models.tool_check import ToolCheck
    from ollm_tui.protocol.ports import Approver
    from ollm_tui.runtime.exact_prompt import ExactPrompt
    from ollm_tui.runtime.templates import Templates
    from ollm_tui.runtime.tools.own_tools import Toolbox

_COMPACTS: Final[Mapping[str, CompactionKind | None]] = {
    "off": None,
    "summarise": "summary",
    "leave-out": "left_out",
}
LAST_CHAT: Final = "last"
"""Stands for the id of the chat that was written last."""
SchemaOrProblem: TypeAlias = tuple[JsonObject | None, AIError | None]
"""The JSON Schema of a profile, or why it cannot be used; neither without one."""


def tool_modes(config: AppConfig, choices: ChoicesFile) -> ToolModes:
    """Return how models are given their tools, as the settings say and as was learned before."""
    return ToolModes(
        chosen={name: model.tool_mode for name, model in config.models.items() if model.tool_mode},
        learned=choices.choices.learned_ways(),
        remember=choices.remember_tool_mode,
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
        schema: SchemaOrProblem = (None, None),
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
        self._redact = key_redactor(config)
        self._jobs: WeakValueDictionary[str, BackgroundJobs] = WeakValueDictionary()
        self.memory = LastingNotes(is_on=config.chat.memory)
        """Notes that last over chats."""
        problem = tools_problem(config)
        self.problems: tuple[str, ...] = () if problem is None else (problem,)
        """Sentences about what the settings name and new chats lack: tools, a JSON Schema."""
        self.tools = ToolRegistry(make=lambda: self._own_tools.tools)
        self.shell = CommandSettings(
            _folder_here(), config.shell.timeout_s, tuple(config.shell.variables)
        )
        """How commands of the user run."""
        if schema[1] is not None:
            self.problems = (*self.problems, schema[1].message)
        self._modes = modes
        self._media = MediaSupport()
        self.thinking = ModelThinking()
        """How models think; the runtime replaces it by one that knows their families."""
        self._encodings = Encodings()
        self._counter = TokenCounter(self._encodings)
        self.titles = ChatTitles(store, self.unsaved, self.thinking_of, is_on=config.chat.titles)
        """Makes titles of saved chats."""
        self._windows = {name: m.context for name, m in config.models.items() if m.context}

    @cached_property
    def _own_tools(self) -> "Toolbox":
        # Loaded only when a tool is asked for: they bring more than the rest of a chat.
        from ollm_tui.runtime.tools.own_tools import toolbox_of

        return toolbox_of(self._config, self._guard, self.memory)

    def tools_off(self) -> tuple[OfferedTool, ...]:
        """Return the tools that act and that the settings do not name."""
        return facts_of(self._own_tools.off)

    def offered(self) -> tuple[OfferedTool, ...]:
        """Return all tools; which of them a chat offers is the conversation's business."""
        return facts_of(self.tools.list())

    def new(self, model: str | None, *, saved: bool = True) -> ChatClient:
        """Begin a conversation with what the settings say."""
        conversation = Conversation(model=model)
        self.preset(self._config).apply_to(conversation)
        return self._client(conversation, None, saved=saved)

    def unsaved(self, conversation: Conversation) -> ChatClient:
        """Return a client of a conversation that is not saved."""
        return self._client(conversation, None, saved=False)

    def preset(self, config: AppConfig) -> Preset:
        """Return what settings say of a chat, with the tools that exist.

        Blocks for settings other than those of the program, to read the schema of their profile.
        """
        wanted, profile = config.tools.enabled, config.profiles.get(config.profile or "")
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
            tools=self.tools.chosen(wanted, with_groups=profile is None or profile.tools is None),
            missing_tools=self.tools.missing(wanted),
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
            made_title=stored.title if stored.state.is_made else None,
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

    async def continue_chat(self, chat: str) -> ChatClient:
        """Continue the conversation of an id, or with `LAST_CHAT` the one that was written last.

        Raises:
            AIError: there is none, or it cannot be read.
        """
        if chat != LAST_CHAT:
            return await self.open(chat)
        latest = await self.store.latest() if self.store is not None else None
        if latest is None:
            raise AIError(ErrorCode.BAD_REQUEST, "There is no saved chat to continue.")
        return await self.open(latest.id)

    def tool_mode(self, model: str, info: ModelInfo | None) -> ToolMode | None:
        """Return how a model is given its tools; None for a name without its provider."""
        ref = ModelRef.parse(model)
        return self._modes.mode_of(ref, info) if ref else None

    async def lacking_media(self, model: str, wanted: Collection[str]) -> frozenset[str]:
        """Return which types of content a model does not take; `AIError` if it is not found."""
        return await self._media.lacking(await self._router.resolve(model), wanted)

    async def thinking_of(self, model: str) -> "ThinkingSupport | None":
        """Return how a model thinks, None if that is not known; `AIError` if it is not found."""
        ref = ModelRef.parse(model)
        named = await (self._router.at(ref) if ref else self._router.resolve(model))
        return await self.thinking.of(await self._router.informed(named))

    async def check_tools(self, model: str, wish: "CheckWish") -> "ToolCheck":
        """Check how well a model calls tools, and use what is best from now on.

        Raises:
            AIError: it cannot be asked, or the check was stopped.
        """
        # Needed only where a model is checked.
        from ollm_tui.chat.tool_check import check_tools

        check = await check_tools(model, self._parts(), wish)
        if check.way is not None:
            self._modes.learn(model, check.way)
        return check

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
        folder, jobs = None, None
        if store is not None and journal is not None:
            chat_id = journal.conversation_id
            folder = store.changes_dir / chat_id if store.saves else None
            # branches of one chat share them
            jobs = self._jobs.setdefault(chat_id, BackgroundJobs())
        changes = ChangeJournal(folder, self._guard)
        parts = self._parts(changes, jobs)
        if store is not None and journal is not None and store.saves:
            # a chat that was deleted meanwhile is saved under another id
            parts = replace(parts, state_folder=lambda: store.states_dir / journal.conversation_id)
        return ChatClient(parts, conversation, journal=journal)

    def _parts(
        self, changes: ChangeJournal | None = None, jobs: BackgroundJobs | None = None
    ) -> ChatParts:
        chat, changes = self._config.chat, changes or ChangeJournal(guard=self._guard)
        jobs = jobs or BackgroundJobs()
        return ChatParts(
            router=self._router,
            tools=ToolRunner(
                self.tools,
                self.approver,
                changes=changes,
                jobs=jobs,
                redact=self._guard.cleaned,
            ),
            changes=changes,
            jobs=jobs,
            modes=self._modes,
            limits=ChatLimits(
                max_turns=chat.max_turns,
                calls_per_turn=chat.calls_per_turn,
                prompt_s=chat.prompt_timeout_s,
            ),
            media=self._media,
            thinking=self.thinking,
            encodings=self._encodings,
            counter=self._counter,
            windows=self._windows,
            compacts=_COMPACTS[chat.make_room],
            redact=self._redact,
            render=self._router.render,
            knowledge=self.knowledge,
        )


def _folder_here() -> Path:
    """Return the folder in which the program was started; a relative one if it is gone."""
    try:
        return Path.cwd()
    except OSError:
        return Path()


def chosen_schema(config: AppConfig) -> SchemaOrProblem:
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
