"""Commands in the sandbox: what they try outside fails; nothing is claimed that is not there."""

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ollm_tui.shell import containment
from ollm_tui.shell.confined import landlock_abi
from ollm_tui.shell.containment import REFUSED, Containment, find_containment

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is that of Linux")

OUTSIDE = [
    "echo x > {out}/new",
    "echo x > {out}/old",
    "echo x >> {out}/old",
    "rm {out}/old",
    "mv {out}/old {out}/other",
    "mv {out}/old ./stolen",
    "ln {out}/old ./hard && echo x > ./hard",
    "ln -s {out}/old ./soft && echo x > ./soft",
    "truncate -s 0 {out}/old",
    "chmod 777 {out}/old",
    "touch -d 2001-01-01 {out}/old",
    "mkdir {out}/folder",
    "mkfifo {out}/pipe",
    "cp ./in {out}/new",
    "cd {out} && echo x > new",
    "cd .. && echo x > out/new",
    "echo x > $PWD/../out/new",
    "echo x > /proc/self/cwd/../out/new",
    "echo x > /proc/self/root{out}/new",
    "echo x > /proc/$PPID/root{out}/new",
    "dd if=/dev/zero of={out}/old bs=1 count=1",
    "sh -c 'echo x > {out}/new'",
    "(setsid sh -c 'echo x > {out}/new')",
    "mount -o remount,rw / && echo x > {out}/new",
    "mount -t tmpfs x {out}",
    "umount {out}; echo x > {out}/new",
    "unshare -Urm sh -c 'mount -o remount,rw /; echo x > {out}/new'",
    "unshare -Urm sh -c 'umount -l /; echo x > {out}/new'",
    "nsenter -t 1 -m sh -c 'echo x > {out}/new'",
    "chroot {out} true; cd {out} && touch new",
    "python3 -c 'import os; os.open(\"{out}/new\", os.O_CREAT | os.O_WRONLY)'",
    "python3 -c 'import os; os.chmod(\"{out}/old\", 0)'",
    'python3 -c \'import os; os.setxattr("{out}/old", "user.x", b"y")\'',
    "kill -9 {pid}",
    "cat {hidden}/secret | grep planted",
    "cat /proc/{pid}/environ | tr '\\0' '\\n' | grep .",
    "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 2)'",
    "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
    's.connect(("192.0.2.1", 9))\'',
    "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"/run/ollm-test.sock\")'",
]


ODD = [
    "echo x > $(printf '{out}/n\\u00e9w')",
    "echo x > {out}/$(printf 'x%.0s' $(seq 255))",
    "mkdir -p $(printf 'd/%.0s' $(seq 300)) && cp in {out}/new",
    "mknod {out}/null c 1 3",
    "exec 9<{out}; echo x > /proc/self/fd/9/new",
    "exec 9<.; cd /proc/self/fd/9/../out && echo x > new",
    "echo x > /proc/self/fd/../root{out}/new",
    "ln {out}/old ./hard2 && truncate -s 1 ./hard2",
    "(while :; do ln -sfn {out} flip; ln -sfn . flip; done) & for i in $(seq 300); do "
    "echo x > flip/new 2>/dev/null; done; kill $!; rm -f new; exit 1",
    "rm -rf ./moved; mkdir moved && mv moved {out}/moved",
    "rmdir {out}",
    'python3 -c \'import os; os.rename("in", "{out}/in")\'',
    'python3 -c \'import os; os.symlink("in", "{out}/link")\'',
    "python3 -c 'import os; os.mkfifo(\"{out}/fifo\")'",
    "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"{out}/s\")'",
    "python3 -c 'import os; os.truncate(\"{out}/old\", 0)'",
    "python3 -c 'import os; os.utime(\"{out}/old\", (1, 1))'",
    "python3 -c 'import os; os.chown(\"{out}/old\", 1, 1)'",
    'python3 -c \'import os; os.link("in", "{out}/hard")\'',
    'python3 -c \'import os; d = os.open("{out}", os.O_RDONLY); '
    'os.open("new", os.O_CREAT | os.O_WRONLY, dir_fd=d)\'',
    'python3 -c \'import os; d = os.open("/", os.O_PATH); os.mkdir("{out}/d"[1:], dir_fd=d)\'',
    'python3 -c \'import mmap; m = mmap.mmap(open("{out}/old", "r+").fileno(), 3); m[0] = 1\'',
    "git -C {out} init -q && test -d {out}/.git",
    "tar -C {out} -xf <(tar -cf - in)",
    "python3 -c 'import socket; s = socket.socket(socket.AF_INET6); "
    's.bind(("::1", 0)); s.connect(("::1", 9))\'',
]
"""Ways of odd names, descriptors, races and system calls."""


def test_there_are_sixty_ways() -> None:
    assert len({*OUTSIDE, *ODD}) >= 60


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Containment:
    has = find_containment(tmp_path_factory.mktemp("probe"), network=False)
    if has.sandbox != "namespaces":
        pytest.skip("this system gives no namespaces to its users")
    return has


def contained(sandbox: Containment, folder: Path, command: str, *hidden: Path) -> int:
    launcher = sandbox.launcher([str(folder)], [str(path) for path in hidden])
    done = subprocess.run(
        [*launcher, "/bin/bash", "-c", command],
        cwd=folder,
        capture_output=True,
        timeout=20,
        check=False,
        env={"PATH": os.environ["PATH"]},
    )
    assert done.returncode != REFUSED, done.stderr
    return done.returncode


@pytest.mark.parametrize("command", [*OUTSIDE, *ODD])
def test_nothing_happens_outside(sandbox: Containment, tmp_path: Path, command: str) -> None:
    root, out, hidden = (tmp_path / name for name in ("root", "out", "hidden"))
    for folder in (root, out, hidden):
        folder.mkdir()
    (root / "in").write_text("inside")
    (out / "old").write_text("old")
    (hidden / "secret").write_text("planted")
    before = (out / "old").stat()
    text = command.format(out=out, pid=os.getpid(), hidden=hidden, port=9)
    assert contained(sandbox, root, text, hidden) != 0
    assert [path.name for path in out.iterdir()] == ["old"]
    assert (out / "old").read_text() == "old"
    after = (out / "old").stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_nlink) == (
        before.st_mode,
        before.st_mtime_ns,
        before.st_nlink,
    )


ASK = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"


@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize("is_private", [False, True])
def test_programs_outside_take_no_request(
    sandbox: Containment, tmp_path: Path, *, network: bool, is_private: bool
) -> None:
    """A terminal multiplexer, an agent or a daemon would do what a command must not."""
    del sandbox  # has skipped where there are none
    with (
        tempfile.TemporaryDirectory(dir="/tmp", prefix="agent-") as folder,
        socket.socket(socket.AF_UNIX) as server,
    ):
        place = Path(folder, "server") if is_private else tmp_path / "server"
        server.bind(str(place))
        server.listen()
        (tmp_path / "root").mkdir()
        has = Containment("namespaces", network)
        assert contained(has, tmp_path / "root", f"python3 -c '{ASK}' {place}") == 1
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.accept()
        later = f"test -S {folder}/server || test -e {folder}/server"
        assert contained(has, tmp_path / "root", later) == 1


def test_a_program_inside_may_listen(sandbox: Containment, tmp_path: Path) -> None:
    own = (
        "import socket; s = socket.socket(socket.AF_UNIX); s.bind('own'); s.listen(); "
        "socket.socket(socket.AF_UNIX).connect('own')"
    )
    assert contained(sandbox, tmp_path, f'python3 -c "{own}" && rm own') == 0


def test_a_server_of_a_command_is_reached_by_it(sandbox: Containment, tmp_path: Path) -> None:
    both = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); "
        "c = socket.create_connection(s.getsockname(), 5); s.accept()[0].send(b'hi'); "
        "assert c.recv(2) == b'hi'"
    )
    assert contained(sandbox, tmp_path, f'python3 -c "{both}"') == 0


@pytest.mark.parametrize(
    "place", ["prefix", "package", "packages of the user", "packages in the prefix"]
)
def test_the_program_itself_cannot_be_changed(
    sandbox: Containment, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below the folder, wherever it was installed; the next command would have no sandbox."""
    own = tmp_path / ".venv" / "bin"
    own.mkdir(parents=True)
    (own / "python").write_text("kept")
    if place == "prefix":
        monkeypatch.setattr(sys, "prefix", str(own.parent))
    elif place == "packages in the prefix":
        packages = own.parent / "lib" / "site-packages"
        packages.mkdir(parents=True)
        monkeypatch.setattr(sys, "prefix", str(own.parent))
        monkeypatch.setattr(
            sys, "path", [*sys.path, str(packages), str(tmp_path / "site-packages")]
        )
    elif place == "package":
        monkeypatch.setattr(containment, "_PACKAGE", own.parent)
    else:
        monkeypatch.setattr(containment, "_PACKAGES", {own.parent.name})
        monkeypatch.setattr(sys, "path", [*sys.path, str(own.parent)])
    for way in ("echo x > .venv/bin/python", "mv .venv other", "rm -r .venv", "touch .venv/new"):
        assert contained(sandbox, tmp_path, way) != 0
    assert {path.name for path in own.parent.iterdir()} - {"lib"} == {"bin"}
    assert (own / "python").read_text() == "kept"
    assert contained(sandbox, tmp_path, "echo x > new") == 0


def test_what_shells_and_git_run_by_themselves_cannot_be_changed(
    sandbox: Containment, tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".bashrc").write_text("kept")
    for way in (
        "echo x > .git/hooks/pre-commit",
        "git config core.hooksPath .",
        "mv .git/hooks .git/other",
        "mv .git other",
        "mv .git other; cp -r other .git && echo x > .git/hooks/pre-commit",
        "rm .git/config",
        "echo x >> .bashrc",
        "mv .bashrc other",
        "cp /dev/null .bashrc",
    ):
        assert contained(sandbox, tmp_path, way) != 0, way
    assert (tmp_path / ".bashrc").read_text() == "kept"
    assert not (tmp_path / ".git/hooks/pre-commit").exists()
    author = "git -c user.name=a -c user.email=b"
    work = f"echo x > a && git add a && {author} commit -qm x && git branch b && git log"
    assert contained(sandbox, tmp_path, work) == 0


def test_what_is_typed_into_a_terminal_cannot_be_read(sandbox: Containment, tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    try:
        os.write(ours, b"a password\n")
        assert contained(sandbox, tmp_path, f"read -r line < {os.ttyname(theirs)}") != 0
    finally:
        os.close(ours)
        os.close(theirs)


def test_work_inside_goes_on(sandbox: Containment, tmp_path: Path) -> None:
    work = (
        "mkdir a && echo x > a/b && chmod 700 a/b && mv a/b c && rm c && echo y > /dev/null && "
        "python3 -c 'import os; assert os.getuid() == int(os.environ[\"U\"]), os.getuid()' && "
        "test -w /dev/shm && ls /usr > /dev/null"
    )
    assert contained(sandbox, tmp_path, f"export U={os.getuid()}; {work}") == 0


def test_a_wall_that_cannot_be_put_up_means_that_nothing_runs(tmp_path: Path) -> None:
    *start, text = Containment("namespaces").launcher([str(tmp_path / "gone")], [])
    done = subprocess.run(
        [*start, text, "/bin/sh", "-c", "echo ran"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (REFUSED, "")
    assert done.stderr.startswith("The command was not run: it cannot be contained (")
    assert json.loads(text)["landlock"]


@pytest.mark.parametrize(
    ("holds", "word", "says"),
    [
        (["namespaces"], "contained: writes, network", "has no network"),
        (["landlock"], "partly contained: writes", "use the network and ask other programs"),
        ([], "not contained", "all that you can"),
    ],
)
def test_the_word_says_no_more_than_what_was_tried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, holds: list[str], word: str, says: str
) -> None:
    monkeypatch.setattr(containment, "_holds", lambda tried, _folder: tried.sandbox in holds)
    one = find_containment(tmp_path, network=False)
    assert one.word == word
    assert says in one.sentence
    with_network = find_containment(tmp_path, network=True)
    assert "network" not in with_network.word


@pytest.mark.parametrize("scopes", [3, 0])
def test_a_kernel_that_leaves_sockets_without_files_open_contains_partly(
    sandbox: Containment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, scopes: int
) -> None:
    if sandbox.sandbox != "namespaces" or landlock_abi() < 6:
        pytest.skip("this kernel cannot refuse them")
    older = tmp_path / "confined.py"
    text = Path(containment.CONFINED[-1]).read_text("utf-8")
    older.write_text(text.replace("SCOPES: Final = 3", f"SCOPES: Final = {scopes}"))
    monkeypatch.setattr(containment, "CONFINED", (*containment.CONFINED[:-1], str(older)))
    (tmp_path / "root").mkdir()
    one = find_containment(tmp_path / "root", network=True)
    assert one.word == ("contained: writes" if scopes else "partly contained: writes")
    assert ("ask other programs" in one.sentence) == (not scopes)
    assert not find_containment(tmp_path / "root", network=False).asks_programs
