"""Saved chats, tools and figures of the context, as a test gives them."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio

from ollm_tui.config.new_file import NameTaken
from ollm_tui.exchange.formats import ExportFormat
from ollm_tui.exchange.importing import ImportResult, Progress
from ollm_tui.exchange.reading import ImportFile
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.model import ModelRef
from ollm_tui.protocol.request import PromptToken
from ollm_tui.runtime.exact_prompt import ExactPrompt, PromptPart
from ollm_tui.runtime.measure import ContextFigures
from ollm_tui.runtime.saved.chats import SavedChats
from ollm_tui.runtime.tools.toolbox import OfferedTool
from ollm_tui.store.conversations import ConversationStore
from ollm_tui.store.deletions import Deletion
from ollm_tui.store.listing import ChatFilter, ChatPreview, ChatSort
from ollm_tui.store.rows import ConversationSummary
from ollm_tui.store.search.lookup import SearchHit
from ollm_tui.store.search.query import SearchQuery
from ollm_tui.store.search.service import ChatSearch, SearchResults
from ollm_tui.store.search.similar import SimilarHit, SimilarResults, SimilarSearch
from ollm_tui.store.tags import tags_of
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
    tags: tuple[str, ...] = (),
    *,
    is_pinned: bool = False,
) -> ConversationSummary:
    return ConversationSummary(
        id=id,
        title=title,
        updated_ms=updated_ms,
        message_count=message_count,
        model=model,
        revision=revision,
        total_messages=message_count + on_other_branches,
        created_ms=updated_ms,
        size_bytes=1200 * message_count,
        tags=tags,
        is_pinned=is_pinned,
    )


@dataclass(eq=False)
class ScriptedChats(ConversationStore):
    saved: list[ConversationSummary] = field(default_factory=list)
    problem: AIError | None = None
    unsaved: int = 0


class ScriptedSavedChats(SavedChats):
    """Lists the chats of a scripted store in its order, and keeps what was done to them."""

    def __init__(self, chats: ScriptedChats) -> None:
        self.chats = chats
        self.removed: list[str] = []
        self.done: list[Any] = []
        self.asked: list[tuple[ChatFilter, ChatSort, bool]] = []
        self.read: list[int] = []
        self.refuses: AIError | None = None
        self.previews: dict[str, ChatPreview] = {}
        self.goes_on = anyio.Event()
        """An import ends when this is set."""
        self.gate: anyio.Event | None = None
        """The list is there when this is set."""

    def _check(self) -> None:
        if self.refuses is not None:
            raise self.refuses

    async def order(
        self, chosen: ChatFilter, sort: ChatSort, *, is_turned: bool = False
    ) -> Sequence[int]:
        self._check()
        self.asked.append((chosen, sort, is_turned))
        if self.gate is not None:
            await self.gate.wait()
        return [
            number
            for number, chat in enumerate(self.chats.saved)
            if (chat.deleted_ms is not None) == chosen.is_deleted
            and (chosen.is_deleted or chat.is_archived == chosen.is_archived)
            and all(word in f"{chat.title} {chat.model}".casefold() for word in chosen.words)
        ]

    async def rows(
        self, numbers: Sequence[int], *, is_deleted: bool = False
    ) -> Mapping[int, ConversationSummary]:
        self._check()
        self.read += numbers
        return {
            number: replace(self.chats.saved[number], number=number)
            for number in numbers
            if number < len(self.chats.saved)
            and (self.chats.saved[number].deleted_ms is not None) == is_deleted
        }

    async def preview(self, chat_id: str, *, is_deleted: bool = False) -> ChatPreview:
        return self.previews.get(chat_id, ChatPreview())

    async def tags(self) -> Mapping[str, int]:
        return Counter(tag for chat in self.chats.saved for tag in chat.tags)

    async def rename(self, chat_id: str, title: str) -> None:
        self._change(chat_id, title=title)

    async def pin(self, chat_id: str, is_pinned: bool = True) -> None:
        self._change(chat_id, is_pinned=is_pinned)

    async def archive(self, chat_id: str, is_archived: bool = True) -> None:
        self._change(chat_id, is_archived=is_archived)

    async def tag(self, chat_id: str, tags: Sequence[str]) -> None:
        self._change(chat_id, tags=tags_of(tags))

    def _change(self, chat_id: str, **changes: Any) -> None:
        self._check()
        self.done.append((chat_id, changes))
        self.chats.saved = [
            replace(chat, **changes) if chat.id == chat_id else chat for chat in self.chats.saved
        ]

    async def delete(self, chat_id: str, revision: int | None = None) -> Deletion | None:
        self._check()
        self.removed.append(chat_id)
        self._change(chat_id, deleted_ms=NOW_MS + len(self.removed))
        return (await self.deletions(chat_id))[0]

    async def deletions(self, chat_id: str | None = None) -> Sequence[Deletion]:
        self._check()
        listed = [
            Deletion(conversation_id=chat.id, deleted_ms=chat.deleted_ms, title=chat.title)
            for chat in self.chats.saved
            if chat.deleted_ms is not None and chat_id in {None, chat.id}
        ]
        return sorted(listed, key=lambda one: -one.deleted_ms)

    async def undelete(self, deletion: Deletion) -> Deletion | None:
        self._change(deletion.conversation_id, deleted_ms=None)
        return deletion

    async def export(
        self, chat_id: str, form: ExportFormat, path: Path | None, *, replaces: bool = False
    ) -> Path:
        self.done.append((chat_id, form.name, path))
        if path is not None and path.name == "taken.md":
            raise NameTaken(path)
        return path or Path("chat.md")

    async def import_files(
        self, paths: Sequence[Path], report: Progress, result: ImportResult
    ) -> None:
        file = ImportFile(paths[0])
        file.size, file.position = 100, 40
        result.chats, result.messages = 3, 12
        report(file, result)
        await self.goes_on.wait()
        self.chats.saved.append(saved_chat("new", "Imported"))


@dataclass(eq=False)
class ScriptedSimilar(SimilarSearch):
    """Has these hits for every search, and keeps what was searched."""

    hits: list[SimilarHit] = field(default_factory=list)
    notice: str | None = None
    refuses: AIError | None = None
    is_on: bool = True
    asked: list[tuple[str, list[str]]] = field(default_factory=list)
    is_busy: Callable[[], bool] | None = None

    async def keep_up(self, is_busy: Callable[[], bool] = lambda: False) -> None:
        self.is_busy = is_busy

    async def search(
        self, query: SearchQuery, *, limit: int = 10, without: Collection[str] = ()
    ) -> SimilarResults:
        self.asked.append((query.plain, sorted(without)))
        if self.refuses is not None:
            raise self.refuses
        return SimilarResults(hits=tuple(self.hits[:limit]), notice=self.notice)


@dataclass(eq=False)
class ScriptedSearch(ChatSearch):
    """Has these hits for every search that is not empty, and keeps what was searched."""

    hits: list[SearchHit] = field(default_factory=list)
    progress: float = 1.0
    notice: str | None = None
    refuses: AIError | None = None
    asked: list[SearchQuery] = field(default_factory=list)
    starts: int = 0
    similar: SimilarSearch | None = field(default_factory=lambda: ScriptedSimilar(is_on=False))
    gate: anyio.Event | None = None
    """The results are there when this is set."""

    def start(self) -> None:
        self.starts += 1

    async def search(
        self, query: SearchQuery, *, limit: int = 50, before: int | None = None
    ) -> SearchResults:
        self.asked.append(query)
        if self.gate is not None:
            await self.gate.wait()
        if self.refuses is not None:
            raise self.refuses
        older = [hit for hit in self.hits if before is None or hit.number < before]
        hits = () if query.is_empty else tuple(older[:limit])
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
