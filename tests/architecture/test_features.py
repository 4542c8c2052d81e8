"""A feature's package names what others import from it; import-linter checks the imports."""

import ast
from functools import cache
from importlib import import_module
from typing import Final

import pytest

from tests.architecture.modules import PACKAGE, imported_names

FEATURES: Final = sorted(path.parent.name for path in PACKAGE.glob("tui/*/__init__.py"))


@cache
def imported() -> set[tuple[str, str]]:
    """Return every name of ours that a module imports, with the module it comes from."""
    return {
        source
        for path in PACKAGE.rglob("*.py")
        for source in imported_names(ast.parse(path.read_text("utf-8"))).values()
    }


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_gives_the_names_that_type_checkers_see(feature: str) -> None:
    package = import_module(f"ollm_tui.tui.{feature}")
    tree = ast.parse((PACKAGE / "tui" / feature / "__init__.py").read_text("utf-8"))
    typed = {
        name: source
        for name, source in imported_names(tree).items()
        if source[0].startswith(f"{package.__name__}.")
    }
    assert sorted(typed) == sorted(package.__all__)
    for name, (module, defined) in typed.items():
        assert getattr(package, name) is getattr(import_module(module), defined)


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_names_only_what_others_use(feature: str) -> None:
    package = import_module(f"ollm_tui.tui.{feature}")
    assert [name for name in package.__all__ if (package.__name__, name) not in imported()] == []


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(ImportError, match="cannot import name 'Dialgs'"):
        from ollm_tui.tui.dialogs import Dialgs  # type: ignore[attr-defined]  # noqa: F401
