"""llama.cpp answers everything with 503 while it loads its model; this waits for its end."""

from http import HTTPStatus

from ollm_tui.protocol.errors import AIError
from ollm_tui.providers.base_url import join, server_root
from ollm_tui.providers.openai_compatible.paced import paced
from ollm_tui.providers.transport import Transport

UNAVAILABLE = "unavailable_error"


def is_loading(error: AIError) -> bool:
    """Whether the server only needs more time."""
    return (
        error.status == HTTPStatus.SERVICE_UNAVAILABLE
        and error.details.get("server_type") == UNAVAILABLE
    )


async def has_loaded_after(error: AIError, transport: Transport) -> bool:
    """Wait until the model is loaded, if that is what the error is about; tell whether it is."""
    if not is_loading(error):
        return False
    health = join(server_root(transport.url), "/health")
    async for _ in paced():
        try:
            await transport.json("GET", health)
        except AIError as still:
            if not is_loading(still):
                return False
        else:
            return True
    return False
