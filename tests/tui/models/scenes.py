"""Models for the models screen, and the way to it."""

from datetime import UTC, datetime
from unittest.mock import patch

import anyio

from ollm_tui.library.machine import Gpu, Machine
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelCapability, ModelInfo, ModelRef
from ollm_tui.providers.catalog import Listing
from ollm_tui.tui.models import screen as models_module
from ollm_tui.tui.models.screen import ModelsScreen
from tests.tui.models.managed import ManagedRuntime, ScriptedManager
from tests.tui.screens import Stage
from tests.tui.scripted import ScriptedCatalog

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
TEXT = frozenset({"text"})
GB = 1_000_000_000
MACHINE = Machine(
    ram_total=32 * GB,
    ram_free=20 * GB,
    gpus=(Gpu(name="GeForce", total=12 * GB, free=8 * GB),),
)
QWEN = ModelRef("local", "qwen3:8b")


def info(
    name: str,
    size: float = 0,
    quantization: str = "",
    day: str = "",
    *,
    capability: ModelCapability | None = None,
    context: int | None = None,
    trained: int | None = None,
    loaded: bool | None = False,
    assumed: ModelCapability | None = None,
) -> ModelInfo:
    details = {"quantization": quantization or None, "context_trained": trained}
    return ModelInfo(
        name=name,
        size_bytes=int(size * GB) or None,
        modified_at=f"{day}T09:30:00.123456789+01:00" if day else None,
        capability=capability,
        context=context,
        loaded=loaded,
        assumed=assumed,
        details={key: value for key, value in details.items() if value is not None},
    )


THINKS = ModelCapability(TEXT, TEXT, frozenset({"tool_use", "thinking"}))
SEES = ModelCapability(TEXT | {"image"}, TEXT, frozenset({"stream"}))
EMBEDS = ModelCapability(TEXT, frozenset({"embedding"}), frozenset({"stream"}))
CALLS = ModelCapability(TEXT, TEXT, frozenset({"tool_use"}))
OLLAMA = Listing(
    provider="local",
    label="Ollama",
    models=(
        info("qwen3:8b", 5.2, "Q4_K_M", "2026-11-02", capability=THINKS, context=32768),
        info("llava:13b", 8.0, "Q4_0", "2026-03-14", capability=SEES, trained=4096),
        info("nomic-embed-text:latest", 0.274, "F16", "2025-06-01", capability=EMBEDS),
        info(
            *("llama3.3:70b-instruct-q4_K_M", 42.5, "Q4_K_M", "2026-10-30"),
            trained=131072,
            assumed=CALLS,
        ),
        info("[/red]\x1b[2J\u202egnp.exe", 0.001, "\x1b]0;pwned\x07"),
    ),
)
HERE = Listing(
    provider="embedded",
    label="On this machine",
    models=(info("SmolLM2-135M-Instruct.Q4_1", 0.098, "Q4_1", "2026-11-19", context=4096),),
)
REMOTE = Listing(
    provider="vllm",
    label="vLLM",
    models=(info("meta-llama/Llama-3.3-70B-Instruct", context=65536, loaded=None, assumed=CALLS),),
)
DOWN = Listing(
    provider="lmstudio",
    label="LM Studio",
    problem=AIError(
        ErrorCode.SERVICE_UNAVAILABLE,
        "LM Studio does not answer at localhost:1234.",
        hint="Start its server, or remove it from config.toml.",
    ),
)
IN_MEMORY = ModelInfo(
    name="qwen3:8b",
    size_bytes=5_100_000_000,
    context=32768,
    loaded=True,
    details={
        "memory_bytes": 5_100_000_000,
        "size_vram": 5_100_000_000,
        "expires_at": "2026-11-20T12:04:10+00:00",
    },
)


def runtime(*listings: Listing, manager: ScriptedManager | None = None) -> ManagedRuntime:
    no_server = {"show": "vLLM describes no models.", "delete": "vLLM cannot delete models."}
    refused = {"copy": "vLLM cannot copy models.", "load": "vLLM has one model, always loaded."}
    unloads = {"unload": "vLLM cannot drop models from memory."}
    manager = manager or ScriptedManager(
        refused={"vllm": {**no_server, **refused, **unloads}},  # type: ignore[dict-item]
        loaded=[(QWEN, IN_MEMORY)],
    )
    return ManagedRuntime(
        catalog=ScriptedCatalog(*(listings or (OLLAMA, HERE, REMOTE, DOWN))),
        manager=manager,
        this_machine=MACHINE,
    )


def page(stage: Stage) -> ModelsScreen:
    """Give the models screen, which is open."""
    screen = next(one for one in stage.app.screen_stack if isinstance(one, ModelsScreen))
    assert isinstance(screen, ModelsScreen)
    return screen


async def opened(stage: Stage) -> ModelsScreen:
    """Open the models screen at a time that stands still."""
    with patch.object(models_module, "utc_now", lambda: NOW):
        await stage.pilot.press("f3")
        return await arrived(stage)


async def arrived(stage: Stage) -> ModelsScreen:
    """Wait for the models screen, which is loaded in a thread."""
    with anyio.fail_after(10):
        while not isinstance(stage.app.screen, ModelsScreen):
            await stage.pilot.pause(0.01)
    await stage.settle()
    return page(stage)
