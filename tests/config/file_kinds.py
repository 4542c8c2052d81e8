"""What can lie where a file is expected, and every file that the program reads.

Run as a program, it tries each kind that it reads with every reader: in a process of its own, whose
memory and time are bounded, so that a reader that waits or takes all there is fails and holds up
nobody. These processes are copies of the program, which has the readers in its memory.
"""

import asyncio
import json
import logging
import os
import resource
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ollm_tui.attachments.attachment import read_file
from ollm_tui.cli.log import logging_to
from ollm_tui.config.early import early_settings
from ollm_tui.config.edit import set_key
from ollm_tui.config.keys.hub import token_of_file
from ollm_tui.config.load import load_config
from ollm_tui.config.paths import AppPaths
from ollm_tui.config.private_file import open_lock
from ollm_tui.frontend.prompt_history import PromptHistory
from ollm_tui.library.downloads.job_folder import JobFolder, is_locked
from ollm_tui.library.downloads.part_file import load_state, open_part, part_path
from ollm_tui.library.folder_library import FolderLibrary
from ollm_tui.library.gguf import read_header
from ollm_tui.library.gguf_header import BadGGUF
from ollm_tui.library.provenance import provenance_facts, provenance_path
from ollm_tui.library.registry.storage import read_object, update_object
from ollm_tui.library.starter import STARTER, _unpack, starter_path
from ollm_tui.protocol.errors import AIError
from ollm_tui.providers.client import _context
from ollm_tui.providers.spec import ProviderSpec
from ollm_tui.runtime.choices import Choices, load_choices
from ollm_tui.store.conversations import open_store
from ollm_tui.store.files import Instances
from ollm_tui.tui.theming.themes import ThemeProblem, read_theme
from tests.support.guarded import fair_clock

MAX_MEMORY = 3 * 2**30
"""Address space; a sparse file that is read whole would take more."""
MAX_SECONDS, LOOK_S = 10, 0.05
"""For one reader; each takes milliseconds."""
HUGE = 3 * 10**9


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(path.parent)  # a socket's path may have some 100 bytes at most
        listener.bind(path.name)
        os.chdir(here)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(HUGE)


def _unreadable(path: Path) -> None:
    path.write_bytes(b"{}")
    path.chmod(0)


def _link_to_a_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.symlink_to(path.with_name("pipe"))


def _below_a_file(path: Path) -> None:
    path.parent.rmdir()
    path.parent.touch()


KINDS: Mapping[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "folder": Path.mkdir,
    "socket": _socket,
    "endless device": lambda path: path.symlink_to("/dev/zero"),
    "empty device": lambda path: path.symlink_to("/dev/null"),
    "link to a pipe": _link_to_a_pipe,
    "link to nowhere": lambda path: path.symlink_to(path.with_name("gone")),
    "link to itself": lambda path: path.symlink_to(path),
    "file that may not be read": _unreadable,
    "huge file": _sparse,
    "empty file": Path.touch,
    "no text": lambda path: path.write_bytes(b"\xff\xfe\x00" * 1000),
    "zeros": lambda path: path.write_bytes(bytes(10_000)),
    "deep lists": lambda path: path.write_bytes(b"[" * 100_000),
    "deep tables": lambda path: path.write_bytes(b'{"a":' * 100_000),
    "a key of many parts": lambda path: path.write_bytes(b".".join([b"a"] * 400_000) + b" = 1"),
    "a long line": lambda path: path.write_bytes(b"a" * 5_000_000),
    "file below a file": _below_a_file,
}


def _settings(path: Path) -> None:
    elsewhere = Path(tempfile.mkdtemp())
    paths, environ = AppPaths(*[elsewhere] * 4), {"OLLM_CONFIG": str(path)}
    assert early_settings(paths, environ).theme == "dusk"
    loaded = load_config(paths, environ)
    assert loaded.config.theme == "dusk"
    assert all("\n" not in str(problem) for problem in loaded.all_problems)
    message = _refusal(lambda: set_key(path, "theme", "paper"), AIError)
    assert message is None or str(path) in message


def _authorities(path: Path) -> None:
    elsewhere = Path(tempfile.mkdtemp())
    text = f'[providers.a]\nbase_url = "https://a"\nca_file = "{path}"\n'
    (elsewhere / "config.toml").write_text(text)
    loaded = load_config(AppPaths(*[elsewhere] * 4), {})
    assert "cannot be used" in str(loaded.config.providers["a"].problem)
    _adapter_with(path)


def _adapter_with(path: Path) -> None:
    spec = ProviderSpec(name="a", kind="openai", base_url="https://a", ca_file=path)
    message = _refusal(lambda: _context(spec), AIError)
    assert message is not None, "other authorities are trusted"
    assert "cannot be read" in message


def _hub_token(path: Path) -> None:
    assert all("a" * 100 not in str(found) for found in token_of_file({"HF_TOKEN_PATH": str(path)}))


def _theme(path: Path) -> None:
    message = _refusal(lambda: read_theme(path), ThemeProblem)
    assert message is not None, "it is a theme"
    assert "\n" not in message


def _choices(path: Path) -> None:
    assert load_choices(path) == Choices()


def _history(path: Path) -> None:
    history = PromptHistory(path)
    assert history.previous("") is None
    history.add("typed", "typed")


def _json(path: Path) -> None:
    assert read_object(path) == {}
    _or_refused(lambda: update_object(path, lambda _kept: {"a": 1}))


def _provenance(path: Path) -> None:
    _or_refused(lambda: path.rename(provenance_path(path.with_name("m"))))
    assert provenance_facts(path.with_name("m")) == {}


def _record(path: Path) -> None:
    _or_refused(lambda: path.rename(path.with_name("job.json")))
    JobFolder(path.parent).load_all()


def _part_state(path: Path) -> None:
    assert load_state(path) is None


def _part(path: Path) -> None:
    target = path.with_name("m.gguf")
    _or_refused(lambda: path.rename(part_path(target)))
    _or_refused(lambda: open_part(target, os.pwrite).close())


def _lock(path: Path) -> None:
    assert not is_locked(path)
    _or_refused(lambda: os.close(open_lock(path)))


def _model(path: Path) -> None:
    message = _refusal(lambda: read_header(path), BadGGUF, OSError)
    assert message is not None, "it is a model"
    for name in ("m.gguf", "ggml-m.bin"):
        _or_refused(lambda name=name: path.rename(path.with_name(name)))  # type: ignore[misc]
        FolderLibrary([path.parent]).models()


def _checked_sum(path: Path) -> None:
    _or_refused(lambda: path.rename(path.with_name(STARTER.file_name + ".sha256")))
    assert starter_path(path.parent) is None


def _wheel(path: Path) -> None:
    out = Path(tempfile.mkdtemp()) / "out"
    message = _refusal(lambda: _unpack(path, out, STARTER, lambda _done: None), AIError, OSError)
    assert message is not None, "it is a wheel"


def _attachment(path: Path) -> None:
    message = _refusal(lambda: read_file(path, 10_000_000), AIError)
    assert message is None or message.endswith(".")


def _chats(path: Path) -> None:
    async def opened() -> None:
        async with open_store(path) as store:
            await store.list()

    asyncio.run(opened())


def _journal(path: Path) -> None:
    database = path.with_name("chats.db")
    _or_refused(lambda: path.rename(path.with_name("chats.db-journal")))
    _or_refused(lambda: database.write_bytes(b""))
    _chats(database)


def _living(path: Path) -> None:
    database = path.parent / "chats.db"
    folder = path.parent / "chats.live"
    _or_refused(folder.mkdir)
    _or_refused(lambda: path.rename(folder / "other.lock"))
    Instances(database, "own").others()


def _log(path: Path) -> None:
    with logging_to(path):
        logging.getLogger("tried").warning("said")


def _refusal(act: Callable[[], object], *errors: type[Exception]) -> str | None:
    try:
        act()
    except errors as error:
        return str(error)
    return None


def _or_refused(act: Callable[[], object]) -> None:
    _refusal(act, OSError)


READERS: Mapping[str, Callable[[Path], None]] = {
    "settings": _settings,
    "authorities": _authorities,
    "hub token": _hub_token,
    "theme": _theme,
    "choices": _choices,
    "prompt history": _history,
    "ratings, uses and a hub's answers": _json,
    "where a model is from": _provenance,
    "record of a download": _record,
    "state of a download": _part_state,
    "part of a download": _part,
    "lock": _lock,
    "model": _model,
    "checked sum": _checked_sum,
    "wheel": _wheel,
    "attachment": _attachment,
    "saved chats": _chats,
    "journal of the saved chats": _journal,
    "lock of a living program": _living,
    "log": _log,
}


@contextmanager
def _within_its_time() -> Iterator[None]:
    """Interrupt whoever takes longer, also one that only waits."""
    end = time.monotonic() + MAX_SECONDS

    def look(_number: int, _frame: object) -> None:
        if time.monotonic() > end:
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise AssertionError(f"it took over {MAX_SECONDS} s")

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, LOOK_S, LOOK_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def try_with_every_reader(kind: str) -> dict[str, str]:
    """Give what failed."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    failed: dict[str, str] = {}
    for name, read in READERS.items():
        path = Path(tempfile.mkdtemp()) / "below" / "it.json"
        path.parent.mkdir()
        KINDS[kind](path)
        try:
            with _within_its_time():
                read(path)
        except BaseException as error:
            failed[name] = f"{type(error).__name__}: {error}"[:500]
    return failed


def main() -> None:
    """Print a line for each kind; the exit code of a process that told nothing is told, too."""
    fair_clock.install()
    for line in sys.stdin:
        if not (process := os.fork()):
            code = 1
            try:
                told = json.dumps(try_with_every_reader(line.strip()))
                code = os.write(sys.stdout.fileno(), f"{told}\n".encode()) <= 0
            finally:
                os._exit(code)
        if code := os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]):
            os.write(sys.stdout.fileno(), f'{{"all": "ended with {code}"}}\n'.encode())


if __name__ == "__main__":
    main()
