"""Models as hubs, engines and people speak of them, for the tests of the registry."""

from hypothesis import strategies as st

from ollm_tui.library.hub.repo import HubModel
from ollm_tui.library.registry.entry import RegistryEntry
from ollm_tui.library.registry.known import HubFacts, Rating, RegistrySources, Use, UserRecords
from ollm_tui.protocol.model import ModelInfo, ModelRef

FAMILIES = ("qwen3", "llama3.2", "gemma3", "phi4", "other")
SIZES = ("1b", "4b", "8b")


def ollama_name(family: str, size: str) -> str:
    return f"{family}:{size}"


def repo_name(family: str, size: str) -> str:
    stem = family.rstrip("0123456789.")
    return f"{stem}-{family.removeprefix(stem)}-{size.upper()}".replace("--", "-")


CURATED = tuple(
    RegistryEntry(
        id=f"{family}-{size}",
        name=f"{family} {size}",
        family=family,
        parameters=int(size[0]) * 10**9,
        purposes=frozenset({"chat"}),
        skills={"chat": 3},
        sources=("https://example.org/card",),
        origins={
            "huggingface": f"maker/{repo_name(family, size)}-GGUF",
            "ollama": ollama_name(family, size),
        },
    )
    for family in FAMILIES[:3]
    for size in SIZES[:2]
)

families, sizes = st.sampled_from(FAMILIES), st.sampled_from(SIZES)
times = st.floats(0, 2e9, allow_nan=False)
counts = st.none() | st.integers(0, 10**7)
repos = st.builds(
    lambda owner, family, size: f"{owner}/{repo_name(family, size)}-GGUF",
    st.sampled_from(("maker", "unsloth", "bartowski", "MAKER")),
    families,
    sizes,
)
hub_models = st.builds(
    HubModel,
    repo=repos,
    downloads=counts,
    likes=counts,
    licence=st.none() | st.sampled_from(("mit", "apache-2.0")),
    modified_at=st.none() | st.sampled_from(("2026-01-02T03:04:05.000Z", "soon")),
    tags=st.lists(st.sampled_from(("conversational", "gguf", "code")), max_size=2).map(tuple),
)
hub_facts = st.builds(HubFacts, hub_models, times)
names = st.builds(ollama_name, families, sizes) | st.builds(
    lambda family, size, end: f"{repo_name(family, size)}{end}",
    families,
    sizes,
    st.sampled_from(("", "-Q4_K_M", ".Q8_0", "-Q4_K_M.gguf")),
)
names |= st.builds(lambda family: f"{family}:latest", families)
names |= repos.map(lambda repo: f"hf.co/{repo}:Q4_K_M") | st.text(min_size=1, max_size=8)
refs = st.builds(ModelRef, st.sampled_from(("local", "embedded", "lab")), names)


@st.composite
def installed_models(draw: st.DrawFn) -> tuple[ModelRef, ModelInfo]:
    ref = draw(refs)
    details = draw(
        st.sampled_from(({}, {"parameter_size": "4.1B"}, {"quantization": "Q4_K_M", "family": "f"}))
    )
    return ref, ModelInfo(name=ref.model, size_bytes=draw(counts), details=details)


rated_names = (
    st.sampled_from([entry.id for entry in CURATED])
    | repos.map(lambda repo: f"hf:{repo}")
    | refs.map(str)
)
opinions = st.builds(
    UserRecords,
    ratings=st.dictionaries(rated_names, st.builds(Rating, st.integers(1, 5), times), max_size=4),
    uses=st.dictionaries(refs.map(str), st.builds(Use, st.integers(1, 50), times), max_size=4),
)
known = st.builds(
    RegistrySources,
    curated=st.just(CURATED),
    hub=st.lists(hub_facts, max_size=6),
    installed=st.lists(installed_models(), max_size=6),
    opinions=opinions,
)
