"""Numbers of tokens in the replies of servers that count."""

from ollm_tui.decode.json_fields import as_object, positive
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import JsonValue


def tokens_told(reply: JsonValue, key: str) -> int:
    """Give the number under `key`.

    Raises:
        AIError: ENGINE_ERROR when there is none.
    """
    count = positive(as_object(reply), key)
    if count is None:
        raise uncounted()
    return count


def tokens_listed(reply: JsonValue, key: str) -> int:
    """Give the length of the list under `key`.

    Raises:
        AIError: ENGINE_ERROR when there is none, or nothing in it.
    """
    found = as_object(reply).get(key)
    if not isinstance(found, list) or not found:
        raise uncounted()
    return len(found)


def uncounted() -> AIError:
    """The server answered, but not what was asked."""
    return AIError(ErrorCode.ENGINE_ERROR, "The server's reply has no token count.")
