"""`ollm models ps`: what is in memory, at every provider that can tell."""

from datetime import UTC, datetime
from functools import partial

import anyio

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.figures import duration_text, size_text
from ollm_tui.cli.model_runtime import PATIENCE_S, in_runtime
from ollm_tui.cli.output import OK, Output
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.protocol.ports import SupportsRunning
from ollm_tui.providers.catalog import Listing
from ollm_tui.runtime.compose import Runtime

_HEAD = ("MODEL", "MEMORY", "ON GPU", "CONTEXT", "UNTIL")
_FOR_EVER_S = 10 * 365 * 86_400
Loaded = list[tuple[ModelRef, ModelInfo]]


def run_ps(arguments: Arguments, output: Output) -> int:
    """List the models in memory."""
    found = in_runtime(arguments, output, partial(_loaded, output))
    now = datetime.now(UTC)
    if arguments.as_json:
        output.json([_as_json(ref, info) for ref, info in found], indent=2)
    elif found:
        output.table(_HEAD, [_row(ref, info, now) for ref, info in found])
    if not found:
        output.note("No model is loaded.")
    return OK


async def _loaded(output: Output, runtime: Runtime) -> Loaded:
    listings = await runtime.catalog.refresh(within_s=PATIENCE_S, services=False)
    answers: dict[str, Loaded] = {}
    async with anyio.create_task_group() as group:
        for listing in listings:
            if listing.problem is not None:
                output.error(listing.problem.message, listing.problem.hint)
            elif not listing.absent:
                group.start_soon(_ask, listing, runtime, answers, output)
    return [entry for listing in listings for entry in answers.get(listing.provider, ())]


async def _ask(
    listing: Listing, runtime: Runtime, answers: dict[str, Loaded], output: Output
) -> None:
    """Ask one provider; the list of one that cannot tell may say which models are loaded."""
    adapter = runtime.registry.get(listing.provider)
    models = [info for info in listing.models if info.loaded]
    if isinstance(adapter, SupportsRunning):
        try:
            models = [*await adapter.list_running()]
        except AIError as error:
            output.error(error.message, error.hint)
    answers[listing.provider] = [(ModelRef(listing.provider, info.name), info) for info in models]


def _as_json(ref: ModelRef, info: ModelInfo) -> JsonObject:
    return {
        "model": str(ref),
        "provider": ref.provider,
        "name": info.name,
        "memory_bytes": info.size_bytes,
        "gpu_bytes": info.details.get("size_vram"),
        "context": info.context,
        "expires_at": info.details.get("expires_at"),
    }


def _row(ref: ModelRef, info: ModelInfo, now: datetime) -> tuple[str, ...]:
    return (
        str(ref),
        size_text(info.size_bytes),
        gpu_share(info),
        str(info.context or ""),
        until_text(info.details.get("expires_at"), now),
    )


def gpu_share(info: ModelInfo) -> str:
    """Give how much of a model is in the memory of a graphics card."""
    on_gpu = info.details.get("size_vram")
    if not isinstance(on_gpu, int) or not info.size_bytes or info.size_bytes < 0:
        return ""
    return f"{min(100, max(0, round(100 * on_gpu / info.size_bytes)))} %"


def until_text(expires_at: object, now: datetime) -> str:
    """Give how long a model stays when nobody asks it."""
    if not isinstance(expires_at, str):
        return ""
    try:
        left = (datetime.fromisoformat(expires_at) - now).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return ""
    if left > _FOR_EVER_S:
        return "for ever"
    return f"in {duration_text(left)}" if left > 0 else "now"
