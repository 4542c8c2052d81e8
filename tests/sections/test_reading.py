"""Tables are read the same way with pydantic and without it."""

import copy
import json
import subprocess
import sys
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.config.schema import AppConfig
from ollm_tui.config.yaml_file import PatternText, read_yaml
from ollm_tui.dataclass import dataclass
from ollm_tui.models.family_schema import Family, read_family
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.sections.checked import model_of, read_checked
from ollm_tui.sections.marks import Bounds, Length
from ollm_tui.sections.reading import NotPlainError, read_plain, read_section
from ollm_tui.sections.section import MistakesError, Secret, Section, internal, setting

FAMILIES = sorted(
    Path(read_family.__code__.co_filename).parents[1].joinpath("families").glob("*.yaml")
)
TEXTS = st.sampled_from(["a", "qwen3:8b", "http://127.0.0.1:9", "none", "", "é", "a\0b", "/x/y"])
ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3) | st.sampled_from([2**53 + 1, 10**400, -(2**63)]),
    st.sampled_from([0.5, 1.0, 1e300, float("inf"), float("nan")]),
    TEXTS | st.sampled_from(["\ud800", "5", "true", "5m", "forever"]),
    st.lists(TEXTS, max_size=2),
    st.dictionaries(TEXTS, TEXTS, max_size=2),
    st.just((1, 2)),
    st.just(Path("a")),
    st.just(Secret("s")),
)
"""What a person, or a front end, may put anywhere."""
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda below: st.lists(below, max_size=2) | st.dictionaries(TEXTS, below, max_size=2),
    max_leaves=3,
)


def values_of(kind: Any, marks: tuple[Any, ...] = ()) -> st.SearchStrategy[Any]:
    """Return values of a type; most of them pass its checks."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind == JsonValue:
        return JSON
    if origin is Annotated:
        return values_of(inner[0], kind.__metadata__)
    if origin in (Union, UnionType):
        return st.one_of(*(values_of(one, marks) for one in inner))
    return _several(origin, inner, marks) if origin is not None else _single(kind, marks)


def _several(origin: Any, inner: tuple[Any, ...], marks: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    if origin is Literal:
        return st.sampled_from(inner)
    if origin is dict:
        return st.dictionaries(TEXTS, values_of(inner[1]), max_size=2)
    length = next((one for one in marks if isinstance(one, Length)), Length())
    most = min(length.least + 2, 99 if length.most is None else length.most)
    return st.lists(values_of(inner[0]), min_size=length.least, max_size=most)


def _single(kind: Any, marks: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    if issubclass(kind, Section):
        return tables_of(kind)
    bounds = next((one for one in marks if isinstance(one, Bounds)), Bounds())
    least = 0 if bounds.ge is None else bounds.ge
    most = bounds.le if bounds.le is not None else least + 100
    numbers = st.integers(int(least), max(int(least), int(most)))
    by_kind: dict[Any, st.SearchStrategy[Any]] = {
        bool: st.booleans(),
        int: numbers,
        float: numbers | st.floats(least, most, allow_nan=False),
        PatternText: st.sampled_from(["/a/", "/qwen/i", "/(/", "/a+/"]).map(PatternText),
        type(None): st.none(),
    }
    return by_kind.get(kind, TEXTS)


def tables_of(section: type[Section]) -> st.SearchStrategy[dict[str, Any]]:
    """Return values of some keys of a table; each passes the checks of its key, or most do."""
    keys = {}
    for one in section.declared().values():
        right = values_of(one.kind)
        keys[one.key] = st.sampled_from(one.examples) | right if one.examples else right
    chosen = st.lists(st.sampled_from(sorted(keys)), max_size=3, unique=True)
    return chosen.flatmap(lambda names: st.fixed_dictionaries({k: keys[k] for k in names}))


def with_one_odd(values: Any, data: st.DataObject) -> Any:
    """Return values of which one, or a further key, is odd."""
    if isinstance(values, dict) and values and data.draw(st.booleans()):
        key = data.draw(st.sampled_from(sorted(values)) | TEXTS)
        return {**values, key: with_one_odd(values.get(key), data)}
    if isinstance(values, list) and values:
        return [*values[:-1], with_one_odd(values[-1], data)]
    return data.draw(ODD)


def outcome(section: type[Section], values: object, *, strict: bool, context: object) -> object:
    """Return what pydantic makes of values: a table with the keys that were given, or None."""
    try:
        table = read_checked(section, values, is_strict=strict, context=context)
    except MistakesError:
        return None
    return repr(table), repr(table.to_dict(only_given=True))


READ = pytest.mark.parametrize(
    ("section", "strict", "context"),
    [(AppConfig, False, None), (Family, True, None)],
)


@READ
@given(st.data())
def test_what_is_read_without_pydantic_is_what_pydantic_reads(
    section: type[Section], strict: bool, context: object, data: st.DataObject
) -> None:
    values = with_one_odd(data.draw(tables_of(section)), data)
    try:
        table = read_plain(section, values, context)
    except NotPlainError:
        return
    read = repr(table), repr(table.to_dict(only_given=True))
    assert read == outcome(section, values, strict=strict, context=context)


@READ
@given(st.data())
def test_values_of_the_right_types_are_read_without_pydantic_if_it_accepts_them(
    section: type[Section], strict: bool, context: object, data: st.DataObject
) -> None:
    values = data.draw(tables_of(section))
    accepted = outcome(section, values, strict=strict, context=context)
    try:
        table = read_plain(section, values, context)
    except NotPlainError:
        assert accepted is None
        return
    assert (repr(table), repr(table.to_dict(only_given=True))) == accepted


@pytest.mark.parametrize("path", FAMILIES, ids=lambda path: path.stem)
def test_built_in_families_are_read_without_pydantic_and_the_same(path: Path) -> None:
    values = read_yaml(path).values
    plain = read_plain(Family, values, context=True)
    assert plain == read_checked(Family, values, is_strict=True, context=True)
    assert plain.to_dict(only_given=True) == read_checked(
        Family, values, is_strict=True, context=True
    ).to_dict(only_given=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Door(Section):
    """A table to try."""

    name: str
    locks: Annotated[int, Bounds(ge=0, le=9)] = 0
    key: Secret | None = None
    letters: list[str] = setting([])
    seen: bool = internal(default=False)


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({"name": "a", "locks": 10}, ("locks",)),
        ({"name": "a", "lock": 1}, ("lock",)),
        ({"locks": 1}, ("name",)),
        ({"name": "a", "seen": True}, ("seen",)),
        ({"name": 5}, ("name",)),
        ("a", ()),
    ],
)
def test_a_mistake_has_its_place(values: object, wrong: tuple[str, ...]) -> None:
    with pytest.raises(MistakesError) as caught:
        read_section(Door, values)
    assert [mistake["loc"] for mistake in caught.value.mistakes] == [wrong]


def test_a_changed_table_keeps_what_was_given_and_its_marks() -> None:
    door = read_section(Door, {"name": "a", "key": "k", "letters": ["x"]}).changed(seen=True)
    again = door.changed(locks=2)
    assert (again.seen, again.locks, again.to_dict(only_given=True)["letters"]) == (True, 2, ["x"])
    assert again.to_dict(only_given=True).keys() == {"name", "key", "letters", "locks"}
    assert door.locks == 0
    assert Door(name="b").letters is not Door(name="b").letters


def test_a_copy_knows_what_was_given() -> None:
    door = read_section(Door, {"name": "a", "key": "k"}).changed(seen=True)
    for copied in (copy.copy(door), copy.deepcopy(door)):
        assert copied == door
        assert copied.given == {"name", "key"}
        assert copied.seen


def nested(levels: int) -> object:
    """Return so many lists, each in the next."""
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [1, 60, 70])
def test_nested_json_is_read(levels: int) -> None:
    body: Any = {"a": nested(levels)}
    table = read_section(AppConfig, {"options": {"extra_body": body}})
    assert table.options.extra_body == body


@pytest.mark.parametrize("levels", [600, 5000])
def test_json_that_is_nested_too_deep_is_refused(levels: int) -> None:
    with pytest.raises(MistakesError, match=r"options\.extra_body\.a"):
        read_section(AppConfig, {"options": {"extra_body": {"a": nested(levels)}}})


def test_bounds_are_in_the_json_schema() -> None:
    written = json.dumps(model_of(AppConfig).model_json_schema())
    assert [name for name in ("ge", "gt", "le", "lt") if f'"{name}":' in written] == []
    assert '"maximum": 3600' in written


def test_a_secret_shows_itself_nowhere() -> None:
    door = Door(name="a", key=Secret("s3cret"))
    assert "s3cret" not in f"{door} {door.key} {door.to_dict()}"
    assert door.key is not None
    assert door.key.get_secret_value() == "s3cret"


def test_settings_and_families_that_are_plainly_right_are_read_without_pydantic() -> None:
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from ollm_tui.config.schema import AppConfig\n"
        "from ollm_tui.models.family_schema import Family\n"
        "from ollm_tui.config.yaml_file import read_yaml\n"
        "from ollm_tui.sections.reading import read_section\n"
        "read_section(AppConfig, {'providers': {'w': {'base_url': 'http://a', 'api_key': 'k',"
        " 'connect_timeout_s': 3}}, 'options': {'temperature': 1, 'keep_alive': '5m'}})\n"
        f"read_section(Family, read_yaml(Path({str(FAMILIES[0])!r})).values, context=True)\n"
        "print({'pydantic', 'pydantic_core'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"
