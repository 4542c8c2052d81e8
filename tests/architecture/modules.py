"""The modules of the package as syntax trees, and what they import of each other."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "ollm_tui"


def dotted(path: Path) -> str:
    """Name the module of a file, which may be given from the package on."""
    inside = path.relative_to(PACKAGE) if path.is_absolute() else path
    parts = [PACKAGE.name, *inside.with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(tree: ast.Module) -> dict[str, tuple[str, str]]:
    """Map each name to the module of the package and the name there that it comes from."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and _is_ours(node.module)
        for alias in node.names
        if node.module is not None
    }


def _is_ours(module: str | None) -> bool:
    return module is not None and module.split(".")[0] == PACKAGE.name


def import_graph(package: Path = PACKAGE) -> dict[str, set[str]]:
    """Map each module to those it imports, also late or for types alone."""
    trees = {dotted(path): ast.parse(path.read_text("utf-8")) for path in package.rglob("*.py")}
    graph: dict[str, set[str]] = {name: set() for name in trees}
    for name, tree in trees.items():
        for source, imported in imported_names(tree).values():
            inner = f"{source}.{imported}"
            graph[name] |= {inner if inner in trees else source} & trees.keys()
    return graph
