"""Run a program that can write only in some folders; with the standard library alone, on Linux.

    python -I -S confined.py SPEC PROGRAM [ARGUMENT...]

SPEC is JSON, made by containment.py. If anything that it asks for cannot be done, nothing is run:
the exit code is 125 and standard error has one line. The sandbox is made of namespaces of the
kernel (all file systems read-only but some folders, others hidden, no network) and Landlock, which
also keeps the former from being changed. Everything that the program starts inherits both.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import resource
import socket
import stat
import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

REFUSED: Final = 125
MIN_ABI: Final = 3
"""Landlock before it cannot keep files from being truncated."""

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
MOUNT_ATTR_RDONLY, AT_RECURSIVE, AT_FDCWD = 1, 0x8000, -100
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
MAX_CAPABILITIES: Final = 64
SYS_MOUNT_SETATTR, SYS_CREATE, SYS_ADD_RULE, SYS_RESTRICT = 442, 444, 445, 446
VERSION_FLAG, PATH_BENEATH = 1, 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 1 << 1, 1 << 2, 1 << 3
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
OF_FILES: Final = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
READING: Final = EXECUTE | READ_FILE | READ_DIR
TCP: Final = 3
"""To bind and to connect."""
TEMPORARY: Final = (Path("/tmp"), Path("/var/tmp"))
MAX_ENTRIES: Final = 20_000
"""Of folders of temporary files that are looked through."""
SCOPES: Final = 3
"""No abstract sockets and no signals to processes outside."""
DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")

libc = ctypes.CDLL(None, use_errno=True)


def checked(result: int, what: str) -> int:
    """Return the result of a system call, or raise the error that it left."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def limit(limits: Mapping[str, int]) -> None:
    """Set limits of resources, by their names without `RLIMIT_`."""
    for name, most in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        _soft, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        resource.setrlimit(kind, (most, most))


def enter_namespaces(*, network: bool) -> None:
    """Leave the namespaces of the system, with the same user."""
    user, group = os.getuid(), os.getgid()
    flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS
    checked(libc.unshare(flags | (0 if network else CLONE_NEWNET)), "unshare")
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with Path(f"/proc/self/{name}").open("w", encoding="ascii") as file:
            file.write(text)
    if not network:
        # servers of the command, such as those of tests, are reached by itself
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            fcntl.ioctl(one, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """Mount a file system or a folder."""
    given = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    checked(libc.mount(given[0], given[1], given[2], ctypes.c_ulong(flags), given[3]), "mount")


def set_read_only(path: str, *, is_on: bool) -> None:
    """Make what is mounted at a path, and below it, read-only; or one mount writable again."""
    attributes = struct.pack(
        "QQQQ", *((MOUNT_ATTR_RDONLY, 0) if is_on else (0, MOUNT_ATTR_RDONLY)), 0, 0
    )
    flags = AT_RECURSIVE if is_on else 0
    checked(
        libc.syscall(
            SYS_MOUNT_SETATTR, AT_FDCWD, os.fsencode(path), flags, attributes, len(attributes)
        ),
        "mount_setattr",
    )


def find_sockets() -> Sequence[Path]:
    """Return where programs of this system take requests, before the network is another one.

    A terminal multiplexer, for one, starts what it is asked for, outside of every sandbox. Those
    that the kernel lists come with those in folders of temporary files.
    """
    with Path("/proc/net/unix").open(encoding="utf-8", errors="surrogateescape") as table:
        fields = [line.rstrip("\n").split(" ", 7)[-1] for line in table]
    sockets = {Path(field) for field in fields if field.startswith("/")}
    folders = [*TEMPORARY]
    for looked_at, path in enumerate(entries_of(folders)):
        with contextlib.suppress(OSError):
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode) and path.parent in TEMPORARY:
                folders.append(path)
            elif stat.S_ISSOCK(mode):
                sockets.add(path)
        if looked_at > MAX_ENTRIES:
            break
    return sorted(sockets)


def entries_of(folders: Sequence[Path]) -> Iterator[Path]:
    """Yield what is in folders, to which more may be added meanwhile."""
    for folder in folders:
        with contextlib.suppress(OSError):
            yield from folder.iterdir()


def hide_socket(path: Path, writable: Sequence[str]) -> None:
    """Put nothing in the place of a socket, or of a private temporary folder around it."""
    folder = path.parent
    try:
        is_socket = stat.S_ISSOCK(path.stat().st_mode)
        is_private = folder.parent in TEMPORARY and not folder.stat().st_mode & 0o077
    except OSError:
        return  # nobody can reach it
    if is_socket and is_private:
        hide(str(folder), writable)
    if is_socket and path.exists():
        with contextlib.suppress(FileNotFoundError):
            hide(str(path), writable)


def rearrange(spec: Mapping[str, Any], sockets: Sequence[Path]) -> None:
    """Make everything read-only but some folders, also what is `kept` in them; hide others."""
    writable: list[str] = spec["writable"]
    # what is `held` is a mount as well, since those cannot be renamed
    open_folders = [*writable, *spec["held"]]
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    for path in (*open_folders, *spec["kept"]):
        mount(path, path, None, MS_BIND | MS_REC)
    for path in spec["hidden"]:
        hide(path, writable)
    for server in sockets:
        hide_socket(server, writable)
    set_read_only("/", is_on=True)
    if Path("/dev/shm").is_dir():
        mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "size=64m")
    for path in open_folders:
        set_read_only(path, is_on=False)
    os.chdir(Path.cwd())  # into the mount that is writable


def hide(path: str, writable: Sequence[str]) -> None:
    """Put nothing in the place of a file or folder, unless that would hide a writable folder."""
    if any(one == path or one.startswith(f"{path.rstrip('/')}/") for one in writable):
        return
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return
    if stat.S_ISDIR(mode):
        mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "size=4k,mode=0555")
    else:
        mount("/dev/null", path, None, MS_BIND)


def landlock_abi() -> int:
    """Return the version of Landlock; 0 if there is none."""
    return max(0, int(libc.syscall(SYS_CREATE, None, ctypes.c_size_t(0), VERSION_FLAG)))


def restrict(writable: Sequence[str], *, network: bool) -> None:
    """Allow reading everywhere and writing in some folders, for good."""
    abi = landlock_abi()
    if abi < MIN_ABI:
        raise OSError(0, "Landlock is not available")
    every = (1 << 16) - 1 if abi >= 5 else (1 << 15) - 1
    attributes = struct.pack("Q", every)
    if abi >= 4:
        attributes += struct.pack("Q", 0 if network else TCP)
    if abi >= 6:
        attributes += struct.pack("Q", SCOPES)
    size = ctypes.c_size_t(len(attributes))
    rules = checked(libc.syscall(SYS_CREATE, attributes, size, 0), "landlock_create_ruleset")
    allow(rules, "/", READING)
    for path in writable:
        allow(rules, path, every)
    for path in ("/dev/shm", *DEVICES):
        if Path(path).exists():
            allow(rules, path, every if Path(path).is_dir() else OF_FILES & every)
    checked(libc.syscall(SYS_RESTRICT, rules, 0), "landlock_restrict_self")
    os.close(rules)


def allow(rules: int, path: str, access: int) -> None:
    """Add a rule for what is below a path."""
    fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    rule = struct.pack("=Qi", access, fd)
    checked(libc.syscall(SYS_ADD_RULE, rules, PATH_BENEATH, rule, 0), "landlock_add_rule")
    os.close(fd)


def drop_privileges() -> None:
    """Give up what could change the sandbox again."""
    for capability in range(MAX_CAPABILITIES):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def confine(spec: Mapping[str, Any]) -> None:
    """Set up the sandbox that is asked for."""
    writable: list[str] = spec["writable"]
    if spec["namespaces"]:
        sockets = find_sockets()
        enter_namespaces(network=spec["network"])
        rearrange(spec, sockets)
    limit(spec["limits"])
    if spec["namespaces"] or spec["landlock"]:
        drop_privileges()
    if spec["landlock"]:
        # without the network of the system, there is only that of the command itself
        restrict(writable, network=spec["network"] or spec["namespaces"])


def main(arguments: list[str]) -> None:
    """Set up the sandbox and become the program."""
    text, *command = arguments
    try:
        confine(json.loads(text))
    except OSError as error:
        os.write(2, f"The command was not run: it cannot be contained ({error}).\n".encode())
        os._exit(REFUSED)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
