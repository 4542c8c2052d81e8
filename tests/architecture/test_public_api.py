"""What is public: the names, their docstrings and members, held for each version."""

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ollm_tui

ROOT = Path(__file__).resolve().parents[2]
RECORD_FILE = ROOT / "tests" / "data" / "public_api.json"
RECORD: dict[str, dict[str, list[str]]] = json.loads(RECORD_FILE.read_text("utf-8"))
"""For each version the names, and what is promised of each beside itself."""
SERIES = re.match(r"0\.\d+|\d+", ollm_tui.__version__)
PROMISED = RECORD[SERIES[0] if SERIES else ""]
ALIASES = {"Block", "ChatEvent", "Content", "ProviderStream", "__version__"}
"""Names of types and values, which cannot have a docstring of their own."""
NAMES = [name for name in ollm_tui.__all__ if name not in ALIASES]


def test_the_names_are_those_that_are_recorded_for_this_version() -> None:
    """Within a version a name may be added here, and none may go."""
    assert sorted(PROMISED) == sorted(ollm_tui.__all__)


def test_names_are_recorded_for_each_series_once() -> None:
    """A key that stands twice would be lost without a word, and what it promises with it."""

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        names = [name for name, _ in pairs]
        assert sorted(set(names)) == sorted(names)
        return dict(pairs)

    record = json.loads(RECORD_FILE.read_text("utf-8"), object_pairs_hook=once)
    assert all(re.fullmatch(r"0\.\d+|[1-9]\d*", series) for series in record)


@pytest.mark.parametrize("name", PROMISED)
def test_a_name_has_the_members_that_were_promised(name: str) -> None:
    value = getattr(ollm_tui, name)
    missing = [member for member in PROMISED[name] if member not in members_of(value)]
    assert missing == []


def members_of(value: object) -> set[str]:
    """Give attributes, fields and what instances get, by name; the parameters of a function."""
    if inspect.isfunction(value):
        return set(inspect.signature(value).parameters)
    fields = getattr(value, "__annotations__", {})
    own = set(re.findall(r"self\.(\w+)(?::| =)", source_of(value)))
    return {*dir(value), *fields, *own}


def source_of(value: object) -> str:
    return inspect.getsource(value) if inspect.isclass(value) else ""


@pytest.mark.parametrize("name", NAMES)
def test_a_name_has_a_docstring_of_its_own(name: str) -> None:
    value = getattr(ollm_tui, name)
    text = inspect.getdoc(value) or ""
    assert len(text.partition("\n")[0]) > 10
    assert not text.startswith(f"{name}("), "made by `dataclass`, not written"
    for member in PROMISED[name]:
        found = inspect.getattr_static(value, member, None)
        if callable(found) or isinstance(found, property | classmethod | staticmethod):
            assert inspect.getdoc(found), member


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Runtme'"):
        ollm_tui.Runtme  # type: ignore[attr-defined]  # noqa: B018
    assert dir(ollm_tui) == sorted(ollm_tui.__all__)


def fresh(program: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys\nbefore = set(sys.modules)\n{program}"],
        cwd=ROOT,
        env={"PYTHONPATH": ":".join([str(ROOT), *sys.path])},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_the_import_loads_one_module() -> None:
    program = "import ollm_tui\nprint(*sorted(set(sys.modules) - before))"
    assert fresh(program) == ["ollm_tui"]


def test_a_name_is_loaded_when_it_is_used_and_no_more_than_it_needs() -> None:
    program = "from ollm_tui import Message, tool\nprint(*sys.modules)"
    loaded = fresh(program)
    assert "ollm_tui.protocol.message" in loaded
    assert {"httpx", "textual", "ollm_tui.runtime.public"}.isdisjoint(loaded)


def test_every_name_is_visible_to_type_checkers() -> None:
    """The table of names and the imports for type checkers say the same."""
    source = (ROOT / "ollm_tui" / "__init__.py").read_text("utf-8")
    block = source.partition("if TYPE_CHECKING:\n")[2].partition("\n__")[0]
    typed = set(re.findall(r"\b\w+\b", re.sub(r"from [\w.]+ import", "", block)))
    assert typed == set(ollm_tui.__all__) - {"__version__"}


def test_no_star_import_misses_a_name() -> None:
    names = fresh("from ollm_tui import *\nprint(*globals())")
    assert set(ollm_tui.__all__) <= set(names)
