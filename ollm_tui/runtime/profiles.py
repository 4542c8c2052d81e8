"""The profiles of the settings file: chosen for a chat, and written from one.

The file is read again each time, so that a profile counts as it is written there now.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from ollm_tui.chat.conversation import Conversation, Preset
from ollm_tui.config.flags import Flags
from ollm_tui.config.load import LoadedConfig, load_config
from ollm_tui.config.origin import leaves
from ollm_tui.config.paths import CONFIG_VARIABLE, AppPaths
from ollm_tui.config.profiles import (
    NAME_HINT,
    NO_PROFILE,
    find_profile,
    is_no_profile,
    is_profile_name,
    similar_profile,
)
from ollm_tui.config.schema import AppConfig, GenerationSettings, ProfileSettings
from ollm_tui.config.sources import UndefinedVariableError, escaped, expand
from ollm_tui.config.toml_file import toml_values
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.clean import clean_line
from ollm_tui.decode.redact import SecretFinder, environment_secrets, holds_private_key
from ollm_tui.protocol.errors import AIError, ErrorCode
from ollm_tui.protocol.json_types import with_texts
from ollm_tui.protocol.model import ModelRef
from ollm_tui.protocol.request import GenerationOptions, thinking_level
from ollm_tui.runtime.details import chat_values
from ollm_tui.runtime.private import known_secrets
from ollm_tui.runtime.provider_set import settings_error
from ollm_tui.sections.reading import read_section
from ollm_tui.sections.section import MistakesError

if TYPE_CHECKING:
    from ollm_tui.config.edit import TomlTable

_OPTION_NAMES = tuple(GenerationSettings.declared())


@dataclass(frozen=True, slots=True)
class SavedProfile:
    """A profile that was written."""

    name: str
    file: Path
    left_out: tuple[str, ...]
    """Settings of the chat that a profile cannot hold, as `/show chat` names them."""


class Profiles:
    """The profiles of one settings file."""

    def __init__(
        self,
        loaded: LoadedConfig,
        paths: AppPaths,
        preset: Callable[[AppConfig], Preset],
        shown_address: Callable[[ModelRef], str],
    ) -> None:
        self._paths = paths
        self._file = loaded.path
        self._environ = loaded.environ
        self._preset = preset
        self._shown_address = shown_address
        self._config = loaded.config
        is_named = loaded.profile is not None and loaded.origin_of("profile").kind == "flag"
        self._named = loaded.config if is_named else None

    def apply_named(self, conversation: Conversation) -> None:
        """Use the profile that the command line names in a saved chat; its model stays."""
        if self._named is not None:
            self._preset(self._named).apply_to(conversation)

    async def check(self) -> None:
        """Check the schema of the chosen profile.

        Raises:
            AIError: it cannot be used; new chats go without it.
        """
        await self._usable(self._config)

    async def _usable(self, config: AppConfig) -> Preset:
        preset = await anyio.to_thread.run_sync(self._preset, config)
        if preset.schema_problem is not None:
            raise preset.schema_problem
        return preset

    def listed(self) -> Mapping[str, str]:
        """Return the profiles that were read last, each with a line about it."""
        profiles = self._config.profiles.items()
        usable = {name: profile for name, profile in profiles if is_profile_name(name)}
        return {name: clean_line(summary(profile)) for name, profile in usable.items()}

    def values_of(self, name: str) -> Mapping[str, str]:
        """Return the options and system prompt that a profile itself sets, as it was read last."""
        profile = self._config.profiles.get(name, ProfileSettings())
        return chat_values(profile.options.to_options(), profile.system_prompt)

    async def load(self, name: str) -> Preset:
        """Return what a profile says of a chat; `none` is the settings without one.

        Raises:
            AIError: there is none of this name, its settings are wrong, or its schema cannot be
                used.
        """
        loaded = await anyio.to_thread.run_sync(self._read, name)
        chosen = loaded.config.profile or ""
        names = tuple(loaded.config.profiles)
        is_known = is_no_profile(name) or find_profile(names, name) is not None
        for problem in loaded.problems:
            is_of_it = problem.path[:2] == ("profiles", chosen)
            if problem.path == ("profile",) and not is_known:
                raise AIError(
                    ErrorCode.BAD_REQUEST,
                    f"There is no profile {name!r}.",
                    hint=similar_profile(names, name),
                )
            if problem.severity == "error" and (
                is_of_it or not problem.path or problem.path == ("profile",)
            ):
                raise settings_error(problem)
        return await self._usable(loaded.config)

    async def save(
        self, name: str, conversation: Conversation, *, replaces: bool = False
    ) -> SavedProfile:
        """Write the settings of a chat as a profile.

        Raises:
            AIError: BAD_REQUEST for a name that cannot be chosen, or for settings with a secret in
                them; CONFLICT if there is such a profile and `replaces` is False; the file could
                not be written.
        """
        if not is_profile_name(name):
            raise AIError(
                ErrorCode.BAD_REQUEST,
                "This is not a valid profile name.",
                hint=NAME_HINT,
            )
        return await anyio.to_thread.run_sync(
            partial(self._save, name, conversation, replaces=replaces)
        )

    def _read(self, name: str | None = None) -> LoadedConfig:
        environ = {**self._environ, CONFIG_VARIABLE: str(self._file)}  # it may not exist yet
        loaded = load_config(self._paths, environ, Flags(profile=name))
        self._config = loaded.config
        return loaded

    def _save(self, name: str, conversation: Conversation, *, replaces: bool) -> SavedProfile:
        config = self._read(NO_PROFILE).config
        known = find_profile(config.profiles, name)
        if known is not None and not replaces:
            raise AIError(
                ErrorCode.CONFLICT,
                f"There is a profile named {known} already.",
                hint=f"/save {known} replace replaces it.",
            )
        values = self._values(conversation, self._preset(config))
        _check(values)
        self._refuse_secrets(values, config)
        # Needed only here: it brings what writes TOML.
        from ollm_tui.config.edit import set_table

        set_table(self._file, ("profiles", known or name), values)
        saved = self._read().config.profiles.get(known or name, ProfileSettings())
        left_out = (*_unsaved(conversation, self._preset(config), saved),)
        return SavedProfile(known or name, self._file, left_out)

    def _values(self, conversation: Conversation, base: Preset) -> "TomlTable":
        """Return the table of a chat; what is not set there is left to the other settings."""
        ref = ModelRef.parse(conversation.model or "")
        prompt = conversation.system_prompt or ("" if base.system_prompt else None)
        options = _options(conversation.options)
        values = {
            "model": self._shown_address(ref) if ref else conversation.model,
            "system_prompt": prompt,
            "system_prompt_format": conversation.system_prompt_format,
            "thinking": thinking_level(conversation.should_think),
            "tools": list(conversation.tools),
            "schema": conversation.schema_file,
            "options": options or None,
        }
        references = self._references()
        table: TomlTable = with_texts(
            {key: value for key, value in values.items() if value is not None},
            lambda text: references.get(text) or escaped(text),
        )
        return table

    def _references(self) -> Mapping[str, str]:
        """Return the texts of the file that refer to variables, by what they stand for."""
        try:
            values = toml_values(self._file)
        except (OSError, ValueError):
            return {}
        references: dict[str, str] = {}
        for text in _texts(value for _, value in leaves(values)):
            if "${" in text.replace("$${", ""):
                try:
                    references[expand(text, self._environ)] = text
                except UndefinedVariableError:
                    continue
        return references

    def _refuse_secrets(self, values: "TomlTable", config: AppConfig) -> None:
        finder = SecretFinder(
            [*known_secrets(config), *environment_secrets(self._environ)], cut=False
        )
        for path, value in leaves(values):
            written = "\n".join(_texts([value])).encode("utf-8", "replace")
            if finder.is_in(written) or holds_private_key(written):
                raise AIError(
                    ErrorCode.BAD_REQUEST,
                    f"The profile was not saved: its {'.'.join(path)} contains a key or password.",
                    hint='Write it in the file yourself, with "${NAME}" in place of the secret.',
                )


def _check(values: "TomlTable") -> None:
    """Refuse what the settings do not accept."""
    try:
        read_section(ProfileSettings, values)
    except MistakesError as error:
        at = ".".join(map(str, error.mistakes[0]["loc"]))
        raise AIError(
            ErrorCode.BAD_REQUEST,
            f"The profile was not saved: a profile cannot hold this chat's {at}.",
            hint=f"Change it with /set first: {at}.",
        ) from None


def _texts(values: object) -> Iterator[str]:
    """Yield every text in nested values."""
    if isinstance(values, str):
        yield values
    elif isinstance(values, Mapping):
        for inner in values.values():
            yield from _texts(inner)
    elif isinstance(values, list | tuple | Iterator):
        for inner in values:
            yield from _texts(inner)


def _options(options: GenerationOptions) -> "TomlTable":
    """Return the options that are set, as the settings have them."""
    values = {name: getattr(options, name) for name in _OPTION_NAMES}
    written = {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}
    return {
        name: dict(value) if isinstance(value, Mapping) else value
        for name, value in written.items()
        if value is not None
    }


def _unsaved(conversation: Conversation, base: Preset, saved: ProfileSettings) -> Iterator[str]:
    """Yield what a chat that uses the profile would not have as this one."""
    for option in fields(GenerationOptions):
        wanted = getattr(conversation.options, option.name)
        if option.name not in _OPTION_NAMES:
            if wanted is not None:
                is_schema = isinstance(wanted, Mapping)
                if not (is_schema and saved.schema_file):
                    yield "schema" if is_schema else option.name
        elif wanted is None and getattr(base.options, option.name) is not None:
            yield option.name
    if conversation.should_think != base.should_think and saved.thinking is None:
        yield "thinking"


def summary(profile: ProfileSettings) -> str:
    """Return a line about a profile: its model first, then what else it sets."""
    options = profile.options.to_dict(only_given=True)
    parts = [
        profile.model,
        f"thinking {profile.thinking}" if profile.thinking else None,
        None if profile.tools is None else f"tools {', '.join(profile.tools) or 'off'}",
        *(
            f"{name} {value}"
            for name, value in options.items()
            if value is not None and name != "extra_body"
        ),
        "schema" if profile.schema_file else None,
        "system prompt" if profile.system_prompt else None,
    ]
    return " · ".join(part for part in parts if part) or "same as the other settings"
