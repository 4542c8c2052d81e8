"""What the command line says, for every front end."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """Choices for this run only; None is "not said"."""

    model: str | None = None
    """A bare name or `provider://name`."""
    provider: str | None = None
    host: str | None = None
    """Address of the chosen provider; of `local` when none is chosen."""
    api_key: str | None = field(default=None, repr=False)
    system: str | None = None
    theme: str | None = None
    config_path: Path | None = None
    tools: tuple[str, ...] | None = None
    """Names of the tools that models may call; None leaves it to the settings."""
    goes_on: bool = False
    """Whether the last chat goes on instead of a new one."""
