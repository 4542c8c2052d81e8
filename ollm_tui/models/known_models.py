"""`KnownModels`: what families and sidecars say of models, and what of it fills a request.

Nothing is imported or read before the first question.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ollm_tui.config.regular_file import is_file, is_folder
from ollm_tui.dataclass import dataclass, field
from ollm_tui.protocol.request import GenerationOptions

if TYPE_CHECKING:
    from ollm_tui.config.origin import ConfigProblem
    from ollm_tui.models.assumptions import Assumptions
    from ollm_tui.models.family_facts import ModelKnowledge
    from ollm_tui.models.family_files import FamilyLibrary
    from ollm_tui.protocol.model import ModelInfo

SIDECAR_SUFFIX: Final = ".config.yaml"


def sidecar_path(model_file: Path) -> Path:
    """Return where the settings beside a model file are: `NAME.config.yaml`."""
    return model_file.with_name(f"{model_file.stem}{SIDECAR_SUFFIX}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDefaults:
    """What fills the gaps of a request; a request's own values win."""

    system_prompt: str | None = None
    options: GenerationOptions = field(default_factory=GenerationOptions)


class KnownModels:
    """Finds what is known of models; its methods block, and may run in any thread."""

    def __init__(self, user_folder: Path | None = None) -> None:
        self._user_folder = user_folder
        self._library: FamilyLibrary | None = None
        self._assumptions: Assumptions | None = None

    def of(self, names: Sequence[str], model_file: Path | None = None) -> "ModelKnowledge":
        """Return what is known of a model by its names, the best first, and beside its file."""
        # Costs 30 ms, and only some runs of the program need it.
        from ollm_tui.models.family_resolution import know_model

        sidecar = sidecar_path(model_file) if model_file is not None else None
        return know_model(self._families(), names, sidecar)

    def of_model(self, name: str, info: "ModelInfo | None" = None) -> "ModelKnowledge":
        """Return what is known of a model by its name, its titles, and beside its file."""
        path = info.details.get("path") if info is not None else None
        return self.of(names_of(name, info), Path(path) if isinstance(path, str) else None)

    def assume(self, models: "Sequence[ModelInfo]") -> "list[ModelInfo]":
        """Return models with what their families suggest that they can do; a list may be long."""
        # Costs 30 ms, and only some runs of the program need it.
        from ollm_tui.models.assumptions import Assumptions

        if self._assumptions is None:
            self._assumptions = Assumptions(self._families())
        return self._assumptions.added_to(models, names_of)

    def has_sidecar(self, info: "ModelInfo") -> bool:
        """Return whether there are settings beside a model's file."""
        path = info.details.get("path")
        return isinstance(path, str) and is_file(sidecar_path(Path(path)))

    def problems(self) -> "tuple[ConfigProblem, ...]":
        """Return what is wrong with families of the user."""
        # Nothing is read for people who have none, as most.
        if self._user_folder is None or not is_folder(self._user_folder):
            return ()
        return self._families().faults()

    def full_attention(self) -> dict[str, int]:
        """Return, by architecture, the n for which every n-th layer has full attention."""
        windows = [
            part.sliding_window
            for one in self._families().all()
            for part in (one.family, *one.family.version.values())
        ]
        return {name: one.full_every for one in windows if one for name in one.architectures}

    def _families(self) -> "FamilyLibrary":
        # Costs 30 ms, and only some runs of the program need it.
        from ollm_tui.models.family_files import FamilyLibrary

        if self._library is None:
            self._library = FamilyLibrary(self._user_folder)
        return self._library


def names_of(name: str, info: "ModelInfo | None") -> tuple[str, ...]:
    """Return the names that a model goes by, the best first: its own and its titles."""
    details = info.details if info is not None else {}
    titles = (details.get("title"), details.get("base_model"))
    return (name, *(title for title in titles if isinstance(title, str)))


def defaults_of(known: "ModelKnowledge") -> ModelDefaults:
    """Return what fills the gaps of a request for a model."""
    values: dict[str, Any] = {value.name: value.value for value in known.parameters}
    if "stop" in values:
        values["stop"] = tuple(values["stop"])
    options = GenerationOptions(**values)
    return ModelDefaults(system_prompt=known.system_prompt, options=options)
