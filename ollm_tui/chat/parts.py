"""The parts that a chat is built from, and the limits of one prompt."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import anyio

from ollm_tui.chat.compaction import CompactionKind
from ollm_tui.chat.model_support import MediaSupport, ToolModes
from ollm_tui.chat.thinking import ModelThinking
from ollm_tui.chat.tool_loop import OffersTools
from ollm_tui.chat.turn import Sleep
from ollm_tui.config.foreign import Redact
from ollm_tui.dataclass import dataclass, field
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.providers.router import RenderRequest, Router
from ollm_tui.shell.jobs import BackgroundJobs
from ollm_tui.tokens.count import TokenCounter
from ollm_tui.tokens.encodings import Encodings
from ollm_tui.tools.writing.journal import ChangeJournal

if TYPE_CHECKING:
    from ollm_tui.models.family_facts import ModelKnowledge

KnowledgeOf: TypeAlias = Callable[[str, ModelInfo | None], "ModelKnowledge"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatLimits:
    """Limits of one prompt."""

    max_turns: int = 10
    """Requests for one prompt, each followed by its tool calls."""
    calls_per_turn: int = 64
    """Calls beyond it get an error result."""
    prompt_s: float | None = 1800.0
    """Time limit of a prompt, tools included; None is no limit."""
    corrections: int = 2
    """How often a malformed call written as text is sent back for correction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatParts:
    """The parts of a chat; all but the router have defaults."""

    router: Router
    tools: OffersTools | None = None
    changes: ChangeJournal | None = None
    """What tools changed in this chat."""
    jobs: BackgroundJobs = field(default_factory=BackgroundJobs)
    """The commands of the chat that run in the background."""
    modes: ToolModes = field(default_factory=ToolModes)
    limits: ChatLimits = field(default_factory=ChatLimits)
    encodings: Encodings = field(default_factory=Encodings)
    """Tokenizers, shared by all chats."""
    counter: TokenCounter | None = None
    """Shared by all chats, so that their figures agree; None gives each chat its own."""
    windows: Mapping[str, int] = field(default_factory=dict)
    """Context windows set by the user, by model address or name."""
    media: MediaSupport = field(default_factory=MediaSupport)
    """Which media models take; may be shared by all chats."""
    thinking: ModelThinking = field(default_factory=ModelThinking)
    """How models think; may be shared by all chats."""
    sleep: Sleep = anyio.sleep
    """Waits before a retry."""
    knowledge: KnowledgeOf | None = None
    """Returns what families say of a model, by its name and its entry in the listing; blocks."""
    render: RenderRequest | None = None
    """Renders messages that are templates; without it, providers refuse them."""
    compacts: CompactionKind | None = None
    """What makes room by itself at the limit of a known window: a summary, or leaving messages out.
    None is nothing."""
    state_folder: Callable[[], Path | None] = lambda: None
    """Returns where an engine may keep what it has read of the chat; None keeps nothing."""
    redact: Redact = str
    """Redacts secrets from the errors of adapters."""
