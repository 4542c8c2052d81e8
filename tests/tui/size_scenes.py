"""Every screen and dialog of the app, each brought up as somebody would or put on the screen."""

import base64
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from textual.screen import Screen

from ollm_tui.frontend.link_target import read_link
from ollm_tui.protocol.blocks import ImageContent, TextContent, ThinkingContent
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.protocol.tools import ToolCall
from ollm_tui.tui.chat.media_consent import LeaveOutMedia
from ollm_tui.tui.dialogs.approve_tool import ApproveTool
from ollm_tui.tui.dialogs.questions import ChoiceDialog, ChoiceRow, SaveCopyDialog
from ollm_tui.tui.downloads.dock_actions import CancelDownload
from ollm_tui.tui.links.open_dialog import OpenLink
from ollm_tui.tui.models.details import ModelDetailsScreen
from ollm_tui.tui.models.dialogs import CopyName, DeleteModel
from tests.tui.downloads.test_find_screen import DONE, FAILED, PAUSED, PULL
from tests.tui.links.test_links import HOMOGRAPH
from tests.tui.models.managed import ManagedRuntime, known_details
from tests.tui.models.scenes import opened, runtime
from tests.tui.screens import Stage
from tests.tui.scripted import text, thinking
from tests.tui.scripted_chats import NOW_MS, ScriptedChats, saved_chat
from tests.tui.scripted_fetching import ScriptedDownloads
from tests.tui.transcript.test_pictures_in_chat import scene as picture

ANSWER: Final = """# A title of some words

Some *words*, `code`, **bold** and a [link](https://a.example/b), 日本語の文字, 👩‍👩‍👧 and e\u0301.

- one
  - two
    1. three
       - [ ] four

> quoted
> > and deeper

| a | b | c | d | e |
|---|:-:|--:|---|---|
| 1 | two words | 日本 | x | `y` |

```python
def first(x):
\treturn x  # a comment that is far too long to stand in one row of any small terminal
```

---

$x^2$ https://b.example/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
"""
HISTORY: Final = (
    Message(
        "user", [TextContent("Why is the sky blue? 日本"), ImageContent(url="https://a.example/p")]
    ),
    Message(
        "assistant",
        [ThinkingContent("Scattering."), TextContent("I look it up.")],
        tool_calls=[ToolCall(id="c", name="read_file", args={"path": "notes/optics.md"})],
    ),
    Message("tool", "Short waves scatter most.", name="read_file", tool_call_id="c"),
    Message("assistant", ANSWER, metadata={"ended": "stopped"}),
)
CALL: Final = ToolCall(
    id="c1",
    name="write_file",
    args={"path": "notes/日本.md", "content": "one\n\ttwo\u202e", "limit": 3},
)


def every_runtime() -> ManagedRuntime:
    """Give a runtime with some of everything."""
    saved = [saved_chat("a", "Sky colours 日本", NOW_MS, 4), saved_chat("b", "", NOW_MS, 0, None)]
    return replace(
        runtime(),
        chats=ScriptedChats(saved),
        histories={"a": list(HISTORY)},
        downloads=ScriptedDownloads(PULL, PAUSED, FAILED, DONE),
    )


async def _empty(stage: Stage) -> None:
    await stage.settle()


async def _messages(stage: Stage) -> None:
    controller = stage.controller
    drawn = ImageContent(data=base64.b64encode(picture()).decode())
    controller.presenter.recall([*HISTORY, Message("user", [TextContent("And this?"), drawn])])
    await stage.settle()


async def _streaming(stage: Stage) -> None:
    await _messages(stage)
    await stage.ask("Why?")
    stage.client.give(thinking("First I think. " * 9), text(ANSWER[:-80]))
    await stage.settle()


async def _failed(stage: Stage) -> None:
    await stage.ask("Why?")
    fault = AIError(ErrorCode.CONTEXT_LENGTH_EXCEEDED, "Too many tokens.", hint="Ask for less.")
    stage.client.fail(fault)
    await stage.settle()


async def _draft(stage: Stage) -> None:
    stage.chat.composer.insert_pasted("a long line of a draft, 日本語の文字 too\n" * 9)
    stage.chat.composer.insert_pasted("folded\n" * 90)
    await stage.settle()


async def _suggestions(stage: Stage) -> None:
    stage.chat.composer.insert("/m")
    await stage.settle()


async def _toast(stage: Stage) -> None:
    stage.app.notify("Something happened, and 日本語 was said about it.", timeout=3600)
    await stage.settle()


def _after_messages(*keys: str) -> "Scene":
    async def scene(stage: Stage) -> None:
        await _messages(stage)
        await stage.pilot.press(*keys)
        await stage.settle()

    return scene


def _typed(command: str) -> "Scene":
    async def scene(stage: Stage) -> None:
        await stage.ask(command)
        await stage.settle()

    return scene


def _pushed(screen: Callable[[Stage], Screen[Any]]) -> "Scene":
    async def scene(stage: Stage) -> None:
        stage.app.push_screen(screen(stage))
        await stage.settle()

    return scene


async def _models(stage: Stage) -> None:
    await opened(stage)


async def _menu_of_a_model(stage: Stage) -> None:
    await opened(stage)
    await stage.pilot.press("f2")
    await stage.settle()


async def _variant(stage: Stage) -> None:
    await stage.ask("/pull qwen3")
    await stage.settle()
    await stage.pilot.press("enter")
    await stage.settle()


Scene = Callable[[Stage], Awaitable[None]]

SCENES: Final[Mapping[str, Scene]] = MappingProxyType(
    {
        "empty chat": _empty,
        "messages": _messages,
        "answer that comes": _streaming,
        "error": _failed,
        "draft": _draft,
        "suggestions": _suggestions,
        "toast": _toast,
        "search": _after_messages("ctrl+f", *"the"),
        "messages gone through": _after_messages("alt+up", "alt+up"),
        "caret": _after_messages("alt+up", "space", "right"),
        "picker of models": _after_messages("ctrl+l"),
        "picker of chats": _after_messages("ctrl+r"),
        "context": _after_messages("f6"),
        "links": _after_messages("f8"),
        "palette": _after_messages("ctrl+p"),
        "help": _after_messages("f1"),
        "theme": _typed("/theme"),
        "settings": _typed("/settings"),
        "models": _models,
        "actions of a model": _menu_of_a_model,
        "find models": _typed("/pull qwen"),
        "downloads": _typed("/pull"),
        "choice of a file": _variant,
        "details": _pushed(lambda _: ModelDetailsScreen(known_details())),
        "approval": _pushed(lambda _: ApproveTool(CALL, "write")),
        "link": _pushed(lambda _: OpenLink(HOMOGRAPH, read_link(HOMOGRAPH))),
        "delete": _pushed(
            lambda _: DeleteModel(ModelInfo(name="qwen3:8b"), "Ollama", is_own=True, is_loaded=True)
        ),
        "leave out pictures": _pushed(lambda _: LeaveOutMedia("qwen3:8b", 2, {"image"})),
        "save a copy": _pushed(lambda _: SaveCopyDialog(9, 10**6, Path("/home/me/copies"))),
        "cancel a download": _pushed(lambda _: CancelDownload(PULL, str)),
        "choice": _pushed(
            lambda _: ChoiceDialog("How long?", [ChoiceRow("a", "A while")], "Enter load")
        ),
        "second name": _pushed(lambda _: CopyName("qwen3:8b")),
    }
)
