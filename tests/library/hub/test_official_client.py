"""The real hub's own client takes the loopback hub for one, so that its shapes are no invention."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.library.hub.official_client import GATED, LARGE, SECRET, SMALL
from tests.support.fake_hub import FakeHub, hub_in_thread
from tests.support.hub_samples import TOKEN, sample_hub

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def hub() -> Iterator[FakeHub]:
    hub = sample_hub(40_000)
    hub.page = 5  # so that everything goes over several pages
    with hub_in_thread(hub):
        yield hub


@pytest.fixture(scope="module")
def official(
    hub: FakeHub, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, object]]:
    home = tmp_path_factory.mktemp("hub")
    kept = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    environ = {k: v for k, v in kept.items() if not k.startswith(("HF_", "HUGGING"))} | {
        "HOME": str(home),
        "HF_HOME": str(home / "hf"),
        "HF_ENDPOINT": hub.url,
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_UPDATE_CHECK": "1",
    }
    command = [sys.executable, "-m", "tests.library.hub.official_client", hub.url, str(home), TOKEN]
    done = subprocess.run(
        command, env=environ, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, dict[str, object]] = json.loads(done.stdout)
    return answer


WHO = pytest.mark.parametrize("who", ["anonymous", "known"])


@WHO
def test_it_finds_the_repositories_by_downloads(
    official: dict[str, dict[str, object]], hub: FakeHub, who: str
) -> None:
    expected = [repo for repo in hub.repos if "gguf" in repo.tags and not repo.private]
    assert official[who]["found"] == [[r.id, r.downloads, r.likes] for r in expected]
    small = hub.repo(SMALL)
    assert small is not None
    assert official[who]["gguf"] == [small.gguf]


@WHO
def test_it_reads_sizes_and_sums_from_details_and_from_the_tree(
    official: dict[str, dict[str, object]], hub: FakeHub, who: str
) -> None:
    repo = hub.repo(LARGE)
    assert repo is not None
    files = {f.path: [f.size, f.sha256 if f.lfs else None] for f in repo.files}
    assert official[who]["sha"] == repo.sha
    assert official[who]["siblings"] == official[who]["tree"] == files
    assert official[who]["folders"] == ["Q4_K_M", "Q8_0"]


@WHO
def test_it_fetches_files_from_the_second_server(
    official: dict[str, dict[str, object]], hub: FakeHub, who: str
) -> None:
    small, large = hub.repo(SMALL), hub.repo(LARGE)
    assert small is not None
    assert large is not None
    sums = {file.path: file.sha256 for file in (*small.files, *large.files)}
    assert official[who]["fetched"] == sums["Small-1.7B-Q4_K_M.gguf"]
    assert official[who]["small file"] == small.files[0].content.decode()
    assert official[who]["parts"] == {p: s for p, s in sums.items() if p.startswith("Q4_K_M/")}


def test_it_takes_refusals_for_what_they_are(
    official: dict[str, dict[str, object]],
) -> None:
    kinds = ("gated", "private", "no repository", "no revision", "no file")
    without, with_token = (
        {kind: official[who][kind] for kind in kinds} for who in ("anonymous", "known")
    )
    assert without == {
        "gated": "GatedRepoError 401",
        # Over HTTPS it would take this 401, which has no code, for a repository that is not there.
        "private": "HfHubHTTPError 401",
        "no repository": "HfHubHTTPError 401",
        "no revision": "RevisionNotFoundError 404",
        "no file": "RemoteEntryNotFoundError 404",
    }
    assert with_token == without | {
        "gated": "none",
        "private": "none",
        "no repository": "RepositoryNotFoundError 404",
    }
    assert [official[who]["gated sees"] for who in official] == ["manual", "manual"]


def test_it_sends_the_token_to_the_hub_alone(
    official: dict[str, dict[str, object]], hub: FakeHub
) -> None:
    assert official
    of_files = [asked for asked in hub.asked if asked.to_files]
    assert of_files
    assert not [asked for asked in of_files if "authorization" in asked.headers]
    assert {asked.path for asked in hub.asked if "authorization" in asked.headers}
    assert {GATED, SECRET} <= {repo.id for repo in hub.repos}
