"""Downloads behind links in a reply: only from the server that replied."""

import anyio
import httpx

from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.providers.http_errors import http_error
from ollm_tui.providers.http_faults import LIMIT, SLOW
from ollm_tui.providers.response_reader import ResponseReader
from ollm_tui.providers.transport import MAX_ERROR_BYTES, Transport
from ollm_tui.tasks import task_group


async def download(transport: Transport, link: str, *, max_bytes: int) -> bytes:
    """Return the whole body at a link, within the time limit of a first answer.

    Raises:
        AIError: any failure; UNSUPPORTED_FEATURE if the link leads to another server.
    """
    limit = transport.spec.first_byte_timeout_s
    url = _own_url(transport, link)
    body = bytearray()
    try:
        with anyio.fail_after(limit):
            async with task_group() as group:
                reader = await transport.start(group, "GET", url)
                try:
                    await _check_status(transport, reader)
                    while len(body) <= max_bytes and (piece := await reader.read()):
                        body += piece
                finally:
                    reader.dispose()
    except TimeoutError:
        raise transport.endpoint.fault(SLOW, seconds=limit) from None
    if len(body) > max_bytes:
        raise transport.endpoint.fault(LIMIT, limit=f"a reply of more than {max_bytes} bytes")
    return bytes(body)


async def _check_status(transport: Transport, reader: ResponseReader) -> None:
    head = await reader.read_head()
    if not 200 <= head.status < 300:
        within_s = transport.spec.list_timeout_s / 2
        error = await reader.read_error_body(MAX_ERROR_BYTES, within_s)
        raise http_error(head, error, transport.endpoint)


def _own_url(transport: Transport, link: str) -> str:
    try:
        base = httpx.URL(transport.url)
        url = base.join(link)
    except (httpx.InvalidURL, ValueError):
        raise _of_another_server(transport) from None
    if (url.scheme, url.host, url.port) != (base.scheme, base.host, base.port):
        raise _of_another_server(transport)
    return str(url)


def _of_another_server(transport: Transport) -> AIError:
    return AIError(
        ErrorCode.UNSUPPORTED_FEATURE,
        f"{transport.endpoint.label} gives a link to another server, which is not downloaded.",
        hint="If that is the same server under another name, use that name as its address.",
        provider=transport.endpoint.provider,
    )
