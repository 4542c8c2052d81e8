"""Makes and publishes models on an Ollama server (Ollama API docs, "Create a Model").

Files are sent first, as blobs under their checksum; the server keeps those that it has.
"""

import hashlib
import time
from collections.abc import AsyncIterator
from functools import partial
from http import HTTPStatus
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from ollm_tui.config.regular_file import open_binary, why_unreadable
from ollm_tui.decode.json_fields import present
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelDraft, PullProgress
from ollm_tui.protocol.ports import ReportProgress
from ollm_tui.providers.http_errors import Head, http_error
from ollm_tui.providers.ollama.pull import Work, run_work
from ollm_tui.providers.ollama.refusals import unknown_path
from ollm_tui.providers.ollama.to_wire import model_parameters
from ollm_tui.providers.response_reader import ResponseReader
from ollm_tui.providers.transport import MAX_ERROR_BYTES, Transport
from ollm_tui.tasks import task_group

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonObject, JsonValue

_PIECE: Final = 1 << 20
_REPORT_S: Final = 0.1
_ABILITY: Final = "create models"
CREATE: Final = Work(
    path="/api/create",
    ability=_ABILITY,
    noun="work on the model",
    again="Repeat it; files that arrived are not sent again.",
    failures=(
        (
            r"llama-quantize unavailable",
            ErrorCode.SERVICE_UNAVAILABLE,
            "Ollama on that machine lacks a program of its own: install Ollama again there.",
        ),
        (
            r"failed to validate GGUF|exceeds file size|\AEOF|unexpected EOF",
            ErrorCode.UNSUPPORTED_FEATURE,
            "The server cannot use this file: `ollm models show` tells what it is.",
        ),
        (
            r"quantiz|file type|requires? (?:f16|f32|bf16)|only supported for F16",
            ErrorCode.UNSUPPORTED_FEATURE,
            "Quantize a model with weights of 16 or 32 bits (F16, BF16, F32), to a level that the"
            " server knows: q4_K_M or q8_0.",
        ),
        (
            r"gguf|unknown type|unsupported (?:architecture|content)",
            ErrorCode.UNSUPPORTED_FEATURE,
            "The server cannot use this file: `ollm models show` tells what it is.",
        ),
        (
            r"no space left|disk quota|not enough space",
            ErrorCode.INTERNAL_ERROR,
            "Free disk space on that machine, then repeat it.",
        ),
        (
            r"neither 'from' or 'files'|modelfile|missing",
            ErrorCode.UNSUPPORTED_FEATURE,
            "Update Ollama on that machine: this needs version 0.5.5 or later.",
        ),
    ),
)
PUSH: Final = Work(
    path="/api/push",
    ability="push models",
    noun="upload",
    again="Repeat it to continue the upload.",
    failures=(
        (
            r"authoriz|unauthori|denied|namespace|\b40[13]\b",
            ErrorCode.AUTH_FAILED,
            "Sign in on the machine that runs Ollama (`ollama signin`), and push a name that begins"
            " with your user: `ollm models cp NAME USER/NAME`.",
        ),
        (
            r"not found|does not exist|no such file|couldn't retrieve manifest",
            ErrorCode.MODEL_NOT_FOUND,
            "`ollm models list` lists all models.",
        ),
        (
            r"insecure protocol|server gave HTTP response to HTTPS|x509: |tls: ",
            ErrorCode.SERVICE_UNAVAILABLE,
            "Ollama uploads over https only; for a registry without it, run"
            " `ollama push --insecure NAME` on that machine.",
        ),
        (
            r"no such host|max retries|dial tcp|i/o timeout|connection (refused|reset)|\bEOF\b",
            ErrorCode.SERVICE_UNAVAILABLE,
            "Check the network of the machine that runs Ollama, then repeat it.",
        ),
    ),
)


async def create(
    transport: Transport, name: str, draft: ModelDraft, report: ReportProgress
) -> None:
    """Make a model; files that the server lacks are sent first.

    Raises:
        AIError: it was not made.
    """
    files: JsonObject = {}
    for path in draft.files:
        files[path.name] = await _sent_file(transport, path, report)
    parameters = model_parameters(draft.options)
    values: dict[str, JsonValue] = {
        "model": name,
        "from": draft.base,
        "files": files or None,
        "system": draft.system_prompt,
        "template": draft.template,
        "parameters": parameters or None,
        "quantize": draft.quantization,
    }
    await run_work(transport, CREATE, present(values), report)


async def _sent_file(transport: Transport, path: Path, report: ReportProgress) -> str:
    """Send a file unless the server has it, and return its digest."""
    try:
        file = await anyio.to_thread.run_sync(open_binary, path)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    with file:
        try:
            digest, size = await _digest(file, path.name, report)
        except OSError as error:
            raise _unreadable(path, error) from error
        if not await _is_there(transport, digest):
            file.seek(0)
            await _Sending(transport, file, digest, size, path).run(report)
    return digest


def _unreadable(path: Path, error: OSError | ValueError) -> AIError:
    words = f"{path} cannot be read: {why_unreadable(error)}."
    return AIError(ErrorCode.BAD_REQUEST, words)


async def _digest(file: FileIO, name: str, report: ReportProgress) -> tuple[str, int]:
    """Return the digest of a file as Ollama writes it, and its size."""
    total, done, checksum = file.seek(0, 2), 0, hashlib.sha256()
    file.seek(0)
    reported_at = -_REPORT_S

    def take() -> int:
        piece = file.read(_PIECE)
        checksum.update(piece)
        return len(piece)

    while taken := await anyio.to_thread.run_sync(take):
        done += taken
        if time.monotonic() - reported_at >= _REPORT_S:
            reported_at = time.monotonic()
            status = f"computing the checksum of {name}"
            await report(PullProgress(status=status, completed=done, total=max(done, total)))
    return f"sha256:{checksum.hexdigest()}", done


async def _is_there(transport: Transport, digest: str) -> bool:
    try:
        await transport.json("HEAD", f"/api/blobs/{digest}")
    except AIError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return False
        raise unknown_path(error, transport.endpoint, _ABILITY) or error from None
    return True


class _Sending:
    """One file on its way to the server."""

    def __init__(
        self, transport: Transport, file: FileIO, digest: str, size: int, path: Path
    ) -> None:
        self._transport = transport
        self._file = file
        self._digest = digest
        self._size = size
        self._path = path
        self._sent = 0
        self._alive_at = time.monotonic()

    async def run(self, report: ReportProgress) -> None:
        """Send it, and wait until the server has checked it."""
        async with task_group() as group:
            path = f"/api/blobs/{self._digest}"
            reader = await self._transport.upload(group, path, self._pieces(), self._size)
            try:
                head = await self._head(reader, report)
                if not 200 <= head.status < 300:
                    raise await self._refusal(reader, head)
            finally:
                reader.dispose()
        await report(self._progress())

    async def _head(self, reader: ResponseReader, report: ReportProgress) -> Head:
        """Report how much was sent until the server answers."""
        heads: list[Head] = []

        async def wait() -> None:
            heads.append(await reader.read_head())

        async with task_group() as group:
            group.start_soon(wait)
            while not heads and not reader.finished.is_set():
                await report(self._progress())
                if time.monotonic() - self._alive_at > self._limit():
                    raise self._stalled()
                await anyio.sleep(_REPORT_S)
        return heads[0]

    async def _pieces(self) -> AsyncIterator[bytes]:
        read = partial(self._file.read, _PIECE)
        while piece := await anyio.to_thread.run_sync(read):
            yield piece
            self._sent += len(piece)
            self._alive_at = time.monotonic()

    def _progress(self) -> PullProgress:
        return PullProgress(
            status=f"sending {self._path.name}",
            digest=self._digest,
            completed=self._sent,
            total=self._size,
        )

    def _limit(self) -> float:
        """Return how long the server may be silent; it checks the file when all of it is there."""
        limits = self._transport.spec
        return limits.first_byte_timeout_s if self._sent == self._size else limits.idle_timeout_s

    def _stalled(self) -> AIError:
        endpoint = self._transport.endpoint
        return endpoint.error(
            ErrorCode.TIMEOUT,
            f"The upload stalled: {endpoint.label} took nothing for {self._limit():g} s.",
            CREATE.again,
            fault="idle",
        )

    async def _refusal(self, reader: ResponseReader, head: Head) -> AIError:
        endpoint = self._transport.endpoint
        body = await reader.read_error_body(
            MAX_ERROR_BYTES, self._transport.spec.list_timeout_s / 2
        )
        error = http_error(head, body, endpoint)
        if head.status == HTTPStatus.BAD_REQUEST and "digest" in error.message:
            error.hint = f"{self._path.name} may have changed while it was sent. {CREATE.again}"
        return unknown_path(error, endpoint, _ABILITY, names_model=False) or error
