"""A host that writes down what commands ask of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ollm_tui.chat.conversation import Conversation
from ollm_tui.chat.drawing import DrawingWish
from ollm_tui.commands.host import Severity, View
from ollm_tui.models.actions import ModelAction
from ollm_tui.models.thinking import ThinkingSupport
from ollm_tui.protocol.blocks import Content
from ollm_tui.protocol.errors import AIError, ErrorCode
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

    def is_possible(self) -> bool:
        return self.host.draws

    async def draw(self, content: Content, wish: DrawingWish) -> None:
        self.host.drawn.append((content, wish))

    async def save(self, name: str) -> None:
        self.host.asked.append(("save_picture", name))


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


@dataclass
class RecordingHost:
    models: tuple[str, ...] = ("local://qwen3:8b", "local://gemma3:4b", "embedded://smollm2")
    mode: Literal["native", "react"] | None = None
    current: Conversation = field(default_factory=lambda: Conversation(model="local://qwen3:8b"))
    tools: tuple[SomeTool, ...] = (SomeTool("clock"), SomeTool("shell", "run"))
    attached: list[str] = field(default_factory=list)
    asked: list[tuple[str, ...]] = field(default_factory=list)
    profiles: Any = None
    exports: Any = None
    has_window: bool = True
    thinks: ThinkingSupport | None = None
    draws: bool = True
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

    def attachments(self) -> "RecordingHost":
        return self

    async def add(self, name: str) -> None:
        if name == "none.png":
            raise AIError(ErrorCode.BAD_REQUEST, "none.png does not exist.")
        self.attached.append(f"Image #{len(self.attached) + 1} · {name}")

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

    @property
    def voice(self) -> "RecordingVoice":
        return RecordingVoice(self.asked)

    @voice.setter
    def voice(self, voice: object) -> None:
        raise NotImplementedError

    def quit(self) -> None:
        self.asked.append(("quit",))
