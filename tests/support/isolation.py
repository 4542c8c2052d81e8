"""Keep the tests away from the machine's own servers, on every system.

Where Linux allows it, the test run moves into a network namespace with a loopback of its own.
Everywhere else a guard refuses the fixed ports on which real servers listen, and fails a test that
connects to an address beyond this machine.
"""

import ctypes
import fcntl
import os
import shutil
import socket
import struct
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.support.guarded import sitecustomize as guard

CHOICE = "NETWORK_OF_TESTS"
"""Set to `shared` to run the tests in the machine's own network, with the guard alone."""

CLONE_NEWNET = 0x40000000
CLONE_NEWUSER = 0x10000000
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
IFF_UP = 1
INTERFACE = struct.Struct("16sh14x")

KEPT = {"PATH", "LD_LIBRARY_PATH", "TMPDIR", "TZ", "VIRTUAL_ENV", "SYSTEMROOT", "PYTHONHASHSEED"}
KEPT |= {"TEST_SEED", "MUTATED_STREAMS"}  # they choose what a series of random cases is
KEPT_PREFIXES = ("PYTEST_", "HYPOTHESIS_", "COVERAGE_", "COV_CORE_")
ROOT = Path(__file__).resolve().parents[2]


def enter_own_network() -> bool:
    """Move this process, and those it starts, into a network of their own if the system allows."""
    if sys.platform != "linux" or os.environ.get(CHOICE) == "shared":
        return False
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
            return False
        _keep_identity(user, group)
    _raise_loopback()
    os.environ[CHOICE] = "own"
    return True


def _keep_identity(user: int, group: int) -> None:
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = INTERFACE.pack(b"lo", 0)
        _, flags = INTERFACE.unpack(fcntl.ioctl(control, SIOCGIFFLAGS, request))
        fcntl.ioctl(control, SIOCSIFFLAGS, INTERFACE.pack(b"lo", flags | IFF_UP))


def own_environment(environ: Mapping[str, str], home: Path) -> dict[str, str]:
    """Return what a test may see of the environment, with every folder inside `home`."""
    kept = {
        name: value
        for name, value in environ.items()
        if name in KEPT or name.startswith(KEPT_PREFIXES) or name == CHOICE
    }
    folders = {
        f"XDG_{kind}_HOME": str(home / f".{kind.lower()}")
        for kind in ("CONFIG", "DATA", "STATE", "CACHE")
    }
    own = {"HOME": str(home), "LANG": "C.UTF-8"}
    if shutil.which("llama-server", path=kept.get("PATH")):
        own["OLLM_EMBEDDED__SERVER"] = "none"  # it would run the model files of the tests
    return {**kept, **folders, **own}


def path_without(program: str, path: str, folder: Path) -> str:
    """Return a PATH that has all programs but one: a folder with it is replaced by links."""
    folders = []
    for number, one in enumerate(path.split(os.pathsep)):
        if not (Path(one) / program).exists():
            folders.append(one)
            continue
        links = folder / str(number)
        links.mkdir(parents=True)
        for entry in os.scandir(one):
            if entry.name != program:
                (links / entry.name).symlink_to(entry.path)
        folders.append(str(links))
    return os.pathsep.join(folders)


def guarded_path(*folders: Path) -> str:
    """Return a `PYTHONPATH` of these folders under which a child process has the guard, too."""
    return os.pathsep.join(str(folder) for folder in (guard.FOLDER, *(folders or (ROOT,))))
