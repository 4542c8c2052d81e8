"""HTTP statuses that mean one thing together."""

from http import HTTPStatus

NO_SUCH_PATH = frozenset(
    {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED}
)
"""The server does not know the request: it is another version, or another program."""
INVALID = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})
"""Something in the request is not taken."""
PASSING = frozenset(
    {HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
)
"""The server, or what stands before it, cannot answer just now."""
