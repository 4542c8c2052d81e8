"""What a family file may hold: its keys, their types, and the checks that go over several keys.

Specification: 05, "Model Configuration". Keys of our own are `source`, `priority`, `context`,
`slidingWindow`, `systemPrompt`, `toolCalls`, `engineOptions`, and below `shouldThink` what switches
thinking.
"""

from collections.abc import Mapping
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias, get_args

from ollm_tui.config.complaints import complaint
from ollm_tui.config.engine_settings import FILES_BESIDE, DraftTokens, EngineSettings
from ollm_tui.config.origin import KeyPath, dotted, nearest
from ollm_tui.config.schema import GenerationSettings
from ollm_tui.config.values import Text, TokenCount
from ollm_tui.config.yaml_file import PatternText, YamlFile, YamlProblem
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.leaked_forms import NAME_END, CallSyntax, ToolTag
from ollm_tui.models.family_index import DEFAULT_VARIANT
from ollm_tui.models.family_thinking import (
    DefaultThinkPrompt,
    FamilySection,
    Switch,
    Thinking,
    ThinkPrompts,
)
from ollm_tui.models.name_pattern import BadPatternError, NamePattern
from ollm_tui.protocol.message import has_template_marks
from ollm_tui.protocol.request import ThinkingMode
from ollm_tui.sections.marks import Bounds, Check, CheckWithContext, Convert, Length
from ollm_tui.sections.reading import read_section
from ollm_tui.sections.section import MistakesError, Section, setting

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Ability: TypeAlias = Literal[
    "tools", "parallelTools", "systemPrompt", "vision", "audio", "video", "infill", "embedding"
]
ABILITIES: Final[tuple[Ability, ...]] = get_args(Ability)
_NOT_FOR_FAMILIES: Final = frozenset({"num_ctx", "keep_alive", "extra_body", "seed"})


Tagged: TypeAlias = Annotated[Text, Length(most=100)]
Pair: TypeAlias = Annotated[list[Tagged], Length(2, 2)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingWindow(FamilySection):
    """Layers that only see the newest tokens."""

    size: TokenCount
    full_every: Annotated[int, Bounds(ge=2, le=100)]
    """Every n-th layer sees all tokens."""
    architectures: list[Text] = setting([])
    """As model files name them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallForm(FamilySection):
    """How a model writes a tool call into its text, if its server does not read it."""

    start: Tagged
    ends: Annotated[list[Tagged], Length(most=8)] = setting([])
    in_call: bool = False
    """Whether start and end are part of the call's own text."""
    call_start: Tagged | None = None
    call_end: Tagged | None = None
    """What stands before and after each call between them."""
    name_end: Tagged | None = None
    """What stands between the name of a tool and its arguments."""
    key_tags: Pair | None = None
    value_tags: Pair | None = None
    """What stands around each argument's name and value, in forms without JSON."""
    syntax: CallSyntax = "json"
    """How the arguments are written."""
    quote: Tagged | None = None
    """What stands around texts in the syntax `bare`."""
    element_prefix: Tagged | None = None
    """What stands before the names of elements."""
    text_name: Tagged | None = None
    """What stands in the place of a tool's name before text for the user."""

    def check_together(self) -> None:
        """Raise a `ValueError` for marks that do not belong together."""
        if self.text_name is not None and not (self.in_call and self.name_end):
            raise ValueError("needs `inCall: true` and `nameEnd` with `textName`")
        if (self.key_tags is None) != (self.value_tags is None):
            raise ValueError("needs keyTags and valueTags together")
        if (self.quote is None) != (self.syntax != "bare"):
            raise ValueError("needs `quote` with `syntax: bare`, and only there")

    def tag(self) -> ToolTag:
        """Return what is searched for."""
        return ToolTag(
            self.start,
            tuple(self.ends),
            self.in_call,
            call_start=self.call_start or "",
            call_end=self.call_end or "",
            name_end=self.name_end or NAME_END,
            key_tags=(self.key_tags[0], self.key_tags[1]) if self.key_tags else ("", ""),
            value_tags=(self.value_tags[0], self.value_tags[1]) if self.value_tags else ("", ""),
            syntax=self.syntax,
            quote=self.quote or '"',
            element_prefix=self.element_prefix or "",
            text_name=self.text_name or "",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Modes(FamilySection):
    """The thinking modes that a model declares, in the list of `supports`."""

    think_mode: list[ThinkingMode]


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities(FamilySection):
    """What goes in and comes out, where `supports` does not say it all."""

    input: list[Text]
    output: list[Text]
    features: list[Text] = setting([])


def _check_beside(name: str) -> None:
    """Raise a `ValueError` for the name of a file that may lead out of the model's folder."""
    for path in (PurePosixPath(name), PureWindowsPath(name)):
        if path.anchor or ".." in path.parts or "\0" in name:
            raise ValueError("must be the name of a file in the folder of the model")


FileBeside: TypeAlias = Annotated[Text, Check(_check_beside)]


def _check_plain(text: str) -> None:
    if has_template_marks(text):
        raise ValueError(
            "is a template, which is not rendered here: write plain text, or set"
            " `system_prompt` with `system_prompt_format` in the settings"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions(EngineSettings):
    """How the built-in engine loads a model, by the names of the settings.

    Such a file may come with a download: it names files of the model's folder, and no address,
    program or arguments.
    """

    lora: list[FileBeside] = setting([])
    draft_model: FileBeside | None = None
    draft_tokens: DraftTokens | None = None
    chat_template: FileBeside | None = None
    language: Text | None = None
    """For engines that hear: the language that is spoken."""
    prompt: Text | None = None
    """For engines that hear: words that are likely to be said."""
    translate: bool | None = None
    """For engines that hear: whether the text is to be English."""
    voice: Text | None = None
    speed: Annotated[float, Bounds(ge=0.25, le=4)] | None = None
    """For engines that speak."""
    vae: FileBeside | None = None
    clip_l: FileBeside | None = None
    clip_g: FileBeside | None = None
    t5xxl: FileBeside | None = None
    llm: FileBeside | None = None
    taesd: FileBeside | None = None
    """For engines that draw: the parts of a model that lie in files of their own."""
    steps: Annotated[int, Bounds(ge=1, le=1000)] | None = None
    cfg_scale: Annotated[float, Bounds(ge=0, le=100)] | None = None
    guidance: Annotated[float, Bounds(ge=0, le=100)] | None = None
    strength: Annotated[float, Bounds(ge=0, le=1)] | None = None
    """For engines that draw: how far a picture is changed."""
    usual_size: Annotated[int, Bounds(ge=64, le=4096)] | None = None
    """For engines that draw: pixels of a side, if a request names no size."""
    sampler: Text | None = None
    scheduler: Text | None = None
    negative_prompt: Text | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyPart(FamilySection):
    """What a whole family and each of its variants may have."""

    source: Text | list[Text] | None = None
    """Where the values are from: addresses of model cards."""
    supports: list[Ability | Modes] | None = None
    should_think: Thinking | None = None
    tool_calls: Annotated[list[CallForm], Length(most=20)] | None = None
    """How calls look that are printed as text; the usual forms are known without it."""
    prompt: dict[str, str] | None = None
    """Variables of the template."""
    template: Text | None = None
    template_format: Literal["hf", "jinja2", "golang"] | None = None
    system_prompt: Annotated[Text, Check(_check_plain)] | None = None
    """What is sent where neither a chat nor the settings have a system prompt."""
    context: TokenCount | None = None
    """The window that the models were made for."""
    sliding_window: SlidingWindow | None = None
    capability: Abilities | None = None
    engine: Text | None = None
    """The engine of this machine that runs the models."""
    model_path: FileBeside | None = None
    """A file of the folder that is loaded in place of the model's own."""
    engine_options: EngineOptions | None = None

    def check_together(self) -> None:
        """Raise a `ValueError` for two templates."""
        options = self.engine_options
        if self.template is not None and options is not None and options.chat_template is not None:
            raise ValueError("has both `template` and `engineOptions.chat_template`: keep one")


Pattern: TypeAlias = PatternText | Text


def _by_variant(values: object) -> object:
    """Take options without a variant as those of the default one, as sidecars have them."""
    if not isinstance(values, dict) or any(isinstance(one, dict) for one in values.values()):
        return values
    return {DEFAULT_VARIANT: values} if values else {}


def _check_parameters(values: Mapping[str, GenerationSettings]) -> None:
    for settings in values.values():
        for name in sorted(settings.given & _NOT_FOR_FAMILIES):
            raise ValueError(f"may not set {name}: it belongs in the settings")


def _check_patterns(
    patterns: Mapping[str, Pattern], _above: Mapping[str, object], is_built_in: object
) -> None:
    for variant, pattern in patterns.items():
        try:
            NamePattern(pattern, is_built_in=bool(is_built_in)).check()
        except BadPatternError as error:
            raise ValueError(f"has a pattern for {variant!r} that {error}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Family(FamilyPart):
    """A family file, or the settings beside a model file."""

    id: Text | None = setting(None, key="_id")
    extends: Text | None = None
    type: Literal["model", "system"] | None = None
    """`system` is a template that others extend; its patterns are searched last."""
    priority: Annotated[int, Bounds(ge=-100, le=100)] = 0
    """Families with a higher one are searched first: those made from models of other families."""
    version: dict[str, FamilyPart] = setting({})
    model_pattern: Annotated[dict[str, Pattern], CheckWithContext(_check_patterns)] = setting({})
    parameters: Annotated[
        dict[str, GenerationSettings], Check(_check_parameters), Convert(_by_variant)
    ] = setting({})

    def check_together(self) -> None:
        """Raise a `ValueError` also for variants that are not known."""
        FamilyPart.check_together(self)
        known = {*self.model_pattern, DEFAULT_VARIANT}
        for key in ("version", "parameters"):
            for variant in getattr(self, key):
                if variant not in known and self.id is not None:
                    raise ValueError(
                        f"names the variant {variant!r} in {key}, which modelPattern does not have"
                    )


def read_family(file: YamlFile, *, is_built_in: bool = False, is_beside: bool = False) -> Family:
    """Return what a file holds; `is_beside`: it lies beside a model file, so it may name files.

    Raises:
        YamlProblem: a key is unknown, or a value is of the wrong type; with file and line.
    """
    try:
        family = read_section(Family, file.values, is_strict=True, context=is_built_in or None)
    except MistakesError as error:
        raise _problem(file, error.mistakes[0]) from None
    if not is_beside:
        _refuse_files(file, family)
    return family


def _refuse_files(file: YamlFile, family: Family) -> None:
    parts: dict[KeyPath, FamilyPart] = {(): family}
    parts |= {("version", name): part for name, part in family.version.items()}
    for path, part in parts.items():
        options = part.engine_options
        named = sorted(FILES_BESIDE & options.given) if options else []
        places: list[KeyPath] = [(*path, "engineOptions", name) for name in named]
        if part.model_path is not None:
            places.append((*path, "modelPath"))
        for at in places:
            hint = "Put it into the settings beside the model file."
            raise file.problem(
                f"`{dotted(at)}` names a file, which a family has none of.", at, hint
            )


def _problem(file: YamlFile, error: "ErrorDetails") -> YamlProblem:
    path = _written_path(error["loc"], file.values)
    if error["type"] == "extra_forbidden":
        near = nearest(path[-1], _known_keys())
        hint = f"Did you mean `{near}`?" if near else None
        return file.problem(f"Unknown key `{dotted(path)}`.", path, hint)
    subject = f"`{dotted(path)}`" if path else "The file"
    return file.problem(f"{subject} {complaint(error)}.", path)


def _written_path(location: tuple[int | str, ...], values: Mapping[str, object]) -> KeyPath:
    """Return the part of a location that is in the file; pydantic adds the members of unions."""
    path: list[str] = []
    node: object = values
    for part in location:
        if isinstance(node, Mapping) and part in node:
            node = node[str(part)]
        elif isinstance(node, list) and isinstance(part, int) and part < len(node):
            node = node[part]
        else:
            continue
        path.append(str(part))
    return tuple(path)


def _known_keys() -> list[str]:
    kinds: tuple[type[Section], ...] = (
        *(Family, Thinking, Switch, DefaultThinkPrompt, ThinkPrompts),
        *(SlidingWindow, Abilities, CallForm, EngineOptions),
    )
    known = [one.key for kind in kinds for one in kind.declared().values()]
    return [*known, "thinkMode", *GenerationSettings.declared()]
