"""The real engine on the scripted model, for tests marked `engine`; one thread, temp folders."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from ollm_tui.config.engine_settings import EngineSettings
from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.message import Message
from ollm_tui.protocol.request import GenerationOptions, Request
from ollm_tui.protocol.signals import AbortSignal
from ollm_tui.protocol.tools import ToolSchema
from ollm_tui.providers.embedded.provider import EmbeddedProvider, engine_available
from ollm_tui.providers.embedded.settings import EmbeddedSettings
from ollm_tui.providers.embedded.supervisor import ENGINE_COMMAND, Supervisor
from tests.support.tiny_gguf import write_scripted

MODEL = "tiny-scripted"
SETTINGS = EmbeddedSettings(engine=EngineSettings(threads=1), load_timeout_s=60)
WEATHER = ToolSchema(
    name="get_weather",
    description="Weather of a city.",
    parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
COLOUR: JsonObject = {
    "type": "object",
    "properties": {"color": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["color", "n"],
}

needs_engine = pytest.mark.skipif(
    not engine_available(), reason="the built-in engine (xllamacpp) is not installed"
)


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the scripted model, written once per test session."""
    folder = tmp_path_factory.mktemp("models")
    write_scripted(folder / f"{MODEL}.gguf")
    return folder


@asynccontextmanager
async def embedded(
    folder: Path,
    *,
    settings: EmbeddedSettings = SETTINGS,
    command: Sequence[str] = ENGINE_COMMAND,
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
) -> AsyncIterator[tuple[EmbeddedProvider, Supervisor]]:
    """An open provider over one folder, and the supervisor below it."""
    supervisor = Supervisor(settings, command=command, sleep=sleep)
    library = FolderLibrary([folder])
    async with EmbeddedProvider(library, settings, supervisor=supervisor) as provider:
        yield provider, supervisor


def ask(
    text: str,
    *,
    model: str = MODEL,
    tools: Sequence[ToolSchema] = (),
    signal: AbortSignal | None = None,
    options: GenerationOptions | None = None,
) -> Request:
    return Request(
        model=model,
        messages=[Message("user", text)],
        tools=tools,
        signal=signal,
        options=options or GenerationOptions(),
    )


def is_running(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):  # the second if it ends while it is read
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"
