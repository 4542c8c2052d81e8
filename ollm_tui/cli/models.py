"""`ollm models`: finds what runs one of its actions, and loads only that."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.model_runtime import Stopped
from ollm_tui.cli.output import OK, Output
from ollm_tui.config.paths import default_paths
from ollm_tui.lazy import import_name
from ollm_tui.models.actions import ACTIONS
from ollm_tui.protocol.codec import error_to_json
from ollm_tui.protocol.errors import AIError

ModelsAction: TypeAlias = Callable[[Arguments, Output], int]
"""Runs one action and returns the exit code."""

_ACTIONS: Final[Mapping[str, str]] = {
    "list": "ollm_tui.cli.model_list:run_list",
    "ps": "ollm_tui.cli.model_list:run_ps",
    "search": "ollm_tui.cli.model_search:run_search",
    "rate": "ollm_tui.cli.model_search:run_rate",
    "show": "ollm_tui.cli.model_show:run_show",
    "prompt": "ollm_tui.cli.model_prompt:run_prompt",
    "tool-check": "ollm_tui.cli.model_tools:run_tool_check",
    "explain": "ollm_tui.cli.model_explain:run_explain",
    "pull": "ollm_tui.cli.pull:run_pull",
    "downloads": "ollm_tui.cli.downloads:run_downloads",
    "rm": "ollm_tui.cli.model_actions:run_delete",
    "create": "ollm_tui.cli.model_work:run_create",
    "quantize": "ollm_tui.cli.model_work:run_quantize",
    "push": "ollm_tui.cli.model_work:run_push",
}


def run_models(arguments: Arguments, output: Output) -> int:
    """Run one action."""
    try:
        return models_action(arguments.action or "list")(arguments, output)
    except Stopped as stopped:
        return stopped.exit_code
    except AIError as error:
        if arguments.as_json:
            output.json({"type": "error", "error": error_to_json(error)})
        raise


def models_action(name: str) -> ModelsAction:
    """Return what runs an action.

    Raises:
        KeyError: there is none of that name.
    """
    if name == "starter":
        return _fetch_starter
    if name in _ACTIONS:
        run: ModelsAction = import_name(_ACTIONS[name])
        return run
    # Needed only by what is done to one model.
    from ollm_tui.cli.model_actions import run_action

    actions = {known.command: action for action, known in ACTIONS.items() if known.command}
    return partial(run_action, actions[name])


def _fetch_starter(arguments: Arguments, output: Output) -> int:
    # Needed only by this action.
    from ollm_tui.library.starter import download_starter

    path = download_starter(default_paths().models_dir, wheel=arguments.wheel, report=output.note)
    output.line(str(path))
    return OK
