"""Settings for a command, with what is wrong said on standard error."""

from collections.abc import Mapping

from ollm_tui.cli.output import Output, UsageError
from ollm_tui.config.flags import Flags
from ollm_tui.config.load import LoadedConfig, load_config
from ollm_tui.config.paths import AppPaths
from ollm_tui.runtime.private import known_secrets


def load_for(
    paths: AppPaths, environ: Mapping[str, str], flags: Flags, output: Output
) -> LoadedConfig:
    """Load settings and say their problems; the command goes on with the rest.

    Raises:
        UsageError: what is wrong was typed on the command line.
    """
    loaded = load_private(paths, environ, flags, output)
    for problem in loaded.problems:
        if problem.origin.kind == "flag":
            raise UsageError(problem.message, problem.hint)
        output.note(str(problem))
    return loaded


def load_private(
    paths: AppPaths, environ: Mapping[str, str], flags: Flags, output: Output
) -> LoadedConfig:
    """Load settings, whose keys are shown by nothing that is said from here on."""
    loaded = load_config(paths, environ, flags)
    output.keep_secret(known_secrets(loaded.config))
    return loaded
