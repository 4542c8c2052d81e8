"""Ask in words whether a tool call may run: all of the call is written, and no is the default."""

import json
from collections.abc import Callable, Mapping
from typing import Final

import anyio

from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_name, spelled_line, spelled_out
from ollm_tui.frontend.consent import Permissions, can_grant, granted_words
from ollm_tui.frontend.tool_text import words_of
from ollm_tui.linear.questions import Questions
from ollm_tui.protocol.ports import Tool
from ollm_tui.protocol.tools import Approval, CallPreview, ToolCall, ToolEffect
from ollm_tui.tools.prepared import AsksUser, preview_of

_EFFECTS: Final[Mapping[ToolEffect, str]] = {
    "read": "It only reads.",
    "write": "It can change files.",
    "run": "It can run programs.",
    "network": "It can use the network.",
}
_KEYS: Final = {"y": "once", "a": "session", "A": "folder", "n": "no", "N": "reason"}
_QUESTION: Final = (
    "Allow? y yes, a always in this chat, A in this folder for 30 days, n no, N no with a reason. "
    "Enter and Escape mean no."
)
_KEYS_OF_CHAT: Final = {key: answer for key, answer in _KEYS.items() if answer != "folder"}
_QUESTION_OF_CHAT: Final = (
    "Allow? y yes, a always in this chat, n no, N no with a reason. Enter and Escape mean no."
)

_KEYS_ONCE: Final = {"y": "once", "n": "no", "N": "reason"}
_QUESTION_ONCE: Final = "Allow? y yes, n no, N no with a reason. Enter and Escape mean no."


@dataclass(slots=True)
class LinearApprover:
    """Asks one question at a time, and says which call runs without one."""

    questions: Questions
    say: Callable[[str], None]
    permissions: Permissions = field(default_factory=Permissions)
    _lock: anyio.Lock = field(default_factory=anyio.Lock)

    async def approve(self, call: ToolCall, tool: Tool) -> Approval:
        """Allow what was allowed before, else ask; a cancellation withdraws the question."""
        if isinstance(tool, AsksUser):
            return await self._ask_user(tool)
        preview = preview_of(tool)
        await self.permissions.refresh()
        async with self._lock:
            if self.permissions.allows(call.name, tool.effect, preview):
                self.say(f"{tool_line(call)} Allowed before.")
                return Approval(allowed=True)
            return await self._ask(call, tool.effect, preview)

    async def _ask_user(self, tool: AsksUser) -> Approval:
        """Read out a question of the model; whatever is answered allows nothing."""
        question = tool.question
        async with self._lock:
            text = spelled_out(question.text)
            rows = [f"The model has a question, which allows nothing: {text}"]
            rows += [f"{at}. {clean_name(one)}" for at, one in enumerate(question.choices, 1)]
            self.say("\n".join(rows))
            by_number = "A number, or your own answer" if question.choices else "Your answer"
            tool.take_answer(await self.questions.line(f"{by_number}; Enter alone for none: "))
        return Approval(allowed=True)

    async def _ask(
        self, call: ToolCall, effect: ToolEffect, preview: CallPreview | None
    ) -> Approval:
        if preview is None:
            rows = [f"{tool_line(call)} {_EFFECTS[effect]}", *_arguments(call)]
        else:
            rows = [f"{tool_line(call)} {preview.summary}", *_previewed(preview)]
        self.say("\n".join(rows))
        answer = await self._answer(may_last=can_grant(preview))
        what = clean_name(granted_words(call.name, preview))
        match answer:
            case "once":
                self.say("Allowed.")
            case "session":
                self.permissions.grant(call.name, effect, preview)
                self.say(f"Allowed, and {what} runs without asking in this chat.")
            case "folder":
                kept = await self.permissions.keep(call.name, effect, preview)
                where = "in this folder for 30 days" if kept else "in this chat: it cannot be kept"
                self.say(f"Allowed, and {what} runs without asking {where}.")
        if answer in {"once", "session", "folder"}:
            return Approval(allowed=True)
        reason = await self.questions.line("Why not? ") if answer == "reason" else None
        self.say("Denied.")
        return Approval(allowed=False, reason=(reason or "").strip() or None)

    async def _answer(self, *, may_last: bool) -> str | None:
        if not may_last:
            return await self.questions.key(_QUESTION_ONCE, _KEYS_ONCE)
        if self.permissions.folder is None:
            return await self.questions.key(_QUESTION_OF_CHAT, _KEYS_OF_CHAT)
        return await self.questions.key(_QUESTION, _KEYS)


def tool_line(call: ToolCall) -> str:
    """Return a sentence that names a call by what tells most of it."""
    return f"Tool {spelled_line(words_of(call))}."


def _previewed(preview: CallPreview) -> list[str]:
    """Return all that a prepared call will do, with invisible characters spelled out."""
    rows: list[str] = []
    for heading, text in preview.parts:
        rows += [f"{heading}:", spelled_out(text)]
    return rows


def _arguments(call: ToolCall) -> list[str]:
    """Return every argument in full."""
    if call.args is None:
        return ["What the model wrote:", spelled_out(call.raw_args)]
    if not call.args:
        return ["It has no arguments."]
    return [f"{clean_name(name)}: {_written(value)}" for name, value in call.args.items()]


def _written(value: object) -> str:
    if isinstance(value, str):
        return spelled_out(value) or "empty"
    return spelled_out(json.dumps(value, ensure_ascii=False, indent=2))
