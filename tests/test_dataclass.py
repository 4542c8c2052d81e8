"""`ollm_tui.dataclass`: the same classes as the standard library's, made when they are used."""

import ast
import copy
import dataclasses
import inspect
import pickle
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ollm_tui
from ollm_tui.dataclass import dataclass, field

Decorator = Any
PACKAGE = Path(ollm_tui.__file__).parent


@dataclass(frozen=True, slots=True)
class Place:
    """A class at the top of a module, which can be pickled."""

    name: str
    tags: tuple[str, ...] = ()


def is_made(cls: type) -> bool:
    return not type(vars(cls)["__init__"]).__name__.startswith("_")


def test_methods_are_made_when_they_are_first_used() -> None:
    @dataclass(frozen=True, slots=True)
    class Base:
        name: str

    @dataclass(frozen=True, slots=True)
    class Derived(Base):
        size: int = 0

    assert not is_made(Base)
    assert not is_made(Derived)
    assert repr(Derived("a")).endswith("Derived(name='a', size=0)")
    assert is_made(Derived)


DEFAULTS = {
    "none": "",
    "value": " = 7",
    "field": " = field(default=7)",
    "hidden": " = field(default=7, repr=False, compare=False)",
    "factory": " = field(default_factory=list)",
    "fixed": " = field(default=7, init=False)",
    "by name": " = field(default=7, kw_only=True)",
}
OPTIONS = st.fixed_dictionaries(
    {
        "frozen": st.booleans(),
        "kw_only": st.booleans(),
        "eq": st.booleans(),
        "repr": st.booleans(),
    }
)
METHODS = {
    "eq": "    def __eq__(self, other): return True\n",
    "hash": "    def __hash__(self): return 5\n",
    "repr": "    def __repr__(self): return 'own'\n",
    "post init": "    def __post_init__(self): object.__setattr__(self, 'a', self.a)\n",
    "class variable": "    shared: ClassVar[int] = 3\n",
    "doc": "    '''Words.'''\n",
}
FIELDS = st.dictionaries(st.sampled_from("abcd"), st.sampled_from([*DEFAULTS]), max_size=4)
CLASSES = st.tuples(FIELDS, st.sets(st.sampled_from([*METHODS])))


def source_of(name: str, base: str, fields: dict[str, str], methods: set[str]) -> str:
    lines = [f"    {one}: int{DEFAULTS[kind]}\n" for one, kind in fields.items()]
    methods -= {"post init"} if "a" not in fields else set()
    return f"@decorate\nclass {name}{base}:\n    pass\n" + "".join(
        [*lines, *(METHODS[one] for one in sorted(methods))]
    )


def outcome(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except Exception as error:
        return type(error), str(error)


def behaviour(decorator: Decorator, options: dict[str, bool], source: str) -> list[Any]:
    """Return all that can be seen of the classes; an error in a class is all there is of both."""
    names: dict[str, Any] = {
        "decorate": decorator(slots=True, **options),
        "field": field,
        "ClassVar": ClassVar,
        "__name__": __name__,
    }
    try:
        exec(source, names)
        both = [names["Base"], names["Derived"]]
        return [of_class(cls, options) for cls in both if dataclasses.fields(cls) is not None]
    except TypeError as error:
        return [str(error)]


def of_class(cls: Any, options: dict[str, bool]) -> list[Any]:
    fields = dataclasses.fields(cls)
    described = [(one.name, one.type, one.init, one.repr, one.kw_only) for one in fields]
    by_name = {one.name: one.name for one in fields if one.init}
    calls: list[tuple[tuple[int, ...], dict[str, str]]] = [((), {}), ((1,), {}), ((1, 2), {})]
    made = [outcome(partial(cls, *args, **more)) for args, more in [*calls, ((), by_name)]]
    instances = [of_instance(one, options) if isinstance(one, cls) else one for one in made]
    signature = str(inspect.signature(cls))
    return [
        described,
        signature,
        cls.__match_args__,
        cls.__slots__,
        cls.__hash__ is None,
        instances,
    ]


def of_instance(one: Any, options: dict[str, bool]) -> list[Any]:
    names = [part.name for part in dataclasses.fields(one)][:1]
    return [
        repr(one) if options["repr"] else "",
        outcome(lambda: hash(one)) if options["eq"] else "",
        outcome(lambda: dataclasses.asdict(copy.copy(one))),
        outcome(lambda: dataclasses.replace(one) == one),
        hasattr(one, "__dict__"),
        one == copy.copy(one),
        [outcome(partial(setattr, one, name, 3)) for name in names],
        [outcome(partial(delattr, one, name)) for name in names],
        outcome(lambda: dataclasses.asdict(one)),
    ]


@given(options=OPTIONS, base=CLASSES, derived=CLASSES)
@settings(max_examples=100)
def test_a_class_is_as_the_standard_library_makes_it(
    options: dict[str, bool],
    base: tuple[dict[str, str], set[str]],
    derived: tuple[dict[str, str], set[str]],
) -> None:
    source = source_of("Base", "", *base) + source_of("Derived", "(Base)", *derived)
    ours = behaviour(dataclass, options, source)
    assert ours == behaviour(dataclasses.dataclass, options, source)


def test_a_frozen_one_can_be_matched_copied_and_pickled() -> None:
    place = Place("here", ("a",))
    match place:
        case Place(name, tags):
            assert (name, tags) == ("here", ("a",))
    assert pickle.loads(pickle.dumps(place)) == place == copy.deepcopy(place)
    with pytest.raises(dataclasses.FrozenInstanceError):
        place.name = "there"  # type: ignore[misc]


def test_a_derived_class_can_call_what_it_overrides() -> None:
    @dataclass(slots=True)
    class Base:
        name: str

    @dataclass(slots=True)
    class Middle(Base):
        size: int = 1

    class Derived(Middle):
        def __init__(self, name: str) -> None:
            super().__init__(name.upper())

        def __repr__(self) -> str:
            return f"<{super().__repr__()}>"

        def __eq__(self, other: object) -> bool:
            return super().__eq__(other)

        def base_repr(self) -> str:
            return super(Middle, self).__repr__()

    one = Derived("a")
    assert (one.name, one == Derived("a"), one == Derived("b")) == ("A", True, False)
    assert repr(one).endswith("Derived(name='A', size=1)>")
    assert one.base_repr().endswith("Derived(name='A')")


def test_threads_that_use_a_class_first_at_once_all_can() -> None:
    for _ in range(50):

        @dataclass(frozen=True, slots=True)
        class Base:
            name: str

        @dataclass(frozen=True, slots=True)
        class Shared(Base):
            size: int = 1

        made: list[Any] = []
        together = threading.Barrier(4)

        def use(cls: Any = Shared, together: Any = together, made: Any = made) -> None:
            together.wait()
            made.append(cls("a"))

        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert made == [Shared("a")] * 4


def test_what_does_not_wait_is_the_standard_library_s() -> None:
    @dataclass(order=True)
    class Ordered:
        size: int
        names: list[str] = field(default_factory=list)

    assert is_made(Ordered)
    assert Ordered(1) < Ordered(2)


def test_every_class_of_the_package_waits() -> None:
    direct = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom)
        and node.module == "dataclasses"
        and "dataclass" in {one.name for one in node.names}
    ]
    # A child process with an engine imports nothing else of ours.
    assert [path for path in direct if not path.startswith("engines/")] == ["dataclass.py"]
