"""What contains commands on macOS: a profile for `sandbox-exec`, by what Apple documents of it.

The last rule that matches decides. Paths are given as parameters, so that none of their characters
means anything in the profile. The kernel holds the rules for the command and all that it starts;
services of the system work outside of them, so the ways to ask these are closed as far as they are
known, and nothing says that they all are.
"""

from collections.abc import Sequence
from typing import Final

SANDBOX_EXEC: Final = "/usr/bin/sandbox-exec"
DEVICES: Final = (
    "/dev/null",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/dtracehelper",
)
"""What may be written to beside the folders."""
_SERVICES: Final = (
    "com.apple.coreservices.launchservicesd",
    "com.apple.lsd.open",
    "com.apple.coreservices.appleevents",
    "com.apple.pasteboard.1",
    "com.apple.tccd",
    "com.apple.securityd",
    "com.apple.SecurityServer",
)
"""Services that would open programs, or give out what is kept for the user."""


def profile_of(writable: int, hidden: int, *, network: bool) -> str:
    """Return the profile for some numbers of folders, which are its parameters."""
    rules = [
        "(version 1)",
        "(allow default)",
        "(deny file-write*)",
        *(f'(allow file-write* (subpath (param "WRITABLE_{at}")))' for at in range(writable)),
        *(f'(allow file-write-data file-ioctl (literal "{path}"))' for path in DEVICES),
        *(f'(deny file* (subpath (param "HIDDEN_{at}")))' for at in range(hidden)),
        "(deny file-write-setugid)",
        "(deny signal)",
        "(allow signal (target same-sandbox))",
        "(deny process-info*)",
        "(allow process-info* (target same-sandbox))",
        "(deny appleevent-send)",
        *(f'(deny mach-lookup (global-name "{name}"))' for name in _SERVICES),
    ]
    if not network:
        rules.append("(deny network*)")
    return "\n".join(rules)


def seatbelt_launcher(
    writable: Sequence[str], hidden: Sequence[str], *, network: bool
) -> tuple[str, ...]:
    """Return the beginning of a command line that runs the rest with a profile.

    The paths are real ones: the kernel compares them after all links.
    """
    parameters = [
        *(f"WRITABLE_{at}={path}" for at, path in enumerate(writable)),
        *(f"HIDDEN_{at}={path}" for at, path in enumerate(hidden)),
    ]
    given = [part for one in parameters for part in ("-D", one)]
    return (
        SANDBOX_EXEC,
        "-p",
        profile_of(len(writable), len(hidden), network=network),
        *given,
    )
