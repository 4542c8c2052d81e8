"""Refuse connections that leave the tests: to this machine's own servers and to other machines."""

import errno
import importlib
import ipaddress
import os
import socket
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
CHOICE = "NETWORK_OF_TESTS"
FIRST_OWN_PORT = 16384
"""Servers of the tests take any free port, which systems give out above this one."""

NAMES = {None, "", b"", "localhost", b"localhost", socket.gethostname()}
FIXED_PORTS = range(1, FIRST_OWN_PORT)

beyond: list[str] = []
"""Addresses of other machines that somebody tried to reach since the list was last emptied."""


def install() -> None:
    """Watch every connection and every look-up of a name in this process from now on."""
    sys.addaudithook(_watch)


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect":
        _check_address(arguments[1])
    elif event == "socket.getaddrinfo":
        _check_name(arguments[0])


def _check_address(address: object) -> None:
    match address:
        case (str(host), int(port), *_):
            if not _is_here(host):
                beyond.append(f"{host}:{port}")
                raise OSError(errno.ENETUNREACH, f"the tests reach no other machine: {host}")
            if port in FIXED_PORTS and os.environ.get(CHOICE) != "own":
                raise ConnectionRefusedError(errno.ECONNREFUSED, "the tests see no other server")


def _check_name(host: object) -> None:
    if host in NAMES:
        return
    name = host.decode("latin-1") if isinstance(host, bytes) else str(host)
    if _address(name) is None:
        raise socket.gaierror(socket.EAI_NONAME, "the tests look up no names")


def _is_here(host: str) -> bool:
    if host in NAMES:
        return True
    address = _address(host)
    return address is not None and (address.is_loopback or address.is_unspecified)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Read an address as systems do: `127.1` is one, and IPv6 may hold one of IPv4."""
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        try:
            return ipaddress.IPv4Address(socket.inet_aton(name))
        except (OSError, ValueError):
            return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


if os.environ.get("PYTHONPATH", "").startswith(str(FOLDER)):
    install()
    # This folder is the first of the path, and may be the only one of the tests'.
    importlib.import_module("fair_clock").install()
    # The tests' tools bring Click, and with it httpx loads its own command line, Rich and Pygments.
    sys.modules["httpx._main"] = None  # type: ignore[assignment]
