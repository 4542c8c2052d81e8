"""`ollm models rm`: what is deleted, its size and its place are named before it is gone."""

from functools import partial

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.confirm import confirm
from ollm_tui.cli.figures import size_text
from ollm_tui.cli.model_runtime import find_model, in_runtime
from ollm_tui.cli.output import ERROR, OK, Output
from ollm_tui.decode.clean import clean_name
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.ports import SupportsShow
from ollm_tui.providers.operations import deleter, show_model
from ollm_tui.runtime.compose import Runtime
from ollm_tui.runtime.model_lookup import FoundModel


def run_delete(arguments: Arguments, output: Output) -> int:
    """Delete a model, with a person's consent."""
    # Nothing is open while the question stands: whoever thinks about it holds no connection.
    found = in_runtime(arguments, output, partial(_find, arguments.name))
    if not arguments.yes and not confirm(_question(found), output):
        output.note("Nothing was deleted.")
        return ERROR
    in_runtime(arguments, output, partial(_delete, found))
    if arguments.as_json:
        output.json({"model": str(found.ref), "deleted": True})
    else:
        output.note(f"Deleted {found.ref.model} from {found.place}.")
    return OK


async def _find(name: str, runtime: Runtime) -> FoundModel:
    """Find the model; one that no list knows must be known by name."""
    found = await find_model(runtime, name)
    deleter(found.adapter)
    kept = found.info.details.get("why_kept") if found.info else None
    if isinstance(kept, str):
        raise AIError(
            ErrorCode.UNSUPPORTED_FEATURE,
            f"{found.ref.model} cannot be deleted from here.",
            hint=kept,
        )
    if found.info is None and isinstance(found.adapter, SupportsShow):
        await show_model(found.adapter, found.ref.model, runtime.registry.redact)
    return found


async def _delete(found: FoundModel, runtime: Runtime) -> None:
    await runtime.router.provider(found.ref.provider)  # looks who answers there
    if runtime.manager.place(found.ref) != found.place:  # another engine does by now
        raise AIError(ErrorCode.CONFLICT, f"{found.place} no longer exists.")
    await runtime.manager.delete(found.ref)


def _question(found: FoundModel) -> str:
    size = size_text(found.info.size_bytes if found.info else None) or "size unknown"
    # Two names must not look alike here, so what draws nothing is spelled out.
    return f"Delete {clean_name(found.ref.model)} ({size}) from {found.place} permanently?"
