"""`ollm models ps`: what is in memory, at every provider that can tell."""

from datetime import UTC, datetime
from functools import partial

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.figures import size_text
from ollm_tui.cli.model_runtime import in_runtime
from ollm_tui.cli.output import OK, Output
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.runtime.compose import Runtime
from ollm_tui.runtime.model_lookup import gpu_share_of, memory_of
from ollm_tui.tui.figures import time_left

_HEAD = ("MODEL", "MEMORY", "ON GPU", "CONTEXT", "UNTIL", "PLACE")
_FOR_EVER_S = 10 * 365 * 86_400
Loaded = list[tuple[ModelRef, ModelInfo, str]]


def run_ps(arguments: Arguments, output: Output) -> int:
    """List the models in memory."""
    found, untold, addresses = in_runtime(arguments, output, partial(_loaded, output))
    now = datetime.now(UTC)
    if arguments.as_json:
        output.json([_as_json(*one) for one in found], indent=2)
    elif found:
        output.table(_HEAD, [_row(addresses[ref], info, place, now) for ref, info, place in found])
    for label in () if found else untold:
        output.note(f"{label} does not list its loaded models.")
    if not found and not untold:
        output.note("No model is loaded.")
    return OK


async def _loaded(
    output: Output, runtime: Runtime
) -> tuple[Loaded, list[str], dict[ModelRef, str]]:
    """Ask everybody; the place of each model is what `models rm` asks about too."""
    manager = runtime.manager
    found = await manager.in_memory()
    for problem in found.problems:
        output.error(problem.message, problem.hint)
    addresses = {ref: runtime.catalog.shown_address(ref) for ref, _ in found.models}
    loaded = [(ref, info, manager.place(ref)) for ref, info in found.models]
    return loaded, found.untold, addresses


def _as_json(ref: ModelRef, info: ModelInfo, place: str) -> JsonObject:
    return {
        "model": str(ref),
        "provider": ref.provider,
        "name": info.name,
        "place": place,
        "memory_bytes": memory_of(info),
        "gpu_share": gpu_share_of(info),
        "gpu_bytes": info.details.get("size_vram"),
        "context": info.context,
        "expires_at": info.details.get("expires_at"),
    }


def _row(address: str, info: ModelInfo, place: str, now: datetime) -> tuple[str, ...]:
    return (
        address,
        size_text(memory_of(info)),
        gpu_share(info),
        str(info.context or ""),
        until_text(info.details.get("expires_at"), now),
        place,
    )


def gpu_share(info: ModelInfo) -> str:
    """Give how much of a model is in the memory of a graphics card."""
    share = gpu_share_of(info)
    return "" if share is None else f"{round(100 * share)} %"


def until_text(expires_at: object, now: datetime | None = None) -> str:
    """Give how long a model stays when nobody asks it."""
    if not isinstance(expires_at, str):
        return ""
    try:
        left = (datetime.fromisoformat(expires_at) - (now or datetime.now(UTC))).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return ""
    if left > _FOR_EVER_S:
        return "forever"
    return f"in {time_left(left)}" if left > 0 else "now"
