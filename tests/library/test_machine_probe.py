"""What is found out of a machine, from recorded and from hostile answers of the system."""

import ctypes
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ollm_tui.library.machine import Gpu, Machine
from ollm_tui.library.machine_probe import (
    OUTPUT_LIMIT,
    Probe,
    find_machine,
    probe_machine,
    run_program,
    windows_memory,
)
from ollm_tui.providers.embedded.provider import engine_available

MIB, GIB = 1024**2, 1024**3
MEMINFO = """MemTotal:       16316412 kB
MemFree:          512000 kB
MemAvailable:    9570312 kB
Buffers:          300000 kB
HugePages_Total:       0
"""
VM_STAT = """Mach Virtual Memory Statistics: (page size of 16384 bytes)
Pages free:                               12345.
Pages active:                            500000.
Pages inactive:                          400000.
Pages speculative:                         1655.
Pages throttled:                              0.
"Translation faults":                 123456789.
"""
HOSTILE = ["", "\0", "\n\n", ",,,", "9" * 5000, "-1", "NaN", "[N/A], [N/A], [N/A]", "\ud83d", "١٢"]


def nothing(_: Sequence[str]) -> str | None:
    return None


def put(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, errors="surrogatepass")


def linux(root: Path, *, output: str | None = None) -> Machine:
    """Look at a Linux under this root, where the NVIDIA program says this."""
    folder = root / "bin"
    folder.mkdir(exist_ok=True)
    if output is not None:
        (folder / "nvidia-smi").touch(mode=0o755)
    return probe_machine(
        Probe(platform="linux", root=root, environ={"PATH": str(folder)}, run=lambda _: output)
    )


def test_linux_tells_what_programs_can_have(tmp_path: Path) -> None:
    put(tmp_path, "proc/meminfo", MEMINFO)
    assert linux(tmp_path) == Machine(ram_total=16316412 * 1024, ram_free=9570312 * 1024)


def test_an_empty_machine_is_unknown(tmp_path: Path) -> None:
    assert linux(tmp_path) == Machine()


def test_a_container_of_the_second_version_has_what_its_limit_leaves(tmp_path: Path) -> None:
    put(tmp_path, "proc/meminfo", MEMINFO)
    put(tmp_path, "proc/self/cgroup", "0::/user.slice/app\n")
    put(tmp_path, "sys/fs/cgroup/user.slice/memory.max", f"{8 * GIB}\n")
    put(tmp_path, "sys/fs/cgroup/user.slice/memory.current", f"{3 * GIB}\n")
    put(tmp_path, "sys/fs/cgroup/user.slice/memory.stat", f"anon 1\ninactive_file {GIB}\n")
    put(tmp_path, "sys/fs/cgroup/user.slice/app/memory.max", "max\n")
    found = linux(tmp_path)
    assert (found.ram_total, found.ram_free) == (8 * GIB, 6 * GIB)


def test_a_container_of_the_first_version_has_what_its_limit_leaves(tmp_path: Path) -> None:
    put(tmp_path, "proc/meminfo", MEMINFO)
    put(tmp_path, "proc/self/cgroup", "5:cpu:/\n4:memory:/docker/1\n")
    top = "sys/fs/cgroup/memory"
    put(tmp_path, f"{top}/memory.limit_in_bytes", "9223372036854771712\n")
    put(tmp_path, f"{top}/docker/1/memory.limit_in_bytes", f"{2 * GIB}\n")
    put(tmp_path, f"{top}/docker/1/memory.usage_in_bytes", f"{GIB}\n")
    put(tmp_path, f"{top}/docker/1/memory.stat", f"total_inactive_file {GIB // 2}\n")
    found = linux(tmp_path)
    assert (found.ram_total, found.ram_free) == (2 * GIB, GIB + GIB // 2)


def test_a_limit_above_what_is_there_changes_nothing(tmp_path: Path) -> None:
    put(tmp_path, "proc/meminfo", MEMINFO)
    put(tmp_path, "proc/self/cgroup", "0::/\n")
    put(tmp_path, "sys/fs/cgroup/memory.max", f"{64 * GIB}\n")
    assert linux(tmp_path).ram_free == 9570312 * 1024
    put(tmp_path, "sys/fs/cgroup/memory.current", f"{GIB}\n")  # it leaves more than there is
    assert linux(tmp_path).ram_free == 9570312 * 1024


def test_a_group_outside_of_the_tree_is_not_followed(tmp_path: Path) -> None:
    put(tmp_path, "proc/self/cgroup", "0::/../../../../tmp\n")
    put(tmp_path, "tmp/memory.max", "1\n")
    assert linux(tmp_path) == Machine()


def test_nvidia_cards_are_reported_with_what_is_free(tmp_path: Path) -> None:
    output = "NVIDIA GeForce RTX 4090, 24564, 22013\nNVIDIA A2, Rev. B, 15356, 15000\n"
    assert linux(tmp_path, output=output).gpus == (
        Gpu(name="NVIDIA GeForce RTX 4090", total=24564 * MIB, free=22013 * MIB),
        Gpu(name="NVIDIA A2, Rev. B", total=15356 * MIB, free=15000 * MIB),
    )


@pytest.mark.parametrize(
    "output",
    [
        *HOSTILE,
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        "No devices were found",
        "NVIDIA GB10, [N/A], [N/A]",
        "x, 99999999999, 1",
        "x, 0, 0",
        "x, -5, 3",
    ],
)
def test_a_driver_that_says_nothing_sensible_has_no_card(tmp_path: Path, output: str) -> None:
    assert linux(tmp_path, output=output).gpus == ()


def test_more_free_than_there_is_counts_as_not_reported(tmp_path: Path) -> None:
    assert linux(tmp_path, output="x, 100, 200").gpus == (Gpu(name="x", total=100 * MIB),)


def test_thousands_of_cards_are_not_believed(tmp_path: Path) -> None:
    assert len(linux(tmp_path, output="x, 100, 50\n" * 5000).gpus) == 64


def test_the_driver_is_looked_for_on_the_path_and_never_where_the_app_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nvidia-smi").touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    for path in ("", ".", f"{os.pathsep}.{os.pathsep}"):
        probe = Probe(
            platform="linux", root=tmp_path, environ={"PATH": path}, run=lambda _: "x, 100, 50"
        )
        assert probe_machine(probe).gpus == ()


def test_the_driver_is_not_looked_for_in_a_way_that_includes_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As `which` does on Windows: the current folder counts whatever the path says.
    monkeypatch.setattr(shutil, "which", lambda name, **_: str(tmp_path / name))
    probe = Probe(
        platform="linux", root=tmp_path, environ={"PATH": "."}, run=lambda _: "x, 100, 50"
    )
    assert probe_machine(probe).gpus == ()


def amd_card(root: Path, number: int, **files: str) -> None:
    for name, text in files.items():
        put(root, f"sys/class/drm/card{number}/device/{name}", text)


def test_amd_cards_are_reported_and_graphics_within_a_processor_are_not(tmp_path: Path) -> None:
    amd_card(
        tmp_path,
        0,
        mem_info_vram_total=f"{16 * GIB}\n",
        mem_info_vram_used=f"{GIB}\n",
        mem_busy_percent="0\n",
        product_name="Radeon RX 7800 XT\n",
    )
    amd_card(tmp_path, 1, mem_info_vram_total=f"{GIB // 2}\n", mem_info_vram_used="0\n")
    amd_card(tmp_path, 2, mem_info_vram_total=f"{8 * GIB}\n", mem_info_vram_vendor="samsung\n")
    assert linux(tmp_path).gpus == (
        Gpu(name="Radeon RX 7800 XT", total=16 * GIB, free=15 * GIB),
        Gpu(name="AMD GPU", total=8 * GIB),
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_files_of_the_kernel_are_no_numbers(tmp_path: Path, text: str) -> None:
    put(tmp_path, "proc/meminfo", f"MemTotal: {text}\nMemAvailable:\n")
    put(tmp_path, "proc/self/cgroup", f"0::/\n{text}")
    put(tmp_path, "sys/fs/cgroup/memory.max", text)
    amd_card(tmp_path, 0, mem_info_vram_total=text, mem_busy_percent=text)
    assert linux(tmp_path) == Machine()


def test_a_folder_in_place_of_a_file_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "proc/meminfo").mkdir(parents=True)
    assert linux(tmp_path) == Machine()


def mac(**answers: str) -> Machine:
    def run(command: Sequence[str]) -> str | None:
        assert Path(command[0]).is_absolute()
        return answers.get(command[-1].rpartition(".")[2].rpartition("/")[2])

    return probe_machine(Probe(platform="darwin", run=run))


def test_a_mac_with_apples_processor_shares_its_memory() -> None:
    found = mac(
        memsize=f"{32 * GIB}\n", arm64="1\n", brand_string="Apple M2 Pro\n", vm_stat=VM_STAT
    )
    free = (12345 + 400000 + 1655) * 16384
    assert found == Machine(
        ram_total=32 * GIB,
        ram_free=free,
        gpus=(Gpu(name="Apple M2 Pro", total=24 * GIB, free=free),),
        unified=True,
    )


def test_a_limit_that_was_set_for_the_graphics_counts() -> None:
    found = mac(memsize=f"{32 * GIB}", arm64="1", vm_stat=VM_STAT, wired_limit_mb="4096")
    assert found.gpus == (Gpu(name="Apple GPU", total=4 * GIB, free=4 * GIB),)


def test_an_older_mac_has_no_graphics_to_count_on() -> None:
    found = mac(memsize=f"{16 * GIB}", arm64="0", vm_stat=VM_STAT)
    assert found.gpus == ()
    assert not found.unified


@pytest.mark.parametrize("text", HOSTILE)
def test_a_mac_that_says_nothing_sensible_is_unknown(text: str) -> None:
    assert mac(memsize=text, arm64=text, vm_stat=text, brand_string=text) == Machine()


class Kernel:
    """Windows' own library, as far as it is asked."""

    def __init__(self, *, works: bool = True) -> None:
        self._works = works

    def GlobalMemoryStatusEx(self, reference: object) -> int:
        status = reference._obj  # type: ignore[attr-defined]  # what ctypes.byref points at
        assert status.dwLength == ctypes.sizeof(status) == 64
        status.ullTotalPhys, status.ullAvailPhys = 16 * GIB, 9 * GIB
        return int(self._works)


def test_windows_is_asked_itself() -> None:
    assert windows_memory(Kernel()) == (16 * GIB, 9 * GIB)
    assert windows_memory(Kernel(works=False)) == (None, None)
    assert windows_memory(object()) == (None, None)
    found = probe_machine(
        Probe(platform="win32", environ={}, run=nothing, windows_memory=lambda: (5, 3))
    )
    assert found == Machine(ram_total=5, ram_free=3)


@given(st.text(), st.text())
def test_no_answer_of_a_program_breaks_the_look(first: str, second: str) -> None:
    assert mac(memsize=first, arm64="1", vm_stat=second, brand_string=second) is not None


async def test_this_machine_is_looked_at() -> None:
    found = await find_machine(Probe(run=nothing))
    if sys.platform == "linux":
        assert found.ram_total
        assert found.ram_free is not None
        assert found.ram_free <= found.ram_total


def test_a_program_is_asked() -> None:
    assert run_program([sys.executable, "-c", "print('yes')"], time_limit_s=60) == "yes\n"


def test_a_program_that_fails_or_is_not_there_says_nothing(tmp_path: Path) -> None:
    assert run_program([sys.executable, "-c", "print('no'); exit(1)"], time_limit_s=60) is None
    assert run_program([str(tmp_path / "none")]) is None
    assert run_program(["\0"]) is None


def test_a_program_that_says_too_much_is_cut() -> None:
    output = run_program([sys.executable, "-c", "print('x' * 10**6)"], time_limit_s=60)
    assert output == "x" * OUTPUT_LIMIT


def test_a_program_that_hangs_is_ended_with_what_it_started() -> None:
    assert run_program(["/bin/sh", "-c", "sleep 600 & sleep 600"], time_limit_s=0.05) is None


@pytest.mark.parametrize(
    ("output", "free"),
    [("True\n", 8 * GIB), ("False\n", 0), (None, 0)],
    ids=["it does", "no", "none"],
)
def test_a_graphics_card_counts_for_the_engine_only_where_the_engine_uses_it(
    output: str | None, free: int, tmp_path: Path
) -> None:
    driver = tmp_path / "nvidia-smi"
    driver.touch(mode=0o755)
    asked: list[Sequence[str]] = []

    def run(command: Sequence[str]) -> str | None:
        asked.append(command)
        return f"GeForce, {8 * 1024}, {8 * 1024}\n" if command[0] == str(driver) else output

    environ = {"PATH": str(tmp_path)}
    machine = probe_machine(Probe(platform="linux", root=tmp_path, environ=environ, run=run))
    assert machine.gpu_free == 8 * GIB, "a server of this machine may use it all the same"
    assert machine.for_engine.gpu_free == free
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("printed", "uses"),
    [
        ("Available devices:\n  CUDA0: GeForce (x) (8192 MiB, 8000 MiB free)\n", True),
        ("Available devices:\n  BLAS: OpenBLAS (0 MiB, 0 MiB free)\n", False),
        ("Available devices:\n", False),
        (None, False),
    ],
)
def test_the_llama_server_that_will_run_a_file_is_asked_for_its_devices(
    printed: str | None, uses: bool, tmp_path: Path
) -> None:
    (tmp_path / "nvidia-smi").touch(mode=0o755)
    server = tmp_path / "llama-server"

    def run(command: Sequence[str]) -> str | None:
        if command[0] == str(server):
            assert command[1:] == ["--list-devices"]
            return printed
        return f"GeForce, {8 * 1024}, {8 * 1024}\n"

    environ = {"PATH": str(tmp_path)}
    probe = Probe(platform="linux", root=tmp_path, environ=environ, run=run, server=server)
    machine = probe_machine(probe)
    assert machine.for_engine.gpu_free == (8 * GIB if uses else 0)
    assert [gpu.name for gpu in machine.for_engine.idle_gpus] == ([] if uses else ["GeForce"])


def test_the_engine_is_not_asked_where_there_is_no_graphics_card(tmp_path: Path) -> None:
    def run(command: Sequence[str]) -> str | None:
        raise AssertionError(command)

    probe_machine(Probe(platform="linux", root=tmp_path, environ={"PATH": ""}, run=run))


@pytest.mark.engine
@pytest.mark.skipif(not engine_available(), reason="the engine is not installed")
def test_the_engine_that_is_installed_tells_what_it_computes_on() -> None:
    assert run_program(Probe().engine) in ("True\n", "False\n")
