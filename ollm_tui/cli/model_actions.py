"""`ollm models cp`, `load`, `unload` and `rm`: one request each, and a sentence when it is done."""

import sys
from functools import partial

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.model_runtime import find_model, in_runtime
from ollm_tui.cli.output import ERROR, OK, NeedsApproval, Output, UsageError
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.counted import size_text
from ollm_tui.models.actions import ACTIONS, ModelAction
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelRef
from ollm_tui.protocol.ports import SupportsShow
from ollm_tui.providers.operations import method_of, show_model
from ollm_tui.runtime.compose import Runtime
from ollm_tui.runtime.model_lookup import FoundModel


def run_action(action: ModelAction, arguments: Arguments, output: Output) -> int:
    """Run an action on a model, and print how it ended."""
    model, result = in_runtime(arguments, output, partial(_run, action, arguments, output))
    _write_result(action, model, result, arguments, output)
    return OK


async def _run(
    action: ModelAction, arguments: Arguments, output: Output, runtime: Runtime
) -> tuple[FoundModel, ModelRef]:
    match action:
        case "copy":
            return await _copy(arguments, runtime)
        case "load":
            return await _load(arguments, output, runtime)
        case _:
            model = await find_model(runtime.manager, arguments.name)
            return model, await runtime.manager.run(action, model.ref)


async def _copy(arguments: Arguments, runtime: Runtime) -> tuple[FoundModel, ModelRef]:
    if not arguments.copy.strip():
        raise UsageError("The new name is empty.")
    model = await find_model(runtime.manager, arguments.name)
    try:
        return model, await runtime.manager.copy(model.ref, arguments.copy)
    except AIError as error:
        if error.code == ErrorCode.CONFLICT and error.status is None:
            raise UsageError(error.message, error.hint) from error
        raise


async def _load(
    arguments: Arguments, output: Output, runtime: Runtime
) -> tuple[FoundModel, ModelRef]:
    model = await find_model(runtime.manager, arguments.name)
    method_of(model.adapter, "load")
    settings = runtime.config.providers.get(model.adapter.name)
    if settings is not None and settings.kind == "embedded":
        raise AIError(
            ErrorCode.UNSUPPORTED_FEATURE,
            f"{model.adapter.label} cannot keep a model loaded after this command ends.",
            hint="It loads a model when a chat needs it, and keeps it for a while.",
            provider=model.adapter.name,
        )
    if output.is_watched:
        output.note(f"Loading {model.ref.model} ({model.place}) …")
    await runtime.manager.load(model.ref, keep_alive=arguments.models.keep_alive)
    return model, model.ref


def _write_result(
    action: ModelAction, model: FoundModel, result: ModelRef, arguments: Arguments, output: Output
) -> None:
    known = ACTIONS[action]
    if not arguments.as_json:
        output.note(known.done.format(name=model.ref.model, place=model.place, copy=result.model))
    elif action == "copy":
        output.json({"model": str(model.ref), "copy": str(result)})
    else:
        output.json({"model": str(model.ref), **known.result})


def run_delete(arguments: Arguments, output: Output) -> int:
    """Delete a model after confirmation."""
    # Nothing is open while the question is: the user who thinks about it holds no connection.
    model = in_runtime(arguments, output, partial(_find_deletable, arguments.name))
    if not arguments.yes and not confirm(_question(model), output):
        output.note("Nothing was deleted.")
        return ERROR
    in_runtime(arguments, output, partial(_delete, model))
    _write_result("delete", model, model.ref, arguments, output)
    return OK


async def _find_deletable(name: str, runtime: Runtime) -> FoundModel:
    """Find the model; one that no list knows must be known by name."""
    model = await find_model(runtime.manager, name)
    method_of(model.adapter, "delete")
    kept = model.info.details.get("why_kept") if model.info else None
    if isinstance(kept, str):
        raise AIError(
            ErrorCode.UNSUPPORTED_FEATURE,
            f"{model.ref.model} cannot be deleted from here.",
            hint=kept,
        )
    if model.info is None and isinstance(model.adapter, SupportsShow):
        await show_model(model.adapter, model.ref.model, runtime.registry.redact)
    return model


async def _delete(model: FoundModel, runtime: Runtime) -> None:
    await runtime.router.provider(model.ref.provider)  # probes the server
    if runtime.manager.place(model.ref) != model.place:  # another engine answers there now
        raise AIError(ErrorCode.CONFLICT, f"{model.place} no longer exists.")
    await runtime.manager.delete(model.ref)


def _question(model: FoundModel) -> str:
    size = size_text(model.info.size_bytes if model.info else None) or "size unknown"
    # Two names must not look alike here, so what draws nothing is spelled out.
    return f"Delete {clean_name(model.ref.model)} ({size}) from {model.place} permanently?"


_YES = frozenset({"y", "yes"})
_MAX_LENGTH = 100


def confirm(question: str, output: Output) -> bool:
    """Ask for confirmation, for which a clear yes counts; `NeedsApproval` without a terminal."""
    if not (output.is_watched and sys.stdin is not None and sys.stdin.isatty()):
        raise NeedsApproval(
            "There is no terminal for confirmation.", "Use --yes to skip the question."
        )
    output.question(f"{question} [y/N]")
    try:
        return sys.stdin.readline(_MAX_LENGTH).strip().lower() in _YES
    except KeyboardInterrupt:
        output.end_line()
        raise
