"""How much of a machine an engine may use: what a container leaves of it, too."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from ollm_tui.config.engine_settings import EngineSettings, ModelEngineSettings
from ollm_tui.providers.embedded.machine_limits import (
    Processors,
    cores_in_step,
    prompt_cache_mb,
    total_memory,
    usable_cores,
)
from ollm_tui.providers.embedded.settings import EmbeddedSettings
from ollm_tui.sections.reading import read_section

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
    ("files", "expected"),
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
    tmp_path: Path, files: Mapping[str, str], expected: int
) -> None:
    assert usable_cores(machine(tmp_path, files)) == expected


def test_cores_that_the_process_may_not_run_on_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 3}, raising=False)
    assert usable_cores(tmp_path) == 2


def cores(siblings: Sequence[str], name: str = "core_cpus_list") -> dict[str, str]:
    """Return the files of processors, with the list of those that share the core of each."""
    folder = "sys/devices/system/cpu/cpu{}/topology/{}"
    return {folder.format(number, name): f"{one}\n" for number, one in enumerate(siblings)}


PAIRS = ["0-1", "0-1", "2-3", "2-3", "4-5", "4-5", "6-7", "6-7"]
HALVES = ["0,4", "1,5", "2,6", "3,7"] * 2
ALONE = [str(number) for number in range(8)]
BIG_LITTLE = {
    f"sys/devices/system/cpu/cpu{number}/cpu_capacity": text
    for number, text in enumerate(["414"] * 4 + ["900"] * 3 + ["1024"])
}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (cores(PAIRS), 4),
        (cores(HALVES), 4),
        (cores(HALVES, "thread_siblings_list"), 4),
        (cores(ALONE), 7),
        ({}, 4),
        (cores(ALONE[:7]), 4),
        (cores(["0-7"] * 8), 1),
        (cores(ALONE) | BIG_LITTLE, 4),
        (cores(PAIRS[:4] + ALONE[4:]) | {"sys/devices/cpu_core/cpus": "0-3\n"}, 2),
        (cores(PAIRS[:4] + ALONE[4:]) | {"sys/devices/cpu_core/cpus": "0,2-3"}, 2),
        (cores(ALONE) | {"sys/devices/cpu_core/cpus": "9-99999999999, x-,"}, 7),
        (
            cores(ALONE)
            | {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "300000 100000\n"},
            2,
        ),
        (
            cores(PAIRS)
            | {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "600000 100000\n"},
            4,
        ),
    ],
)
def test_answers_get_physical_cores_and_leave_a_processor(
    tmp_path: Path, files: Mapping[str, str], expected: int
) -> None:
    assert cores_in_step(machine(tmp_path, files)) == expected


@pytest.mark.parametrize(("siblings", "expected"), [(PAIRS, 2), (HALVES, 2), (ALONE, 2)])
def test_cores_without_a_processor_of_the_process_do_not_count(
    tmp_path: Path, siblings: Sequence[str], expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {2, 3, 5}, raising=False)
    assert cores_in_step(machine(tmp_path, cores(siblings))) == expected


def test_where_the_system_says_nothing_two_processors_share_a_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert cores_in_step(machine(tmp_path, cores(ALONE))) == 4


def test_processors_are_looked_up_once(tmp_path: Path) -> None:
    processors = Processors(machine(tmp_path, cores(HALVES)))
    assert (processors.usable, processors.in_step) == (8, 4)
    machine(tmp_path, cores(ALONE))
    assert (processors.usable, processors.in_step) == (8, 4)


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
    tmp_path: Path,
) -> None:
    settings = EmbeddedSettings(
        processors=Processors(machine(tmp_path, cores(HALVES))),
        engine=read_section(EngineSettings, usual),
        models={"m": read_section(ModelEngineSettings, own)},
    )
    options = settings.options_of("m")
    assert (options.threads, options.threads_batch) == (threads, threads_batch)
