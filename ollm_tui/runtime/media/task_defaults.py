"""`TaskDefaults`: the models for tasks beside the chat, as the app shows and changes them."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, get_args

from anyio import to_thread

from ollm_tui.models.tasks import TASK_WORDS, ModelTask
from ollm_tui.protocol.model import ModelInfo, ModelRef
from ollm_tui.providers.media.answer import offers
from ollm_tui.runtime.media.task_kinds import KINDS, can_do, candidates

if TYPE_CHECKING:
    from ollm_tui.config.load import LoadedConfig
    from ollm_tui.providers.catalog import Listing
    from ollm_tui.runtime.providers import Providers

_MAKES: Final = frozenset({"picture", "video", "music"})
"""What a model of the chat makes itself if it can."""


class TaskDefaults:
    """Which model each task has by default; a change is written to the settings file."""

    def __init__(self, loaded: "LoadedConfig", providers: "Providers") -> None:
        self._settings_file = loaded.path
        self._catalog, self._registry = providers.catalog, providers.registry
        self._names: dict[ModelTask, str | None] = {
            task: getattr(loaded.config.defaults, task) for task in get_args(ModelTask)
        }
        self._able: dict[ModelTask, tuple[Sequence[Listing], Sequence[ModelRef]]] = {}
        """The models for a task by the listings that they are of: asked for with each key."""

    def name(self, task: ModelTask) -> str | None:
        """Return the default model of a task as the settings name it, or None."""
        return self._names[task]

    def is_default(self, task: ModelTask, ref: ModelRef) -> bool:
        """Return whether a model is the default for a task."""
        name = self._names[task]
        if name is None:
            return False
        named = ModelRef.parse(name)
        if named is None:
            return name == ref.model
        adapter = self._registry.resolve(named.provider)
        return named.model == ref.model and adapter is not None and adapter.name == ref.provider

    def defaults_of(self, ref: ModelRef) -> tuple[ModelTask, ...]:
        """Return the tasks whose default a model is."""
        return tuple(task for task in TASK_WORDS if self.is_default(task, ref))

    def tasks_of(self, ref: ModelRef, info: ModelInfo) -> tuple[ModelTask, ...]:
        """Return the tasks that a model is for and its server supports."""
        adapter = self._registry.get(ref.provider)
        return tuple(
            task
            for task in TASK_WORDS
            if can_do(info, task) and (adapter is None or offers(adapter, KINDS[task].operation))
        )

    def models(self, task: ModelTask, chat_model: ModelRef | None = None) -> Sequence[str]:
        """Return the model that a task uses, else all known ones that can; asks no server.

        They are addresses as people write them. The model of the chat draws itself if it can.
        """
        shown = self._catalog.shown_address
        if task in _MAKES and chat_model is not None and self.can(task, chat_model):
            return (shown(chat_model),)
        name = self._names[task]
        return (name,) if name is not None else tuple(map(shown, self._able_models(task)))

    def can(self, task: ModelTask, ref: ModelRef) -> bool:
        """Return whether a listed model is known to be for a task."""
        info = self._catalog.find(ref)
        return info is not None and info.capability is not None and can_do(info, task)

    def _able_models(self, task: ModelTask) -> Sequence[ModelRef]:
        listings = self._catalog.cached()
        known = self._able.get(task)
        if known is None or known[0] != listings:
            known = self._able[task] = (listings, candidates(task, self._registry, listings))
        return known[1]

    async def choose(self, tasks: Iterable[ModelTask], ref: ModelRef | None) -> None:
        """Make a model the default for tasks, in the settings too; None removes the default.

        Raises:
            AIError: the settings file cannot be changed.
        """
        # Needed only here: it brings what writes TOML.
        from ollm_tui.config.edit import set_key

        name = None if ref is None else self._catalog.shown_address(ref)
        for task in tasks:
            await to_thread.run_sync(set_key, self._settings_file, f"defaults.{task}", name)
            self._names[task] = name
