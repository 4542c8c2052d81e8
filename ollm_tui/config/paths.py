"""The directories of the app; nothing else knows them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from platformdirs import PlatformDirs

APP_NAME = "ollm"
CONFIG_VARIABLE = "OLLM_CONFIG"


class NoHomeError(Exception):
    """Nobody knows where the user's files belong, as in a container for a user without a name."""

    hint = "Set HOME, or XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_STATE_HOME and XDG_CACHE_HOME."


@dataclass(frozen=True, slots=True)
class AppPaths:
    """Where the app keeps what belongs to the user; none of them has to exist."""

    config_dir: Path
    data_dir: Path
    state_dir: Path
    cache_dir: Path

    @property
    def config_file(self) -> Path:
        """The settings, unless a flag or the environment names another file."""
        return self.config_dir / "config.toml"

    @property
    def models_dir(self) -> Path:
        """Model files of the built-in engine."""
        return self.data_dir / "models"

    @property
    def themes_dir(self) -> Path:
        """A person's own themes."""
        return self.config_dir / "themes"


def default_paths() -> AppPaths:
    """Give the platform's directories; the XDG variables are honoured.

    Raises:
        NoHomeError: the user has no home folder, and not every variable says another one.
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
    """Put a home folder in the place of `~`; one that cannot be found leaves it as it stands."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def home_folder() -> Path | None:
    """Give the user's home folder, if there is one."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def config_path(paths: AppPaths, environ: Mapping[str, str], chosen: Path | None = None) -> Path:
    """Give the settings file: the one chosen on the command line, else OLLM_CONFIG's, else ours."""
    named = environ.get(CONFIG_VARIABLE)
    if chosen is not None:
        return expanded(chosen)
    return expanded(Path(named)) if named else paths.config_file


def private_folder(folder: Path) -> Path:
    """Make a folder, and those above it, for the owner alone; what is there is left as it is."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    for place in reversed(missing):
        place.mkdir(mode=0o700, exist_ok=True)
        place.chmod(0o700)  # the mask may have taken more than it should
    return folder
