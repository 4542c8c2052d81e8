"""Small packages, installed for real: a folder on the path with code and its metadata."""

from collections.abc import Mapping
from importlib import invalidate_caches
from pathlib import Path

import pytest

Groups = Mapping[str, Mapping[str, str]]


def write_package(
    site: Path, name: str, files: Mapping[str, str], groups: Groups, version: str = "1.0"
) -> None:
    """Put a package and its `dist-info` into a folder, as an installer does."""
    for path, text in files.items():
        file = site / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    info.joinpath("METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", "utf-8"
    )
    lines = []
    for group, entries in groups.items():
        lines += [f"[ollm_tui.{group}]", *(f"{key} = {value}" for key, value in entries.items())]
    info.joinpath("entry_points.txt").write_text("\n".join(lines) + "\n", "utf-8")
    invalidate_caches()


def installed(
    monkeypatch: pytest.MonkeyPatch, site: Path, name: str, files: Mapping[str, str], groups: Groups
) -> None:
    write_package(site, name, files, groups)
    monkeypatch.syspath_prepend(str(site))


GOOD = {
    "ollm_good/__init__.py": '''
from ollm_tui import BaseProvider, command, tool

ended = []

class Echo(BaseProvider):
    """Says what it hears."""

    async def stream(self, request):
        yield request.conversation[-1].text

    async def dispose(self):
        ended.append(self.name)


@tool(effect="read")
def shout(text: str) -> str:
    """Say it in capitals."""
    return text.upper()


@command("hello", usage="NAME")
async def hello(context, argument):
    """Greet somebody."""
    if argument == "nobody":
        raise KeyError("nobody")
    context.say(f"Hello, {argument}!")
''',
    "ollm_good/nord.toml": 'primary = "#88c0d0"\nforeground = "#eceff4"\nbackground = "#2e3440"\n',
}
GOOD_GROUPS: Groups = {
    "providers": {"echo": "ollm_good:Echo"},
    "tools": {"shout": "ollm_good:shout"},
    "commands": {"hello": "ollm_good:hello"},
    "themes": {"nord": "ollm_good"},
}
BROKEN = {"ollm_broken.py": 'raise RuntimeError("no such library")\n'}
BROKEN_GROUPS: Groups = {
    group: {"broken": "ollm_broken:thing"} for group in ("providers", "tools", "commands", "themes")
}
