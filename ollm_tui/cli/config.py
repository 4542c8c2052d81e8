"""`ollm config`: what is set, where it came from and what is wrong with it."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.output import ERROR, OK, Output
from ollm_tui.config.paths import config_path, default_paths
from ollm_tui.config.regular_file import is_there

if TYPE_CHECKING:
    from ollm_tui.protocol.json_types import JsonValue


def run_config(arguments: Arguments, output: Output) -> int:
    """Run one action."""
    match arguments.action:
        case "path":
            output.line(str(_place(arguments)))
            return OK
        case "schema":
            return _schema(output)
        case "check":
            return _check(arguments, output)
        case _:
            return _show(arguments, output)


def _place(arguments: Arguments) -> Path:
    paths = default_paths()
    places = {
        "models": paths.models_dir,
        "families": paths.families_dir,
        "themes": paths.themes_dir,
        "data": paths.data_dir,
        "state": paths.state_dir,
    }
    chosen = arguments.flags.config_path
    return places.get(arguments.place) or config_path(paths, os.environ, chosen)


def _schema(output: Output) -> int:
    # pydantic takes 100 ms to import, which `config path` does not wait for.
    from ollm_tui.config.schema import AppConfig
    from ollm_tui.sections.checked import model_of

    output.json(model_of(AppConfig).model_json_schema(), indent=2)
    return OK


def _show(arguments: Arguments, output: Output) -> int:
    # As above.
    from ollm_tui.cli.settings import load_for
    from ollm_tui.config.reference import config_rows

    rows = config_rows(load_for(default_paths(), os.environ, arguments.flags, output))
    if arguments.as_json:
        listed: list[JsonValue] = [
            {"key": row.key, "value": row.value, "origin": row.origin} for row in rows
        ]
        output.json(listed, indent=2)
    else:
        output.table(("KEY", "VALUE", "FROM"), [(r.key, r.value, r.origin) for r in rows])
    return OK


def _check(arguments: Arguments, output: Output) -> int:
    # As above.
    from ollm_tui.cli.settings import checked, load_private
    from ollm_tui.config.origin import MAX_LISTED

    loaded = load_private(default_paths(), os.environ, arguments.flags, output)
    problems = checked(loaded, default_paths())
    for problem in problems[:MAX_LISTED]:
        output.line(f"{problem.severity}: {problem}")
    if (left := len(problems) - MAX_LISTED) > 0:
        output.line(f"And {left:,} more; fix these to see them.")
    if not problems:
        known = "" if is_there(loaded.path) else " (no such file; using the defaults)"
        output.line(f"{loaded.path}: no problems found{known}.")
    return ERROR if any(p.severity == "error" for p in problems) else OK
