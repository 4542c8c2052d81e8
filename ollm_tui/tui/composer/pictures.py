"""The files attached to a draft, by number, and the lines that list them."""

from typing import TYPE_CHECKING, Final

from textual.content import Content
from textual.widgets import Static

from ollm_tui.frontend.figures import TOKEN_WORDS, media_figures
from ollm_tui.lazy import lazy_re

if TYPE_CHECKING:
    # the vocabulary of files is loaded with the first of them
    from collections.abc import Sequence

    from ollm_tui.attachments.attachment import AttachedFile
    from ollm_tui.protocol.blocks import Content as MessageContent


TOKEN: Final = lazy_re(r"\[(?:Image|Audio|Video|PDF) #(?P<number>[1-9][0-9]{0,5})\]")
_MAX_KEPT_BYTES: Final = 100_000_000
"""How much of what was sent is kept for a draft that comes back."""


class DraftPictures:
    """Pictures, sound, videos and PDF files by number, as long as the program runs.

    In a draft each is a token, and one that is not in the draft's text is not sent with it, except
    for those that wait beside the draft. A token means a picture only until that was sent, or when
    the draft comes back: so text from elsewhere cannot send an old picture once more.
    """

    def __init__(self) -> None:
        self._open: dict[int, AttachedFile] = {}
        self._sent: dict[int, AttachedFile] = {}
        self._beside: list[int] = []
        self._newest = 0

    def __bool__(self) -> bool:
        """Whether there are pictures."""
        return bool(self._open)

    def add(self, picture: "AttachedFile") -> str:
        """Add a picture and return its token."""
        self._newest += 1
        self._open[self._newest] = picture
        return self._token(self._newest)

    def put_beside(self, picture: "AttachedFile") -> str:
        """Add a picture for the next prompt, whatever its text; returns its token."""
        token = self.add(picture)
        self._beside.append(self._newest)
        return token

    def put_back(self, number: int, picture: "AttachedFile", *, is_beside: bool) -> str:
        """Add a picture of a draft that was kept, under its number if it is free."""
        self._newest = max(self._newest, number - 1)
        return self.put_beside(picture) if is_beside else self.add(picture)

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Return the spans of the tokens in a line that have a picture."""
        return [m.span() for m in TOKEN.finditer(line) if int(m["number"]) in self._open]

    def attached(self, draft: str) -> "list[tuple[int, AttachedFile]]":
        """Return the pictures of a draft with their numbers, in its order."""
        numbers = [int(match["number"]) for match in TOKEN.finditer(draft)]
        wanted = dict.fromkeys([*numbers, *self._beside])
        return [(number, self._open[number]) for number in wanted if number in self._open]

    @property
    def beside(self) -> "list[tuple[int, AttachedFile]]":
        """The pictures beside the draft, with their numbers."""
        return [(number, self._open[number]) for number in self._beside]

    def remove(self, number: int | None) -> int:
        """Remove a picture beside the draft, or all; returns how many were removed."""
        removed = [one for one in self._beside if number in (None, one)]
        self._beside = [one for one in self._beside if one not in removed]
        for one in removed:
            del self._open[one]
        return len(removed)

    def take_beside(self, prompt: str) -> str:
        """Append the tokens of the pictures beside the draft to a prompt."""
        waiting, self._beside = self._beside, []
        return " ".join(part for part in (prompt, *map(self._token, waiting)) if part)

    def revive(self, draft: str) -> None:
        """Restore the pictures of a returned draft's tokens."""
        for match in TOKEN.finditer(draft):
            number = int(match["number"])
            if number in self._sent:
                self._open[number] = self._sent.pop(number)

    def without(self, text: str) -> str:
        """Return a text without its tokens, as the history file keeps it."""
        return TOKEN.sub(lambda m: "" if int(m["number"]) in self._open else m[0], text).strip()

    def content(self, prompt: str) -> "MessageContent":
        """Return a prompt as it is sent: each picture in the place of its token, once."""
        parts: list[str | AttachedFile] = []
        end = 0
        for match in TOKEN.finditer(prompt):
            number = int(match["number"])
            picture = self._open.pop(number, None)
            if picture is not None:
                parts += [prompt[end : match.start()], picture]
                end = match.end()
                self._keep(number, picture)
        return _blocks([*parts, prompt[end:]]) if parts else prompt

    def _token(self, number: int) -> str:
        return f"[{TOKEN_WORDS[self._open[number].content.type]} #{number}]"

    def _keep(self, number: int, picture: "AttachedFile") -> None:
        self._sent[number] = picture
        while sum(one.size for one in self._sent.values()) > _MAX_KEPT_BYTES:
            del self._sent[next(iter(self._sent))]


def _blocks(parts: "Sequence[str | AttachedFile]") -> "MessageContent":
    # Only a prompt with a picture needs the vocabulary here.
    from ollm_tui.protocol.blocks import Block, TextContent

    texts = [number for number, part in enumerate(parts) if isinstance(part, str) and part.strip()]
    blocks: list[Block] = []
    for number, part in enumerate(parts):
        if not isinstance(part, str):
            blocks.append(part.content)
        elif number in texts:
            # Blanks at the ends of the prompt stood between words and a token.
            text = part.lstrip() if number == texts[0] and number > 0 else part
            blocks.append(TextContent(text.rstrip() if number == texts[-1] else text))
    return blocks


MAX_LINES: Final = 3


def attachment_line(number: int, picture: "AttachedFile") -> str:
    """Write one file: `Image #1 · cat.png · png · 640 x 480 · 94 kB`."""
    word = TOKEN_WORDS[picture.content.type]
    parts = (f"{word} #{number}", picture.name, media_figures(picture.content))
    return " · ".join(part for part in parts if part)


class AttachmentLines(Static):
    """Takes no room while nothing is attached."""

    DEFAULT_CSS = """
    AttachmentLines {
        display: none; height: auto; padding: 0 3; color: $text-accent; text-overflow: ellipsis;
        text-wrap: nowrap;
        &.-shown { display: block; }
        &:ansi { color: ansi_default; }
    }
    """

    def __init__(self) -> None:
        super().__init__("", markup=False)

    def show(self, pictures: "Sequence[tuple[int, AttachedFile]]") -> None:
        """List the files; of many, the first ones and how many more there are."""
        lines = [attachment_line(number, picture) for number, picture in pictures]
        if len(lines) > MAX_LINES:
            lines[MAX_LINES - 1 :] = [f"and {len(lines) - MAX_LINES + 1} more files"]
        self.set_class(bool(lines), "-shown")
        self.update(Content("\n".join(lines)))
