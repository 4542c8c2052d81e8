"""Saved chats, tools and figures of the context, as a test gives them."""

from dataclasses import dataclass, field

from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.protocol.request import PromptToken
from ollm_tui.runtime.chats import OfferedTool
from ollm_tui.runtime.exact_prompt import ExactPrompt, PromptPart
from ollm_tui.runtime.measure import ContextFigures
from ollm_tui.store.conversations import ConversationStore
from ollm_tui.store.rows import ConversationSummary
from ollm_tui.store.search.lookup import SearchHit
from ollm_tui.store.search.query import SearchQuery
from ollm_tui.store.search.service import ChatSearch, SearchResults
from ollm_tui.tokens.limits import LeaveOutTurns, Plan, RaiseWindow

NOW_MS = 1_795_000_000_000


def saved_chat(
    id: str,
    title: str = "Sky colours",
    updated_ms: int = NOW_MS,
    message_count: int = 2,
    model: str | None = "local://qwen3:8b",
    revision: int = 0,
    on_other_branches: int = 0,
) -> ConversationSummary:
    return ConversationSummary(
        id=id,
        title=title,
        updated_ms=updated_ms,
        message_count=message_count,
        model=model,
        revision=revision,
        total_messages=message_count + on_other_branches,
    )


@dataclass(eq=False)
class ScriptedChats(ConversationStore):
    saved: list[ConversationSummary] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    refuses: AIError | None = None
    problem: AIError | None = None
    unsaved: int = 0

    async def list(self, limit: int = 50, offset: int = 0) -> tuple[ConversationSummary, ...]:
        if self.refuses is not None:
            raise self.refuses
        return tuple(self.saved[offset : offset + limit])

    async def delete(self, conversation_id: str, revision: int | None = None) -> None:
        if self.refuses is not None:
            raise self.refuses
        self.removed.append(conversation_id)
        self.saved = [chat for chat in self.saved if chat.id != conversation_id]


@dataclass(eq=False)
class ScriptedSearch(ChatSearch):
    """Has these hits for every search that is not empty, and keeps what was searched."""

    hits: list[SearchHit] = field(default_factory=list)
    progress: float = 1.0
    notice: str | None = None
    refuses: AIError | None = None
    asked: list[SearchQuery] = field(default_factory=list)
    starts: int = 0

    def start(self) -> None:
        self.starts += 1

    async def search(
        self, query: SearchQuery, *, limit: int = 50, before: int | None = None
    ) -> SearchResults:
        self.asked.append(query)
        if self.refuses is not None:
            raise self.refuses
        hits = () if query.is_empty else tuple(self.hits[:limit])
        return SearchResults(
            hits=hits,
            notice=self.notice,
            is_complete=self.progress == 1,
            progress=self.progress,
        )


TOOLS = (
    OfferedTool("read_file", "read", "Read a text file of the project."),
    OfferedTool("list_directory", "read", "List a folder."),
    OfferedTool("web_fetch", "network", "Fetch a page."),
    OfferedTool("shell", "run", "Run a command."),
)


def leave_out(turns: int = 2, freed: int = 2100) -> LeaveOutTurns:
    plan = Plan(kept=(), left_out=(), turns_left_out=turns, used=0, freed=freed, fits=True)
    return LeaveOutTurns(turns, plan)


FIGURES = ContextFigures(
    used=4310,
    limit=4096,
    estimated=True,
    source="engine",
    parts=(
        ("system prompt and tools", 812),
        ("questions", 498),
        ("answers", 1600),
        ("what tools gave", 1400),
    ),
    ways=(leave_out(), RaiseWindow(8192)),
)
_PARTS = (
    PromptPart("template", "<|im_start|>system\n", 2),
    PromptPart("system", "You answer in one sentence.", 6),
    PromptPart("template", "<|im_end|>\n<|im_start|>user\n", 4),
    PromptPart("user", "What is the capital of France?", 7),
    PromptPart("template", "<|im_end|>\n<|im_start|>assistant\n", 4),
)
PROMPT = ExactPrompt(
    ref=ModelRef("local", "qwen3:8b"),
    origin="engine",
    parts=_PARTS,
    tokens=(
        PromptToken(151644, "<|im_start|>"),
        PromptToken(8948, "system"),
        PromptToken(198, "\n"),
    ),
    notes=(
        "This is the text that Ollama makes of the chat.",
        "The model's template, rendered here, gives the same.",
    ),
)
