"""The folder that models live in."""

from pathlib import Path


def make_private(folder: Path) -> None:
    """Make the folder, for its owner alone; one that is there is left as it is."""
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)  # the mask may have taken more than it should
