"""Files of the app that are written whole or not at all, for their owner alone."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from ollm_tui.config.paths import private_folder

_PRIVATE: Final = 0o600


def write_private(
    path: Path, data: bytes, *, by_way_of: Path | None = None, lasting: bool = True
) -> None:
    """Put `data` in the place of a file, whose folder is made; touches the disk.

    Another program finds the old file or the new one, never a part of one. `by_way_of` is where
    the new one lies until it is whole; of its own accord it has a name that nobody else takes.
    `lasting` forces the bytes to the disk first, for what a power cut must not empty.

    Raises:
        OSError: it cannot be written; the old one is still there.
    """
    private_folder(path.parent)
    new = by_way_of or path.with_name(f".{os.urandom(8).hex()}.new")
    if by_way_of is not None:
        new.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(new, flags, _PRIVATE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if lasting:
                file.flush()
                os.fsync(descriptor)
        new.replace(path)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise
