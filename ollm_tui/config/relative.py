"""Paths in the settings: `~` is the home, and a relative one begins at the settings file."""

from pathlib import Path

from ollm_tui.config.schema import AppConfig


def with_whole_paths(config: AppConfig, folder: Path) -> AppConfig:
    """Give the settings with every path made absolute."""
    providers = {
        name: settings.model_copy(update={"ca_file": whole(settings.ca_file, folder)})
        if settings.ca_file
        else settings
        for name, settings in config.providers.items()
    }
    folders = [whole(path, folder) for path in config.embedded.model_folders]
    embedded = config.embedded.model_copy(update={"model_folders": folders})
    return config.model_copy(update={"providers": providers, "embedded": embedded})


def whole(path: Path, folder: Path) -> Path:
    """Give an absolute path; a home that cannot be found leaves `~` as it stands."""
    try:
        return folder / path.expanduser()
    except RuntimeError:
        return folder / path
