"""The registry of models as this program keeps it."""

from ollm_tui.config.paths import AppPaths
from ollm_tui.library.hub.repo import Hub
from ollm_tui.library.registry.catalogue import ModelRegistry


def make_registry(paths: AppPaths, hub: Hub | None = None) -> ModelRegistry:
    """Make it; nothing is read before it is asked."""
    return ModelRegistry(
        opinions_file=paths.data_dir / "registry.json",
        hub_file=paths.cache_dir / "hub.json",
        hub=hub,
    )
