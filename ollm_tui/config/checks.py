"""What the schema cannot know of a value: whether the folder, file or provider it names is there.

What is wrong here is told and changes no other value: a model that is named stays the one meant.
"""

import re
from collections.abc import Callable, Iterator
from itertools import chain

from ollm_tui.config.origin import ConfigProblem, KeyPath, Origin, dotted, nearest
from ollm_tui.config.regular_file import is_folder
from ollm_tui.config.schema import AppConfig

TOOLS_ROOT: KeyPath = ("tools", "root")
_PORT = re.compile(r"-[0-9]{1,5}$")
OriginOf = Callable[[KeyPath], Origin]


def root_problem(config: AppConfig, origin_of: OriginOf) -> ConfigProblem | None:
    """Say why the tools for files have no folder; None when they have one or want none."""
    root = config.tools.root
    if root is None or is_folder(root):
        return None
    return ConfigProblem(
        f"`{dotted(TOOLS_ROOT)}` names a folder that does not exist: the tools for files are off.",
        origin_of(TOOLS_ROOT),
        TOOLS_ROOT,
        hint="Create it, or name another folder.",
    )


def reference_problems(config: AppConfig, origin_of: OriginOf) -> Iterator[ConfigProblem]:
    """Say which folders and providers are named that are not there."""
    model: KeyPath = ("model",)
    yield from _stray_provider(config, config.model or "", model, origin_of, "error")
    for name in config.models:
        yield from _stray_provider(config, name, ("models", name), origin_of, "warning")
    folders: KeyPath = ("embedded", "model_folders")
    for number, folder in enumerate(config.embedded.model_folders, 1):
        if not is_folder(folder):
            what = f"`{dotted(folders)}`: folder {number} of the list does not exist."
            yield ConfigProblem(what, origin_of(folders), folders, severity="warning", waits=True)


def _stray_provider(
    config: AppConfig, address: str, path: KeyPath, origin_of: OriginOf, severity: str
) -> Iterator[ConfigProblem]:
    name, mark, _ = address.partition("://")
    # An engine on a port of its own is found as `llamacpp-8080`.
    names = (name, _PORT.sub("", name))
    if not mark or any(one in config.providers or one in config.aliases for one in names):
        return

    def find_hint() -> str:
        near = nearest(name, chain(config.providers, config.aliases))
        return f"Did you mean `{near}`?" if near else "`ollm config show` lists them."

    yield ConfigProblem(
        f"`{dotted(path)}` names an unknown provider.",
        origin_of(path),
        path,
        find_hint=find_hint,
        severity="error" if severity == "error" else "warning",
        waits=True,
    )
