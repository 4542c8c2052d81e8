"""The directories of the app."""

import os
from collections.abc import Mapping
from pathlib import Path

from platformdirs import PlatformDirs

from ollm_tui.config.regular_file import is_file
from ollm_tui.dataclass import dataclass

APP_NAME = "ollm"
VARIABLE_PREFIX = "OLLM_"
CONFIG_VARIABLE = f"{VARIABLE_PREFIX}CONFIG"


class NoHomeError(Exception):
    """The user has no home folder, as in a container for a user without a name."""

    hint = "Set HOME, or XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_STATE_HOME and XDG_CACHE_HOME."


@dataclass(frozen=True, slots=True)
class AppPaths:
    """The directories of the app; none of them has to exist."""

    config_dir: Path
    data_dir: Path
    state_dir: Path
    cache_dir: Path

    @property
    def config_file(self) -> Path:
        """The settings file, unless a flag or the environment names another one."""
        return self.config_dir / "config.toml"

    @property
    def models_dir(self) -> Path:
        """Model files of the built-in engine."""
        return self.data_dir / "models"

    @property
    def states_dir(self) -> Path:
        """What engines have read of saved chats; the store removes it with a chat."""
        return self.data_dir / "states"

    @property
    def opened_dir(self) -> Path:
        """Pictures and sounds that another program was asked to open."""
        return self.cache_dir / "opened"

    @property
    def themes_dir(self) -> Path:
        """The user's own themes."""
        return self.config_dir / "themes"

    @property
    def sessions_dir(self) -> Path:
        """Which chats running programs have open."""
        return self.state_dir / "sessions"

    @property
    def snippets_dir(self) -> Path:
        """The user's own snippets."""
        return self.config_dir / "snippets"

    @property
    def skills_dir(self) -> Path:
        """The user's own skills."""
        return self.config_dir / "skills"

    @property
    def families_dir(self) -> Path:
        """The user's own families of models."""
        return self.config_dir / "families"


def default_paths() -> AppPaths:
    """Return the platform's directories; the XDG variables are honoured.

    Raises:
        NoHomeError: The user has no home folder, and not every variable replaces it.
    """
    # A relative XDG directory would depend on where the app was started; the standard ignores it.
    dirs = PlatformDirs(APP_NAME, appauthor=False)
    try:
        return AppPaths(
            config_dir=dirs.user_config_path.absolute(),
            data_dir=dirs.user_data_path.absolute(),
            state_dir=dirs.user_state_path.absolute(),
            cache_dir=dirs.user_cache_path.absolute(),
        )
    except RuntimeError as error:
        raise NoHomeError("This user has no home folder, so nothing can be kept.") from error


def expanded(path: Path) -> Path:
    """Expand `~`; leave the path as it is if there is no home folder."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def home_folder() -> Path | None:
    """Return the user's home folder, or None if there is none."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def config_path(paths: AppPaths, environ: Mapping[str, str], chosen: Path | None = None) -> Path:
    """Return the settings file: the one from the command line, from OLLM_CONFIG, or the default."""
    named = environ.get(CONFIG_VARIABLE)
    if chosen is not None:
        return expanded(chosen)
    return expanded(Path(named)) if named else paths.config_file


def private_folder(folder: Path) -> Path:
    """Make a folder and its missing parents for the owner alone; keep existing ones as they are."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)
        path.chmod(0o700)  # the mask may have taken more than it should
    return folder


def find_program(name: str, environ: Mapping[str, str], *further: str) -> Path | None:
    """Find a program in the absolute folders of PATH, then in further ones."""
    # On Windows `shutil.which` looks in the current folder too.
    for folder in (*environ.get("PATH", "").split(os.pathsep), *further):
        path = Path(folder) / name
        if path.is_absolute() and os.access(path, os.X_OK) and is_file(path):
            return path
    return None
