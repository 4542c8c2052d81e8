"""Instructions from files in the open chat: listed, added and taken out; never by themselves."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync

from ollm_tui.attachments.instructions import (
    InstructionFile,
    InstructionFiles,
    instructions_in,
    with_instructions,
    without_instructions,
)
from ollm_tui.chat.conversation import Conversation
from ollm_tui.commands.files import InstructionEntry
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_line, clean_name
from ollm_tui.decode.counted import counted
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.tokens.estimate import fallback_estimate

if TYPE_CHECKING:
    from ollm_tui.frontend.notes import SayWithHint


@dataclass(slots=True)
class ChatInstructions:
    """What `/skills` does; see `Instructions` in `commands/files.py`."""

    files: InstructionFiles
    conversation: Callable[[], Conversation]
    _known: Sequence[InstructionFile] = field(default=())

    def known(self) -> Sequence[InstructionEntry]:
        """Return what was listed last."""
        used = instructions_in(self.conversation().system_prompt)
        gone = [name for name in used if all(name != file.name for file in self._known)]
        return [
            *(_entry(file, is_used=file.name in used) for file in self._known),
            *(InstructionEntry(clean_name(name), "", _tokens(used[name]), True) for name in gone),
        ]

    async def listed(self) -> Sequence[InstructionEntry]:
        """Look what there is, and return it with what the chat has."""
        self._known = await run_sync(self.files.listed)
        return self.known()

    async def add(self, name: str) -> InstructionEntry:
        """Put instructions at the end of the system prompt of the chat."""
        conversation = self.conversation()
        if conversation.system_prompt_format is not None:
            raise AIError(
                ErrorCode.BAD_REQUEST,
                "The system prompt of this chat is a template, to which no file is added.",
                hint="/system TEXT sets a plain one.",
            )
        file = await run_sync(self.files.read, name)
        conversation.system_prompt = with_instructions(conversation.system_prompt, file)
        return _entry(file, is_used=True)

    def remove(self, name: str | None) -> Sequence[str]:
        """Take instructions out of the system prompt; return the names of what was taken out."""
        conversation = self.conversation()
        used = instructions_in(conversation.system_prompt)
        wanted = [one for one in used if name is None or one.casefold() == name.casefold()]
        for one in wanted:
            conversation.system_prompt = without_instructions(conversation.system_prompt, one)
        return [clean_name(one) for one in wanted]

    async def offer(self, say: "SayWithHint") -> None:
        """Say in a new chat which instructions this folder has."""
        entries = [entry for entry in await self.listed() if not entry.is_used]
        names = [f"{one.name} ({counted(one.tokens, 'token')})" for one in entries if one.is_file]
        skills = [entry for entry in entries if not entry.is_file]
        words = [*names, *([counted(len(skills), "skill")] if skills else [])]
        if words and not self.conversation().messages:
            say(
                f"This folder has instructions: {', '.join(words)}. None is in use.",
                hint="/skills shows them and adds one to this chat.",
            )


def _entry(file: InstructionFile, *, is_used: bool) -> InstructionEntry:
    return InstructionEntry(
        clean_name(file.name),
        clean_line(file.about),
        _tokens(file.text),
        is_used,
        is_file=file.kind == "file",
    )


def _tokens(text: str) -> int:
    return fallback_estimate(text)
