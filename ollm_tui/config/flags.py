"""The options of the command line, for every front end."""

from pathlib import Path

from ollm_tui.dataclass import dataclass, field
from ollm_tui.protocol.json_types import JsonMapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """Options for this run; None means not given."""

    model: str | None = None
    """A bare name or `provider://name`."""
    provider: str | None = None
    host: str | None = None
    """Address of the chosen provider, or of `local` if none is chosen."""
    api_key: str | None = field(default=None, repr=False)
    system: str | None = None
    profile: str | None = None
    """Name of a profile of the settings."""
    theme: str | None = None
    screen_reader: bool | None = None
    """Whether the chat is written in lines, for a screen reader."""
    config_path: Path | None = None
    tools: tuple[str, ...] | None = None
    """Names of the tools that models may call; None leaves that to the settings."""
    allow: tuple[str, ...] = ()
    """What tools may do where nobody can be asked: names, and patterns of commands."""
    max_turns: int | None = None
    """Maximum number of requests for one prompt."""
    schema: JsonMapping | None = None
    """A JSON Schema that answers must match."""
    schema_file: str | None = None
    """The path of its file."""
    goes_on: bool = False
    """Whether to continue the last chat instead of a new one."""
    chat: str | None = None
    """The id of the chat to continue, or `last`."""
    private: bool = False
    """Whether nothing of the chats is kept."""

    @property
    def continued(self) -> str | None:
        """The id of the chat to continue, or `last`; None for a new chat."""
        return self.chat or ("last" if self.goes_on else None)
