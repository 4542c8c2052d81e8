"""Settings for a command; their problems are written to standard error."""

from collections.abc import Iterator, Mapping

from ollm_tui.cli.output import Output, UsageError
from ollm_tui.config.flags import Flags
from ollm_tui.config.load import LoadedConfig, load_config
from ollm_tui.config.named import named_by
from ollm_tui.config.origin import ConfigProblem, dotted, summarize
from ollm_tui.config.paths import AppPaths
from ollm_tui.runtime.private import known_secrets


def load_for(
    paths: AppPaths,
    environ: Mapping[str, str],
    flags: Flags,
    output: Output,
    *,
    chooses_model: bool = False,
) -> LoadedConfig:
    """Load settings and write their problems; the command uses the rest.

    With `chooses_model`, the problem that keeps a model from being chosen is left out here: it ends
    the command, which says it then.

    Raises:
        UsageError: what is wrong was typed on the command line.
    """
    loaded = load_private(paths, environ, flags, output)
    for problem in loaded.problems:
        if problem.origin.kind == "flag":
            raise UsageError(problem.message, problem.advice)
    last = named_by(loaded).problem if chooses_model else None
    for sentence in summarize(problem for problem in loaded.problems if problem != last):
        output.note(sentence)
    return loaded


def checked(loaded: LoadedConfig, paths: AppPaths) -> tuple[ConfigProblem, ...]:
    """Return all that is wrong with the settings, also what only a front end can know."""
    # Textual and the tools take 200 ms to import, which other commands do not wait for.
    from ollm_tui.models.known_models import KnownModels
    from ollm_tui.runtime.tools.toolbox import unknown_tools

    families = KnownModels(paths.families_dir).problems()
    problems = [*loaded.all_problems, *unknown_tools(loaded), *_appearance(loaded, paths)]
    problems += families
    return tuple(sorted(problems, key=lambda p: (p.origin.kind != "file", p.origin.line or 0)))


def _appearance(loaded: LoadedConfig, paths: AppPaths) -> Iterator[ConfigProblem]:
    """Yield the problems of theme and keys; the screen uses defaults in their place."""
    # As above.
    from ollm_tui.tui.keys import with_overrides
    from ollm_tui.tui.theming import ThemeCatalog, ThemeProblem, bundled_folder

    try:
        ThemeCatalog((bundled_folder(), paths.themes_dir)).load(loaded.config.theme)
    except ThemeProblem as problem:
        yield ConfigProblem(str(problem), loaded.origin_of("theme"), ("theme",))
    for key in with_overrides(loaded.config.keymap).refused:
        path = ("keymap", key.id)
        yield ConfigProblem(
            key.message, loaded.origin_of(dotted(path)), path, find_hint=key.find_hint
        )


def load_private(
    paths: AppPaths, environ: Mapping[str, str], flags: Flags, output: Output
) -> LoadedConfig:
    """Load settings, and keep their secrets out of all output from here on."""
    loaded = load_config(paths, environ, flags)
    output.keep_secret(known_secrets(loaded.config))
    return loaded
