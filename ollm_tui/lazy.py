"""Names that are imported when they are used, and patterns that are compiled then."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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


def import_name(path: str) -> Any:
    """Import `module:name` and return what it names."""
    module, _, name = path.partition(":")
    return getattr(__import__(module, fromlist=[name]), name)


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
