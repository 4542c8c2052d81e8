"""What is sent with the next message: pictures, sound, videos, PDF files, the text of files."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from ollm_tui.attachments.attachment import (
    MAX_TOGETHER_BYTES,
    AttachedFile,
    AttachedText,
    attach,
    named_paths,
    refusal,
)
from ollm_tui.attachments.clipboard import clipboard_picture
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_name
from ollm_tui.frontend.figures import TOKEN_WORDS, media_figures
from ollm_tui.protocol.blocks import Content, TextContent

if TYPE_CHECKING:
    from ollm_tui.mcp.offers import Part

MAX_FILES: Final = 20


@dataclass(slots=True)
class LinearAttachments:
    """Keeps what was attached until it is sent."""

    say: Callable[[str], None]
    _files: list[AttachedFile] = field(default_factory=list)
    _texts: list[str] = field(default_factory=list)

    async def add(self, name: str) -> None:
        """Attach files as what they are, or their text.

        Raises:
            AIError: BAD_REQUEST for what cannot be attached; what came before it stays.
        """
        for path in await named_paths(name):
            attachment = await attach(path)
            if isinstance(attachment, AttachedText):
                self._texts.append(attachment.block)
                self.say(f"The text of {clean_name(path.name)} goes with the next message.")
            else:
                self._keep(attachment)

    async def insert(self, parts: "Sequence[Part]") -> None:
        """Read out a server's prompt, which goes with the next message.

        Raises:
            AIError: one of its attachments is too much.
        """
        for part in parts:
            if isinstance(part, str | AttachedText):
                self._texts.append(part if isinstance(part, str) else part.block)
                self.say(self._texts[-1])
            else:
                self._keep(part)
        self.say("This goes with the next message.")

    async def paste(self) -> None:
        """Attach the picture in the clipboard.

        Raises:
            AIError: there is none, or the clipboard cannot be read here.
        """
        self._keep(await clipboard_picture())

    def _keep(self, attachment: AttachedFile) -> None:
        if len(self._files) >= MAX_FILES:
            raise refusal(f"{MAX_FILES} files are the limit for one message.")
        if sum(one.size for one in [*self._files, attachment]) > MAX_TOGETHER_BYTES:
            most = MAX_TOGETHER_BYTES // 1_000_000
            raise refusal(f"The files have more than {most} MB together.")
        self._files.append(attachment)
        self.say(f"Attached {self.listed()[-1]}.")

    def listed(self) -> Sequence[str]:
        """Return a line for each file."""
        return [
            f"{TOKEN_WORDS[one.content.type]} #{number}, {clean_name(one.name)}, "
            + media_figures(one.content).replace(" · ", ", ")
            for number, one in enumerate(self._files, 1)
        ]

    def remove(self, number: int | None) -> int:
        """Remove a file, or all; returns how many there were."""
        before = len(self._files)
        if number is None:
            self._files.clear()
        elif 1 <= number <= before:
            del self._files[number - 1]
        return before - len(self._files)

    @property
    def kinds(self) -> Counter[str]:
        """How many there are of each type of content."""
        return Counter(file.content.type for file in self._files)

    def take(self, prompt: str) -> Content:
        """Return a prompt as it is sent, with all that was attached."""
        text = "\n\n".join([prompt, *self._texts])
        files, self._files = self._files, []
        self._texts.clear()
        if not files:
            return text
        return [TextContent(text), *(file.content for file in files)]
