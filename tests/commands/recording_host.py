"""A host that writes down what commands ask of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ollm_tui.commands.host import NoteKind, View
from ollm_tui.commands.options import change_option
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.request import GenerationOptions


@dataclass
class RecordingHost:
    models: tuple[str, ...] = ("local://qwen3:8b", "local://gemma3:4b", "embedded://smollm2")
    model: str | None = "local://qwen3:8b"
    prompt: str | None = None
    sampling: GenerationOptions = field(default_factory=GenerationOptions)
    answer: str | None = None
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def say(self, text: str, kind: NoteKind = "info") -> None:
        self.asked.append((kind, text))

    def show(self, view: View) -> None:
        self.asked.append(("show", view))

    async def new_chat(self) -> None:
        self.asked.append(("new_chat",))

    async def set_model(self, address: str) -> None:
        if address == "nowhere":
            raise AIError(ErrorCode.MODEL_NOT_FOUND, "No provider has nowhere.", hint="Pull it.")
        self.asked.append(("set_model", address))

    def model_addresses(self) -> Sequence[str]:
        return self.models

    def current_model(self) -> str | None:
        return self.model

    def system_prompt(self) -> str | None:
        return self.prompt

    def set_system_prompt(self, text: str | None) -> None:
        self.prompt = text

    def options(self) -> GenerationOptions:
        return self.sampling

    def set_option(self, name: str, value_text: str) -> str:
        self.sampling, sentence = change_option(self.sampling, name, value_text)
        return sentence

    async def retry(self) -> None:
        self.asked.append(("retry",))

    def copy(self, text: str) -> None:
        self.asked.append(("copy", text))

    def last_answer(self) -> str | None:
        return self.answer

    def theme_names(self) -> Sequence[str]:
        return ("dark", "light", "Terminal")

    def set_theme(self, name: str) -> None:
        self.asked.append(("set_theme", name))

    def quit(self) -> None:
        self.asked.append(("quit",))
