"""Deleting a model's files: only in the app's own folder, and all that belongs to them."""

import contextlib
from pathlib import Path

from ollm_tui.config.regular_file import real_path
from ollm_tui.library.model_file import ModelFile
from ollm_tui.library.sidecars import sidecars_of
from ollm_tui.protocol.errors import AIError, ErrorCode


def check_removal(name: str, file: ModelFile) -> None:
    """Do nothing for a model that may go.

    Raises:
        AIError: it stays, for the reason given.
    """
    reason = file.folder.why_kept or _outside(file)
    if reason is not None:
        raise AIError(
            ErrorCode.UNSUPPORTED_FEATURE, f"{name} cannot be deleted from here.", hint=reason
        )


def remove(name: str, file: ModelFile) -> None:
    """Remove a model for good; a folder that is empty then goes too.

    Raises:
        AIError: it stays; `details["left"]` names what is still there when only a part is gone.
    """
    check_removal(name, file)
    left = list(file.paths)
    try:
        # The first part is what an engine opens: without it nobody takes the rest for a model.
        while left:
            left[0].unlink(missing_ok=True)
            for sidecar in sidecars_of(left[0]):
                sidecar.unlink(missing_ok=True)
            left.pop(0)
    except OSError as error:
        raise AIError(
            ErrorCode.INTERNAL_ERROR,
            f"{name} could not be deleted: {error.strerror or error}.",
            hint=f"Still there: {left[0]}.",
            details={"left": [str(path) for path in left]},
        ) from error
    _remove_empty(file.path.parent, file.folder.path)


def _outside(file: ModelFile) -> str | None:
    """Tell when a link leads out of the own folder: what lies behind it belongs to somebody else.

    A file that is a link itself may go, as only the link does.
    """
    own, place = real_path(file.folder.path), real_path(file.path.parent)
    return None if place.is_relative_to(own) else f"It is in {place}; delete it there."


def _remove_empty(folder: Path, top: Path) -> None:
    with contextlib.suppress(OSError):  # it holds something else
        while folder != top and top in folder.parents:
            folder.rmdir()
            folder = folder.parent
