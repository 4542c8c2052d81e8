"""The families that come with the app, and those that people add."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from ollm_tui.config.yaml_file import PatternText, YamlFile, YamlProblem, read_yaml
from ollm_tui.decode.leaked_calls import LeakedCall, LeakedCallDetector
from ollm_tui.decode.think_pieces import TextPiece, ThinkingPiece
from ollm_tui.decode.thinking import ThinkTagSplitter
from ollm_tui.models.capabilities import ABILITIES, capabilities_of
from ollm_tui.models.family_facts import ModelKnowledge
from ollm_tui.models.family_files import BUILT_IN, FamilyLibrary
from ollm_tui.models.family_words import family_rows
from ollm_tui.models.known_models import KnownModels, defaults_of
from ollm_tui.models.name_pattern import (
    LIMIT_S,
    BadPatternError,
    NamePattern,
    SlowPatternError,
    plain_name,
)
from ollm_tui.models.thinking import resolve_thinking
from ollm_tui.models.thinking_tags import tags_of
from ollm_tui.protocol.model import ModelInfo
from ollm_tui.protocol.tools import ToolSchema

DATA = Path(__file__).parent.parent / "data"
LINES = [
    line.split("\t")
    for line in (DATA / "model_names.tsv").read_text("utf-8").splitlines()
    if not line.startswith("#")
]
Write = Callable[[str, str], Path]


@pytest.fixture(scope="module")
def known() -> KnownModels:
    return KnownModels()


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, "utf-8")
        return path

    return write


def thinking_of(model: ModelKnowledge) -> str:
    if model.family is None:
        return "-"
    thinking = model.thinking
    if thinking is None or not thinking.thinks:
        return "no"
    return "always" if thinking.is_always_on else f"default-{thinking.support.default}"


def test_real_names_lead_to_family_variant_thinking_and_tools(known: KnownModels) -> None:
    wrong = []
    for name, *expected in LINES:
        model = known.of([name])
        found = [model.family or "-", model.variant or "-", thinking_of(model)]
        found.append(model.tool_mode or "-")
        if found != expected or model.problems:
            wrong.append((name, expected, found, model.problems))
    assert wrong == []
    assert len(LINES) >= 250


def test_every_family_can_be_read_names_its_source_and_is_reached_by_a_name() -> None:
    library = FamilyLibrary()
    reached = {row[1] for row in LINES}
    for one in library.all():
        chain = library.chain(one)
        assert one.id in reached or one.family.type == "system", one.id
        assert one.family.source, one.id
        assert {"context", "supports"} & one.family.given, one.id
        for part in one.family.version.values():
            thinks = any(not isinstance(entry, str) for entry in part.supports or ())
            has_tags = any(layer.family.should_think for layer in chain)
            assert not thinks or part.should_think or has_tags, one.id
        for variant, _ in one.patterns():
            known = variant in one.family.version or variant in one.family.parameters
            assert known or variant in {"@", "qwq-preview", "guardian"}, (one.id, variant)
    assert library.problems == ()


def test_every_variant_of_a_built_in_family_is_reached_by_a_name() -> None:
    reached = {(row[1], row[2]) for row in LINES}
    missing = [
        (one.id, variant)
        for one in FamilyLibrary().all()
        for variant, _ in one.patterns()
        if variant != "@" and (one.id, variant) not in reached
    ]
    assert missing == []


def test_thinking_of_every_family_can_drive_a_request(known: KnownModels) -> None:
    for name, *_ in LINES:
        thinking = known.of([name]).thinking
        if thinking is None:
            continue
        for mode in sorted(thinking.support.allowed):
            plan = resolve_thinking(mode, thinking.support)
            assert plan.mode == mode
            assert tags_of(plan).pairs or mode == "off"


def test_only_the_files_of_a_model_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def reading(path: Path) -> YamlFile:
        read.append(path.name)
        return read_yaml(path)

    monkeypatch.setattr("ollm_tui.models.family_files.read_yaml", reading)
    library = KnownModels()
    library.of(["qwen3:8b"])
    library.of(["Qwen3-4B"])
    library.of(["my-model"])
    assert read == ["qwen.yaml", "chatml.yaml"]


def test_a_full_file_and_its_index_agree() -> None:
    indexed = FamilyLibrary()._make(()).entries
    by_path = {one.file.path: one for one in FamilyLibrary().all()}
    assert {entry.path for entry in indexed} == set(by_path) == set(BUILT_IN.glob("*.yaml"))
    for entry in indexed:
        one = by_path[entry.path]
        assert (entry.id, entry.priority) == (one.id, one.family.priority)
        assert entry.is_system == (one.family.type == "system")
        written = dict(one.patterns())
        assert entry.patterns[0].text == written["@"].text


def test_built_in_patterns_take_no_time_for_any_name() -> None:
    patterns = [pattern for one in FamilyLibrary().all() for _, pattern in one.patterns()]
    hostile = [mark * 200 for mark in ("-", "a", "qwen3-", "llama-", "granite", "0", "-_.")]
    for pattern in patterns:
        for name in hostile:
            plain = plain_name(name)
            assert any(_seconds(partial(pattern.is_in, plain)) < LIMIT_S for _ in range(3)), (
                pattern.text
            )


def _seconds(act: Callable[[], object]) -> float:
    """Return the time of this thread's own work, whatever else the machine does."""
    begun = time.thread_time()
    act()
    return time.thread_time() - begun


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|aa)+$", "(a|a?)+$", "(.*a){20}", "^(([a-z])+.)+[A-Z]$", "(a*)*b"]
)
def test_a_pattern_that_would_take_forever_is_stopped(pattern: str) -> None:
    hostile = NamePattern(PatternText(f"/{pattern}/i"), is_built_in=False)
    hostile.check()
    begun = time.monotonic()
    with suppress(SlowPatternError):
        hostile.is_in("a" * 199 + "!")
    assert time.monotonic() - begun < 1


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("hf.co/unsloth/Qwen3-8B-GGUF:Q4_K_M", "Qwen3-8B-GGUF-Q4_K_M"),
        ("qwen3:8b", "qwen3-8b"),
        ("/models/Qwen3-8B.GGUF", "Qwen3-8B"),
        ("Meta Llama 3.1 8B", "Meta-Llama-3.1-8B"),
        ("a" * 500, "a" * 200),
        ("", ""),
    ],
)
def test_names_are_reduced_to_what_patterns_search(name: str, plain: str) -> None:
    assert plain_name(name) == plain


SPEC = {
    "ChatML2.yaml": """
_id: Base
templateFormat: hf
type: system
prompt: {bot_token: <s>, eot_token: </s>}
template: base
parameters: {'@': {temperature: 0.9}}
modelPattern: {'@': !re /nothing/}
""",
    "Fam.yaml": """
_id: Fam
extends: Base
supports: [tools]
version:
  fam3:
    supports: [{thinkMode: [deep, off]}]
    shouldThink: {thinkTag: [<think>, </think>], mode: deep}
    prompt: {blankThink: x}
prompt: {bot_token: <f>}
template: own
modelPattern:
  fam3: !re /(?:^|[-_.])(fam3)(?:$|[-_.])/i
  famous: 'famous*'
  '@': !re /(?:^|[-_.])(fam)/i
parameters:
  '@': {temperature: 0.7, top_k: 5}
  fam3: {temperature: 0.5, top_p: 0.9}
""",
}


@pytest.fixture
def families(write: Write, tmp_path: Path) -> KnownModels:
    for name, text in SPEC.items():
        write(name, text)
    return KnownModels(tmp_path)


def test_the_six_steps_lead_from_a_file_name_to_values(
    families: KnownModels, tmp_path: Path
) -> None:
    model = families.of(["Fam3-8B-Q4_K_M"])
    assert {step.name: step.outcome for step in model.steps} == {
        "sidecar": "none",
        "family": f"Fam ({tmp_path / 'Fam.yaml'})",
        "inheritance": "Base",
        "variant": "fam3",
        "configuration": "supports, shouldThink, template, templateFormat",
        "parameters": "temperature 0.5, top_k 5, top_p 0.9",
    }
    assert (model.template, model.template_format) == ("own", "hf")
    assert model.prompt == {"blankThink": "x", "bot_token": "<f>"}  # the child's replace it
    assert model.thinking is not None
    assert model.thinking.blank == "x"
    assert model.thinking.support.modes == {"deep", "off"}
    temperature = model.parameters[0]
    assert temperature.origin == f"the family Fam, variant fam3 ({tmp_path / 'Fam.yaml'}:18)"
    assert [(one.value, one.layer) for one in temperature.beneath] == [(0.7, "family")]


def test_patterns_and_variants_are_not_inherited(families: KnownModels, write: Write) -> None:
    head = "_id: Child\nextends: Fam\npriority: 1\n"
    write("child.yaml", head + "modelPattern: {'@': !re /child/, fam4: !re /child4/}")
    model = families.of(["child4-fam3"])
    assert (model.family, model.variant, model.chain) == ("Child", "fam4", ("Child", "Fam", "Base"))
    assert model.thinking is None
    assert [(one.name, one.value) for one in model.parameters] == [
        ("temperature", 0.7),
        ("top_k", 5),
    ]
    assert families.of(["other"]).family is None


def test_a_text_as_pattern_is_a_glob(families: KnownModels) -> None:
    assert families.of(["Famous-1b"]).variant == "famous"


SIDECARS = {
    "parameters: {temperature: 0.1}": ("Fam", "fam3", 0.1, "own"),
    "parameters: {fam3: {temperature: 0.2}}": ("Fam", "fam3", 0.2, "own"),
    "template: beside": ("Fam", "fam3", 0.5, "beside"),
    "_id: Mine\nextends: Base\nparameters: {temperature: 0.3}": ("Mine", None, 0.3, "base"),
    "_id: Mine\nversion: {v: {template: v}}\nmodelPattern: {v: !re /8b/i}": (
        "Mine",
        "v",
        None,
        "v",
    ),
}


@pytest.mark.parametrize("text", SIDECARS)
def test_a_sidecar_is_merged_or_takes_precedence(
    families: KnownModels, write: Write, text: str
) -> None:
    beside = write("Fam3-8B.config.yaml", text)
    model = families.of(["Fam3-8B"], beside.with_name("Fam3-8B.gguf"))
    temperature = defaults_of(model).options.temperature
    expected = SIDECARS[text]
    assert (model.family, model.variant, temperature, model.template) == expected
    assert model.sidecar == beside


def test_a_sidecar_alone_is_enough(write: Write) -> None:
    beside = write("x.config.yaml", "systemPrompt: Be kind.\nparameters: {stop: [no]}")
    model = KnownModels().of(["x"], beside.with_name("x.gguf"))
    filled = defaults_of(model)
    assert (filled.system_prompt, filled.options.stop) == ("Be kind.", ("no",))
    write("x.config.yaml", 'parameters: {stop: ["</s>", "ä"], temperature: 0.5}')
    steps = KnownModels().of(["x"], beside.with_name("x.gguf")).steps
    assert steps[-1].outcome == 'stop ["</s>", "ä"], temperature 0.5'


TAUGHT = """
supports: [{thinkMode: [first, off]}]
shouldThink:
  mode: off
  thinkTag: [<plan>, </plan>]
  visible: false
  steps: 3
  defaultThinkPrompt: {prompt: {firstThinkPrompt: Plan., rolePrompt: Act.}, templateFormat: hf}
"""


def test_what_a_sidecar_says_of_thinking_acts(families: KnownModels, write: Write) -> None:
    beside = write("x.config.yaml", TAUGHT).with_name("x.gguf")
    model = families.of(["x"], beside)
    assert model.thinking is not None
    support = model.thinking.support
    assert (support.is_declared_by_user, support.thinks_by_itself) == (True, False)
    assert (support.visible, support.steps, support.efforts) == (False, 3, ())
    assert (support.prompts, support.prompt_format) == ({"first": "Plan.", "role": "Act."}, "hf")
    rows = dict(family_rows(model))
    words = "off by default, or first; told to in the system prompt; <plan> … </plan>"
    assert rows["thinking"] == words
    more = "supports: [tools, {thinkMode: [deep]}]\nprompt: {blankThink: x, bot_token: y}"
    write("x.config.yaml", f"{more}\nshouldThink: {{startsOpen: true, mode: deep}}")
    model = families.of(["x"], beside)
    assert model.thinking is not None
    assert model.thinking.support.thinks_by_itself
    assert dict(family_rows(model))["thinking"] == "always; switched by a blank block"


def test_a_sidecar_chooses_how_a_known_model_thinks_and_leaves_how_it_was_made(
    write: Write, known: KnownModels
) -> None:
    beside = write("x.config.yaml", "shouldThink: {mode: off}").with_name("x.gguf")
    found, family = known.of(["Qwen3.5-4B"], beside).thinking, known.of(["Qwen3.5-4B"]).thinking
    assert found is not None
    assert family is not None
    chosen = replace(
        family.support, default="off", is_declared_by_user=True, is_default_wanted=True
    )
    assert found.support == chosen
    write("x.config.yaml", "shouldThink: {effort: high, thinkTag: [<t>, </t>]}")
    found = known.of(["Qwen3.5-4B"], beside).thinking
    assert found is not None
    own = found.support
    assert (own.switch, own.efforts) == (family.support.switch, ("high",))
    assert (own.think_tag, own.starts_open) == (("<t>", "</t>"), False)
    write("x.config.yaml", "supports: [thinkMode: [deep, off]]")
    found = known.of(["unknown"], beside).thinking
    assert found is not None
    assert (found.support.switch, found.support.efforts) == (None, None)


BROKEN = {
    "_id: Fam\nextends: Fam": ":2: `extends` leads in a circle: Fam → Fam.",
    "_id: Fam\nextends: Base2": ":2: `extends` names an unknown family: Fam → Base2.",
    "_id: Fam\nextend: Base": ":2: Unknown key `extend`. Did you mean `extends`?",
    "extends: Base": ": The key `_id` is missing",
    "_id: 5": ":1: `_id` must be text in quotes.",
    "_id: Fam\nsupports: [tool]": ":2: `supports.0` must be one of 'tools',",
    "_id: Fam\nversion:\n  a: {contxt: 1}": ":3: Unknown key `version.a.contxt`. Did you mean",
    "_id: Fam\nversion:\n  a: {}": "names the variant 'a' in version, which modelPattern does not",
    "_id: Fam\nparameters: {'@': {temperature: '0.5'}}": ':2: `parameters."@".temperature` must be',
    "_id: Fam\nparameters: {temperature: 12}": ":2: `parameters.temperature` must be at most 10.",
    "_id: Fam\nparameters: {num_ctx: 5}": ":2: `parameters` may not set num_ctx",
    "_id: Fam\nmodelPattern: {'@': !re /(/i}": ":2: `modelPattern` has a pattern for '@' that is",
    "_id: Fam\nmodelPattern: {'@': !re x}": "must be written as !re /pattern/flags.",
    "_id: Fam\nmodelPattern: {'@': !re /x/q}": "has unknown flags: q. Use i, m or s.",
    "_id: Fam\nshouldThink: {thinkTag: !re /a+/}": ":2: `shouldThink.thinkTag` cannot be used: ",
    "_id: Fam\nshouldThink: {defaultThinkPrompt: {prompt: {}, templateFormat: golang}}": (
        ":2: `shouldThink.defaultThinkPrompt.templateFormat` must be one of 'hf' or 'jinja2'"
    ),
    "_id: Fam\nshouldThink: {defaultThinkPrompt: {prompt: {lastThinkPromt: x}}}": (
        "Did you mean `lastThinkPrompt`?"
    ),
    "_id: Fam\ntemplateFormat: hf\nsystemPrompt: 'Today is {{ date }}.'": (
        ":3: `systemPrompt` is a template, which is not rendered here"
    ),
    "_id: Fam\nshouldThink: {mode: deap}": ":2: `shouldThink.mode` must be one of 'off'",
    "_id: Fam\n_id: Fam": ":2: `_id` is set twice.",
    "_id: Fam\ntemplate: [": "Not valid YAML",
}


@pytest.mark.parametrize("text", BROKEN)
def test_what_is_wrong_is_said_with_file_line_and_chain(
    write: Write, tmp_path: Path, text: str
) -> None:
    name = "bad.yaml"
    pattern = (
        "" if "modelPattern" in text or "extends" not in text else "\nmodelPattern: {'@': fam}"
    )
    write(name, text + pattern)
    model = KnownModels(tmp_path).of(["fam"])
    sentences = [str(problem) for problem in model.problems]
    assert any(BROKEN[text] in one for one in sentences), sentences
    assert sentences[0].startswith(str(tmp_path / name))
    assert model.family is None


def test_a_circle_over_several_files_names_them_all(write: Write, tmp_path: Path) -> None:
    for own, parent in (("A", "B"), ("B", "C"), ("C", "A")):
        write(f"{own}.yaml", f"_id: {own}\nextends: {parent}\nmodelPattern: {{'@': {own}}}")
    library = FamilyLibrary(tmp_path)
    match = library.match(["a"])
    assert match is not None
    with pytest.raises(YamlProblem, match="leads in a circle: A → B → C → A") as raised:
        library.chain(match.file)
    assert str(raised.value).startswith(f"{tmp_path / 'C.yaml'}:2: ")


def test_a_users_file_replaces_the_family_with_its_id_and_others_stay(
    write: Write, tmp_path: Path
) -> None:
    known = KnownModels(tmp_path)
    assert known.of(["qwen3:8b"]).family == "Qwen"
    mine = write("q.yaml", "_id: Qwen\nmodelPattern: {'@': !re /^qwen3/}\nparameters: {top_k: 1}")
    model = known.of(["qwen3:8b"])
    assert (model.variant, defaults_of(model).options.top_k) == (None, 1)
    assert known.of(["gemma3:4b"]).family == "Gemma"
    assert known.of(["qwq:32b"]).family is None
    mine.write_text("_id: Qwen\nwrong: 1", "utf-8")
    model = known.of(["qwen3:8b"])
    assert (model.family, model.variant) == ("Qwen", "qwen3")
    assert [str(problem) for problem in model.problems] == [f"{mine}:2: Unknown key `wrong`."]
    mine.unlink()
    assert known.of(["qwen3:8b"]).problems == ()


NEW = """
_id: Tiny
source: https://example.com/tiny
supports: [vision, tools, thinkMode: [deep, off]]
shouldThink:
  mode: deep
  thinkTag: [<muse>, </muse>]
toolCalls: [{start: '<act>', ends: ['</act>'], nameEnd: '=>'}]
context: 4096
modelPattern:
  tiny-2: !re /tiny-?2/i
  '@': !re /^tiny/i
version:
  tiny-2: {context: 8192}
parameters:
  '@': {temperature: 0.25}
"""


def test_adding_a_family_touches_one_file(write: Write, tmp_path: Path) -> None:
    known = KnownModels(tmp_path)
    assert known.of(["tiny-2-scripted"]).family is None
    write("tiny.yaml", NEW)
    model = known.of(["tiny-2-scripted"])
    assert (model.family, model.variant, model.context) == ("Tiny", "tiny-2", 8192)
    (listed,) = known.assume([ModelInfo(name="tiny-2-scripted")])
    facts = capabilities_of(listed)
    abilities = [facts.ability(name).value for name in ABILITIES]
    assert dict(zip(ABILITIES, abilities, strict=True)) == {
        "vision": True,
        "tools": True,
        "thinking": True,
        "embedding": None,
    }
    assert defaults_of(model).options.temperature == 0.25
    detector = LeakedCallDetector([ToolSchema(name="now")], lambda *_: True, model.tool_tags)
    pieces = [*detector.feed("<act>now=>{}</act>"), *detector.finish()]
    assert pieces == [LeakedCall("now", {})]
    assert model.thinking is not None
    splitter = ThinkTagSplitter(tags_of(resolve_thinking(True, model.thinking.support)))
    split = [*splitter.feed("<muse>hm</muse>yes"), *splitter.finish()]
    assert split == [ThinkingPiece("hm"), TextPiece("yes")]


def test_a_pattern_that_would_fill_the_memory_is_not_compiled() -> None:
    pattern = NamePattern(PatternText("/(a{1000}){1000}/"), is_built_in=False)
    with pytest.raises(BadPatternError, match="repeats too often"):
        pattern.check()


def test_a_slow_pattern_of_a_user_is_left_out_and_said(write: Write, tmp_path: Path) -> None:
    slow = write("slow.yaml", "_id: Slow\nmodelPattern: {'@': !re /(a|a?)+$/}")
    known = KnownModels(tmp_path)
    model = known.of(["a" * 150 + "!"])
    assert model.family is None
    assert [str(one) for one in model.problems] == [
        f"{slow}: A pattern takes over 0.05 s for one name: the file is not used."
    ]
    assert known.of(["gemma3:4b"]).family == "Gemma"


def test_two_files_with_one_id_are_one_too_many(write: Write, tmp_path: Path) -> None:
    write("a.yaml", "_id: Same")
    write("b.yaml", "\n_id: Same")
    (tmp_path / "c.yaml").mkdir()
    problems = [str(one) for one in FamilyLibrary(tmp_path).problems]
    assert problems == [
        f"{tmp_path / 'b.yaml'}:2: `_id` is also that of a.yaml.",
        f"{tmp_path / 'c.yaml'}: The file cannot be read: it is a folder.",
    ]


def test_a_link_that_leads_nowhere_hides_no_other_family(write: Write, tmp_path: Path) -> None:
    write("tiny.yaml", "_id: Tiny\nmodelPattern: {'@': 'tiny-*'}")
    link, circle = tmp_path / "a.yaml", tmp_path / "b.yaml"
    link.symlink_to(tmp_path / "gone.yaml")
    circle.symlink_to(circle)
    model = KnownModels(tmp_path).of(["tiny-scripted"])
    assert model.family == "Tiny"
    first, second = map(str, FamilyLibrary(tmp_path).problems)
    assert first == f"{link}: The file no longer exists."
    assert second.startswith(f"{circle}: The file cannot be read")


def test_the_title_of_a_file_counts_after_its_name(known: KnownModels) -> None:
    assert known.of(["model", "Qwen3 8B"]).variant == "qwen3"
    assert known.of(["gemma-3-4b-it", "Qwen3 8B"]).family == "Gemma"


def test_layers_with_a_window_are_known_by_the_architecture(known: KnownModels) -> None:
    assert known.full_attention() == {
        "cohere2": 4, "exaone4": 4, "gemma2": 2, "gemma3": 6, "gemma3n": 5, "gemma4": 6,
        "gpt-oss": 2, "gptoss": 2, "olmo2": 4,
    }  # fmt: skip
