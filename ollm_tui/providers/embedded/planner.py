"""`Planner`: how a model is loaded, by the settings, the sidecar of its file, and its family."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ollm_tui.config.engine_settings import ModelEngineSettings
from ollm_tui.config.regular_file import is_file
from ollm_tui.decode.json_fields import positive, present
from ollm_tui.decode.thinking import mentions_thinking
from ollm_tui.models.capabilities import with_overrides
from ollm_tui.models.checkpoints import IMAGE
from ollm_tui.models.known_models import KnownModels
from ollm_tui.models.sidecar import (
    engine_settings,
    own_abilities,
    own_engine,
    own_template,
    own_window,
)
from ollm_tui.protocol.errors import AIError
from ollm_tui.protocol.json_types import JsonObject
from ollm_tui.protocol.model import ModelCapability, ModelInfo
from ollm_tui.protocol.ports import ModelLibrary
from ollm_tui.providers.embedded import failures
from ollm_tui.providers.embedded.engine_rules import engine_for
from ollm_tui.providers.embedded.plan import EnginePlan, check_options, companions_of
from ollm_tui.providers.embedded.settings import EmbeddedSettings
from ollm_tui.providers.embedded.sound_plans import TASKS

if TYPE_CHECKING:
    from ollm_tui.models.family_facts import ModelKnowledge
    from ollm_tui.providers.embedded.chat_template import ChosenTemplate, TemplateCheck

MODEL_FILE: Final = "the model file"


class Planner:
    """Describes models and plans how they are loaded.

    All but `plan` blocks, for reading files, and may run in any thread.
    """

    def __init__(
        self,
        library: ModelLibrary,
        settings: EmbeddedSettings,
        known_models: KnownModels,
        *,
        is_installed: Callable[[], bool],
    ) -> None:
        self._library = library
        self._settings = settings
        self._known_models = known_models
        self._is_installed = is_installed

    @cached_property
    def _templates(self) -> "TemplateCheck":
        # Costs some milliseconds, and few models have a template of yours.
        from ollm_tui.providers.embedded.chat_template import TemplateCheck

        return TemplateCheck()

    def close(self) -> None:
        """End the process that templates are tried in."""
        if "_templates" in vars(self):
            self._templates.close()

    def models(self) -> Sequence[ModelInfo]:
        """Return the models of the library, as their sidecars say it better."""
        return [self._as_loaded(info) for info in self._library.models()]

    def shown(self, name: str) -> ModelInfo:
        """Return a model with all that its file says, its chat template and the engine.

        Raises:
            AIError: MODEL_NOT_FOUND.
        """
        facts = self._library.facts(name)
        info = self._as_loaded(self._info(name))
        program = self._settings.program
        notes = present({"engine": None if program is None else str(program)})
        template = self._template_facts(self._info(name), has_own="template" in facts)
        return replace(info, details={**facts, **info.details, **template, **notes})

    def known(self, name: str, path: Path) -> "ModelKnowledge":
        """Return what family and sidecar say of a model."""
        return self._known_of(self._info(name), path)

    def _known_of(self, info: ModelInfo, path: Path) -> "ModelKnowledge":
        details = {**info.details, "path": str(path)}
        return self._known_models.of_model(info.name, replace(info, details=details))

    async def plan(
        self, name: str, context: int | None = None, *, makes_embeddings: bool = False
    ) -> EnginePlan:
        """Return how to load a model; `context` is the window that a request asks for.

        Raises:
            AIError: there is no such model or engine, or its settings cannot be used.
        """
        program = self._settings.program
        if program is not None and not await to_thread.run_sync(is_file, program):
            raise failures.no_program(program)
        if program is None and not self._is_installed():
            raise failures.not_installed()
        plan, template = await to_thread.run_sync(self._plan, name, makes_embeddings)
        if template is not None:
            await self._templates.check(template)
        return replace(plan, context=context) if context else plan

    def _plan(
        self, name: str, makes_embeddings: bool
    ) -> "tuple[EnginePlan, ChosenTemplate | None]":
        path, info = self._library.path_of(name), self._info(name)
        _check_kind(info, makes_embeddings=makes_embeddings)
        known = self._known_of(info, path)
        engine_for(name, str(info.details.get("kind", "chat")), own_engine(known))
        options = self._options(info, known)
        template = self._template(info, options, known)
        projector = info.details.get("projector")
        if options.projector is None and isinstance(projector, str):
            options = options.changed(projector=Path(projector))
        plan = EnginePlan(
            name=name,
            path=path,
            context=self._window(info, known),
            options=options,
            template=template.text if template else None,
            program=self._settings.program,
            makes_embeddings=makes_embeddings,
            states_dir=self._settings.states_dir if self._settings.max_state_bytes else None,
        )
        return plan, template

    def _options(self, info: ModelInfo, known: "ModelKnowledge") -> ModelEngineSettings:
        """Return how a model is loaded, after a look at the files that are named for it."""
        beside = engine_settings(known)
        options = self._settings.options_of(info.name, beside)
        check_options(info.name, options, self._settings.program)
        for kind, path in companions_of(options):
            try:
                self._library.check_companion(path, kind, info.name)
            except AIError as error:
                if path in (*beside.lora, beside.draft_model) and known.sidecar is not None:
                    error.hint = f"Change or remove `engineOptions.{kind}` in {known.sidecar.name}."
                raise
        return options

    def _template(
        self, info: ModelInfo, options: ModelEngineSettings, known: "ModelKnowledge"
    ) -> "ChosenTemplate | None":
        has_own = _has_template(info)
        is_own_used = has_own or known.template is None
        if options.chat_template is None and own_template(known) is None and is_own_used:
            return None
        # As in `_templates`.
        from ollm_tui.providers.embedded.chat_template import find_template

        is_set = self._settings.options_of(info.name).chat_template is not None
        return find_template(options.chat_template, known, is_set=is_set, has_own=has_own)

    def _template_facts(self, info: ModelInfo, *, has_own: bool) -> JsonObject:
        """Return the chat template in force and where it is from, or why it cannot be used."""
        known = self._known_models.of_model(info.name, info)
        try:
            options = self._settings.options_of(info.name, engine_settings(known))
            template = self._template(info, options, known)
        except AIError as error:
            return {"template_problem": error.message}
        if template is None:
            return {"template_from": MODEL_FILE} if has_own else {}
        return {"template": template.text, "template_from": template.origin}

    def _info(self, name: str) -> ModelInfo:
        for info in self._library.models():
            if info.name == name:
                return info
        return ModelInfo(name=name)

    def _as_loaded(self, info: ModelInfo) -> ModelInfo:
        """Return a model as its sidecar describes it, with its window and what is loaded with it.

        An unusable model, or one that the engine cannot chat with, stays as it is.
        """
        is_changed = self._known_models.has_sidecar(info) or info.name in self._settings.models
        if info.details.get("kind") in (*TASKS, IMAGE):
            return info
        if _is_other(info) or (not is_changed and _has_template(info)):
            return replace(info, context=self._window(info, None))
        known = self._known_models.of_model(info.name, info)
        try:
            options = self._settings.options_of(info.name, engine_settings(known))
            template = self._template(info, options, known)
        except AIError:  # loading the model says it
            described = info
        else:
            described = _with_template(_with_files(info, options), template)
        own = own_abilities(known)
        if own.thinking and "thinking" in (described.capability or ModelCapability()).features:
            own = replace(own, thinking=None)  # that its template thinks is the engine's word
        described = with_overrides(described, own)
        return replace(described, context=self._window(info, known))

    def _window(self, info: ModelInfo, known: "ModelKnowledge | None") -> int:
        window = None
        if known is not None:
            window = own_window(known)
        trained = positive(info.details, "context_trained")
        return self._settings.window_of(info.name, trained=trained, sidecar=window)


def _is_other(info: ModelInfo) -> bool:
    return "problem" in info.details or "kind" in info.details


def _has_template(info: ModelInfo) -> bool:
    """Whether a model file has a chat template, by what its library reads off it."""
    return info.capability is None or "multi_turn" in info.capability.features


def _check_kind(info: ModelInfo, *, makes_embeddings: bool) -> None:
    problem, kind = info.details.get("problem"), info.details.get("kind")
    if problem is not None:
        raise failures.unusable(info.name, str(problem))
    if makes_embeddings and kind != "embedding":
        raise failures.no_embeddings(info.name)
    if kind is not None and not makes_embeddings:
        raise failures.not_for_chat(info.name, str(kind))


def _with_files(info: ModelInfo, options: ModelEngineSettings) -> ModelInfo:
    """Add which adapters and draft model a model is loaded with, and their bytes."""
    paths = [path for kind, path in companions_of(options) if kind != "projector"]
    if not paths:
        return info
    size = 0
    for path in paths:
        try:
            size += path.stat().st_size
        except OSError:  # loading the model says it
            continue
    files: JsonObject = {"loaded_with": [str(one) for one in paths], "loaded_with_bytes": size}
    return replace(info, details={**info.details, **files})


def _with_template(info: ModelInfo, template: "ChosenTemplate | None") -> ModelInfo:
    """Give a model the abilities of the template in place of its own, read as those of files."""
    if template is None or info.capability is None:
        return info
    has = {"tool_use": "tools" in template.text, "thinking": mentions_thinking(template.text)}
    kept = info.capability.features - has.keys()
    features = kept | {"multi_turn", "system_prompt"} | {name for name in has if has[name]}
    return replace(info, capability=replace(info.capability, features=features))
