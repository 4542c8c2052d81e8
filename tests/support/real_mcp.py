"""Real MCP servers of the registries, unchanged: where they are, and how they are installed.

python -m tests.support.real_mcp FOLDER    install those of npm into FOLDER
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
NPM_FOLDER: Final = ROOT / ".mcp-servers"
NPM: Final[Mapping[str, str]] = {
    "@modelcontextprotocol/server-everything": "2026.8.31",
    "@modelcontextprotocol/server-filesystem": "2026.8.31",
    "@modelcontextprotocol/server-memory": "2026.8.31",
    "@modelcontextprotocol/inspector": "0.15.0",
    # later ones need a newer Node.js than most systems have
    "@modelcontextprotocol/conformance": "0.1.13",
}


def program(name: str) -> Path:
    """Return a program of npm or of the Python packages; it need not exist."""
    places = (
        NPM_FOLDER / "node_modules" / ".bin",
        ROOT / ".venv-mcp" / "bin",
        ROOT / ".venv-mcp-sqlite" / "bin",
    )
    found = (place / name for place in places if (place / name).exists())
    return next(found, places[0] / name)


def missing(name: str) -> str | None:
    """Return why a program cannot be tried; None if it can."""
    if program(name).exists():
        return None
    return f"{name} is not installed: `make test-mcp` installs it, those of npm where npm is"


def main(folder: Path) -> int:
    """Install the servers of npm, unless these versions are there."""
    npm = shutil.which("npm")
    if npm is None:
        sys.stderr.write("ollm: npm is not installed; servers that need it are not tried\n")
        return 0
    wanted = {"private": True, "dependencies": dict(NPM)}
    stamp = folder / "package.json"
    if stamp.exists() and json.loads(stamp.read_text("utf-8")) == wanted:
        return 0
    folder.mkdir(exist_ok=True)
    (folder / "new").mkdir(exist_ok=True)
    (folder / "new" / "package.json").write_text(json.dumps(wanted), "utf-8")
    sys.stderr.write("ollm: installing MCP servers of npm (once; this can take a minute)\n")
    command = [npm, "install", "--no-audit", "--no-fund", "--loglevel", "error"]
    done = subprocess.run(command, cwd=folder / "new", check=False)
    if done.returncode:
        return done.returncode
    shutil.rmtree(folder / "node_modules", ignore_errors=True)
    (folder / "new" / "node_modules").rename(folder / "node_modules")
    (folder / "new" / "package.json").rename(stamp)
    shutil.rmtree(folder / "new")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
