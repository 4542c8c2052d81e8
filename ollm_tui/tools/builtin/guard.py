"""Keeps tools from the program's folders, places of secrets and keys, also in results.

Folders are identified by device and inode, so that no other spelling, link or mount leads there.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

from ollm_tui.config.paths import home_folder
from ollm_tui.config.regular_file import is_folder, real_path
from ollm_tui.dataclass import dataclass, field
from ollm_tui.decode.clean import clean_name
from ollm_tui.decode.redact import (
    MARK,
    SecretFinder,
    holds_private_key,
    is_guessable,
    overlapping,
    without_private_keys,
)
from ollm_tui.tools.builtin.secrets import is_secret_at, original_names, words
from ollm_tui.tools.define import ToolFailure

KERNEL_FOLDERS: Final = frozenset({"proc", "sys", "dev"})
_KNOWN_PLACES: Final = words(
    """
    .ssh .gnupg .aws .azure .kube .docker .netrc .git-credentials .npmrc .pypirc .pgpass .my.cnf
    .password-store .vault-token .bash_history .zsh_history .python_history .psql_history
    .config/gh .config/gcloud .config/git/credentials .config/containers .config/rclone
    .config/doctl .config/op .cargo/credentials .cargo/credentials.toml .terraform.d .ollama
    .m2/settings.xml .gem/credentials .huggingface .cache/huggingface/token .local/share/keyrings
    """
)
"""Places in a home folder whose contents are recognised under other names too."""
_MAX_ENTRIES: Final = 50_000
_REDACTED: Final = f"[Keys were taken out of this text; each stands as {MARK}.]"

Identity: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class FileGuard:
    """Decides what tools may open and return; made once, consulted for every call."""

    own: tuple[Path, ...] = ()
    """The program's folders, and files of its own elsewhere."""
    secrets: Callable[[], Iterable[str]] = tuple
    """Returns the keys that the program holds."""
    _finders: dict[tuple[str, ...], SecretFinder] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Finds the keys of the last look; they seldom change."""

    def look(self, root: Path) -> "Watch":
        """Begin one tool call below `root`; the places are looked up now, as they may change.

        Raises:
            ToolFailure: nothing below the root may be read.
        """
        watch = Watch(root, self.own, self._finder())
        watch.require_root()
        return watch

    def cleaned(self, text: str) -> str:
        """Return a tool's text with keys redacted, and with a note if there were any."""
        kept = self._finder().redact(without_private_keys(text))
        return text if kept == text else f"{kept}\n{_REDACTED}"

    def _finder(self) -> SecretFinder:
        # Not words that may be in any text, such as "ollama" for a server without keys. And not
        # parts of keys: a model chooses where a result is cut, and could find a key that way.
        keys = tuple(secret for secret in self.secrets() if not is_guessable(secret))
        finder = self._finders.get(keys)
        if finder is None:
            finder = SecretFinder(keys, cut=False)
            self._finders.clear()
            self._finders[keys] = finder
        return finder


@dataclass(slots=True)
class Watch:
    """The places that one call may not open; a refusal is a `ToolFailure`."""

    root: Path
    own: Sequence[Path]
    finder: SecretFinder
    _own_ids: frozenset[Identity] = field(init=False)
    _secret_ids: frozenset[Identity] = field(init=False)
    _own_files: frozenset[tuple[Identity, str]] = field(init=False)
    _own_contents: frozenset[Identity] | None = None
    _secret_contents: frozenset[Identity] | None = None

    def __post_init__(self) -> None:
        """Look up the places."""
        self._own_ids = frozenset(_identities(_with_links(self.own)))
        self._secret_ids = frozenset(_identities(known_places()))
        self._own_files = frozenset(
            (folder, place.name.casefold())
            for place in self.own
            if not is_folder(place)
            for folder in _identities([place.parent])
        )

    def require_root(self) -> None:
        """Refuse a root that is, or lies in, a protected place."""
        parts = self.root.parts[1:]
        for end in range(len(parts) + 1):
            place = Path("/", *parts[:end])
            try:
                status = place.stat()
            except OSError:
                continue
            if parts[:end]:
                self._require_names(parts[:end], str(place), is_folder=True)
            self._require_other(status, str(place))

    def require_above(self, root_fd: int) -> None:
        """Refuse the open root if it lies in a protected place: its path may contain links."""
        above, way = os.fstat(root_fd), ".."
        while not os.path.samestat(above, status := os.stat(way, dir_fd=root_fd)):
            self._require_other(status, str(self.root))
            above, way = status, f"{way}/.."

    def require_name(self, names: Sequence[str], *, is_folder: bool) -> None:
        """Refuse a place below the root by its names, before it is opened."""
        whole = (*self.root.parts[1:], *names)
        self._require_names(whole, shown_path(names), is_folder=is_folder)

    def require_opened(
        self, names: Sequence[str], status: os.stat_result, folder: os.stat_result | None = None
    ) -> None:
        """Refuse what was opened below the root; `folder` is the folder that contains it."""
        shown = shown_path(names)
        is_folder = stat.S_ISDIR(status.st_mode)
        self._require_names((*self.root.parts[1:], *names), shown, is_folder=is_folder)
        self._require_other(status, shown)
        if folder is not None and self._own_files and not is_folder:
            above = folder.st_dev, folder.st_ino
            if any((above, name) in self._own_files for name in original_names(names[-1])):
                raise _own(shown)

    def require_new(
        self, names: Sequence[str], rest: Sequence[str], folder: os.stat_result
    ) -> None:
        """Refuse a place of the program's own that does not exist yet.

        `rest` are the names that are missing, below the open `folder` at `names`.
        """
        above = folder.st_dev, folder.st_ino
        planned = _folded(real_path(self.root).joinpath(*names, *rest))
        if any((above, origin) in self._own_files for origin in original_names(rest[0])) or any(
            planned[: len(own)] == own for own in map(_folded, map(real_path, self.own))
        ):
            raise _own(shown_path((*names, *rest)))

    def may_open(
        self, names: Sequence[str], status: os.stat_result, folder: os.stat_result | None = None
    ) -> bool:
        """Return whether something found on the way may be opened."""
        try:
            self.require_opened(names, status, folder)
        except ToolFailure:
            return False
        return True

    def holds_keys(self, pieces: Iterable[bytes]) -> bool:
        """Return whether a file, given in pieces, holds a key of the program or a private key."""
        return any(
            holds_private_key(data) or self.finder.is_in(data) for data in overlapping(pieces)
        )

    def _require_names(self, whole: Sequence[str], shown: str, *, is_folder: bool) -> None:
        if whole[0] in KERNEL_FOLDERS and whole[:2] != ("dev", "shm"):
            raise ToolFailure(f"/{whole[0]} belongs to the system and cannot be read.")
        if is_secret_at(whole, is_folder=is_folder):
            raise secret_refusal(shown)

    def _require_other(self, status: os.stat_result, shown: str) -> None:
        identity = status.st_dev, status.st_ino
        if identity in self._own_ids:
            raise _own(shown)
        if identity in self._secret_ids:
            raise secret_refusal(shown)
        if status.st_nlink > 1 and stat.S_ISREG(status.st_mode):
            self._require_no_link(identity, shown)

    def _require_no_link(self, identity: Identity, shown: str) -> None:
        if self._own_contents is None or self._secret_contents is None:
            self._own_contents = _contents(self.own)
            self._secret_contents = _contents(known_places())
        if identity in self._own_contents:
            raise _own(shown)
        if identity in self._secret_contents:
            raise secret_refusal(shown)


def _folded(path: Path) -> tuple[str, ...]:
    return tuple(part.casefold() for part in path.parts)


def secret_refusal(shown: str) -> ToolFailure:
    """Return the refusal of a place of passwords or keys."""
    return ToolFailure(
        f"{shown} may hold passwords or keys and is not given to a model. "
        "Ask the user for what you need of it."
    )


def content_refusal(shown: str) -> ToolFailure:
    """Return the refusal of a file that contains a key."""
    return ToolFailure(
        f"{shown} holds a key and is not given to a model. Ask the user for what you need of it."
    )


def _own(shown: str) -> ToolFailure:
    return ToolFailure(f"{shown} belongs to ollm itself and is not given to a model.")


def shown_path(names: Sequence[str]) -> str:
    """Join names from the root; bytes that are not UTF-8 or invisible are spelled out."""
    joined = "/".join(os.fsencode(name).decode(errors="replace") for name in names)
    return clean_name(joined) or "."


def known_places() -> Iterator[Path]:
    """Yield the places of passwords and keys in the home folder, whether they are there or not."""
    home = home_folder()
    if home is not None:
        yield from (home / place for place in _KNOWN_PLACES)


def _identities(places: Iterable[Path]) -> Iterator[Identity]:
    for place in places:
        try:
            status = place.stat()
        except (OSError, ValueError):
            continue
        yield status.st_dev, status.st_ino


def _with_links(places: Iterable[Path]) -> Iterator[Path]:
    """Yield places, and the links in those that are folders: settings are often linked there."""
    for place in places:
        yield place
        try:
            with os.scandir(place) as entries:
                yield from (Path(entry) for entry in entries if entry.is_symlink())
        except (OSError, ValueError):
            continue


def _contents(places: Iterable[Path]) -> frozenset[Identity]:
    return frozenset(_identities(islice(_files(places), _MAX_ENTRIES)))


def _files(places: Iterable[Path]) -> Iterator[Path]:
    for place in places:
        if not is_folder(place):
            yield place
            continue
        for folder, _, names in os.walk(place):
            yield from (Path(folder, name) for name in names)
