"""What is assumed of models of which their engines say little: by family, and cheaply."""

import re
import time
from pathlib import Path

import pytest

from ollm_tui.models.assumptions import Assumptions
from ollm_tui.models.capabilities import ABILITIES, capabilities_of
from ollm_tui.models.family_files import FamilyLibrary
from ollm_tui.models.known_models import KnownModels
from ollm_tui.protocol.model import ModelInfo

NAMES = Path(__file__).parent.parent / "data" / "model_names.tsv"
BY_NAME = {
    "vision": r"llava|vision|pixtral|moondream|minicpm-?v|[-_.]vl\b|vl[-:]|internvl"
    r"|gemma-?3(?!.*\b1b)|gpt-(4o|4\.1|5)|claude-",
    "tools": r"qwen(2\.5|3)|llama-?3\.[1-3]|mistral|mixtral|ministral|command-r|hermes|functionary"
    r"|granite|gpt-(oss|4|5)|claude-|firefunction|devstral",
    "thinking": r"qwq|deepseek-?r1|[-_]r1\b|qwen3|gpt-(oss|5)|magistral|thinking|reason",
    "embedding": r"embed|minilm|\bbge[-_]|\be5[-_]|\bgte[-_]",
}
"""What names alone suggested before families did."""
ONLY_A_WORD = "a word in a name of no family is no fact"
NOT_TRAINED = "its makers describe no tools"
NO_MORE = {
    "Claude 2": {"tools": "older than tools", "vision": "older than pictures"},
    "DeepSeek r1-distill": {"tools": "DeepSeek trained them on reasoning alone"},
    "Dolphin dolphin3": {"tools": NOT_TRAINED},
    "Dolphin mistral-24b": {"tools": NOT_TRAINED},
    "Dolphin": {"tools": NOT_TRAINED},
    "Embeddings reranker": {
        "embedding": "it gives a score",
        "thinking": "it gives a score",
        "tools": "it gives a score",
    },
    "Embeddings": {
        "thinking": "it gives vectors",
        "tools": "it gives vectors",
        "vision": "it gives vectors",
    },
    "GPT gpt5-chat": {"thinking": "the model of ChatGPT that does not think"},
    "GPT audio": {"vision": "it takes sound, not pictures"},
    "GPT transcription": {"tools": "it writes down speech", "vision": "it writes down speech"},
    "Gemma gemma3-text": {"vision": "270M and 1B take text alone"},
    "Granite code": {"tools": NOT_TRAINED},
    "Granite guardian": {"tools": "it judges texts"},
    "Granite speech": {"tools": NOT_TRAINED},
    "Granite vision": {"tools": NOT_TRAINED},
    "Hermes": {"tools": "only Hermes 2 Pro and later take tools"},
    "LLaVA": {"tools": NOT_TRAINED},
    "Llama llama3.2-vision": {"tools": "not with pictures, and its template has none"},
    "Mistral 7b-first": {"tools": "only version 0.3 and later take tools"},
    "Mixtral": {"tools": "only 8x22B takes tools"},
    "Qwen qwen2.5-math": {"tools": NOT_TRAINED},
    "Qwen qwen2.5-omni": {"tools": NOT_TRAINED},
    "Qwen qwen2.5-vl": {"tools": "its chat template has none"},
    "Qwen qwen3-coder": {"thinking": "it never thinks"},
    "Qwen qwen3-instruct": {"thinking": "it never thinks"},
    "Qwen qwen3-omni": {"thinking": "the Instruct model never thinks"},
    "Qwen qwen3-vl-instruct": {"thinking": "it never thinks"},
    "Qwen qwq-preview": {"thinking": "it marks its thinking with no tags"},
    "": {"vision": ONLY_A_WORD, "thinking": ONLY_A_WORD},
}
"""What a family does not have although a name suggested it, and why."""


def assumed(names: list[str], known: KnownModels) -> dict[str, set[str]]:
    facts = {info.name: capabilities_of(info) for info in known.assume([*map(_named, names)])}
    return {
        name: {ability for ability in ABILITIES if held.ability(ability).value}
        for name, held in facts.items()
    }


def _named(name: str) -> ModelInfo:
    return ModelInfo(name=name)


def test_families_replace_the_guesses_by_name_and_each_loss_has_a_reason() -> None:
    known = KnownModels()
    listed = [line.split("\t")[0] for line in NAMES.read_text("utf-8").splitlines()[1:]]
    names = [*listed, "my-vision-model", "foo-vl-7b", "some-r1-7b", "my-reasoning-model"]
    lost, gained = set(), []
    for name, abilities in assumed(names, known).items():
        model = known.of([name])
        place = " ".join(part for part in (model.family, model.variant) if part)
        guessed = {one for one, words in BY_NAME.items() if re.search(words, name[:200].lower())}
        lost |= {(place, ability) for ability in guessed - abilities}
        gained += [(name, one) for one in abilities - guessed if not model.sources]
    assert lost == {(place, ability) for place, reasons in NO_MORE.items() for ability in reasons}
    assert gained == [], "what is new is from a model card"


@pytest.mark.parametrize(
    ("name", "able"),
    [
        ("qwen3:8b", {"tools", "thinking"}),
        ("Qwen/Qwen2.5-VL-7B-Instruct", {"vision"}),
        ("llava:13b", {"vision"}),
        ("gemma-3-4b-it", {"vision"}),
        ("gemma3:1b", set()),
        ("nomic-embed-text", {"embedding"}),
        ("deepseek-r1:8b", {"thinking"}),
        ("gpt-oss:20b", {"tools", "thinking"}),
        ("gpt-4o", {"tools", "vision"}),
        ("my-own", set()),
        ("x" * 100_000, set()),
    ],
)
def test_a_family_is_a_hint_and_never_a_denial(name: str, able: set[str]) -> None:
    (info,) = KnownModels().assume([_named(name)])
    facts = {ability: capabilities_of(info).ability(ability) for ability in ABILITIES}
    assert {ability for ability, fact in facts.items() if fact.value} == able
    assert {fact.source for fact in facts.values()} == {"assumed"}
    assert not [fact for fact in facts.values() if fact.value is False]


def test_a_family_also_tells_the_window() -> None:
    infos = KnownModels().assume([_named("gpt-5"), _named("claude-sonnet-5"), _named("my-own")])
    assert [info.assumed_context for info in infos] == [400_000, 1_000_000, None]


def test_the_titles_in_a_file_count_where_its_name_says_nothing() -> None:
    titled = ModelInfo(name="model", details={"title": "Qwen3 8B"})
    (info,) = KnownModels().assume([titled])
    assert capabilities_of(info).tools.value


def test_a_file_of_the_user_counts_as_soon_as_it_is_there(tmp_path: Path) -> None:
    known = KnownModels(tmp_path)
    assert assumed(["mine-7b"], known) == {"mine-7b": set()}
    file = tmp_path / "mine.yaml"
    file.write_text("_id: Mine\nsupports: [vision]\nmodelPattern: {'@': 'mine*'}", "utf-8")
    assert assumed(["mine-7b"], known) == {"mine-7b": {"vision"}}
    file.unlink()
    assert assumed(["mine-7b"], known) == {"mine-7b": set()}


def test_a_list_of_2000_names_takes_microseconds_for_each() -> None:
    library = FamilyLibrary()
    names = [(f"owner/Qwen3-{number}B-Instruct-GGUF:Q4_K_M",) for number in range(1000)]
    names += [(f"of-no-family-{number}",) for number in range(1000)]
    assumptions = Assumptions(library)
    assumptions.of(names[:1])  # reads the files
    begun = time.thread_time()
    first = assumptions.of(names)
    searched = time.thread_time()
    assert assumptions.of(names) == first
    again = time.thread_time()
    assert (searched - begun) / len(names) < 200e-6
    assert (again - searched) / len(names) < 20e-6
