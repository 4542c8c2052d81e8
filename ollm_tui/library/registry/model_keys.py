"""One key for a model, however an engine, a hub or a file spells its name.

`Qwen/Qwen3-8B-GGUF`, `bartowski/Qwen_Qwen3-8B-GGUF`, `Qwen3-8B-Q4_K_M.gguf`, `qwen3:8b-q4_K_M`
and `qwen3:8b` all have the key `qwen-3-8b`. Words that name another model stay: `Instruct`,
`Base`, `2507`, `Coder`.
"""

import re
from typing import Final

from ollm_tui.library.file_names import SUFFIX, shard_of

MAX_NAME_CHARS: Final = 300
"""The rest of a longer name is ignored."""
_QUANTIZATION: Final = re.compile(
    r"(?<![a-z0-9])(?:ud[-_])?"
    r"(?:i?q[1-8](?:_[a-z0-9]{1,4}){0,3}|b?f16|bf16|fp16|f32|fp32|mxfp4(?:_moe)?|tq[12]_0)"
    r"(?![a-z0-9])"
)
_PUBLISHER: Final = re.compile(
    r"^(?:qwen|google|microsoft|mistralai|meta-llama|deepseek-ai|openai|nvidia|ibm-granite"
    r"|huggingfacetb|allenai|coherelabs|cohereforai|utter-project|zai-org|thudm|moonshotai"
    r"|baidu|tencent|bytedance-seed|internlm|nousresearch|arcee-ai|liquidai|tiiuae)_"
)
_SEPARATORS: Final = re.compile(r"[\s:/_-]+")
_JOINTS: Final = re.compile(r"(?<=[a-z]{2})(?=\d)|(?<=\d)(?=[a-z]{2})")
_NOISE: Final = frozenset({"gguf", "latest", "imat", "imatrix", "i1", "meta", "ggml"})
_HUB_HOSTS: Final = ("hf.co/", "huggingface.co/")
_SIZE: Final = re.compile(r"^\s*(\d{1,6}(?:\.\d{1,6})?)\s*([kmbt])", re.IGNORECASE)
_ACTIVE: Final = re.compile(r"(?<![a-z0-9.])a(\d{1,3}(?:\.\d{1,3})?)b(?![a-z0-9])", re.IGNORECASE)
_UNITS: Final = {"k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}


def model_key(name: str) -> str:
    """Return the key of a name; spellings of the same model share it."""
    full = name[:MAX_NAME_CHARS].casefold().strip()
    text = full.rpartition("/")[2] or full
    text = text.removesuffix(SUFFIX)
    shard = shard_of(text)
    text = shard.name if shard else text
    text = _PUBLISHER.sub("", _QUANTIZATION.sub("", text))
    words = [word.strip(".") for word in _SEPARATORS.split(_JOINTS.sub("-", text))]
    return "-".join([word for word in words if word and word not in _NOISE]) or full


def hub_repo_in(name: str) -> str | None:
    """Return the repository in a name like `hf.co/owner/name:Q4_K_M`, in lower case."""
    text = name[:MAX_NAME_CHARS].casefold()
    for host in _HUB_HOSTS:
        if text.startswith(host):
            text = text.removeprefix(host)
            break
    repo = text.partition(":")[0]
    owner, mark, leaf = repo.partition("/")
    return repo if mark and owner and leaf and "/" not in leaf else None


def untagged(name: str) -> str | None:
    """Return the key of a name without its tag, if that has no size: `llama3.2:latest`."""
    stem, _, tag = name[:MAX_NAME_CHARS].partition(":")
    return model_key(stem) if tag in {"", "latest"} else None


def parameters_in(text: object) -> int | None:
    """Parse a parameter count as engines write it: `8.2B`, `137M`."""
    match = _SIZE.match(text[:32]) if isinstance(text, str) else None
    return round(float(match[1]) * _UNITS[match[2].lower()]) if match else None


def active_parameters_in(name: str) -> int | None:
    """Parse the active parameters in a name like `Qwen3-30B-A3B`."""
    match = _ACTIVE.search(name[:MAX_NAME_CHARS])
    return round(float(match[1]) * _UNITS["b"]) or None if match else None
