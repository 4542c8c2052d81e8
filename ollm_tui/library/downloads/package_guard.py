"""Runs a command that must not outlive the program that started it, however that one ends.

A script rather than a module: run it in a session of its own, with the command as arguments. Its
standard input stays open as long as the command is wanted; when it closes, also because the program
was killed, the whole session is killed. It needs the standard library only.
"""

import os
import signal
import subprocess
import sys
import threading


def main() -> None:
    """Run the command, and exit with its code."""
    threading.Thread(target=_end_with_owner, daemon=True).start()
    try:
        code = subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL)
    except OSError as error:
        sys.stderr.write(f"ERROR: {sys.argv[1]} could not be started: {error.strerror}\n")
        code = 127
    sys.stderr.flush()
    os._exit(code if code >= 0 else 128 - code)  # the thread still reads


def _end_with_owner() -> None:
    while os.read(0, 1024):
        pass
    if os.getpgrp() == os.getpid():  # else the group is not ours
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    main()
