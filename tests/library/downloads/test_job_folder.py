"""What is kept of a download: all but secrets, whole or not at all, and never a crash."""

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.config.private_file import try_lock
from ollm_tui.library.downloads import job_folder
from ollm_tui.library.downloads.job import (
    HubFiles,
    Job,
    JobError,
    JobState,
    LocalFiles,
    Origin,
    ProviderPull,
    StarterPackage,
    UrlFile,
)
from ollm_tui.library.downloads.job_folder import JobFolder
from ollm_tui.library.downloads.job_record import from_record, same_origin, to_record
from ollm_tui.library.hub.repo import HubFile
from ollm_tui.library.urls import has_secrets, without_secrets
from ollm_tui.protocol.json_types import JsonValue

TEXTS = st.text(max_size=30)
SIZES = st.none() | st.integers(0, 2**60)
FILES = st.builds(HubFile, path=TEXTS, size=SIZES, sha256=st.none() | TEXTS)
ORIGINS: st.SearchStrategy[Origin] = st.one_of(
    st.builds(
        HubFiles,
        repo=TEXTS,
        revision=TEXTS,
        name=TEXTS,
        files=st.lists(FILES, min_size=1, max_size=4).map(tuple),
        licence=st.none() | TEXTS,
        kind=TEXTS,
    ),
    st.builds(UrlFile, url=st.just("https://h.example/m.gguf"), sha256=st.none() | TEXTS),
    st.builds(LocalFiles, path=st.just(Path("/models/m.gguf"))),
    st.builds(StarterPackage, wheel=st.none() | st.just(Path("/w.whl"))),
    st.builds(ProviderPull, provider=TEXTS, model=TEXTS),
)
STATES: list[JobState] = ["queued", "running", "paused", "done", "failed", "cancelled"]
JOBS = st.builds(
    Job,
    id=st.just("1-a"),
    origin=ORIGINS,
    title=TEXTS,
    state=st.sampled_from(STATES),
    note=TEXTS,
    completed=st.integers(0, 2**60),
    total=SIZES,
    error=st.none() | st.builds(JobError, message=TEXTS, hint=st.none() | TEXTS),
    model=st.none() | TEXTS,
    changed_at=st.floats(0, 2**40),
)
JSON: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
)


@given(JOBS)
def test_a_download_is_read_as_it_was_written(job: Job) -> None:
    assert from_record(json.loads(json.dumps(to_record(job)))) == (job, True)
    assert same_origin(job.origin, job.origin)


@given(JOBS, st.data())
def test_whatever_stands_in_a_field_is_a_download_or_refused(job: Job, data: st.DataObject) -> None:
    record = to_record(job)
    inner = record["origin"]
    assert isinstance(inner, dict)
    where = data.draw(st.sampled_from([record, inner]))
    where[data.draw(st.sampled_from(sorted(where)))] = data.draw(JSON)
    try:
        read, _ = from_record(json.loads(json.dumps(record)))
    except ValueError:
        return
    assert isinstance(read, Job)


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://h.example/m.gguf", "https://h.example/m.gguf"),
        ("https://h.example/m.gguf?download=true", "https://h.example/m.gguf?download=true"),
        ("https://me:secret@h.example/m.gguf", "https://h.example/m.gguf"),
        (
            "https://h.example:8/m.gguf?X-Sig=secret&download=1",
            "https://h.example:8/m.gguf?download=1",
        ),
        ("https://h.example/m.gguf?secret", "https://h.example/m.gguf"),
        ("https://h.example/m.gguf#secret", "https://h.example/m.gguf"),
    ],
)
def test_no_secret_of_an_address_is_kept(url: str, kept: str) -> None:
    job = Job(id="1", origin=UrlFile(url=url), title="m")
    text = json.dumps(to_record(job))
    assert "secret" not in text
    read, is_whole = from_record(json.loads(text))
    assert read.origin == UrlFile(url=kept)
    assert without_secrets(url) == kept
    assert is_whole is not has_secrets(url)
    assert has_secrets(url) is ("secret" in url.partition("#")[0])
    assert same_origin(read.origin, job.origin)


def job(job_id: str, state: JobState = "paused") -> Job:
    return Job(id=job_id, origin=StarterPackage(), title="m", state=state, changed_at=1.0)


def test_files_are_private_and_nothing_else_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "downloads"
    files = JobFolder(folder)
    assert files.load_all() == []
    assert not folder.exists()
    for state in STATES:
        files.save(job("0-b", state))
    files.save(job("0-a"))
    assert [found.job.id for found in files.load_all()] == ["0-a", "0-b"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert {path.name for path in folder.iterdir()} == {"0-a.json", "0-b.json"}


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"format": 1}',
        b'{"format": 1, "id": "0-b", "origin": {"type": "hub", "files": []}}',
        b" " * 2_000_000,
    ],
)
def test_a_damaged_file_is_set_aside_and_the_others_count(
    tmp_path: Path, text: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    files = JobFolder(tmp_path)
    files.save(job("0-a"))
    (tmp_path / "0-b.json").write_bytes(text)
    assert [found.job.id for found in files.load_all()] == ["0-a"]
    assert (tmp_path / "0-b.json.damaged").read_bytes() == text
    assert len(caplog.records) == 1
    assert [found.job.id for found in files.load_all()] == ["0-a"]
    assert len(caplog.records) == 1, "once is enough"


def test_a_time_beyond_all_numbers_is_damage_too(tmp_path: Path) -> None:
    files = JobFolder(tmp_path)
    files.save(job("0-a"))
    files.save(job("0-b"))
    record = json.loads((tmp_path / "0-b.json").read_text())
    (tmp_path / "0-b.json").write_text(json.dumps(record | {"changed_at": 10**400}))
    assert [found.job.id for found in files.load_all()] == ["0-a"]
    assert (tmp_path / "0-b.json.damaged").exists()


def test_a_file_of_another_version_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "0-b.json").write_text('{"format": 2}')
    assert JobFolder(tmp_path).load_all() == []
    assert (tmp_path / "0-b.json").exists()


def test_a_file_under_another_name_is_no_download(tmp_path: Path) -> None:
    files = JobFolder(tmp_path)
    files.save(job("0-a"))
    (tmp_path / "0-a.json").rename(tmp_path / "0-b.json")
    (tmp_path / "Not an id.json").write_text("{}")
    assert files.load_all() == []
    assert (tmp_path / "Not an id.json").exists()


def test_the_owner_of_a_file_lock_is_seen_by_all(tmp_path: Path) -> None:
    folder = tmp_path / "downloads"
    mine, other = JobFolder(folder), JobFolder(folder)
    mine.save(job("0-a"))
    claim = mine.lock("0-a")
    assert claim is not None
    assert [found.is_held for found in other.load_all()] == [True]
    assert other.lock("0-a") is None
    claim.release()
    claim.release()
    assert [found.is_held for found in other.load_all()] == [False]
    again = other.lock("0-a")
    assert again is not None
    other.remove("0-a")
    again.release()
    assert list(folder.iterdir()) == []


def test_the_lock_of_a_job_that_is_removed_meanwhile_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = JobFolder(tmp_path)

    def lock_too_late(descriptor: int) -> bool:
        folder.remove("0-a")
        return try_lock(descriptor)

    monkeypatch.setattr(job_folder, "try_lock", lock_too_late)
    assert folder.lock("0-a") is None


def test_one_name_in_two_folders_of_a_repository_is_two_downloads() -> None:
    def of(path: str, revision: str = "a") -> HubFiles:
        return HubFiles(repo="o/n", revision=revision, name="m", files=(HubFile(path=path),))

    assert not same_origin(of("Q4_K_M/m.gguf"), of("Q8_0/m.gguf"))
    assert same_origin(of("Q4_K_M/m.gguf"), of("Q4_K_M/m.gguf", "b"))
    assert not same_origin(of("m.gguf"), replace(of("m.bin"), kind="whisper"))


def test_of_too_many_downloads_the_newest_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ollm_tui.library.downloads.job_folder.MAX_RECORDS", 3)
    folder = JobFolder(tmp_path)
    for number in range(5):
        folder.save(Job(id=f"{number}", origin=StarterPackage(), title="t"))
    assert [found.job.id for found in folder.load_all()] == ["2", "3", "4"]
