"""From the name of a model to its family, variant and values, in the six steps of spec 05.

Of two values for the same key the higher one counts: the sidecar's variant, the sidecar, the
family's variant, the family, what it extends. The parts of `prompt`, `parameters` and
`engineOptions` count one by one, all other keys as a whole. Requests, settings and engines stand
above and below all of it: `runtime/details.py: stacked` puts these together.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ollm_tui.config.origin import ConfigProblem, KeyPath
from ollm_tui.config.yaml_file import PatternText, YamlProblem, read_yaml
from ollm_tui.dataclass import dataclass
from ollm_tui.decode.json_guard import dump_json
from ollm_tui.models.family_facts import KnownValue, Layer, ModelKnowledge, Step, ThinkingFacts
from ollm_tui.models.family_files import FamilyFile, FamilyLibrary, FamilyMatch
from ollm_tui.models.family_index import DEFAULT_VARIANT
from ollm_tui.models.name_pattern import SlowPatternError, plain_name
from ollm_tui.protocol.json_types import JsonValue
from ollm_tui.protocol.model import ModelCapability
from ollm_tui.protocol.request import ThinkingMode
from ollm_tui.sections.section import Section

if TYPE_CHECKING:
    # Costs 10 ms, and a model of no family needs nothing of it.
    from ollm_tui.models.family_schema import Ability, FamilyPart

_BY_PARTS: Final = frozenset({"prompt", "engine_options"})

_BESIDE: Final = "the settings beside the file"


def know_model(
    library: FamilyLibrary, names: Sequence[str], sidecar: Path | None = None
) -> ModelKnowledge:
    """Return what is known of a model; blocks.

    `names` are its name and others that it goes by, the best first. A file that cannot be used is
    left out, and named in `problems`.
    """
    problems: list[ConfigProblem] = []
    beside = _read_sidecar(sidecar, problems) if sidecar is not None else None
    match = library.match(names) if beside is None or beside.family.id is None else None
    own = match.file if match else beside if beside and beside.family.id is not None else None
    chain: tuple[FamilyFile, ...] = ()
    try:
        chain = library.chain(own) if own else ()
    except YamlProblem as error:
        problems.append(error.problem)
    led = [match.name] if match else names
    variants = [variant_of(one, led, problems) for one in chain[:1]]
    resolved = _Resolution(names[0], match, chain, next(iter(variants), None), beside)
    problems += library.problems
    return replace(resolved.knowledge(), problems=tuple(problems))


def _read_sidecar(path: Path, problems: list[ConfigProblem]) -> FamilyFile | None:
    try:
        file = read_yaml(path)
        # Loaded only with a file.
        from ollm_tui.models.family_schema import read_family

        family = read_family(file, is_beside=True)
    except FileNotFoundError:
        return None
    except YamlProblem as error:
        problems.append(error.problem)
        return None
    return FamilyFile(family.id or path.name, family, file, is_built_in=False, is_beside=True)


def variant_of(own: FamilyFile, names: Iterable[str], problems: list[ConfigProblem]) -> str | None:
    """Return the first variant whose pattern is found in a name; slow ones are problems."""
    for plain in map(plain_name, names):
        for variant, pattern in own.patterns():
            try:
                if variant != DEFAULT_VARIANT and pattern.is_in(plain):
                    return variant
            except SlowPatternError as error:
                at = ("modelPattern", variant)
                problems.append(own.file.problem(f"The pattern {error}.", at).problem)
    return None


@dataclass(frozen=True, slots=True)
class _Layer:
    """One table of one file whose values count."""

    words: str
    one: FamilyFile
    path: KeyPath
    part: "FamilyPart"
    layer: Layer

    def value_of(self, name: str, value: JsonValue, *path: str) -> KnownValue:
        place = self.one.file.origin((*self.path, *path))
        where = _place(self.one) + (f":{place.line}" if place.line else "")
        return KnownValue(
            name=name, value=value, origin=f"{self.words} ({where})", layer=self.layer
        )


class _Resolution:
    """Puts the layers of one model together; pure."""

    def __init__(
        self,
        name: str,
        match: FamilyMatch | None,
        chain: tuple[FamilyFile, ...],
        variant: str | None,
        beside: FamilyFile | None,
    ) -> None:
        self._name = name
        self._match = match
        self._chain = chain
        self._variant = variant
        self._beside = beside
        self._layers = tuple(self._all_layers())
        self._single = _single_keys() if self._layers else ()
        self._top = {name: self._first(name) for name in self._single}

    def knowledge(self) -> ModelKnowledge:
        """Return everything."""
        abilities, modes, names_modes = self._abilities()
        prompt = {value.name: value for value in self._prompt()}
        texts = {name: str(value.value) for name, value in prompt.items()}
        thinking = self._thinking(modes, names_modes, texts)
        window: Any = self._value("sliding_window")
        source: Any = self._value("source")
        own = self._chain[0] if self._chain else None
        return ModelKnowledge(
            name=self._name,
            family=own.id if own else None,
            variant=self._variant,
            chain=tuple(one.id for one in self._chain),
            steps=tuple(self._steps()),
            facts=tuple(self._facts(prompt)),
            parameters=self._parameters(),
            engine=tuple(self._engine()),
            abilities=abilities,
            capability=self._capability(abilities, thinks=bool(thinking and thinking.thinks)),
            thinking=thinking,
            tool_tags=tuple(form.tag() for form in self._value("tool_calls") or ()),
            context=self._value("context"),
            sliding_window=window,
            system_prompt=self._value("system_prompt"),
            prompt=texts,
            template=self._value("template"),
            template_format=self._value("template_format"),
            sources=tuple(source) if isinstance(source, list) else (source,) if source else (),
            sidecar=self._beside.file.path if self._beside else None,
        )

    def _all_layers(self) -> Iterator[_Layer]:
        """Yield the layers, the highest first."""
        beside, own = self._beside, self._chain[0] if self._chain else None
        if beside is not None and beside is not own:
            yield from self._layers_of(beside, _BESIDE, "sidecar")
        if own is not None:
            is_beside = own is beside
            words = _BESIDE if is_beside else f"the family {own.id}"
            yield from self._layers_of(own, words, "sidecar" if is_beside else "family")
        for parent in self._chain[1:]:
            yield _Layer(f"the family {parent.id}", parent, (), parent.family, "family")

    def _layers_of(self, one: FamilyFile, words: str, layer: Layer) -> Iterator[_Layer]:
        variant = self._variant
        if variant is not None and variant in one.family.version:
            part = one.family.version[variant]
            yield _Layer(f"{words}, variant {variant}", one, ("version", variant), part, layer)
        yield _Layer(words, one, (), one.family, layer)

    def _first(self, name: str) -> tuple[_Layer, Any] | None:
        """Return the value of a key that counts as a whole, with its layer."""
        return next(self._holders(name), None)

    def _holders(self, name: str) -> Iterator[tuple[_Layer, Any]]:
        for layer in self._layers:
            if name in layer.part.given:
                yield layer, getattr(layer.part, name)

    def _value(self, name: str) -> Any:
        holder = self._top.get(name)
        return holder[1] if holder else None

    def _abilities(
        self,
    ) -> "tuple[frozenset[Ability], frozenset[ThinkingMode], _Layer | None]":
        """Return what a variant declares together with what it is a variant of.

        The last is the layer that names the modes of thinking.
        """
        if not self._layers:
            return frozenset(), frozenset(), None
        # Loaded by now, with the file.
        from ollm_tui.models.family_schema import Modes

        named: set[Ability] = set()
        modes: list[ThinkingMode] | None = None
        names_modes: _Layer | None = None
        for layer, supports in self._holders("supports"):
            for entry in supports or ():
                if not isinstance(entry, Modes):
                    named.add(entry)
                elif modes is None:
                    modes, names_modes = entry.think_mode, layer
            if not layer.path:
                break
        return frozenset(named), frozenset(modes or ()), names_modes

    def _thinking(
        self,
        modes: frozenset[ThinkingMode],
        names_modes: _Layer | None,
        texts: Mapping[str, str],
    ) -> ThinkingFacts | None:
        written, blank = self._top.get("should_think"), texts.get("blankThink")
        if written is None and not modes:
            return None
        # Loaded by now: only a file names the modes.
        from ollm_tui.models.family_thinking import Thinking

        config: Thinking = written[1] if written else Thinking()
        layers = (names_modes, written[0] if written else None)
        is_declared_by_user = any(
            layer is not None and not layer.one.is_built_in for layer in layers
        )
        is_own = written is not None and not written[0].one.is_built_in
        holders = self._holders("should_think")
        built_in = next((value for layer, value in holders if layer.one.is_built_in), None)
        if is_own and built_in is not None:
            config = config.on_model_of(built_in)
        support = config.support(modes, blank, is_declared_by_user=is_declared_by_user)
        words = texts if support.prompt_format is not None else None
        support = replace(support, is_default_wanted=is_own, prompt_words=words)
        if written is None and blank is None and is_declared_by_user:
            support = replace(support, switch=None, efforts=None)  # nothing is said of them
        if built_in is not None:
            support = replace(support, thinks_by_itself=True)
        return ThinkingFacts(support=support, config=config, blank=blank)

    def _capability(
        self, abilities: "frozenset[Ability]", *, thinks: bool
    ) -> ModelCapability | None:
        if not self._chain:
            return None
        written = self._value("capability")
        if written is not None:
            return ModelCapability(
                frozenset(written.input), frozenset(written.output), frozenset(written.features)
            )
        takes = {"text"} | {kind for name, kind in _TAKES.items() if name in abilities}
        gives = {"embedding"} if "embedding" in abilities else {"text"}
        features = {feature for name, feature in _FEATURES.items() if name in abilities}
        features |= {"multi_turn", "stream"} if "text" in gives else set()
        features |= {"thinking"} if thinks else set()
        return ModelCapability(frozenset(takes), frozenset(gives), frozenset(features))

    def _prompt(self) -> Iterator[KnownValue]:
        """Yield the variables of the template; those of a file replace what it extends."""
        values: dict[str, list[KnownValue]] = {}
        for layer, texts in self._holders("prompt"):
            for name, text in (texts or {}).items():
                values.setdefault(name, []).append(layer.value_of(name, text, "prompt", name))
            if not layer.path and layer.one in self._chain:
                break
        yield from map(_stacked, values.values())

    def _engine(self) -> Iterator[KnownValue]:
        """Yield the engine options by the names of the settings."""
        values: dict[str, list[KnownValue]] = {}
        for layer, options in self._holders("engine_options"):
            for name, value in options.to_dict(only_given=True).items() if options else ():
                if value not in (None, []):
                    known = layer.value_of(name, value, "engineOptions", name)
                    values.setdefault(name, []).append(known)
        yield from (_stacked(values[name]) for name in sorted(values))

    def _parameters(self) -> tuple[KnownValue, ...]:
        values: dict[str, list[KnownValue]] = {}
        for layer in self._layers:
            if layer.path or "parameters" not in layer.part.given:
                continue
            for value in self._parameters_of(layer):
                values.setdefault(value.name, []).append(value)
            if layer.one in self._chain:
                break
        return tuple(_stacked(values[name]) for name in sorted(values))

    def _parameters_of(self, layer: _Layer) -> Iterator[KnownValue]:
        """Yield the options of one file, those of the variant first."""
        for key in (self._variant, DEFAULT_VARIANT):
            settings = layer.one.family.parameters.get(key or "")
            words = layer.words if key == DEFAULT_VARIANT else f"{layer.words}, variant {key}"
            named = replace(layer, words=words)
            for name in sorted(settings.given) if settings else ():
                value = getattr(settings, name)
                if value is not None:
                    yield named.value_of(name, value, "parameters", str(key), name)

    def _facts(self, prompt: Mapping[str, KnownValue]) -> Iterator[KnownValue]:
        for name in self._single:
            if name == "source":  # listed as the sources
                continue
            values = [
                layer.value_of(_alias(name), _as_json(value), _alias(name))
                for layer, value in self._holders(name)
            ]
            if values:
                yield _stacked(values)
        for name, value in prompt.items():
            yield replace(value, name=f"prompt.{name}")
        for value in self._engine():
            yield replace(value, name=f"engineOptions.{value.name}")

    def _steps(self) -> Iterator[Step]:
        match, own = self._match, self._chain[0] if self._chain else None
        beside = self._beside
        outcome = "none"
        if beside is not None:
            what = "a full definition" if beside.family.id is not None else "merged with the family"
            outcome = f"{beside.file.path.name}: {what}"
        yield Step(name="sidecar", outcome=outcome)
        if match is None or own is None:
            words = "that of the sidecar" if own else "none matches"
        else:
            by = "" if match.name == self._name else f", by {match.name!r}"
            words = f"{own.id}{by} ({_place(own)})"
        yield Step(name="family", outcome=words)
        chain = " → ".join(one.id for one in self._chain[1:])
        yield Step(name="inheritance", outcome=chain or "none")
        yield Step(name="variant", outcome=self._variant or ("the default" if own else "none"))
        keys = [_alias(name) for name in self._single if self._top[name] and name != "source"]
        yield Step(name="configuration", outcome=", ".join(keys) or "none")
        given = [f"{value.name} {_shown(value.value)}" for value in self._parameters()]
        yield Step(name="parameters", outcome=", ".join(given) or "none")


_TAKES: Final["Mapping[Ability, str]"] = {"vision": "image", "audio": "audio", "video": "video"}
_FEATURES: Final["Mapping[Ability, str]"] = {
    "tools": "tool_use",
    "infill": "infill",
    "systemPrompt": "system_prompt",
}


def _shown(value: JsonValue) -> str:
    """Write a value as the user does in a file."""
    return value if isinstance(value, str) else dump_json(value)


def _place(one: FamilyFile) -> str:
    path = one.file.path
    return path.name if one.is_built_in or one.is_beside else str(path)


def _stacked(values: Sequence[KnownValue]) -> KnownValue:
    return replace(values[0], beneath=tuple(values[1:]))


def _single_keys() -> tuple[str, ...]:
    """Return the keys that count as a whole."""
    # Loaded by now: called only where there is a file.
    from ollm_tui.models.family_schema import FamilyPart

    return tuple(name for name in FamilyPart.declared() if name not in _BY_PARTS)


def _alias(name: str) -> str:
    # Loaded by now, as above.
    from ollm_tui.models.family_schema import FamilyPart

    return FamilyPart.declared()[name].key


def _as_json(value: Any) -> JsonValue:
    if isinstance(value, Section):
        return {key: _as_json(one) for key, one in value.to_dict(only_given=True).items()}
    if isinstance(value, PatternText):
        return {"text": value.text}
    if isinstance(value, list):
        return [_as_json(one) for one in value]
    plain: JsonValue = value
    return plain
