"""The formats of an export, by name. To add one: a function from a record to pieces, and a row."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from ollm_tui.dataclass import dataclass
from ollm_tui.decode.counted import alternatives
from ollm_tui.lazy import import_name
from ollm_tui.protocol.errors import AIError, ErrorCode

if TYPE_CHECKING:
    # the names of the formats are known without the store
    from ollm_tui.store.records import ChatRecord

Pieces: TypeAlias = "Callable[[ChatRecord], Iterator[str]]"


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format."""

    name: str
    suffixes: tuple[str, ...]
    """Of file names, the usual one first."""
    about: str
    writer: str
    """The function that writes it; imported when it is used."""
    takes_tree: bool = False
    """Whether all branches are written unless one is asked for."""

    def pieces(self, record: "ChatRecord", *, is_tree: bool | None = None) -> Iterator[str]:
        """Yield a chat, with all its branches or the active one alone. Blocks for long chats."""
        whole = self.takes_tree if is_tree is None else is_tree
        write: Pieces = import_name(self.writer)
        return write(record if whole else record.branch())


FORMATS: Final[Mapping[str, ExportFormat]] = {
    one.name: one
    for one in (
        ExportFormat(
            "md", (".md", ".markdown"), "Markdown", "ollm_tui.exchange.markdown:markdown_pieces"
        ),
        ExportFormat(
            "json",
            (".json",),
            "JSON with everything, for import",
            "ollm_tui.exchange.document:document_pieces",
            takes_tree=True,
        ),
        ExportFormat(
            "html", (".html", ".htm"), "a page for a browser", "ollm_tui.exchange.html:html_pieces"
        ),
    )
}
DEFAULT_FORMAT: Final = "md"


def format_named(name: str) -> ExportFormat:
    """Return a format.

    Raises:
        AIError: BAD_REQUEST if there is none of this name.
    """
    known = FORMATS.get(name.casefold())
    if known is None:
        names = alternatives(list(FORMATS))
        raise AIError(ErrorCode.BAD_REQUEST, "There is no such format.", hint=f"Use {names}.")
    return known


def format_of(path: Path) -> ExportFormat | None:
    """Return the format that the name of a file says, or None."""
    suffix = path.suffix.lower()
    return next((one for one in FORMATS.values() if suffix in one.suffixes), None)
