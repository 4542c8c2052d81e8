"""Checks names from the network that become file names, by an allow-list.

A name must mean the same file under the rules of POSIX and of Windows, on every machine:
libraries lie on shared disks, and a name that is harmless here may not be there.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from ollm_tui.config.regular_file import real_path
from ollm_tui.decode.clean import clean_name
from ollm_tui.lazy import lazy_re
from ollm_tui.library.file_names import SIDECAR_ENDINGS as SIDECAR_ENDINGS
from ollm_tui.protocol.errors import AIError, ErrorCode

OWN_ENDINGS: Final = (".part", ".part.json", ".part.json.new", ".part.lock", *SIDECAR_ENDINGS)
"""Endings of the files beside a download."""
MAX_NAME_BYTES: Final = 255 - max(map(len, OWN_ENDINGS))
MAX_PATH_BYTES: Final = 1024
MAX_FOLDERS: Final = 8
_CHARACTERS: Final = frozenset(" ._-+=@,()[]{}!#&'")
_DEVICE: Final = lazy_re(
    r"(con|prn|aux|nul|conin\$|conout\$|clock\$|(com|lpt)[0-9¹²³])\s*(\..*)?", re.IGNORECASE
)
_SHOWN: Final = 120


def checked_path(root: Path, path: str) -> Path:
    """Return where a file of a repository goes below `root`; `path` is written with `/`.

    Raises:
        AIError: BAD_REQUEST for a name that is refused, or a link that leads out of `root`.
    """
    if len(_encoded(path)) > MAX_PATH_BYTES:
        raise _refused(path, f"it is longer than {MAX_PATH_BYTES} bytes")
    names = path.split("/")
    if len(names) > MAX_FOLDERS + 1:
        raise _refused(path, f"it has more than {MAX_FOLDERS} folders")
    for name in names:
        problem = next((reason for is_so, reason in _REASONS if is_so(name)), None)
        if problem is not None:
            raise _refused(path, problem)
    target = root.joinpath(*names)
    if not real_path(target.parent).is_relative_to(real_path(root)):
        raise _refused(path, f"a link leads out of {root}")
    return target


def refuse_collisions(paths: Iterable[str]) -> None:
    """Refuse paths that collide where case or the encoding of accents does not count.

    Raises:
        AIError: BAD_REQUEST naming the second of the two.
    """
    seen: dict[str, str] = {}
    for path in paths:
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFKD", path).casefold())
        if folded in seen:
            other = clean_name(seen[folded])[:_SHOWN]
            raise _refused(path, f"it may be the same file as {other}")
        seen[folded] = path


def _is_allowed(character: str) -> bool:
    if character.isascii():
        return character.isalnum() or character in _CHARACTERS
    return unicodedata.category(character)[0] in "LMN"


def _has_bad_character(name: str) -> bool:
    return clean_name(name) != name or not all(map(_is_allowed, name))


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


def _refused(name: str, why: str) -> AIError:
    shown = clean_name(name[: 2 * _SHOWN])
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
    return AIError(
        ErrorCode.BAD_REQUEST,
        f"refused name {shown}: {why}.",
        hint="It was not written; report it to the publisher of the file.",
        details={"refused_name": shown},
    )


_REASONS: Final[Sequence[tuple[Callable[[str], object], str]]] = (
    (lambda name: not name, "a part of it is empty"),
    (
        lambda name: len(_encoded(name)) > MAX_NAME_BYTES,
        f"it is longer than {MAX_NAME_BYTES} bytes",
    ),
    (lambda name: name[0] in ". ", "it begins with a dot or a space"),
    (lambda name: name[-1] in ". ", "it ends with a dot or a space"),
    (_has_bad_character, "it holds signs that no file name here may have"),
    (
        lambda name: unicodedata.normalize("NFC", name) != name,
        "its accents are written in an unusual way",
    ),
    (_DEVICE.fullmatch, "it is a device's name on Windows"),
    (lambda name: name.lower().endswith(OWN_ENDINGS), "files that are not whole yet are called so"),
)
