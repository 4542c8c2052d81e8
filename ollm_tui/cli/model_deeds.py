"""`ollm models cp`, `load` and `unload`: one request each, and a sentence when it is done."""

from functools import partial

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.model_runtime import find_model, in_runtime
from ollm_tui.cli.output import OK, Output, UsageError
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.model import ModelRef
from ollm_tui.providers.operations import loader
from ollm_tui.runtime.compose import Runtime
from ollm_tui.runtime.model_lookup import FoundModel


def run_copy(arguments: Arguments, output: Output) -> int:
    """Give a model a second name."""
    source, copied = in_runtime(arguments, output, partial(_copy, arguments))
    if arguments.as_json:
        output.json({"model": str(source), "copy": str(copied)})
    else:
        output.note(f"Copied {source.model} to {copied.model}.")
    return OK


def run_load(arguments: Arguments, output: Output) -> int:
    """Bring a model into memory."""
    found = in_runtime(arguments, output, partial(_load, arguments, output))
    return _say(found, output, arguments, is_loaded=True)


def run_unload(arguments: Arguments, output: Output) -> int:
    """Drop a model from memory."""
    found = in_runtime(arguments, output, partial(_unload, arguments.name))
    return _say(found, output, arguments, is_loaded=False)


async def _copy(arguments: Arguments, runtime: Runtime) -> tuple[ModelRef, ModelRef]:
    if not arguments.copy.strip():
        raise UsageError("The new name is empty.")
    found = await find_model(runtime, arguments.name)
    try:
        return found.ref, await runtime.manager.copy(found.ref, arguments.copy)
    except AIError as error:
        if error.code == ErrorCode.CONFLICT and error.status is None:
            raise UsageError(error.message, error.hint) from error
        raise


async def _load(arguments: Arguments, output: Output, runtime: Runtime) -> FoundModel:
    found = await find_model(runtime, arguments.name)
    loader(found.adapter)
    settings = runtime.config.providers.get(found.adapter.name)
    if settings is not None and settings.kind == "embedded":
        raise AIError(
            ErrorCode.UNSUPPORTED_FEATURE,
            f"{found.adapter.label} cannot keep a model loaded after this command ends.",
            hint="It loads a model when a chat needs it, and keeps it for a while.",
            provider=found.adapter.name,
        )
    if output.is_watched:
        output.note(f"Loading {found.ref.model} ({found.place}) …")
    await runtime.manager.load(found.ref, keep_alive=arguments.models.keep_alive)
    return found


async def _unload(name: str, runtime: Runtime) -> FoundModel:
    found = await find_model(runtime, name)
    await runtime.manager.unload(found.ref)
    return found


def _say(found: FoundModel, output: Output, arguments: Arguments, *, is_loaded: bool) -> int:
    if arguments.as_json:
        output.json({"model": str(found.ref), "loaded": is_loaded})
    else:
        output.note(f"{'Loaded' if is_loaded else 'Unloaded'} {found.ref.model}.")
    return OK
