"""Pictures that a model made, written to files that did not exist before."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from anyio import to_thread

from ollm_tui.config.paths import expanded
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.images import read_image_header
from ollm_tui.protocol.blocks import ImageContent
from ollm_tui.protocol.errors import AIError, ErrorCode

_SUFFIXES: Final = {"jpeg": (".jpg", ".jpeg")}
"""By kind, how names may end, if not by the kind itself."""
_MOST_NAMES: Final = 1000


async def save_picture(picture: ImageContent, name: str) -> Path:
    """Write a picture to a file and return its path; without a name it gets one with a number.

    Raises:
        AIError: BAD_REQUEST if the name is taken, or is that of another kind of picture;
            INTERNAL_ERROR if it cannot be written.
    """
    data = picture.data
    header = read_image_header(data) if isinstance(data, bytes) else None
    if header is None or not isinstance(data, bytes):
        raise AIError(ErrorCode.BAD_REQUEST, "The picture is a link, which is not followed.")
    suffixes = _SUFFIXES.get(header.kind, (f".{header.kind}",))
    return await to_thread.run_sync(_written, data, suffixes, name.strip())


def _written(data: bytes, suffixes: tuple[str, ...], name: str) -> Path:
    for path in _names(suffixes, name):
        try:
            _write_new(path, data)
        except FileExistsError:
            if name:
                raise _refusal(path, "exists already", "Choose another name.") from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else "its name"
            raise AIError(
                ErrorCode.INTERNAL_ERROR,
                f"{clean_name(str(path))} could not be written ({reason}).",
            ) from error
        else:
            return path
    raise AIError(ErrorCode.BAD_REQUEST, "Name the file: /image save cat.png.")


def _names(suffixes: tuple[str, ...], name: str) -> Iterator[Path]:
    if not name:
        yield from (Path(f"picture-{number}{suffixes[0]}") for number in range(1, _MOST_NAMES))
        return
    path = expanded(Path(name))
    if path.suffix and path.suffix.lower() not in suffixes:
        kind = suffixes[0].removeprefix(".").upper()
        raise _refusal(
            path, f"is no name for a {kind} picture", f"End it with {suffixes[0]}, or with nothing."
        )
    yield path if path.suffix else path.with_name(path.name + suffixes[0])


def _write_new(path: Path, data: bytes) -> None:
    """Write a file that is whole when this returns; a part of it is removed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o666)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def _refusal(path: Path, why: str, hint: str) -> AIError:
    return AIError(ErrorCode.BAD_REQUEST, f"{clean_name(str(path))} {why}.", hint=hint)
