"""Ask a loopback hub everything with the real hub's own client, and tell in JSON what came of it.

Run in a child process with a home of its own: the client reads its settings when it is imported.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from huggingface_hub import HfApi, hf_hub_download, snapshot_download
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.hf_api import RepoFile

SMALL, GATED = "someone/Small-1.7B-GGUF", "another/Gated-8B-GGUF"
LARGE, SECRET = "another/Large-70B-GGUF", "someone/Secret-GGUF"


def sum_of(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def refusal(call: Callable[[], object]) -> str:
    try:
        call()
    except HfHubHTTPError as error:
        return f"{type(error).__name__} {error.response.status_code}"
    return "none"


def ask(endpoint: str, token: str | None, folder: Path) -> Mapping[str, object]:
    api = HfApi(endpoint=endpoint, token=token or False)

    def fetch(repo: str, path: str, revision: str | None = None) -> str:
        return hf_hub_download(
            repo,
            path,
            revision=revision,
            endpoint=endpoint,
            token=token or False,
            cache_dir=folder / "cache",
        )

    found = list(api.list_models(search="gguf", filter="gguf", sort="downloads", limit=20))
    expanded = list(api.list_models(search="small", expand=["gguf", "downloads", "gated"]))
    info = api.model_info(LARGE, files_metadata=True)
    tree = list(api.list_repo_tree(LARGE, recursive=True))
    parts = snapshot_download(
        LARGE,
        allow_patterns="Q4_K_M/*",
        endpoint=endpoint,
        token=token or False,
        local_dir=folder / "snapshot",
    )
    path = "Small-1.7B-Q4_K_M.gguf"
    return {
        "found": [[model.id, model.downloads, model.likes] for model in found],
        "gguf": [model.gguf for model in expanded],
        "sha": info.sha,
        "siblings": {
            sibling.rfilename: [sibling.size, sibling.lfs.sha256 if sibling.lfs else None]
            for sibling in info.siblings or ()
        },
        "tree": {
            entry.path: [entry.size, entry.lfs.sha256 if entry.lfs else None]
            for entry in tree
            if isinstance(entry, RepoFile)
        },
        "folders": [entry.path for entry in tree if not isinstance(entry, RepoFile)],
        "fetched": sum_of(fetch(SMALL, path)),
        "small file": Path(fetch(SMALL, "README.md")).read_text("utf-8"),
        "parts": {
            file.relative_to(parts).as_posix(): sum_of(str(file))
            for file in Path(parts).rglob("*.gguf")
        },
        "gated": refusal(lambda: fetch(GATED, "Gated-8B-Q4_K_M.gguf")),
        "gated sees": api.model_info(GATED).gated,
        "private": refusal(lambda: api.model_info(SECRET)),
        "no repository": refusal(lambda: api.model_info("someone/none")),
        "no revision": refusal(lambda: api.model_info(SMALL, revision="none")),
        "no file": refusal(lambda: fetch(SMALL, "none.gguf")),
    }


if __name__ == "__main__":
    _, its_endpoint, its_folder, *rest = sys.argv
    facts = {
        name: ask(its_endpoint, token, Path(its_folder) / name)
        for name, token in (("anonymous", None), ("known", rest[0]))
    }
    sys.stdout.write(json.dumps(facts))
