"""How much of a machine an engine may use: what a container leaves of it, too."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from ollm_tui.config.engine_settings import EngineSettings, ModelEngineSettings
from ollm_tui.providers.embedded import settings as embedded_settings
from ollm_tui.providers.embedded.machine_limits import prompt_cache_mb, total_memory, usable_cores
from ollm_tui.providers.embedded.settings import EmbeddedSettings

GB = 1 << 30


def machine(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: range(8), raising=False)


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 8),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, 8),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "250000 100000\n"}, 2),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "20000 100000\n"}, 1),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "300000 100000\n"}, 3),
        (
            {
                "proc/self/cgroup": "3:cpu,cpuacct:/\n",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "400000\n",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            },
            4,
        ),
        ({"proc/self/cgroup": "junk", "sys/fs/cgroup/cpu.max": "x y z"}, 8),
    ],
)
def test_the_cores_are_those_of_the_container(
    tmp_path: Path, files: Mapping[str, str], cores: int
) -> None:
    assert usable_cores(machine(tmp_path, files)) == cores


def test_cores_that_the_process_may_not_run_on_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 3}, raising=False)
    assert usable_cores(tmp_path) == 2


@pytest.mark.parametrize(
    ("limit", "memory", "cache"), [("max", 64 * GB, 8192), (str(4 * GB), 4 * GB, 1024)]
)
def test_earlier_prompts_get_a_quarter_of_the_memory_at_most(
    tmp_path: Path, limit: str, memory: int, cache: int
) -> None:
    files = {
        "proc/meminfo": f"MemTotal:  {64 * GB >> 10} kB\nMemFree: 1 kB\n",
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/memory.max": f"{limit}\n",
    }
    assert total_memory(machine(tmp_path, files)) == memory
    assert prompt_cache_mb(tmp_path) == cache


@pytest.mark.parametrize(
    ("usual", "own", "threads", "threads_batch"),
    [
        ({}, {}, 4, 8),
        ({"threads": 3}, {}, 3, 3),
        ({"threads": 3, "threads_batch": 6}, {}, 3, 6),
        ({"threads_batch": 6}, {}, 4, 6),
        ({"threads": 3}, {"threads": 2}, 2, 2),
    ],
)
def test_prompts_are_read_by_all_cores_unless_threads_are_set(
    usual: Mapping[str, int],
    own: Mapping[str, int],
    threads: int,
    threads_batch: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(embedded_settings, "usable_cores", lambda: 8)
    settings = EmbeddedSettings(
        engine=EngineSettings.model_validate(usual),
        models={"m": ModelEngineSettings.model_validate(own)},
    )
    options = settings.options_of("m")
    assert (options.threads, options.threads_batch) == (threads, threads_batch)
