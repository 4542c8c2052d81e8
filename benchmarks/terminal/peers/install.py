"""Fetch the peers: `python -m benchmarks.terminal.peers.install [NAME]...`.

Each is installed alone. One that does not install is left out, with the reason; that is no error.
"""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.terminal.peers.place import PACKAGES, Package, peers_folder

TIMEOUT_S = 900
REASON = 160


def install(package: Package) -> str:
    """Install one peer; return why it could not be, or nothing."""
    client = sys.executable if package.client == "pip" else shutil.which("npm")
    if client is None:
        return "npm was not found"
    package.folder.mkdir(parents=True, exist_ok=True)
    for command in commands(package, client):
        try:
            done = subprocess.run(
                command,
                cwd=package.folder,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"not done after {TIMEOUT_S} s"
        except OSError as error:
            return str(error)
        if done.returncode:
            return reason(done.stderr or done.stdout)
    return "" if package.is_installed else f"its packages bring no command {package.command}"


def commands(package: Package, client: str) -> list[list[str]]:
    """Return what is run to install a package with its client."""
    if package.client == "npm":
        quiet = ["--no-audit", "--no-fund", "--loglevel", "error"]
        return [[client, "install", *quiet, "--prefix", ".", *package.requirements]]
    python = str(package.folder / "bin" / "python")
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input"]
    return [
        [client, "-m", "venv", str(package.folder)],
        [python, "-m", "pip", "install", *quiet, *package.requirements],
    ]


def reason(output: str) -> str:
    """Return the line that says what went wrong, shortened."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    wrong = [line for line in lines if "error" in line.lower()] or lines or ["no reason given"]
    return wrong[-1][:REASON]


def main(names: Sequence[str]) -> int:
    """Install what is named, or all; tells of each how it went."""
    print(f"into {_shown(peers_folder())}", flush=True)
    for package in PACKAGES:
        if names and package.name not in names:
            continue
        if package.is_installed:
            print(f"{package.name:10} is there")
            continue
        print(f"{package.name:10} installing {' '.join(package.requirements)} ...", flush=True)
        why = install(package)
        if why:
            shutil.rmtree(package.folder, ignore_errors=True)
        print(f"{package.name:10} {f'left out: {why}' if why else 'installed'}", flush=True)
    return 0


def _shown(folder: Path) -> str:
    home = str(Path.home())
    return str(folder).replace(home, "~", 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
