"""A host that writes down what commands ask of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.drawing import DrawingWish
from ollm_tui.chat.making import Makes
from ollm_tui.commands.files import InstructionEntry
from ollm_tui.commands.host import Severity, View
from ollm_tui.mcp.server import McpServer
from ollm_tui.models.actions import ModelAction
from ollm_tui.models.tasks import TASK_WORDS, ModelTask
from ollm_tui.models.thinking import ThinkingSupport
from ollm_tui.protocol.blocks import Content
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.forms import FormField, FormValues
from ollm_tui.protocol.request import GenerationOptions
from ollm_tui.protocol.tools import ToolEffect


@dataclass(frozen=True)
class SomeTool:
    name: str
    effect: ToolEffect = "read"
    description: str = "It does something."


@dataclass(frozen=True)
class RecordingActions:
    asked: list[tuple[str, ...]]

    def show(self, name: str, section: str | None) -> None:
        self.asked.append(("show_model", name, section or ""))

    def run(self, action: ModelAction, name: str, value: str | None = None) -> None:
        self.asked.append((action, name) if value is None else (action, name, value))


@dataclass(frozen=True)
class RecordingDrawings:
    host: "RecordingHost"

    async def draw(self, content: Content, wish: DrawingWish, mask: str = "") -> None:
        self.host.drawn.append((content, wish))
        if mask:
            self.host.asked.append(("mask", mask))

    async def save(self, name: str, makes: Makes = "image") -> None:
        self.host.asked.append(("save_picture" if makes == "image" else f"save_{makes}", name))

    async def open_newest(self) -> None:
        self.host.asked.append(("open_media",))


@dataclass
class RecordingInstructions:
    asked: list[tuple[str, ...]]
    entries: list[InstructionEntry] = field(
        default_factory=lambda: [
            InstructionEntry("AGENTS.md", "How to work here", 12, False, is_file=True),
            InstructionEntry("review", "Reviews changes.", 1, True),
        ]
    )

    def known(self) -> Sequence[InstructionEntry]:
        return self.entries

    async def listed(self) -> Sequence[InstructionEntry]:
        return self.entries

    async def add(self, name: str) -> InstructionEntry:
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise AIError(ErrorCode.BAD_REQUEST, "There are none.")

    def remove(self, name: str | None) -> Sequence[str]:
        self.asked.append(("remove_instructions", name or ""))
        return [] if name == "nothing" else ["review"]


@dataclass
class RecordingMemory:
    asked: list[tuple[str, ...]]
    notes: tuple[str, ...] = ("Speaks German.", "Likes rain.")
    is_used: bool = False
    tokens: int = 12

    async def listed(self) -> Sequence[str]:
        return self.notes

    async def add(self, text: str) -> None:
        self.asked.append(("add_note", text))

    async def replace(self, number: int, text: str | None) -> None:
        self.asked.append(("replace_note", str(number), text or ""))

    def use(self, *, is_on: bool) -> None:
        self.asked.append(("use_notes", str(is_on)))


@dataclass
class RecordingSnippets:
    asked: list[tuple[str, ...]]

    def listed(self) -> Mapping[str, str]:
        return {"review": "Review this change.", "greet": "Hello {{name}}"}

    async def insert(self, name: str, arguments: str) -> None:
        self.asked.append(("insert", name, arguments))

    async def add(self, name: str, text: str) -> None:
        self.asked.append(("add", name, text))

    async def edit(self, name: str) -> None:
        self.asked.append(("edit", name))

    async def remove(self, name: str) -> None:
        self.asked.append(("remove", name))


@dataclass(frozen=True)
class RecordingVoice:
    asked: list[tuple[str, ...]]

    def dictate(self, file: str = "") -> None:
        self.asked.append(("dictate", file))

    def read(self, text: str) -> None:
        self.asked.append(("read", text))

    async def read_answers(self, is_on: bool) -> None:
        self.asked.append(("read_answers", str(is_on)))

    def stop(self) -> None:
        self.asked.append(("stop_reading",))


@dataclass(frozen=True)
class RecordingTasks:
    known: Mapping[ModelTask, Sequence[str]]

    def models(self, task: ModelTask) -> Sequence[str]:
        return self.known.get(task, ())


@dataclass
class RecordingWork:
    """Tools that run."""

    running: list[Any] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    background: list[Any] = field(default_factory=list)
    stopped: list[int] = field(default_factory=list)

    def jobs(self) -> Sequence[Any]:
        return self.background

    def stop_job(self, number: int) -> bool:
        self.stopped.append(number)
        return any(job.number == number and job.is_running for job in self.background)

    def tools(self) -> Sequence[Any]:
        return self.running

    def cancel(self, call_id: str) -> bool:
        self.cancelled.append(call_id)
        return True


@dataclass
class RecordingLoop:
    can_go_on: bool = False
    did: list[tuple[str, int | None]] = field(default_factory=list)

    def go_on(self, turns: int | None = None) -> None:
        self.did.append(("go_on", turns))

    def wrap_up(self) -> None:
        self.did.append(("wrap_up", None))

    def give_up(self) -> None:
        self.did.append(("give_up", None))


@dataclass(frozen=True)
class RecordingSignIns:
    host: "RecordingHost"

    def begin(self, server: McpServer) -> None:
        self.host.asked.append(("sign_in", server.name))

    def is_going(self, server: str) -> bool:
        return server in self.host.signing_in

    def take(self, server: str, address: str) -> bool:
        self.host.asked.append(("take", server, address))
        return address.startswith("http://127.0.0.1")

    def cancel(self, server: str) -> bool:
        self.host.asked.append(("cancel_sign_in", server))
        return server in self.host.signing_in


@dataclass
class RecordingHost:
    models: tuple[str, ...] = ("local://qwen3:8b", "local://gemma3:4b", "embedded://smollm2")
    mode: Literal["native", "react"] | None = None
    current: Conversation = field(default_factory=lambda: Conversation(model="local://qwen3:8b"))
    tools: tuple[SomeTool, ...] = (SomeTool("clock"), SomeTool("shell", "run"))
    off: tuple[SomeTool, ...] = ()
    changes: Any = None
    work: Any = field(default_factory=lambda: RecordingWork())
    loop: Any = field(default_factory=lambda: RecordingLoop())
    permissions: Any = None
    attached: list[str] = field(default_factory=list)
    asked: list[tuple[str, ...]] = field(default_factory=list)
    profiles: Any = None
    exports: Any = None
    has_window: bool = True
    thinks: ThinkingSupport | None = None
    for_tasks: Mapping[ModelTask, Sequence[str]] = field(
        default_factory=lambda: dict.fromkeys(TASK_WORDS, ("local://other",))
    )
    drawn: list[tuple[Content, DrawingWish]] = field(default_factory=list)

    @property
    def drawings(self) -> "RecordingDrawings":
        return RecordingDrawings(self)

    @drawings.setter
    def drawings(self, drawings: object) -> None:
        raise NotImplementedError

    async def thinking(self) -> ThinkingSupport | None:
        return self.thinks

    def takes_window(self) -> bool:
        return self.has_window

    def say(self, text: str, kind: Severity = "info") -> None:
        self.asked.append((kind, text))

    def show(self, view: View, text: str = "") -> None:
        self.asked.append(("show", view, text) if text else ("show", view))

    async def new_chat(self) -> None:
        self.asked.append(("new_chat",))

    async def set_model(self, address: str) -> None:
        if address == "nowhere":
            raise AIError(ErrorCode.MODEL_NOT_FOUND, "No provider has nowhere.", hint="Pull it.")
        self.asked.append(("set_model", address))

    def model_addresses(self) -> Mapping[str, bool]:
        return {address: address == self.current.model for address in self.models}

    def conversation(self) -> Conversation:
        return self.current

    @property
    def prompt(self) -> str | None:
        return self.current.system_prompt

    @property
    def sampling(self) -> GenerationOptions:
        return self.current.options

    async def retry(self) -> None:
        self.asked.append(("retry",))

    @property
    def tasks(self) -> "RecordingTasks":
        return RecordingTasks(self.for_tasks)

    @tasks.setter
    def tasks(self, tasks: object) -> None:
        raise NotImplementedError

    def find(self, text: str) -> None:
        self.asked.append(("find", text))

    def copy(self, text: str) -> None:
        self.asked.append(("copy", text))

    def theme_names(self) -> Sequence[str]:
        return ("dark", "light", "Terminal")

    def set_theme(self, name: str) -> None:
        self.asked.append(("set_theme", name))

    def tool_mode(self) -> Literal["native", "react"] | None:
        return self.mode

    def offered_tools(self) -> Sequence[SomeTool]:
        return self.tools

    mcp: Mapping[str, McpServer] = field(default_factory=dict)

    def servers(self) -> Mapping[str, McpServer]:
        return self.mcp

    signing_in: set[str] = field(default_factory=set)
    """The servers to which a sign-in goes on."""

    @property
    def sign_ins(self) -> "RecordingSignIns":
        return RecordingSignIns(self)

    @sign_ins.setter
    def sign_ins(self, sign_ins: object) -> None:
        raise NotImplementedError

    def tools_off(self) -> Sequence[SomeTool]:
        return self.off

    def attachments(self) -> "RecordingHost":
        return self

    async def add(self, name: str) -> None:
        if name == "none.png":
            raise AIError(ErrorCode.BAD_REQUEST, "none.png does not exist.")
        self.attached.append(f"Image #{len(self.attached) + 1} · {name}")

    async def paste(self) -> None:
        self.attached.append(f"Image #{len(self.attached) + 1} · clipboard.png")

    def listed(self) -> Sequence[str]:
        return self.attached

    def remove(self, number: int | None) -> int:
        gone = [line for line in self.attached if number is None or f"#{number} " in line]
        self.attached = [line for line in self.attached if line not in gone]
        return len(gone)

    @property
    def model_actions(self) -> "RecordingActions":
        return RecordingActions(self.asked)

    @model_actions.setter
    def model_actions(self, actions: object) -> None:
        raise NotImplementedError

    async def insert(self, parts: Sequence[Any]) -> None:
        self.attached += [part if isinstance(part, str) else part.name for part in parts]

    @property
    def forms(self) -> "RecordingHost":
        return self

    @forms.setter
    def forms(self, forms: object) -> None:
        raise NotImplementedError

    entered: FormValues | None = None

    async def ask(self, title: str, fields: Sequence[FormField]) -> FormValues | None:
        self.asked.append(("ask", title, *(one.name for one in fields)))
        return self.entered

    @property
    def instructions(self) -> RecordingInstructions:
        return RecordingInstructions(self.asked)

    notes: tuple[str, ...] = ("Speaks German.", "Likes rain.")

    @property
    def memory(self) -> RecordingMemory:
        return RecordingMemory(self.asked, self.notes)

    @memory.setter
    def memory(self, memory: object) -> None:
        raise NotImplementedError

    @property
    def snippets(self) -> "RecordingSnippets":
        return RecordingSnippets(self.asked)

    @snippets.setter
    def snippets(self, snippets: object) -> None:
        raise NotImplementedError

    @property
    def voice(self) -> "RecordingVoice":
        return RecordingVoice(self.asked)

    @voice.setter
    def voice(self, voice: object) -> None:
        raise NotImplementedError

    def quit(self) -> None:
        self.asked.append(("quit",))
