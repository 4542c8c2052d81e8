"""Names that are imported when they are used, and patterns that are compiled then."""

import gc
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from re import compile as compile_pattern

    lazy_re = compile_pattern
else:

    class lazy_re:
        """What `re.compile` returns, compiled when it is first used to search.

        Compiling takes a quarter of a millisecond, and a run uses a few of hundreds of patterns.
        """

        def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
            self.pattern, self._flags = pattern, flags

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            # `import ollm_tui` by itself loads nothing of it.
            import re

            value = getattr(re.compile(self.pattern, self._flags), name)
            setattr(self, name, value)  # not looked up again
            return value


_OBJECTS_BETWEEN_COLLECTIONS: Final = 20_000


def import_name(path: str) -> Any:
    """Import `module:name` and return what it names."""
    module, _, name = path.partition(":")
    return getattr(__import__(module, fromlist=[name]), name)


def call_named(path: str, *args: Any, **options: Any) -> Any:
    """Call what `module:name` names, imported at the first call."""
    return import_name(path)(*args, **options)


def import_command(path: str) -> Any:
    """Import what runs a command, as fast as Python can.

    Nothing is garbage while modules load, and looking for it takes a tenth of the start; while a
    command of a second runs, little is.
    """
    leave_out_command_of_httpx()
    gc.disable()
    try:
        return import_name(path)
    finally:
        gc.freeze()  # else all that was loaded would be looked through at once
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
        gc.enable()


def leave_out_command_of_httpx() -> None:
    """Keep httpx from loading its command line, which would bring rich, click and Pygments."""
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]


def leave_out_pydantic_plugins() -> None:
    """Keep pydantic from looking into every installed package for plugins that watch its models.

    Only for a process of ollm's own: another program may have such a plugin.
    """
    name = "pydantic.plugin._loader"
    if name not in sys.modules:
        sys.modules[name] = loader = ModuleType(name)
        loader.get_plugins = tuple  # type: ignore[attr-defined]


def lazy_names(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package whose public names are defined in its modules.

    `homes` maps modules, named from the package on, to the names that each of them defines.
    """
    module_of = {name: module for module, names in homes.items() for name in names}

    def public_name(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = import_name(f"{package}.{module_of[name]}:{name}")
        setattr(sys.modules[package], name, value)  # not looked up again
        return value

    return public_name
