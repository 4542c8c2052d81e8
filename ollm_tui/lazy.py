"""Packages that import a public name when it is used."""

import sys
from collections.abc import Callable, Mapping, Sequence


def lazy_names(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package whose public names are defined in its modules.

    `homes` maps modules, named from the package on, to the names that each of them defines.
    """
    module_of = {name: module for module, names in homes.items() for name in names}

    def import_name(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(__import__(f"{package}.{module_of[name]}", fromlist=[name]), name)
        setattr(sys.modules[package], name, value)  # not looked up again
        return value

    return import_name
