"""What the documents show is true: commands parse, links lead somewhere."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from ollm_tui.cli.arguments import parse
from ollm_tui.commands import COMMANDS
from ollm_tui.commands.parse import CommandCall
from ollm_tui.commands.parse import parse as parse_command

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)")


def shell_lines() -> Iterator[str]:
    for page in PAGES:
        for kind, text in BLOCK.findall(page.read_text("utf-8")):
            if kind == "sh":
                yield from text.splitlines()


OLLM_LINES = sorted({line for line in shell_lines() if re.search(r"(^|\| )ollm ", line)})
MAKE_TARGETS = sorted(
    {target for page in PAGES for target in re.findall(r"`make ([a-z-]+)", page.read_text("utf-8"))}
)
SLASH_LINES = sorted(
    line
    for page in PAGES
    for kind, text in BLOCK.findall(page.read_text("utf-8"))
    if not kind
    for line in text.splitlines()
    if line.startswith("/")
)


@pytest.mark.parametrize("line", OLLM_LINES)
def test_command_lines_shown_are_understood(line: str) -> None:
    command = line.rpartition("| ")[2]
    words = shlex.split(re.split(r" [<>] ", command)[0])
    assert words[0] == "ollm"
    parse(words[1:])


@pytest.mark.parametrize("line", SLASH_LINES)
def test_slash_commands_shown_exist(line: str) -> None:
    assert isinstance(parse_command(line, COMMANDS), CommandCall)


@pytest.mark.parametrize("target", MAKE_TARGETS)
def test_make_targets_shown_exist(target: str) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    links = [link for link in LINK.findall(page.read_text("utf-8")) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_documents_show_something_of_each_kind() -> None:
    assert OLLM_LINES
    assert SLASH_LINES
    assert MAKE_TARGETS
