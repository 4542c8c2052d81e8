"""What contains the commands of models here: found out by trying, and never claimed beyond that."""

import json
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

from ollm_tui.config.regular_file import is_file, is_folder, real_path
from ollm_tui.dataclass import dataclass
from ollm_tui.shell.seatbelt import seatbelt_launcher

CONFINED: Final = (sys.executable, "-I", "-S", str(Path(__file__).with_name("confined.py")))
_PACKAGE: Final = Path(__file__).parents[1]
"""This program, which may be installed from a checkout that is no part of the environment."""
_PACKAGES: Final = frozenset({"site-packages", "dist-packages"})
"""Names of folders with installed packages, such as those of one user."""
REFUSED: Final = 125
"""The exit code of a command that could not be contained as it was to be."""
GB: Final = 1 << 30
_LIMITS: Final[Mapping[str, int]] = {"DATA": 4 * GB, "FSIZE": GB, "CORE": 0}
_MAX_PROCESSES: Final = 512
_PROBE_S: Final = 10.0
_SOCKETS: Final = (
    *("/run/user", "/run/dbus", "/run/docker.sock", "/run/podman", "/run/containerd"),
    *("/run/systemd/private", "/var/run/docker.sock", "/tmp/.X11-unix"),
)
"""Doors to programs that would do the work of a command outside; hidden where there is a network.
Without one, all of `/run` is. Other sockets are looked for when a command begins."""
_TERMINALS: Final = "/dev/pts"
"""Hidden, since a command could read what the user types into one."""

_STARTED: Final = (
    *(".git/hooks", ".git/config", ".envrc", ".profile", ".bashrc", ".bash_profile"),
    *(".bash_login", ".bash_aliases", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".local/bin"),
    *(".config/autostart", ".config/systemd", ".config/fish", ".config/git", ".gitconfig"),
)
"""What shells and git run by themselves, read-only for commands where it is."""

Sandbox: TypeAlias = Literal["namespaces", "landlock", "seatbelt", "none"]


@dataclass(frozen=True, slots=True)
class Containment:
    """The sandbox of commands."""

    sandbox: Sandbox
    network: bool = False
    """Whether commands may use the network."""
    asks_programs: bool = False
    """Whether they reach sockets of programs outside, which Linux can refuse from 6.12 on."""

    @property
    def is_whole(self) -> bool:
        """Whether the sandbox covers all that it can."""
        return self.sandbox == "namespaces" and not self.asks_programs

    @property
    def key(self) -> str:
        """What tells it from other ones, such as `namespaces+network`; it is kept in files."""
        more = ("+network" if self.network else "") + ("+programs" if self.asks_programs else "")
        return f"{self.sandbox}{more}"

    @property
    def word(self) -> str:
        """What holds, for a line of status."""
        match self.sandbox:
            case "namespaces":
                partly = "partly " if self.asks_programs else ""
                return f"{partly}contained: writes{'' if self.network else ', network'}"
            case "landlock":
                return "partly contained: writes"
            case "seatbelt":
                return f"partly contained: writes{'' if self.network else ', network'}"
        return "not contained"

    @property
    def sentence(self) -> str:
        """What holds, for the question before a command."""
        match self.sandbox:
            case "namespaces" if self.asks_programs:
                return (
                    "Partly contained: it writes only in this folder, but has the network and can "
                    "ask other programs to do more."
                )
            case "namespaces":
                network = "has the network" if self.network else "has no network"
                return f"Contained: it writes only in this folder and {network}."
            case "landlock":
                return (
                    "Partly contained: it writes only in this folder and in shared memory, but can "
                    "read all files, change permissions elsewhere, use the network and ask other "
                    "programs to do more."
                )
            case "seatbelt":
                network = "" if self.network else " and uses no network"
                return (
                    f"Partly contained: macOS lets it write only in this folder{network}, but it "
                    "can read other files, and services of the system may do more for it."
                )
        return "Not contained: it can do all that you can."

    def launcher(self, writable: Sequence[str], hidden: Sequence[str]) -> tuple[str, ...]:
        """Return the beginning of a command line that runs the rest in the sandbox."""
        if self.sandbox == "seatbelt":
            return seatbelt_launcher(writable, hidden, network=self.network)
        if system_name() != "linux":
            return ()
        has_namespaces = self.sandbox == "namespaces"
        limits = {**_LIMITS, "NPROC": _MAX_PROCESSES} if has_namespaces else _LIMITS
        kept = _kept_within(writable)
        spec = {
            "limits": limits,
            "writable": [*writable],
            "kept": kept,
            "held": _held_above(kept, writable),
            "hidden": [
                *hidden,
                _TERMINALS,
                *(_SOCKETS if self.network else ("/run", "/tmp/.X11-unix")),
            ],
            "namespaces": has_namespaces,
            "landlock": self.sandbox != "none",
            "network": self.network,
        }
        return (*CONFINED, json.dumps(spec))


def _kept_within(writable: Sequence[str]) -> list[str]:
    """Return what commands never change in writable folders, since it would run unsandboxed.

    This is the program itself, and what is there of files that shells and git run by themselves.
    """
    places = {str(real_path(Path(place))) for place in (sys.prefix, sys.base_prefix, _PACKAGE)}
    packages = [Path(place) for place in sys.path if Path(place).name in _PACKAGES]
    places |= {str(real_path(place)) for place in packages if is_folder(place)}
    for folder in writable:
        started = [real_path(Path(folder, name)) for name in _STARTED]
        pointer = Path(folder, ".git")
        started += [pointer] if is_file(pointer) else []
        places |= {str(one) for one in started if is_file(one) or is_folder(one)}
    within = [place for place in places if any(_is_below(place, one) for one in writable)]
    # A place inside another one would have the folders between them writable.
    return sorted(place for place in within if not any(_is_below(place, one) for one in within))


def _held_above(kept: Sequence[str], writable: Sequence[str]) -> list[str]:
    """Return the folders around what is kept, which must not be moved away with it."""
    above = {str(folder) for place in kept for folder in Path(place).parents}
    return sorted(one for one in above if any(_is_below(one, folder) for folder in writable))


def _is_below(place: str, folder: str) -> bool:
    return place.startswith(f"{folder.rstrip('/')}/")


def system_name() -> str:
    """Return what this system is called."""
    return sys.platform


def find_containment(folder: Path, *, network: bool) -> Containment:
    """Try which sandbox the system has; blocks for some tenths of a second."""
    if system_name() == "darwin":
        containment = Containment("seatbelt", network)
        if _holds(containment, folder):
            return containment
    if system_name() == "linux":
        sandbox: Sandbox
        for sandbox in ("namespaces", "landlock"):
            containment = Containment(sandbox, network or sandbox == "landlock")
            if _holds(containment, folder):
                shares_sockets = sandbox == "namespaces" and network
                asks = shares_sockets and _asks_programs(containment, folder)
                return replace(containment, asks_programs=asks)
    return Containment("none", network=True)


def _holds(containment: Containment, folder: Path) -> bool:
    """Whether a command runs in the sandbox, and cannot write beside the folder."""
    beside = f"../.ollm-probe-{os.getpid()}"
    command = f"touch {beside} 2>/dev/null && {{ rm -f {beside}; exit 1; }}; test -w ."
    return _succeeds(containment, folder, ["/bin/sh", "-c", command])


def _asks_programs(containment: Containment, folder: Path) -> bool:
    """Whether a command reaches a socket without a file, which this program listens at."""
    name = f"\0ollm-probe-{os.getpid()}-{secrets.token_hex(8)}"
    ask = "import socket, sys; socket.socket(socket.AF_UNIX).connect(chr(0) + sys.argv[1])"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(name)
        listener.listen(1)
        return _succeeds(containment, folder, [sys.executable, "-I", "-S", "-c", ask, name[1:]])


def _succeeds(containment: Containment, folder: Path, command: Sequence[str]) -> bool:
    try:
        done = subprocess.run(
            [*containment.launcher([str(folder)], []), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env={"PATH": "/usr/bin:/bin"},
            timeout=_PROBE_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0
