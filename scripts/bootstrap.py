"""Prepare this checkout: a virtual environment, the package in it, and the starter model.

    python scripts/bootstrap.py run     the app with its embedded engine, and the starter model
    python scripts/bootstrap.py test    what the tests need
    python scripts/bootstrap.py engines what the tests of hearing, speech and drawing need
    python scripts/bootstrap.py check   what the static checks need
    python scripts/bootstrap.py mutants what planting bugs needs
    python scripts/bootstrap.py ray     Ray Serve, in an environment of its own
    python scripts/bootstrap.py mcp-servers  MCP servers in Python, likewise
    python scripts/bootstrap.py mcp-sqlite   one that needs an older SDK, likewise

Needs nothing but Python's standard library. What is done is noted in the environment, so a later
run finds everything in place and needs no network. Every failure is one line with the next step.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / os.environ.get("OLLM_VENV", ".venv")
BIN = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
OLDEST = (3, 11)
DRAWING = (3, 12)
"""Older ones have no engine that draws."""
GROUPS = {
    "run": (),
    "test": ("test",),
    "engines": ("test",),
    "check": ("test", "check"),
    "mutants": ("test", "mutants"),
    "ray": ("ray",),
    "mcp-servers": ("mcp-servers",),
    "mcp-sqlite": ("mcp-sqlite",),
}
CONSTRAINTS = {
    "ray": "constraints-ray.txt",
    "mcp-servers": "constraints-mcp.txt",
    "mcp-sqlite": "constraints-mcp-sqlite.txt",
}
"""What is pinned elsewhere than in `constraints.txt`, because it shares no environment."""


class CannotGoOn(Exception):
    """What a person has to do first, in one line."""


def say(text: str) -> None:
    """Tell a person what is being done."""
    sys.stderr.write(f"ollm: {text}\n")
    sys.stderr.flush()


def ask_for(text: str) -> CannotGoOn:
    """Make the one line that ends the run."""
    return CannotGoOn(text)


def make_environment() -> None:
    """Make the virtual environment unless a working one is there."""
    if PYTHON.exists() and run_quietly([PYTHON, "-c", "import pip"]) == 0:
        return
    say(f"making a virtual environment in {ENVIRONMENT.name}")
    shutil.rmtree(ENVIRONMENT, ignore_errors=True)
    if run_quietly([sys.executable, "-m", "venv", ENVIRONMENT]) != 0:
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)
        raise ask_for(
            "this Python cannot make virtual environments. Install its venv module "
            "(Debian and Ubuntu: apt install python3-venv), then run make again."
        )


def run_quietly(command: Sequence[str | Path]) -> int:
    """Run a command unseen; return its exit status."""
    return subprocess.run(command, capture_output=True, check=False).returncode


def project() -> dict[str, object]:
    """Read the project's own table of dependencies."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def group_requirements(names: Sequence[str]) -> list[str]:
    """Return the requirements of development groups."""
    groups = project().get("dependency-groups")
    if not isinstance(groups, dict):
        return []
    return [requirement for name in names for requirement in groups[name]]


def constraints_of(what: str) -> str:
    """Name the file that pins the versions."""
    return CONSTRAINTS.get(what, "constraints.txt")


def mark_of(what: str) -> str:
    """Return a text that changes when `what` must be installed again."""
    parts = [what, sys.version, str(ROOT)]
    names = ("pyproject.toml", constraints_of(what))
    parts += [(ROOT / name).read_text("utf-8") for name in names]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def install(what: str, arguments: Sequence[str]) -> bool:
    """Install with the package client unless it is done already; False when that failed."""
    stamp = ENVIRONMENT / f".installed-{what}"
    if stamp.exists() and stamp.read_text("utf-8") == mark_of(what):
        return True
    say(f"installing {what} (once; this can take a minute)")
    command = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-input", "--constraint", str(ROOT / constraints_of(what)), *arguments]
    if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
        return False
    stamp.write_text(mark_of(what), "utf-8")
    return True


def install_project() -> bool:
    """Install the package with its extras; whether the built-in engine is there."""
    install_package()
    engine = install_engine()
    install_images()
    install_sound()
    return engine


def install_package() -> None:
    """Install the package itself, as it stands in this checkout."""
    if not install("ollm_tui", ["--editable", "."]):
        raise ask_for(
            "the package client could not install ollm_tui: see above. "
            "Check the network, then run make again."
        )


def install_engine() -> bool:
    """Install the built-in engine; the app works without it, with servers."""
    if install("embedded", ["--only-binary", "xllamacpp", "--editable", ".[embedded]"]):
        return True
    say("no embedded engine for this machine; going on without it, with servers only")
    return False


def install_images() -> None:
    """Install what draws pictures; without it the app shows a line of text for each."""
    if not install("images", ["--only-binary", "pillow", "--editable", ".[images]"]):
        say("no Pillow for this machine; going on without it, pictures are named and not drawn")


def install_sound() -> None:
    """Install what records and plays; without it the app names the ways out."""
    if not install("sound", ["--only-binary", "miniaudio", "--editable", ".[sound]"]):
        say("no miniaudio for this machine; going on without it, sound needs commands of yours")


def install_engines() -> None:
    """Install the engines that hear, speak and draw; the one that draws needs Python 3.12."""
    if not install("hear and speak", ["--editable", ".[hear,speak]"]):
        raise ask_for("the engines for hearing and speech could not be installed: see above.")
    if sys.version_info < DRAWING:
        say("drawing is not tried: it needs `make test-engines PYTHON=python3.12`")
    elif not install("draw", ["--only-binary", "cyllama", "--editable", ".[draw]"]):
        say("no cyllama for this machine; going on without it, drawing is not tried")


def prepare(target: str) -> None:
    """Bring everything in place that a make target needs."""
    if sys.version_info < OLDEST:
        raise ask_for("Python 3.11 or later is needed; name one with `make PYTHON=python3.11 ...`.")
    make_environment()
    engine = target not in CONSTRAINTS and install_project()
    requirements = group_requirements(GROUPS[target])
    if requirements and not install(target, requirements):
        raise ask_for(f"what `make {target}` needs could not be installed: see above.")
    if target == "engines":
        install_engines()
    if target == "run" and engine:
        fetch_starter()


def fetch_starter() -> None:
    """Download the starter model if it is missing; the app itself reports its absence."""
    subprocess.run([BIN / "ollm", "models", "starter"], check=False)


def main() -> int:
    """Prepare for the target named on the command line."""
    target = sys.argv[1] if len(sys.argv) > 1 else "run"
    if target not in GROUPS:
        say(f"unknown target {target!r}; there are {', '.join(GROUPS)}")
        return 2
    try:
        prepare(target)
    except CannotGoOn as reason:
        say(str(reason))
        return 1
    except KeyboardInterrupt:
        say("stopped")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
