"""`ollm_tui.lazy`: patterns that are compiled when they are used."""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import ollm_tui
from ollm_tui.lazy import lazy_re

PAINTING = ("painters", "terminal", "transcript")
PACKAGE = Path(ollm_tui.__file__).parent


def test_a_pattern_searches_as_a_compiled_one() -> None:
    pattern = lazy_re(r"(?P<word>[a-z]+)", re.IGNORECASE)
    assert pattern.pattern == r"(?P<word>[a-z]+)"
    assert pattern.groups == 1
    assert pattern.sub("-", "ab 1 CD") == "- 1 -"
    match = pattern.fullmatch("Ab")
    assert match is not None
    assert match["word"] == "Ab"


def test_a_pattern_is_compiled_once_and_not_before_its_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []

    def count(pattern: str, flags: int = 0, make: object = re.compile) -> re.Pattern[str]:
        compiled.append(pattern)
        return make(pattern, flags)  # type: ignore[operator,no-any-return]

    monkeypatch.setattr(re, "compile", count)
    pattern = lazy_re("a+")
    assert compiled == []
    assert [bool(pattern.match(text)) for text in ("a", "aa", "b")] == [True, True, False]
    assert compiled == ["a+"]


def test_every_pattern_of_the_package_compiles() -> None:
    """A mistake in one would be seen only when it is used."""
    found = 0
    for path in PACKAGE.rglob("*.py"):
        if "lazy_re\n" in path.read_text("utf-8") and path.name != "lazy.py":
            name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
            found += sum(_patterns_compiled(vars(import_module(name.removesuffix(".__init__")))))
    assert found > 250


def _patterns_compiled(values: Mapping[str, Any]) -> Iterator[int]:
    """Compile the patterns among the values of a module, and in its tuples."""
    waiting = [*values.values()]
    while waiting:
        value = waiting.pop()
        if isinstance(value, tuple):
            waiting.extend(value)
        elif type(value).__name__ == "lazy_re":
            assert value.groups >= 0
            yield 1


def test_modules_put_patterns_off() -> None:
    """No module but those of child processes and of painting compiles while it is imported."""
    eager = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(r"^\w.*\bre\.compile\(", path.read_text("utf-8"), re.MULTILINE)
    }
    allowed = ("engines/", "providers/embedded/", *(f"tui/{one}/" for one in PAINTING))
    assert {name for name in eager if not name.startswith(allowed)} == set()


def test_what_a_command_loads_is_not_looked_through_for_garbage() -> None:
    code = (
        "import gc\nfrom ollm_tui.lazy import import_command\n"
        "import_command('ollm_tui.cli.config:run_config')\n"
        "print(gc.isenabled(), len(gc.get_objects()) < gc.get_freeze_count())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"
