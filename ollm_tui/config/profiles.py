"""Profiles: presets for chats, whose values are settings once the profile is chosen.

A profile counts more than the rest of the file. One that the command line names counts more than
the environment too; the other options of the command line count most.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

from ollm_tui.config.origin import ConfigProblem, KeyPath, Layers, Origin, Setting, dotted, nearest
from ollm_tui.config.schema import AppConfig, ProfileSettings
from ollm_tui.config.sources import ENVIRONMENT_RANK
from ollm_tui.sections.reading import read_section
from ollm_tui.sections.section import MistakesError

NO_PROFILE = "none"
MAX_NAME_LENGTH = 64
_MAX_NAMED = 20
_PLACES: Mapping[str, KeyPath] = {
    "model": ("model",),
    "system_prompt": ("system_prompt",),
    "system_prompt_format": ("system_prompt_format",),
    "thinking": ("thinking",),
    "tools": ("tools", "enabled"),
    "options": ("options",),
}
"""The setting that each key of a profile stands for."""


def find_profile(names: Iterable[str], wanted: str) -> str | None:
    """Return the profile of a name, in any case if only one is meant."""
    known = tuple(names)
    if wanted in known:
        return wanted
    alike = [name for name in known if name.casefold() == wanted.casefold()]
    return alike[0] if len(alike) == 1 else None


def chosen_profile(config: AppConfig) -> str | None:
    """Return the name of the chosen profile, as it was written if there is none of this name."""
    wanted = None if is_no_profile(config.profile) else config.profile
    return wanted and (find_profile(config.profiles, wanted) or wanted)


def is_no_profile(name: str | None) -> bool:
    """Whether a choice means no profile, in any case: none may have that name."""
    return name is not None and name.casefold() == NO_PROFILE


NAME_HINT = (
    f"Use 1 to {MAX_NAME_LENGTH} characters without blanks around them, and not `{NO_PROFILE}`."
)


def is_profile_name(name: str) -> bool:
    """Whether a profile can be chosen by this name."""
    is_plain = name.isprintable() and name == name.strip() and 0 < len(name) <= MAX_NAME_LENGTH
    return is_plain and not is_no_profile(name)


def profile_settings(layers: Layers) -> Iterator[Setting]:
    """Yield the values of the chosen profile as settings, but for those that are wrong."""
    chosen = layers.top(("profile",))
    if chosen is None or not isinstance(chosen.value, str) or is_no_profile(chosen.value):
        return
    names = dict.fromkeys(one.path[1] for one in layers.below(("profiles",)) if one.path[1:])
    name = find_profile(names, chosen.value)
    if name is None:
        return
    rank = max(chosen.rank, ENVIRONMENT_RANK) - 1
    for setting in layers.below(("profiles", name)):
        key, *rest = setting.path[2:] or ("",)
        place = _PLACES.get(key)
        if place is not None and setting.value != {} and _is_right(setting):
            yield Setting((*place, *rest), setting.value, setting.origin, rank)


def _is_right(setting: Setting) -> bool:
    """Whether a value passes by itself; one that does not is reported where it is written."""
    value = setting.value
    for key in reversed(setting.path[2:]):
        value = {key: value}
    try:
        read_section(ProfileSettings, value)
    except MistakesError:
        return False
    return True


def profile_problems(
    config: AppConfig, origin_of: Callable[[KeyPath], Origin]
) -> Iterator[ConfigProblem]:
    """Yield a problem for a choice that no profile has, and for names that cannot be chosen."""
    wanted, names = config.profile, tuple(config.profiles)
    if wanted is not None and not is_no_profile(wanted) and find_profile(names, wanted) is None:
        origin, at = origin_of(("profile",)), "profile"
        subject = origin.name if origin.kind == "flag" else f"`{at}`"
        words = f"{subject} names an unknown profile."
        hint = partial(similar_profile, names, wanted)
        yield ConfigProblem(words, origin, (at,), find_hint=hint)
    for name in names:
        if not is_profile_name(name):
            path: KeyPath = ("profiles", name)
            yield ConfigProblem(
                f"`{dotted(path)}` has a name that cannot be chosen.",
                origin_of(path),
                path,
                hint=NAME_HINT,
            )


def similar_profile(names: Sequence[str], wanted: str) -> str:
    """Return a hint for a name that no profile has."""
    if not names:
        return "There are no profiles yet: /save NAME in a chat writes one."
    near = nearest(wanted, names)
    listed = ", ".join(islice(names, _MAX_NAMED))
    return f"Did you mean `{near}`?" if near else f"Available: {listed}."
