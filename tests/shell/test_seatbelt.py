"""The profile for macOS as text, and the command line with a program in the place of Apple's."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ollm_tui.shell import containment, seatbelt
from ollm_tui.shell.containment import Containment, find_containment
from ollm_tui.shell.seatbelt import profile_of, seatbelt_launcher

FAKE = """#!{python}
import json, os, sys
arguments = sys.argv[1:]
given = {{"profile": "", "parameters": {{}}}}
while arguments[0] in ("-p", "-D"):
    option, value, *arguments = arguments
    if option == "-p":
        given["profile"] = value
    else:
        name, _, path = value.partition("=")
        given["parameters"][name] = path
with open({record!r}, "a") as file:
    file.write(json.dumps(given) + "\\n")
if {holds} and "touch" in arguments[-1]:
    os.close(1)
    arguments[-1] = "test -w ."
os.execv(arguments[0], arguments)
"""


def balanced(text: str) -> bool:
    """Whether the brackets outside of texts are closed in their order."""
    bare = re.sub(r'"[^"\\]*"', '""', text)
    depth = 0
    for letter in bare:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth < 0:
            return False
    return depth == 0


@pytest.mark.parametrize("network", [False, True])
def test_the_last_rule_decides_and_writing_is_denied_first(network: bool) -> None:
    rules = profile_of(2, 3, network=network).split("\n")
    assert all(balanced(rule) for rule in rules)
    assert rules[:3] == ["(version 1)", "(allow default)", "(deny file-write*)"]
    assert rules.index('(allow file-write* (subpath (param "WRITABLE_1")))') > 2
    hidden = rules.index('(deny file* (subpath (param "HIDDEN_2")))')
    assert hidden > rules.index('(allow file-write* (subpath (param "WRITABLE_1")))')
    assert rules.index("(allow signal (target same-sandbox))") == rules.index("(deny signal)") + 1
    assert ("(deny network*)" in rules) is not network
    assert not any("WRITABLE_2" in rule or "HIDDEN_3" in rule for rule in rules)
    assert {rule for rule in rules if rule.startswith("(allow file-write*")} == {
        f'(allow file-write* (subpath (param "WRITABLE_{at}")))' for at in range(2)
    }


def test_no_path_is_a_part_of_the_profile() -> None:
    odd = '/tmp/a") (allow default) ("b'
    program, option, profile, *rest = seatbelt_launcher([odd], ["/h"], network=False)
    assert (program, option) == ("/usr/bin/sandbox-exec", "-p")
    assert odd not in profile
    assert rest == ["-D", f"WRITABLE_0={odd}", "-D", "HIDDEN_0=/h"]


@pytest.fixture
def mac(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Give a system that says it is macOS, with a program in the place of sandbox-exec."""
    monkeypatch.setattr(containment, "system_name", lambda: "darwin")
    monkeypatch.setattr(seatbelt, "SANDBOX_EXEC", str(tmp_path / "sandbox-exec"))
    return tmp_path


def put_up(folder: Path, *, holds: bool) -> Path:
    program, record = folder / "sandbox-exec", folder / "record"
    program.write_text(FAKE.format(python=sys.executable, record=str(record), holds=holds))
    program.chmod(0o700)
    return record


def work_in(folder: Path) -> Path:
    work = folder / "work" / "ws"
    work.mkdir(parents=True)
    return work


def test_the_command_runs_below_it_with_the_real_paths(mac: Path) -> None:
    record, work = put_up(mac, holds=True), work_in(mac)
    found = find_containment(work, network=False)
    assert found == Containment("seatbelt")
    launcher = found.launcher([str(work), "/private/tmp/x"], ["/Users/me/.ssh"])
    done = subprocess.run(
        [*launcher, "/bin/sh", "-c", "echo $((6 * 7))"],
        cwd=work,
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"]},
    )
    assert done.stdout == "42\n"
    given = json.loads(record.read_text().splitlines()[-1])
    assert given["parameters"] == {
        "WRITABLE_0": str(work),
        "WRITABLE_1": "/private/tmp/x",
        "HIDDEN_0": "/Users/me/.ssh",
    }
    assert "(deny network*)" in given["profile"]


@pytest.mark.parametrize("network", [False, True])
def test_the_word_says_no_more_than_is_documented(mac: Path, network: bool) -> None:
    put_up(mac, holds=True)
    found = find_containment(work_in(mac), network=network)
    assert found.sandbox == "seatbelt"
    assert found.word == (
        "partly contained: writes" if network else "partly contained: writes, network"
    )
    assert found.sentence.startswith("Partly contained: macOS lets it write only in this folder")
    assert ("uses no network" in found.sentence) is not network


@pytest.mark.parametrize("kind", ["it does not hold", "it is not there", "it fails"])
def test_where_it_does_not_hold_nothing_is_claimed(mac: Path, kind: str) -> None:
    if kind == "it does not hold":
        put_up(mac, holds=False)
    elif kind == "it fails":
        (mac / "sandbox-exec").write_text("#!/bin/sh\nexit 71\n")
        (mac / "sandbox-exec").chmod(0o700)
    found = find_containment(work_in(mac), network=False)
    assert (found.sandbox, found.word) == ("none", "not contained")
    assert found.launcher(["/x"], []) == ()


@pytest.mark.skipif(sys.platform != "darwin", reason="needs macOS")
def test_on_a_mac_writing_beside_the_folder_and_the_network_fail(tmp_path: Path) -> None:
    work = work_in(tmp_path.resolve())
    found = find_containment(work, network=False)
    assert found.sandbox == "seatbelt"
    command = "touch ../out && exit 9; nc -z -G 2 1.1.1.1 443 && exit 8; touch in"
    done = subprocess.run(
        [*found.launcher([str(work)], []), "/bin/sh", "-c", command],
        cwd=work,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in work.parent.rglob("*")) == ["in", "ws"]
