"""Sizes that keep a module one job; there is no opt-out."""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "ollm_tui"
FILES = sorted(PACKAGE.rglob("*.py"))
HOOKS = ("on_", "action_", "watch_", "validate_", "compute_", "render_", "key_", "check_", "_")
TEXTUAL_HOOKS = HOOKS[:-1]
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in FILES:
        yield path.relative_to(PACKAGE), ast.parse(path.read_text("utf-8"))


def body_lines(node: FUNCTION) -> int:
    first = node.body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    skipped = ((first.end_lineno or 0) - first.lineno + 1) if is_docstring else 0
    return (node.end_lineno or 0) - node.lineno + 1 - skipped


def test_no_module_is_over_400_lines() -> None:
    long = {
        str(p.relative_to(PACKAGE)): n
        for p in FILES
        if (n := len(p.read_text().splitlines())) > 400
    }
    assert long == {}


def test_the_median_module_is_at_most_120_lines() -> None:
    sizes = sorted(len(path.read_text().splitlines()) for path in FILES)
    assert sizes[len(sizes) // 2] <= 120


def test_no_function_is_over_50_lines() -> None:
    long = {
        f"{path}:{node.name}": lines
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, FUNCTION) and (lines := body_lines(node)) > 50
    }
    assert long == {}


def test_no_class_has_over_15_public_methods_nor_20_hooks() -> None:
    wide = {}
    for path, tree in trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef):
                continue
            names = [n.name for n in node.body if isinstance(n, FUNCTION)]
            public = [n for n in names if not n.startswith(HOOKS)]
            hooks = [n for n in names if n.startswith((*TEXTUAL_HOOKS, "_on_"))]
            if len(set(public)) > 15 or len(hooks) > 20:
                wide[f"{path}:{node.name}"] = (len(set(public)), len(hooks))
    assert wide == {}


def test_every_package_says_what_belongs_there() -> None:
    silent = [
        str(path)
        for path, tree in trees()
        if path.name == "__init__.py" and not ast.get_docstring(tree)
    ]
    assert silent == []


def test_a_function_that_imports_says_which_cost_it_avoids() -> None:
    silent = []
    for path, tree in trees():
        lines = (PACKAGE / path).read_text("utf-8").splitlines()
        for function in (n for n in ast.walk(tree) if isinstance(n, FUNCTION)):
            imports = any(isinstance(n, ast.Import | ast.ImportFrom) for n in function.body)
            body = lines[function.lineno - 1 : function.end_lineno]
            if imports and not any(line.strip().startswith("#") for line in body):
                silent.append(f"{path}:{function.name}")
    assert silent == []
