"""Text from outside never reaches a widget that would read markup in it.

Widgets and calls that read markup from a `str` may be given a literal, or something else only
with `markup=False`; dynamic text goes in as `Content` or `Text`.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

TUI = Path(__file__).resolve().parents[2] / "ollm_tui" / "tui"
READS_MARKUP = {"Static", "Label", "Button", "Option", "Tab", "notify", "Toast", "Link"}
SAFE_CALLS = {"Content", "Text", "Strip", "from_text", "styled", "assemble"}
TITLES = {"border_title", "border_subtitle", "tooltip"}


@cache
def content_makers() -> frozenset[str]:
    """Give the names of the package's own functions that are declared to return `Content`."""
    return frozenset(
        node.name
        for path in TUI.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and isinstance(node.returns, ast.Name)
        if node.returns.id in {"Content", "Text"}
    )


def offences(tree: ast.Module) -> list[int]:
    """Give the lines at which a dynamic string meets something that reads markup."""
    safe_calls = SAFE_CALLS | content_makers()
    safe_names = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and is_safe(node.value, safe_calls)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_of(node.func) in READS_MARKUP:
            plain = any(k.arg == "markup" and is_false(k.value) for k in node.keywords)
            if not plain and node.args and not is_safe(node.args[0], safe_calls, safe_names):
                found.append(node.lineno)
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and target.attr in TITLES:
                    found += [] if is_safe(node.value, safe_calls) else [node.lineno]
    return found


def name_of(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is False


def is_safe(value: ast.expr, safe_calls: set[str], safe_names: set[str] | None = None) -> bool:
    if isinstance(value, ast.Name):
        return value.id in (safe_names or set())
    if isinstance(value, ast.Constant):
        return True
    return isinstance(value, ast.Call) and name_of(value.func) in safe_calls


@pytest.mark.parametrize("path", sorted(TUI.rglob("*.py")), ids=lambda p: str(p.relative_to(TUI)))
def test_no_dynamic_text_meets_markup(path: Path) -> None:
    assert offences(ast.parse(path.read_text("utf-8"))) == []


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("Static(name)", [1]),
        ("Static('fixed')", []),
        ("Static(Content(name))", []),
        ("Label(f'{x}')", [1]),
        ("Static(name, markup=False)", []),
        ("self.notify(text)", [1]),
        ("shown = Content(name)\nStatic(shown)", []),
        ("shown = str(name)\nStatic(shown)", [2]),
        ("self.border_title = name", [1]),
        ("self.border_title = Content(name)", []),
    ],
)
def test_the_lint_finds_what_it_is_for(code: str, lines: list[int]) -> None:
    assert offences(ast.parse(code)) == lines
