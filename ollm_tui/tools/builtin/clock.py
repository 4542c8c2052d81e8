"""Date and time."""

from collections.abc import Callable
from datetime import UTC, datetime, tzinfo

from ollm_tui.tools.define import FunctionTool, ToolFailure, tool


def clock_tool(now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> FunctionTool:
    """Return the tool `current_time` for a clock of aware times."""

    @tool(effect="read", timeout_s=5)
    def current_time(timezone: str = "local") -> str:
        """Tell the current date, weekday and time.

        Args:
            timezone: IANA name such as "Europe/Vienna", "UTC", or "local" for this machine's.
        """
        moment = now().astimezone(_zone(timezone))
        return f"{moment.isoformat(timespec='seconds')} ({moment:%A}, {moment.tzname()})"

    return current_time


def _zone(name: str) -> tzinfo | None:
    if name.casefold() == "local":
        return None
    if name.upper() in {"UTC", "GMT", "Z"}:
        return UTC
    # Loaded only for a zone.
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ToolFailure(
            f'There is no time zone {name[:64]!r}. Use an IANA name such as "Europe/Vienna".'
        ) from None
