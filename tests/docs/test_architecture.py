"""The map of the code names files, names and packages that exist."""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "ollm_tui"
TEXT = (ROOT / "docs" / "architecture.md").read_text("utf-8")
SPANS = sorted(set(re.findall(r"`([^`\n]+)`", TEXT)))
PATH = re.compile(r"(?P<path>[\w.-]+(?:/[\w.-]+)*(?:/|\.(?:py|toml|json)))(?:: (?P<name>[\w.]+))?")
MATCHES = [match for span in SPANS if (match := PATH.fullmatch(span))]
PATHS = sorted({match["path"] for match in MATCHES})
NAMES = sorted({(match["path"], match["name"]) for match in MATCHES if match["name"]})
BARE_CLASSES = [span for span in SPANS if re.fullmatch(r"[A-Z]\w+", span)]


def located(path: str) -> Path:
    """Return a path of the page: below the package, or else below the top of the repository."""
    return PACKAGE / path if (PACKAGE / path).exists() else ROOT / path


def defined(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    """Yield what a module defines, and the members of its classes after a dot."""
    for node in body:
        match node:
            case ast.ClassDef(name=name, body=members):
                yield prefix + name
                yield from defined(members, f"{prefix}{name}.")
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield prefix + name
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield prefix + name
            case ast.Assign(targets=targets):
                yield from (prefix + one.id for one in targets if isinstance(one, ast.Name))
            case _:
                pass


@cache
def names_in(path: Path) -> frozenset[str]:
    return frozenset(defined(ast.parse(path.read_text("utf-8")).body))


@pytest.mark.parametrize("path", PATHS)
def test_paths_exist(path: str) -> None:
    assert located(path).exists()
    assert located(path).is_dir() == path.endswith("/")


@pytest.mark.parametrize(("path", "name"), NAMES)
def test_names_are_defined_in_their_files(path: str, name: str) -> None:
    assert name in names_in(located(path))


@pytest.mark.parametrize("name", BARE_CLASSES)
def test_other_classes_are_defined_somewhere(name: str) -> None:
    assert any(name in names_in(path) for path in PACKAGE.rglob("*.py"))


def test_the_packages_are_those_of_the_contract_in_their_order() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["type"] == "layers")
    # one in brackets is a package to come
    agreed = [re.findall(r"(?<!\()\b\w+\b(?!\))", layer) for layer in layers]
    assert rows_below("## The packages", "Package") == agreed


def test_the_folders_of_the_screen_are_all_named() -> None:
    named = [name for row in rows_below("## The packages", "Folder") for name in row]
    folders = [f"tui/{path.parent.name}" for path in (PACKAGE / "tui").glob("*/__init__.py")]
    assert sorted(named) == sorted(folders)


def rows_below(heading: str, column: str) -> list[list[str]]:
    """Return what the first column of a table names, row by row."""
    section = TEXT.partition(heading)[2].partition("\n## ")[0]
    table = section.partition(f"| {column} |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    return [re.findall(r"`([^`]+)`", cell) for cell in cells]


def test_the_page_is_one_page() -> None:
    assert len(TEXT.splitlines()) <= 150


def test_something_of_each_kind_was_found() -> None:
    assert len(PATHS) > 50
    assert len(NAMES) > 40
    unread = [span for span in SPANS if ".py" in span and not PATH.fullmatch(span)]
    assert unread == []
