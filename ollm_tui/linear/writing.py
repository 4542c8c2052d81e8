"""Longer messages: in the user's own editor, and from snippets."""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ollm_tui.attachments.snippets import PLACEHOLDER, SnippetFolder
from ollm_tui.decode.clean import clean, clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.frontend.foreground import ForegroundProgram
from ollm_tui.frontend.snippets import ChatSnippets
from ollm_tui.frontend.text_editor import TextEditor
from ollm_tui.linear.chat import LinearChat

if TYPE_CHECKING:
    import re

_RESET: Final = b"\x1b[?1049l\x1b[?25h\x1b[0m"
"""Undoes what an editor leaves that was killed: its screen, a hidden cursor, colours."""
_KEYS: Final = {"y": "send", "e": "edit", "n": "keep"}
_QUESTION: Final = "Send it? y yes, e edit it, n not now. Enter and Escape keep it for /editor."


class Writing:
    """Holds one message that is not sent yet; one that has a single line waits at the prompt."""

    def __init__(self, chat: LinearChat, environ: Mapping[str, str] | None = None) -> None:
        self._chat = chat
        self._kept = ""
        self._editor = TextEditor(
            chat.say, self._run, lambda: True, os.environ if environ is None else environ
        )
        self.submit: Callable[[str], Awaitable[None]] = chat.send
        """Sends a message, or runs it as a command, as if it had been typed."""
        self.snippets = ChatSnippets(
            SnippetFolder(chat.runtime.paths.snippets_dir),
            self._use,
            self._editor.edited,
            self._may_remove,
            chat.begin,
            chat.say,
        )

    async def _run(self, command: Sequence[str], environ: Mapping[str, str], notice: str) -> int:
        program = ForegroundProgram(command, environ, _RESET)

        async def use() -> int:
            try:
                program.start()
                return await program.wait()
            finally:
                program.end()

        self._chat.say(notice)
        return await self._chat.questions.lend(use)

    async def edit(self, text: str = "") -> None:
        """Open the editor with what was kept, or a text, and offer to send what is written."""
        edited = await self._editor.edited(self._kept or text)
        if edited is None:
            return
        if edited.problem:
            self._kept = edited.text or self._kept
            self._chat.say(edited.problem, "warning", "/editor opens what it saved.")
        elif edited.text is None and not self._kept:
            self._chat.say("Nothing was written.")
        else:
            await self._offer(edited.text if edited.text is not None else self._kept)

    async def _offer(self, text: str) -> None:
        self._kept = text
        if not text.strip():
            self._chat.say("The message is empty.")
            return
        self._chat.say(f"The message has {counted(len(text.splitlines()), 'line')}.")
        answer = await self._chat.questions.key(_QUESTION, _KEYS)
        if answer == "send":
            self._kept = ""
            await self.submit(text)
        elif answer == "edit":
            await self.edit()
        else:
            self._chat.say("Kept.")

    async def edited(self, text: str) -> str | None:
        """Return what becomes of a text in the editor, or on one line where there is none."""
        edited = await self._editor.edited(text)
        if edited is None and "\n" not in text:
            return await self._chat.questions.line("Edit: ", text)
        if edited is not None and edited.problem:
            self._chat.say(edited.problem, "warning")
        return edited.text if edited is not None and not edited.problem else None

    # Snippets

    async def _use(self, text: str) -> None:
        """Ask for what is open in a snippet; a single line goes to the prompt."""
        values: dict[str, str] = {}
        for name in dict.fromkeys(match["name"] for match in PLACEHOLDER.finditer(text)):
            value = await self._chat.questions.line(f"{clean_name(name)}: ")
            if value is None:
                self._chat.say("Nothing was inserted.")
                return
            values[name] = value

        def value_of(match: "re.Match[str]") -> str:
            return values[match["name"]] or match[0]

        written = PLACEHOLDER.sub(value_of, text).strip("\n")
        if "\n" not in written:
            self._chat.next_line = written
            return
        self._chat.write(f"Snippet:\n{clean(written)}\nEnd of the snippet.")
        await self._offer(written)

    async def _may_remove(self, name: str, text: str) -> bool:
        self._chat.write(f"Snippet {clean_name(name)}:\n{clean(text)}\nEnd of the snippet.")
        return await self._chat.questions.is_sure("Remove it? Its file is deleted.")
