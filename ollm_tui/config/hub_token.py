"""The token that `hf auth login` leaves in a file."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from ollm_tui.config.file_settings import FILE_RANK, READABLE_BY_OTHERS
from ollm_tui.config.origin import ConfigProblem, Origin
from ollm_tui.config.paths import expanded
from ollm_tui.config.regular_file import read_bounded

_MOST_BYTES = 4096


def token_path(environ: Mapping[str, str]) -> Path:
    """Give the file as `huggingface_hub` finds it: HF_TOKEN_PATH, HF_HOME, the cache folder."""
    if named := environ.get("HF_TOKEN_PATH"):
        return Path(named)
    if home := environ.get("HF_HOME"):
        return Path(home) / "token"
    return Path(environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface" / "token"


def token_of_file(
    environ: Mapping[str, str],
) -> Iterator[tuple[str, Origin, int] | ConfigProblem]:
    """Give the token with its place and rank, if there is one, and a word about who can read it."""
    try:
        path = expanded(token_path(environ))
        token = read_bounded(path, _MOST_BYTES).decode("utf-8", "replace").strip()
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return  # no file, not ours to read: there is no token
    if not token:
        return
    origin = Origin("file", str(path))
    yield token, origin, FILE_RANK
    if mode & READABLE_BY_OTHERS:
        yield ConfigProblem(
            "The hub's token is in a file that other users of this machine can read.",
            origin,
            hint=f"Run `chmod 600 {path}`.",
            severity="warning",
        )
